"""``python -m manyviews`` is the command ``manyviews``."""

from .cli import run

run()

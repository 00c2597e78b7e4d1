"""A hook of MkDocs: tables of experiments are made from their result files while the site is built.

So the site says of every table whether the code has changed since; ``experiments/pages.py``
explains how a page names a table.
"""

import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[2]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Make the tables of a page anew."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from experiments.cells import TableError
    from experiments.pages import rewritten

    try:
        return rewritten(markdown)
    except TableError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None

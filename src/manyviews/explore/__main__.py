"""Explore a model's file: ``python -m manyviews.explore FILE [--shape VIEW=192x168 ...]``."""

import argparse

from ..models.files import load
from . import serve


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m manyviews.explore", description=__doc__)
    parser.add_argument("file", help="a model that save() wrote")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=0, help="0 (default) takes a free one")
    parser.add_argument("--shape", action="append", default=[], metavar="VIEW=SHAPE")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    options = parser.parse_args()
    shapes = {name: shape for name, _, shape in (told.partition("=") for told in options.shape)}
    serve(load(options.file), options.host, options.port, not options.no_browser, shapes)


if __name__ == "__main__":
    main()

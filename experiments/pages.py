"""Tables of the documentation, made of result files: ``python -m experiments.pages [--check]``.

A page names a table, its columns and its rows in a comment; what follows, up to the closing
comment, is written by this file and by nobody else::

    <!-- table: oil-map
    [columns]
    errors = {measure = "nn-errors", best = "low"}
    published = {measure = "nn-errors", show = "published"}
    [rows]
    "Bayesian GP-LVM, ours" = "Bayesian GP-LVM"
    -->
    <!-- end of table -->

A column is a measure, or a table of options (:class:`.cells.Column`). A row is a label and a
method; without rows all methods with one of the measures stand there, in the order of the file.
What a row is called takes the place of ``{}`` in a column's method and measure.
"""

import argparse
import re
import sys

from .cells import recorded, table
from .code import ROOT
from .record import CHANGED
from .table import duration

DOCS = ROOT / "docs"
MARKED = re.compile(
    r"<!-- table: (?P<name>[\w-]+)\n(?P<spec>.*?)-->\n.*?<!-- end of table -->", re.DOTALL
)
AGED = " The code has changed since."


def source(name: str) -> str:
    """The line that says where the numbers come from."""
    record = recorded(name)
    header, file = record.header, f"`experiments/results/{name}.json`"
    if "origin" in header:
        return f"*File {file}: {header['origin']}.*"
    commit = str(header["commit"])[:7] + (" with changes" if header.get("changed") else "")
    machine = header["machine"]
    where = f"{machine['cores']} cores" + (f", {machine['gpu']}" if machine.get("gpu") else "")
    where = "; ".join(header.get("places", [where]))
    said = (
        f"File {file}: run with version {header['version']}, commit {commit}, on "
        f"{header['ended'][:10]}, in {duration(header['seconds'])} of one process ({where})."
    )
    return f"*{said}{AGED if record.state == CHANGED else ''}*"


def rewritten(page: str) -> str:
    """A page with all its tables made anew; the first table of a file says where it comes from."""
    seen: set[str] = set()

    def made(found: re.Match[str]) -> str:
        name, spec = found["name"], found["spec"]
        said = "" if name in seen else f"\n{source(name)}\n"
        seen.add(name)
        return (
            f"<!-- table: {name}\n{spec}-->\n\n{table(name, spec)}\n{said}\n<!-- end of table -->"
        )

    return MARKED.sub(made, page)


def differs(page: str) -> bool:
    """Whether a page's tables are not those of the files, the age of the code aside."""
    return rewritten(page).replace(AGED, "") != page.replace(AGED, "")


def main(arguments: list[str] | None = None) -> None:
    """Write the tables of all pages, or name the pages whose tables are not up to date."""
    parser = argparse.ArgumentParser(prog="python -m experiments.pages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(arguments).check
    changed = []
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        if differs(page) if check else rewritten(page) != page:
            changed.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.write_text(rewritten(page), encoding="utf-8")
    print("\n".join(changed) or "all tables are up to date")
    if check and changed:
        sys.exit(1)


if __name__ == "__main__":
    main()

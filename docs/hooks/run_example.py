"""Run one example and write it down as a page: text, code, what it printed, what it drew.

An example is a Python file. Its docstring is the head of the page, in Markdown. A line
``# %%`` starts a cell: comment lines are text, the rest is code. Below the code stand what
the cell printed, the value of its last expression, and its figures. In text, ``{{ 1 + 1 }}``
is replaced by its value, so that an answer in words cannot differ from what was computed.

    python docs/hooks/run_example.py docs/gallery/several-views.py FOLDER

writes FOLDER/page.md, and the pictures and files beside it in FOLDER/files. Files that the
example writes (its working folder is FOLDER/files) are published, too.
"""

import ast
import io
import os
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

WIDTH, DPI = 7.2, 110


def main(script: Path, folder: Path) -> None:
    """Run the script cell by cell and write its page."""
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "true")  # most of the time is compiling
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams.update({"figure.figsize": (WIDTH, 3.4), "figure.constrained_layout.use": True})
    source = script.read_text(encoding="utf-8")
    head = ast.get_docstring(ast.parse(source)) or ""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    os.chdir(files)
    name = script.stem
    scope: dict[str, Any] = {"__name__": "__main__"}
    parts, pictures = [], 0
    for text, code in cells(source):
        if text:
            parts.append(filled(text, scope))
        if code:
            printed, shown = execute(code, scope, str(script))
            drawn = [f"![]({name}/{file})" for file in save_figures(shown, pictures)]
            pictures += len(drawn)
            parts.append(f"```python\n{code}\n```")
            if printed.strip():
                parts.append(f'```text title="Output"\n{printed.rstrip()}\n```')
            parts += [display(shown), *drawn]
    page = "\n\n".join([filled(head, scope), *filter(None, parts)])
    (folder / "page.md").write_text(page + "\n", encoding="utf-8")


def cells(source: str) -> list[tuple[str, str]]:
    """Text and code of every cell; the docstring of the file is none."""
    body = re.sub(r'\A\s*(?:r)?"""(?:.|\n)*?"""\n', "", source)
    found = []
    for cell in re.split(r"^# %%.*\n", body, flags=re.MULTILINE):
        lines = cell.strip("\n").split("\n")
        n = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:n])
        code = "\n".join(lines[n:]).strip("\n")
        if text or code:
            found.append((text, code))
    return found


def filled(text: str, scope: dict[str, Any]) -> str:
    """The text, with ``{{ expression }}`` replaced by its value."""
    return re.sub(r"\{\{(.+?)\}\}", lambda found: str(eval(found[1].strip(), scope)), text)


def execute(code: str, scope: dict[str, Any], file: str) -> tuple[str, Any]:
    """What the code prints, and the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, file, "exec"), scope)
        value = None
        if last is not None:
            value = eval(compile(ast.Expression(last.value), file, "eval"), scope)
    return printed.getvalue(), value


def save_figures(shown: Any, first: int) -> list[str]:
    """Save open figures and a shown animation; return the names of the files."""
    from matplotlib import pyplot as plt
    from matplotlib.animation import Animation

    names = []
    if isinstance(shown, Animation):
        names.append(f"{first}.gif")
        shown.save(names[-1], writer="pillow", dpi=70)
        plt.close("all")
    for number in plt.get_fignums():
        names.append(f"{first + len(names)}.png")
        plt.figure(number).savefig(names[-1], dpi=DPI)
    plt.close("all")
    return names


def display(value: Any) -> str:
    """A value as Markdown: tables as tables, what has been drawn not at all."""
    import pandas as pd

    if isinstance(value, pd.Series):
        value = value.to_frame(value.name or "")
    if isinstance(value, pd.DataFrame):
        table = value.to_html(border=0, float_format="{:.2f}".format)
        return f'<div class="output" markdown="0">\n{table}\n</div>'
    first = value[0] if isinstance(value, list | tuple) and value else value
    if value is None or type(first).__module__.startswith("matplotlib"):
        return ""
    return f'```text title="Output"\n{value}\n```'


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())

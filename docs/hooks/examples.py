"""A hook of MkDocs: every file in docs/gallery is run, and becomes a page.

What an example made is kept in ``.cache/docs`` and made anew when the example or the code of
the library changes. ``MANYVIEWS_DOCS_EXAMPLES=off`` shows the code without running it.
"""

import ast
import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "docs" / "gallery"
KEPT = ROOT / ".cache" / "docs"
RUNNER = Path(__file__).with_name("run_example.py")
CARD = "gallery-cards"
log = logging.getLogger("mkdocs.hooks.examples")


def on_files(files: Files, config: Any) -> Files:
    """Add the page of every example, and what it drew."""
    for script in scripts():
        folder = made(script)
        page = (folder / "page.md").read_text(encoding="utf-8")
        source = f"\n\n[Download the code]({script.stem}/{script.name})\n"
        add(files, config, f"gallery/{script.stem}.md", content=page + source)
        add(files, config, f"gallery/{script.stem}/{script.name}", path=script)
        for path in sorted((folder / "files").iterdir()):
            add(files, config, f"gallery/{script.stem}/{path.name}", path=path)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Put the cards of the examples in the place of their marks; mark sessions as such."""
    markdown = re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)
    return re.sub(rf"<!-- {CARD}: (.+?) -->", lambda found: cards(found[1].split()), markdown)


def cards(names: list[str]) -> str:
    """A picture, the title and the first sentence of each example."""
    lines = []
    for name in names:
        written = SCRIPTS / f"{name}.md"
        source = written if written.exists() else made(SCRIPTS / f"{name}.py") / "page.md"
        page = source.read_text(encoding="utf-8")
        title, text = head(page)
        picture = next(iter(re.findall(r"!\[[^\]]*\]\((\S+)\)", page)), None)
        shown = f"[![{title}]({picture})]({name}.md)" if picture else ""
        lines.append(f"-   {shown}\n\n    **[{title}]({name}.md)**\n\n    {text}\n")
    return '<div class="grid cards gallery" markdown>\n\n' + "\n".join(lines) + "\n</div>"


def head(page: str) -> tuple[str, str]:
    """Title and first paragraph of a page."""
    title, text, *_ = page.strip().split("\n\n")
    return title.removeprefix("# ").strip(), " ".join(text.split())


def scripts() -> list[Path]:
    """The examples."""
    return sorted(SCRIPTS.glob("*.py"))


@cache
def made(script: Path) -> Path:
    """The folder with an example's page, run if there is none that is up to date."""
    run = os.environ.get("MANYVIEWS_DOCS_EXAMPLES") != "off"
    folder = KEPT / (script.stem if run else f"{script.stem}-unrun")
    key = digest(script) if run else script.read_text(encoding="utf-8")
    if (folder / "key").exists() and (folder / "key").read_text(encoding="utf-8") == key:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "files").mkdir(parents=True)
    if run:
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, RUNNER, script, folder], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise PluginError(f"{script.relative_to(ROOT)} failed:\n{done.stderr[-3000:]}")
        log.info("ran %s in %.0f s", script.name, time.perf_counter() - began)
    else:
        code = script.read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(code)) or ""
        page = f"{text}\n\n```python\n{code}\n```\n"
        (folder / "page.md").write_text(page, encoding="utf-8")
    (folder / "key").write_text(key, encoding="utf-8")
    return folder


def digest(script: Path) -> str:
    """A number that changes with the example, with the runner and with the library's code."""
    return hashlib.sha256(
        script.read_bytes() + RUNNER.read_bytes() + library().encode()
    ).hexdigest()


@cache
def library() -> str:
    """The library's code, without docstrings: another wording changes no picture."""
    return "\n".join(code_of(path) for path in sorted((ROOT / "src").rglob("*.py")))


def code_of(path: Path) -> str:
    """The code of a file, without docstrings and comments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in documented(tree):
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def documented(tree: ast.AST) -> Iterator[Any]:
    """All that may have a docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def add(files: Files, config: Any, uri: str, **what: Any) -> None:
    """Add a made file to the site."""
    if "path" in what:
        what = {"abs_src_path": str(what["path"])}
    files.append(File.generated(config, uri, **what))

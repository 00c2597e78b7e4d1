"""Which code a result was measured with: a fingerprint that changes when the code does.

Docstrings, comments and blank lines do not count, nor do the rooms of the library that only show
results, nor the files of this folder that carry numbers from one place to another.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "src" / "manyviews"
SHOWING = ("cli", "explore", "interop", "plot", "report")
CARRYING = ("catalogue", "cells", "code", "pages", "pieces", "plan", "provenance", "record",
            "setting", "table")  # fmt: skip


def fingerprint(module: str) -> str:
    """That of an experiment's files and of the library."""
    digest = hashlib.sha256(library().encode())
    for path in sorted(own_files(module)):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\n{code_of(path)}\n".encode())
    return digest.hexdigest()[:16]


@cache
def library() -> str:
    """The digest of the rooms that compute."""
    digest = hashlib.sha256()
    for path in sorted(LIBRARY.rglob("*.py")):
        place = path.relative_to(LIBRARY)
        if place.parts[0].removesuffix(".py") not in SHOWING:
            digest.update(f"{place.as_posix()}\n{code_of(path)}\n".encode())
    return digest.hexdigest()


def own_files(module: str) -> set[Path]:
    """The file of an experiment, and those of experiments and benchmarks that it imports."""
    found: set[Path] = set()
    left = [ROOT / "experiments" / f"{module}.py"]
    while left:
        path = left.pop()
        if path not in found and path.exists():
            found.add(path)
            left += imported(path)
    return found


def imported(path: Path) -> list[Path]:
    """Files of the two folders that a file imports, at its top or inside functions."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            package = list(path.relative_to(ROOT).parts[: -node.level]) if node.level else []
            base = ".".join([*package, *filter(None, [node.module])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    carrying = {f"experiments.{name}" for name in CARRYING}
    return [
        ROOT.joinpath(*name.split(".")).with_suffix(".py")
        for name in names
        if name.startswith(("experiments.", "benchmarks.")) and name not in carrying
    ]


@cache
def code_of(path: Path) -> str:
    """The lines of a file that are neither docstring nor comment."""
    source = path.read_text(encoding="utf-8")
    words: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words |= {
                line
                for part in node.body
                if isinstance(part, ast.Expr)
                and isinstance(part.value, ast.Constant)
                and isinstance(part.value.value, str)
                for line in range(part.lineno, (part.end_lineno or part.lineno) + 1)
            }
    return "\n".join(
        line.rstrip()
        for number, line in enumerate(source.splitlines(), start=1)
        if number not in words and line.strip() and not line.lstrip().startswith("#")
    )

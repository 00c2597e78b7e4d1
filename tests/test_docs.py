"""The shell examples of the documentation run as they stand (the Python ones are doctests)."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from manyviews.cli import main
from manyviews.cli.settings import RunOptions

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
def test_commands_run_as_documented(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "command.md").read_text()
    lines = [line[2:] for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL)
             for line in block.splitlines() if line.startswith("$ ")]  # fmt: skip
    assert len(lines) >= 7
    for line in lines:
        program, *arguments = shlex.split(line)
        if program == "python":
            subprocess.run([sys.executable, *arguments], check=True)
        else:
            assert main(arguments) == 0, line
    for made in ("run/report.html", "predictions/lower_std.csv", "latent/latent.csv",
                 "imputed/upper.csv", "page.html"):  # fmt: skip
        assert (tmp_path / made).exists()


def test_option_files_are_as_documented(tmp_path):
    page = (DOCS / "command.md").read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "options.toml").write_text(block)
    run = RunOptions.read(tmp_path / "options.toml")
    assert run.options["n_inducing"] == {"upper": 15, "lower": 10}


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"([\w-]+\.md)", (DOCS.parent / "mkdocs.yml").read_text())
    assert set(listed) == {path.name for path in DOCS.glob("*.md")}

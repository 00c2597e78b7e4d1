"""Every dependency has its purpose and licence in CONTRIBUTING.md."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_dependency_is_accounted_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    names = {re.split(r"[><=\[ ]", one)[0] for one in asked}
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"[A-Za-z0-9_-]+", row)}
    assert names - told == set()

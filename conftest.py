"""The documentation's examples write their files into a folder of their own."""

import pytest
from _pytest.doctest import DoctestItem


@pytest.fixture(autouse=True)
def own_folder_for_examples(request, tmp_path, monkeypatch):
    """Run each page of the documentation in a temporary folder."""
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(tmp_path)

import os
import sys
from pathlib import Path
from typing import Any, Self, get_args

from beartype import beartype
from jaxtyping import install_import_hook


def uncheckable(hint):
    if get_args(hint):
        return any(uncheckable(part) for part in get_args(hint))
    protocol = getattr(hint, "_is_protocol", False)
    return hint is Self or (protocol and not getattr(hint, "_is_runtime_protocol", False))


def typechecker(function):
    """Beartype, less what it cannot check one method at a time: ``Self`` and plain protocols.

    The estimators check what users hand them, with errors of their own, and are left alone.
    """
    if function.__module__.startswith("manyviews.models"):
        return function
    hints = getattr(function, "__annotations__", {})
    hints.update({name: Any for name, hint in hints.items() if uncheckable(hint)})
    return beartype(function)


install_import_hook("manyviews", f"{__name__}.typechecker")
for module in [name for name in sys.modules if name.split(".")[0] == "manyviews"]:
    del sys.modules[module]  # a warning filter in pyproject.toml imports it before the hook

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("manyviews", deadline=None, database=None)
settings.load_profile("manyviews")


def pytest_configure(config):
    # The colon keeps pytest from reusing a filter it has parsed before the import hook.
    config.addinivalue_line("filterwarnings", "error::manyviews.errors.ManyviewsWarning:")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data_folder():
    folder = os.environ.get("MANYVIEWS_DATA")
    if not folder:
        pytest.skip("MANYVIEWS_DATA is not set: this test needs the papers' data")
    return Path(folder)

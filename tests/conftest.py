import os
import shutil
from pathlib import Path
from typing import Any, Self, get_args

from beartype import beartype
from jaxtyping import install_import_hook


def uncheckable(hint):
    return hint is Self or any(uncheckable(part) for part in get_args(hint))


ROOMS = ("composed", "inference.search", "linear", "mixtures", "points", "stacking", "variational")
CATALOGUE = tuple(f"manyviews.{room}" for room in ROOMS)


def typechecker(function):
    """Beartype, less ``Self``, which it cannot check one method at a time.

    Estimators check the options that users hand them in `fit`, with errors of their own.
    """
    if function.__module__.startswith(CATALOGUE) and function.__name__ == "__init__":
        return function
    hints = getattr(function, "__annotations__", {})
    hints.update({name: Any for name, hint in hints.items() if uncheckable(hint)})
    return beartype(function)


install_import_hook("manyviews", f"{__name__}.typechecker")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

import manyviews  # noqa: E402, F401

# One thread for each of the processes that tests run in: two of each would wait for each other.
threadpool_limits(1)
settings.register_profile("manyviews", deadline=None, database=None)
settings.load_profile("manyviews")


def pytest_configure(config):
    # Not in pyproject.toml: there it would import the package before the hook above.
    config.addinivalue_line("filterwarnings", "error::manyviews.errors.ManyviewsWarning")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data_folder():
    folder = os.environ.get("MANYVIEWS_DATA")
    if not folder:
        pytest.skip("MANYVIEWS_DATA is not set: this test needs the papers' data")
    return Path(folder)


FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium; tests that ask for it are skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    program = next((found for found in map(shutil.which, names) if found), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("chromium and chromedriver are not both on the PATH")
    os.environ["SE_OFFLINE"] = "true"  # what is there is used, nothing is fetched
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()

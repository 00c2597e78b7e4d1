"""The documentation's examples, and the compiler's settings for them and for all tests."""

import gc
import os

import jax
import pytest
from _pytest.doctest import DoctestItem

# Most of what tests and examples wait for is the compiler, and most of its work is to save
# microseconds; small programs are kept, too, for other processes. XLA's older emitters need
# half the time of its newer ones, and to divide a program among threads costs more than it
# gains where every core has tests of its own. JAX 0.11 and later have no older emitters, and XLA
# ends a process that names a flag it does not know.
if jax.__version_info__ < (0, 11):
    flags = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


@pytest.fixture(autouse=True, scope="module")
def room_for_compiled_programs():
    """Drop compiled programs before they are too many; to count them takes milliseconds."""
    yield
    from manyviews._runtime import make_room_for_programs  # after the hooks of tests/conftest.py

    make_room_for_programs()


@pytest.fixture(autouse=True)
def own_folder_for_examples(request, tmp_path, monkeypatch):
    """Run each page of the documentation in a temporary folder."""
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(tmp_path)


def pytest_collection_finish():
    """What was imported and collected stays: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


# Pages whose examples fit for ten seconds or more are left to `make test-all`.
LONG_PAGES = {
    "cross-validation.md", "dynamics.md", "kinds.md", "map-family.md", "mcgpds.md", "mrd.md",
    "stacking.md", "tutorial.md", "uncertain-inputs.md",
}  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let examples warn as they would warn a reader; in other tests a warning is an error."""
    for item in items:
        if isinstance(item, DoctestItem):
            item.add_marker(
                pytest.mark.filterwarnings("default::manyviews.errors.ManyviewsWarning")
            )
            if item.path.name in LONG_PAGES:
                item.add_marker(pytest.mark.long)

"""Models for several tables about the same samples, and for one.

Everything is imported when it is first asked for, so that a command that needs no model starts
at once.
"""

import gc
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors, kernels, likelihoods, linear, points
    from .catalogue import load
    from .checking import check
    from .composed import AutoregressiveGP, GenerativeClassifier, MRDClassifier
    from .data import StoredViews, Views
    from .inference.search import Search, Stage
    from .mixtures import DirichletPCCA, DirichletPPCA, MixturePCCA, MixturePPCA
    from .stacking import Stack, compare, select
    from .variational import CGPDS, MRD, BayesianGPLVM, McGPDS, UncertainGPRegressor

    __version__: str

HOMES = {
    "checking": ("check",),
    "composed": ("AutoregressiveGP", "GenerativeClassifier", "MRDClassifier"),
    "data": ("StoredViews", "Views"),
    "inference.search": ("Search", "Stage"),
    "catalogue": ("load",),
    "mixtures": ("DirichletPCCA", "DirichletPPCA", "MixturePCCA", "MixturePPCA"),
    "stacking": ("Stack", "compare", "select"),
    "variational": ("CGPDS", "MRD", "BayesianGPLVM", "McGPDS", "UncertainGPRegressor"),
}
ROOMS = ("errors", "kernels", "likelihoods", "linear", "points")

__all__ = [
    "CGPDS",
    "MRD",
    "AutoregressiveGP",
    "BayesianGPLVM",
    "DirichletPCCA",
    "DirichletPPCA",
    "GenerativeClassifier",
    "MRDClassifier",
    "McGPDS",
    "MixturePCCA",
    "MixturePPCA",
    "Search",
    "Stack",
    "Stage",
    "UncertainGPRegressor",
    "StoredViews",
    "Views",
    "__version__",
    "check",
    "compare",
    "errors",
    "kernels",
    "likelihoods",
    "linear",
    "load",
    "points",
    "select",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("manyviews")
    if name in ROOMS:
        return _imported(name)
    for home, names in HOMES.items():
        if name in names:
            return getattr(_imported(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _imported(room: str) -> ModuleType:
    """Import a room with the garbage collector paused, as it would scan all of JAX in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(f".{room}", __name__)
    finally:
        if enabled:
            gc.enable()


def __dir__() -> list[str]:
    return sorted(__all__)

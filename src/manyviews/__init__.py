"""Models for several tables about the same samples, and for one."""

from ._runtime import configure

configure()

from importlib.metadata import version  # noqa: E402

from . import (  # noqa: E402
    errors,
    kernels,
    linear,
    points,
)
from .composed import AutoregressiveGP, GenerativeClassifier, MRDClassifier  # noqa: E402
from .data import Views  # noqa: E402
from .inference.search import Search, Stage  # noqa: E402
from .io import load  # noqa: E402
from .mixtures import DirichletPCCA, MixturePCCA  # noqa: E402
from .stacking import Stack, compare  # noqa: E402
from .variational import (  # noqa: E402
    CGPDS,
    MRD,
    BayesianGPLVM,
    McGPDS,
    UncertainGPRegressor,
)

__version__ = version("manyviews")

__all__ = [
    "CGPDS",
    "MRD",
    "AutoregressiveGP",
    "BayesianGPLVM",
    "GenerativeClassifier",
    "DirichletPCCA",
    "MixturePCCA",
    "MRDClassifier",
    "McGPDS",
    "Search",
    "Stack",
    "Stage",
    "UncertainGPRegressor",
    "Views",
    "__version__",
    "compare",
    "errors",
    "kernels",
    "linear",
    "load",
    "points",
]

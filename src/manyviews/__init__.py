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
from .inference.stages import Stage  # noqa: E402
from .models import MRD, BayesianGPLVM, MRDClassifier  # noqa: E402
from .models.files import load  # noqa: E402

__version__ = version("manyviews")

__all__ = [
    "MRD",
    "BayesianGPLVM",
    "MRDClassifier",
    "Stage",
    "__version__",
    "errors",
    "kernels",
    "linear",
    "load",
    "points",
]

"""The records that may stand in a model file."""

from .. import kernels
from ..data import Scaling, When
from ..expectations import Gaussian
from ..inference.bound import Model
from ..inference.diagnostics import FitInfo
from ..inference.stages import Stage
from ..io import register_record
from ..latent import Collaborative, Sequences, StandardNormal, Temporal, UncertainInputs
from ..mappings import CollaborativeGP, CollaborativePosterior, CollapsedGP, GPPosterior
from ..mappings.stack import Stack
from ..parameters import Parameter

for kind in (
    kernels.RBF,
    kernels.Linear,
    kernels.Bias,
    kernels.White,
    kernels.Matern12,
    kernels.Matern32,
    kernels.Matern52,
    kernels.Periodic,
    kernels.Polynomial,
    kernels.Sum,
    kernels.Product,
    Parameter,
    Scaling,
    Gaussian,
    Model,
    FitInfo,
    Stage,
    Sequences,
    StandardNormal,
    Temporal,
    UncertainInputs,
    When,
    CollapsedGP,
    GPPosterior,
    Collaborative,
    CollaborativeGP,
    CollaborativePosterior,
    Stack,
):
    register_record(kind)

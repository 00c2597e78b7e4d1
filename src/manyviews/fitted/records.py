"""The records of the core that may stand in a model file."""

from .. import kernels, likelihoods
from ..data import Scaling, When
from ..expectations import Gaussian
from ..inference.bound import Model
from ..inference.diagnostics import FitInfo
from ..inference.search import Search, Stage
from ..io import register_record
from ..latent import (
    BackConstrained,
    Collaborative,
    DividedPoints,
    Points,
    Sequences,
    StandardNormal,
    Temporal,
    TimedPoints,
    UncertainInputs,
)
from ..mappings import (
    CollaborativeGP,
    CollaborativePosterior,
    CollapsedGP,
    CorrelatedGP,
    ExactGP,
    GPPosterior,
    NoisePrior,
    PointPosterior,
    PrunedGP,
    SparseGP,
    StochasticGP,
    StochasticPosterior,
)
from ..mappings.stack import Stack
from ..parameters import LogNormal, Parameter

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
    kernels.Restricted,
    kernels.Sum,
    kernels.Product,
    LogNormal,
    Parameter,
    Scaling,
    When,
    Gaussian,
    Model,
    FitInfo,
    Search,
    Stage,
    Sequences,
    StandardNormal,
    Temporal,
    UncertainInputs,
    Collaborative,
    Points,
    BackConstrained,
    DividedPoints,
    TimedPoints,
    CollapsedGP,
    CollaborativeGP,
    ExactGP,
    SparseGP,
    CorrelatedGP,
    NoisePrior,
    PrunedGP,
    GPPosterior,
    CollaborativePosterior,
    PointPosterior,
    Stack,
    StochasticGP,
    StochasticPosterior,
    likelihoods.GaussianNoise,
    likelihoods.StudentT,
    likelihoods.Bernoulli,
    likelihoods.Binomial,
    likelihoods.Categorical,
    likelihoods.Ordinal,
    likelihoods.Poisson,
    likelihoods.NegativeBinomial,
    likelihoods.Hurdle,
    likelihoods.Mixed,
    likelihoods.Censored,
):
    register_record(kind)

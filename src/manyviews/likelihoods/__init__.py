"""Likelihoods: from function values to observations, one kind of data per file."""

from .base import Likelihood, Start
from .bernoulli import Bernoulli
from .binomial import Binomial
from .categorical import Categorical
from .censored import Censored
from .gaussian import GaussianNoise
from .guess import Guess, gaussian_doubts, guess_columns, guess_kind
from .hurdle import Hurdle
from .mixed import Mixed
from .negative_binomial import NegativeBinomial
from .ordinal import Ordinal
from .poisson import Poisson
from .predictive import (
    predictive_draws,
    predictive_log_density,
    predictive_moments,
    predictive_probabilities,
    predictive_quantiles,
)
from .registry import KINDS, kind_of, likelihood_from, register_kind
from .student_t import StudentT

__all__ = [
    "KINDS",
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Censored",
    "GaussianNoise",
    "Guess",
    "Hurdle",
    "Likelihood",
    "Mixed",
    "NegativeBinomial",
    "Ordinal",
    "Poisson",
    "Start",
    "StudentT",
    "gaussian_doubts",
    "guess_columns",
    "guess_kind",
    "kind_of",
    "likelihood_from",
    "predictive_draws",
    "predictive_log_density",
    "predictive_moments",
    "predictive_probabilities",
    "predictive_quantiles",
    "register_kind",
]

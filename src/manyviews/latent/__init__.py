"""Latent spaces: prior, posterior and the KL between them."""

from .base import Inferred, LatentSpace, marginals
from .points import BackConstrained, DividedPoints, Points
from .sequences import Sequences, make_sequences
from .standard_normal import StandardNormal
from .temporal import Temporal
from .timed_points import TimedPoints
from .uncertain import UncertainInputs

__all__ = [
    "BackConstrained",
    "DividedPoints",
    "Inferred",
    "LatentSpace",
    "Points",
    "Sequences",
    "StandardNormal",
    "Temporal",
    "TimedPoints",
    "UncertainInputs",
    "make_sequences",
    "marginals",
]

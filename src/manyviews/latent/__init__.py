"""Latent spaces: prior, posterior and the KL between them."""

from .base import Inferred, LatentSpace, everything, marginals
from .collaborative import Collaborative
from .paths import Paths
from .points import BackConstrained, DividedPoints, Points
from .sequences import Sequences, make_sequences
from .standard_normal import StandardNormal
from .temporal import Temporal
from .timed_points import TimedPoints
from .uncertain import CentredInputs, UncertainInputs

__all__ = [
    "BackConstrained",
    "Collaborative",
    "DividedPoints",
    "Inferred",
    "LatentSpace",
    "Paths",
    "Points",
    "Sequences",
    "StandardNormal",
    "Temporal",
    "TimedPoints",
    "CentredInputs",
    "UncertainInputs",
    "everything",
    "make_sequences",
    "marginals",
]

"""Latent spaces: prior, posterior and the KL between them."""

from .base import Inferred, LatentSpace, marginals
from .points import BackConstrained, Points, TemporalPoints
from .sequences import Sequences, make_sequences
from .standard_normal import StandardNormal
from .temporal import Temporal

__all__ = [
    "BackConstrained",
    "Inferred",
    "LatentSpace",
    "Points",
    "Sequences",
    "StandardNormal",
    "Temporal",
    "TemporalPoints",
    "make_sequences",
    "marginals",
]

"""Latent spaces: prior, posterior and the KL between them."""

from .base import Inferred, LatentSpace, marginals
from .sequences import Sequences, make_sequences
from .standard_normal import StandardNormal
from .temporal import Temporal

__all__ = [
    "Inferred",
    "LatentSpace",
    "Sequences",
    "StandardNormal",
    "Temporal",
    "make_sequences",
    "marginals",
]

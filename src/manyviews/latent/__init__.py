"""Latent spaces: prior, posterior and the KL between them."""

from .base import LatentSpace
from .standard_normal import StandardNormal

__all__ = ["LatentSpace", "StandardNormal"]

"""The MAP end of the family: latent points and Gaussian process mappings."""

from . import records
from .gplvm import GPLVM

__all__ = ["GPLVM", "records"]

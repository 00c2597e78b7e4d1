"""Mappings from the latent space to one view."""

from .base import Evidence, Mapping
from .collapsed import CollapsedGP
from .outputs import Outputs, PatternedOutputs, ScatteredOutputs, make_outputs
from .posterior import GPPosterior

__all__ = [
    "CollapsedGP",
    "Evidence",
    "GPPosterior",
    "Mapping",
    "Outputs",
    "PatternedOutputs",
    "ScatteredOutputs",
    "make_outputs",
]

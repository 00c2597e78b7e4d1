"""Mappings from the latent space to one view."""

from .base import Evidence, Mapping
from .collaborative import CollaborativeGP
from .collaborative_posterior import CollaborativePosterior
from .collaborative_rows import StackedRowEvidence
from .collapsed import CollapsedGP
from .correlated import CorrelatedGP
from .exact import ExactGP
from .outputs import Outputs, PatternedOutputs, ScatteredOutputs, make_outputs
from .point_posterior import PointPosterior
from .posterior import GPPosterior
from .pruned import PrunedGP
from .sparse import SparseGP

Posterior = GPPosterior | CollaborativePosterior
"""What the variational mappings leave for prediction."""

__all__ = [
    "CollaborativeGP",
    "CollaborativePosterior",
    "CollapsedGP",
    "CorrelatedGP",
    "Evidence",
    "ExactGP",
    "GPPosterior",
    "Mapping",
    "Outputs",
    "PatternedOutputs",
    "PointPosterior",
    "Posterior",
    "PrunedGP",
    "ScatteredOutputs",
    "SparseGP",
    "StackedRowEvidence",
    "make_outputs",
]

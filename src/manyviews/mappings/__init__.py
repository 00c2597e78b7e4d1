"""Mappings from the latent space to one view."""

from .base import Evidence, Mapping
from .collaborative import CollaborativeGP
from .collaborative_posterior import CollaborativePosterior
from .collaborative_rows import StackedRowEvidence
from .collapsed import CollapsedGP
from .correlated import CorrelatedGP, NoisePrior
from .exact import ExactGP
from .observations import Observations, make_observations
from .outputs import Outputs, PatternedOutputs, ScatteredOutputs, make_outputs
from .point_posterior import PointPosterior
from .posterior import GPPosterior
from .pruned import PrunedGP
from .sparse import SparseGP
from .stochastic import StochasticGP
from .stochastic_posterior import StochasticPosterior
from .stochastic_rows import NodeRows

Posterior = GPPosterior | CollaborativePosterior | StochasticPosterior
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
    "NodeRows",
    "NoisePrior",
    "Observations",
    "Outputs",
    "PatternedOutputs",
    "PointPosterior",
    "Posterior",
    "PrunedGP",
    "ScatteredOutputs",
    "SparseGP",
    "StackedRowEvidence",
    "StochasticGP",
    "StochasticPosterior",
    "make_observations",
    "make_outputs",
]

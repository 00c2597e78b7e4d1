"""Pictures of a fitted model: functions that take an axes and return it."""

from .animate import animate_sequence, animate_traversal
from .associations import association_map
from .candidates import candidates
from .density import predictive_density
from .features import top_features
from .fitting import bound_trace, signal_trace
from .latent import latent_map
from .overview import data_overview
from .paths import latent_paths
from .quality import calibration, predicted_against_true
from .relevance import relevance_bars, relevance_map
from .rivals import rival_errors
from .shapes import Picture, choose_picture
from .traversal import traversal

__all__ = [
    "Picture",
    "animate_sequence",
    "animate_traversal",
    "association_map",
    "bound_trace",
    "calibration",
    "candidates",
    "choose_picture",
    "data_overview",
    "latent_map",
    "latent_paths",
    "predicted_against_true",
    "relevance_bars",
    "relevance_map",
    "rival_errors",
    "signal_trace",
    "top_features",
    "traversal",
    "predictive_density",
]

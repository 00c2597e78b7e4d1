"""Pictures of a fitted model: functions that take an axes and return it."""

from .density import predictive_density
from .latent import latent_map
from .paths import latent_paths
from .relevance import relevance_bars, relevance_map
from .style import two_panels

__all__ = [
    "latent_map",
    "latent_paths",
    "predictive_density",
    "relevance_bars",
    "relevance_map",
    "two_panels",
]

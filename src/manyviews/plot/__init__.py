"""Pictures of a fitted model: functions that take an axes and return it."""

from .latent import latent_map
from .relevance import relevance_bars, relevance_map
from .style import two_panels

__all__ = ["latent_map", "relevance_bars", "relevance_map", "two_panels"]

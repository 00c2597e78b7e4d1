"""All models under one roof: whoever imports this can read the file of any of them."""

from . import composed, linear, mixtures, points, stacking, variational
from .io import load

__all__ = ["composed", "linear", "load", "mixtures", "points", "stacking", "variational"]

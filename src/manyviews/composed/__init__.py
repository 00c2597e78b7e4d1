"""Models made of other models: classifiers, and forecasts by iteration."""

from .autoregressive import AutoregressiveGP
from .generative_classifier import GenerativeClassifier
from .mrd_classifier import MRDClassifier

__all__ = ["AutoregressiveGP", "GenerativeClassifier", "MRDClassifier"]

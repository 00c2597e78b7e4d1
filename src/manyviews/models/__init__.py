"""Scikit-learn style estimators."""

from . import records
from .bayesian_gplvm import BayesianGPLVM
from .mrd import MRD
from .mrd_classifier import MRDClassifier

__all__ = ["MRD", "BayesianGPLVM", "MRDClassifier", "records"]

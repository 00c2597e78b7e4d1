"""Scikit-learn style estimators."""

from . import records
from .bayesian_gplvm import BayesianGPLVM
from .mrd import MRD

__all__ = ["MRD", "BayesianGPLVM", "records"]

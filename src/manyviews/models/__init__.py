"""Scikit-learn style estimators."""

from . import records
from .bayesian_gplvm import BayesianGPLVM

__all__ = ["BayesianGPLVM", "records"]

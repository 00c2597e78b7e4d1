"""Scikit-learn style estimators."""

from . import records
from .autoregressive import AutoregressiveGP
from .bayesian_gplvm import BayesianGPLVM
from .cgpds import CGPDS
from .generative_classifier import GenerativeClassifier
from .mcgpds import McGPDS
from .mrd import MRD
from .mrd_classifier import MRDClassifier
from .uncertain_gp import UncertainGPRegressor

__all__ = [
    "CGPDS",
    "MRD",
    "AutoregressiveGP",
    "BayesianGPLVM",
    "GenerativeClassifier",
    "MRDClassifier",
    "McGPDS",
    "UncertainGPRegressor",
    "records",
]

"""The linear end of the family: closed forms, EM and variational factor analysis."""

from .bayesian_pca import BayesianPCA
from .factor_analysis import FactorAnalysis
from .gfa import GroupFactorAnalysis, InterBatteryFactorAnalysis
from .pcca import ProbabilisticCCA
from .ppca import PPCA

__all__ = [
    "PPCA",
    "BayesianPCA",
    "FactorAnalysis",
    "GroupFactorAnalysis",
    "InterBatteryFactorAnalysis",
    "ProbabilisticCCA",
]

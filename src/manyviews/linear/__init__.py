"""Linear models of one table or several: closed forms, EM and variational factor analysis."""

from .bayesian_pca import BayesianPCA
from .cca import CCA
from .factor_analysis import FactorAnalysis
from .gfa import GroupFactorAnalysis, InterBatteryFactorAnalysis
from .information import feature_efficiency, gaussian_mutual_information
from .kernel_cca import KernelCCA
from .pcca import ProbabilisticCCA
from .ppca import PPCA

__all__ = [
    "CCA",
    "PPCA",
    "BayesianPCA",
    "FactorAnalysis",
    "GroupFactorAnalysis",
    "InterBatteryFactorAnalysis",
    "KernelCCA",
    "ProbabilisticCCA",
    "feature_efficiency",
    "gaussian_mutual_information",
]

"""Models whose latent positions are integrated out variationally."""

from .bayesian_gplvm import BayesianGPLVM
from .cgpds import CGPDS
from .mcgpds import McGPDS
from .mrd import MRD
from .uncertain_gp import UncertainGPRegressor

__all__ = ["CGPDS", "MRD", "BayesianGPLVM", "McGPDS", "UncertainGPRegressor"]

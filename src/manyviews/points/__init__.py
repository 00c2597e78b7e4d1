"""The MAP end of the family: latent points and Gaussian process mappings."""

from .gplvm import GPLVM
from .gplvm_cca import GPLVMCCA
from .shared_gplvm import SharedGPLVM
from .shared_private import SharedPrivateGPLVM
from .subspace_gplvm import SubspaceGPLVM

__all__ = [
    "GPLVM",
    "GPLVMCCA",
    "SharedGPLVM",
    "SharedPrivateGPLVM",
    "SubspaceGPLVM",
]

"""Mixtures of probabilistic PCA and CCA: by EM, and with a Dirichlet process prior."""

from .choosing import choose_n_clusters
from .dirichlet_pcca import DirichletPCCA
from .dirichlet_ppca import DirichletPPCA
from .joint import JointMixture
from .mixture_pcca import MixturePCCA
from .mixture_ppca import MixturePPCA

__all__ = [
    "DirichletPCCA",
    "DirichletPPCA",
    "JointMixture",
    "MixturePCCA",
    "MixturePPCA",
    "choose_n_clusters",
]

"""Mixtures of probabilistic CCA: by EM, and with a Dirichlet process prior."""

from .dirichlet_pcca import DirichletPCCA
from .joint import JointMixture
from .mixture_pcca import MixturePCCA, choose_n_clusters

__all__ = ["DirichletPCCA", "JointMixture", "MixturePCCA", "choose_n_clusters"]

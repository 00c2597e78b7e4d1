"""Mixtures of probabilistic CCA: by EM, and with a Dirichlet process prior."""

from .choice import choose_n_clusters
from .mixture_pcca import MixturePCCA

__all__ = ["MixturePCCA", "choose_n_clusters"]

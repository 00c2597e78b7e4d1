"""MRD as its papers have it: RBF kernels, one scale per view, answers from the latent space."""

from typing import Any

from manyviews import MRD


def paper_mrd(*args: Any, **options: Any) -> MRD:
    """An :class:`~manyviews.MRD` with the papers' choices where ``options`` make none."""
    own = {"kernel": "rbf", "scaling": "view", "residual_link": False, "signal_check": "off"}
    return MRD(*args, **{**own, **options})

"""What the chains say: whether they agree, and one clustering to stand for many."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from ..errors import OptionError

LARGEST_SIMILARITY = 5_000  # samples; beyond, pairs are compared on a subset of them


def as_inference_data(kept: dict[str, np.ndarray]) -> Any:
    """The traces after the burn-in as ArviZ's ``InferenceData``."""
    return _arviz().from_dict(kept)


def summary(kept: dict[str, np.ndarray]) -> pd.DataFrame:
    """Mean, spread, Monte Carlo error, effective sample sizes and R-hat of every trace."""
    return _arviz().summary(as_inference_data(kept), round_to="none")


def posterior_sizes(kept: dict[str, np.ndarray]) -> pd.Series:
    """The share of every number of clusters."""
    sizes, counts = np.unique(kept["n_clusters"].ravel(), return_counts=True)
    return pd.Series(counts / counts.sum(), index=sizes, name="probability")


def split_r_hat(chains: Float[np.ndarray, "C S"]) -> float:
    """Gelman and Rubin's ratio of every chain's halves; one where nothing moves at all."""
    half = chains.shape[1] // 2
    if half < 2:
        return float("nan")
    parts = np.concatenate([chains[:, :half], chains[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean()
    between = parts.mean(axis=1).var(ddof=1)
    return 1.0 if within + between == 0 else float(np.sqrt((half - 1) / half + between / within))


def similarity(assignments: Int[np.ndarray, "S N"]) -> Float[np.ndarray, "N N"]:
    """How often two samples share a component, over the kept states."""
    total = np.zeros((assignments.shape[1], assignments.shape[1]))
    for labels in assignments:
        total += labels[:, None] == labels[None, :]
    return total / len(assignments)


def representative(assignments: Int[np.ndarray, "S N"]) -> int:
    """The state whose partition is nearest to the similarities, in squares (Dahl 2006)."""
    stride = max(1, -(-assignments.shape[1] // LARGEST_SIMILARITY))
    few = assignments[:, ::stride]
    target = similarity(few)
    distances = [np.sum(((x[:, None] == x[None, :]) - target) ** 2) for x in few]
    return int(np.argmin(distances))


def _arviz() -> Any:
    try:
        import arviz
    except ImportError as missing:
        raise OptionError(
            'convergence statistics need ArviZ: pip install "manyviews[mixtures]"'
        ) from missing
    return arviz

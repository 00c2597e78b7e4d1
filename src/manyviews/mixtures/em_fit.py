"""What both mixtures by expectation-maximisation share: restarts, the best of them, the BIC."""

import time
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state

from ..errors import ConvergenceWarning, DataError
from ..inference.diagnostics import FitInfo
from .mixture_em import Solve, Step, fit_em, kmeans_labels, local_models
from .mixture_engine import MixtureEngine

SMALLEST_RIDGE = 1e-9


def fit_mixture(
    estimator: Any, tables: list[Float[np.ndarray, "N _"]], solve: Solve, step: Step
) -> Any:
    """Give an estimator the best of several runs from different k-means clusterings."""
    Y, began = np.concatenate(tables, axis=1), time.perf_counter()
    n_clusters = estimator.n_clusters
    if n_clusters > len(Y):
        raise DataError(f"n_clusters={n_clusters}, but there are {len(Y)} samples")
    rng = check_random_state(estimator.random_state)
    ridge = max(estimator.regularisation / len(Y), SMALLEST_RIDGE)
    results = []
    for _ in range(estimator.n_restarts if n_clusters > 1 else 1):
        start = local_models(Y, kmeans_labels(Y, n_clusters, rng), solve, ridge)
        results.append(
            fit_em(
                Y, start, step, max_iter=estimator.max_iter,
                regularisation=float(estimator.regularisation), tol=float(estimator.tol),
            )
        )  # fmt: skip
    objectives = [trace[-1] for _, trace, _ in results]
    found, trace, converged = results[int(np.argmax(objectives))]
    mixture = found.oriented()
    info = FitInfo.of_trace(trace, time.perf_counter() - began, converged, objectives)
    estimator._adopt(MixtureEngine(tuple(tables), mixture), info, trace[-1], len(trace) - 1)
    estimator.objective_ = trace[-1]
    estimator.labels_ = mixture.responsibilities(Y).argmax(axis=1)
    if not converged:
        warnings.warn(
            f"EM had not converged after {estimator.max_iter} iterations (last gain "
            f"{trace[-1] - trace[-2]:.2g}): raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return estimator


def information_criterion(estimator: Any, samples: Any) -> float:
    """Schwarz's: -2 log p + log N for every parameter."""
    scores = estimator.score_samples(samples)
    return float(-2.0 * scores.sum() + estimator.n_parameters() * np.log(len(scores)))

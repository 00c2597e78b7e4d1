"""How many clusters a mixture needs."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

from ..data import Views
from ..errors import OptionError
from .mixture_pcca import MixturePCCA
from .mixture_ppca import MixturePPCA

AnyMixture = TypeVar("AnyMixture", MixturePCCA, MixturePPCA)


def choose_n_clusters(
    model: AnyMixture,
    views: Any,
    candidates: Iterable[int],
    *,
    criterion: str = "held-out",
    n_folds: int = 5,
    random_state: int | None = 0,
) -> tuple[AnyMixture, pd.DataFrame]:
    """Fit the model with each number of clusters, and keep the best.

    Parameters
    ----------
    model : MixturePCCA or MixturePPCA
        The options; not changed.
    views : dict or list of tables, MuData object, or the table of a MixturePPCA
        The training samples.
    candidates : iterable of int
        Numbers of clusters to try.
    criterion : {"held-out", "bic"}, default="held-out"
        Mean log density of samples left out in turn (higher is better), or the Bayesian
        information criterion of all samples (lower is better).

    Returns
    -------
    model, table
        The best, fitted to all samples, and a row per candidate: training score, parameters,
        BIC, and (for ``"held-out"``) the held-out score with its standard error over folds.
    """
    if criterion not in {"held-out", "bic"}:
        raise OptionError(f"criterion must be 'held-out' or 'bic', got {criterion!r}")
    if isinstance(model, MixturePCCA):
        views = Views(views, align=model.align)
    folds = KFold(n_folds, shuffle=True, random_state=random_state)
    rows: dict[int, dict[str, float]] = {}
    fitted: dict[Any, AnyMixture] = {}
    for n_clusters in candidates:
        one = clone(model).set_params(n_clusters=n_clusters)
        fitted[n_clusters] = clone(one).fit(views)
        rows[n_clusters] = {
            "score": fitted[n_clusters].score(views),
            "n_parameters": fitted[n_clusters].n_parameters(),
            "bic": fitted[n_clusters].bic(views),
        }
        if criterion == "held-out":
            scores = cross_val_score(one, views, cv=folds, error_score="raise")
            rows[n_clusters]["held_out"] = np.mean(scores)
            rows[n_clusters]["held_out_error"] = np.std(scores, ddof=1) / np.sqrt(n_folds)
    if not rows:
        raise OptionError("there is no candidate to choose from")
    table = pd.DataFrame(rows).T.rename_axis("n_clusters")
    best = table["held_out"].idxmax() if criterion == "held-out" else table["bic"].idxmin()
    return fitted[best], table

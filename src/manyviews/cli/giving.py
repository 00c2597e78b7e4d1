"""Giving models of every kind what they take, and scoring them on samples set aside."""

from typing import Any

import numpy as np
import pandas as pd

from ..errors import OptionError
from .loading import Samples
from .models import MODELS


def as_data(samples: Samples, model: str) -> Any:
    """The views, or the table that a model of one table wants."""
    if MODELS[model].several_views:
        return samples.views
    if len(samples.views) > 1:
        raise OptionError(
            f"--model {model} takes one table, got {list(samples.views)}; --model mrd takes several"
        )
    return next(iter(samples.views.values()))


def fit_model(model: Any, name: str, samples: Samples) -> None:
    """Fit a model of any kind."""
    takes = MODELS[name].takes
    if takes in {"views", "table"}:
        model.fit(as_data(samples, name), **samples.when())
    elif takes == "classes":
        _refuse_times(name, samples)
        model.fit(as_data(samples, name), classes_of(samples, name).to_numpy())
    elif takes == "outputs":
        _refuse_times(name, samples)
        X, y = inputs_and_outputs(samples, name)
        model.fit(X, y)
    else:
        if samples.times is not None:
            raise OptionError(f"--model {name} takes rows in order at equal steps, and no --times")
        sequences = None if samples.sequences is None else samples.sequences.to_numpy()
        model.fit(as_data(samples, name), sequences=sequences)


def classes_of(samples: Samples, name: str) -> pd.Series:
    """The labels of a classifier."""
    if samples.labels is None or samples.labels.shape[1] != 1:
        raise OptionError(f"--model {name} needs --labels FILE:COLUMN, one column of classes")
    return samples.labels.iloc[:, 0]


def inputs_and_outputs(samples: Samples, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first table and the second, of which some rows may be missing."""
    if len(samples.views) != 2:
        raise OptionError(
            f"--model {name} takes two files, inputs and outputs, got {list(samples.views)}"
        )
    first, second = samples.views.values()
    return first, second


def scores_of(
    model: Any, name: str, aside: Samples, more: dict[str, pd.DataFrame]
) -> dict[str, float]:
    """How well classes or outputs of samples set aside are predicted; a table goes to ``more``."""
    if MODELS[name].takes == "classes":
        return _classified(model, name, aside, more)
    if MODELS[name].takes == "outputs":
        X, y = inputs_and_outputs(aside, name)
        mean = np.asarray(model.predict(X)).reshape(y.shape)
        more["held_out"] = pd.DataFrame(mean, aside.names, y.columns)
        error, spread = (np.nanmean((y - m) ** 2, axis=0) for m in (mean, y.mean()))
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"median R2": float(np.nanmedian(1.0 - error / spread))}
    return {}


def _classified(
    model: Any, name: str, aside: Samples, more: dict[str, pd.DataFrame]
) -> dict[str, float]:
    """Accuracy and log loss; the probabilities go to a table."""
    from sklearn.metrics import accuracy_score, log_loss

    truth = classes_of(aside, name)
    known = truth.notna().to_numpy()
    chances = model.predict_proba(as_data(aside, name))
    guess = model.classes_[chances.argmax(axis=1)]
    table = pd.DataFrame(chances, index=aside.names, columns=[str(c) for c in model.classes_])
    more["held_out"] = table.assign(predicted=guess, truth=truth.to_numpy())
    seen = truth[known].isin(model.classes_).to_numpy()
    scores = {"accuracy": float(accuracy_score(truth[known], guess[known]))}
    if seen.all() and len(model.classes_) > 1:
        scores["log loss"] = float(log_loss(truth[known], chances[known], labels=model.classes_))
    return scores


def _refuse_times(name: str, samples: Samples) -> None:
    if samples.when():
        raise OptionError(f"--model {name} takes no --times or --sequences")

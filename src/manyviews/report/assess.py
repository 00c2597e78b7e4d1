"""Predicting data held out, view by view, beside the simplest rival."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.linear_model import RidgeCV

from ..data import as_views, match_views
from ..likelihoods import Categorical
from ..plot.quality import coverage
from ..plot.subject import Subject

LEVEL = 0.9  # of the intervals whose coverage is reported
SAME = 1e-12  # of the squared scale: columns that vary less have no R²
PENALTIES = np.logspace(-2, 5, 15)


@dataclass(frozen=True)
class Assessment:
    """Predictions of what was held out of one view.

    Attributes
    ----------
    view, given : str
        What was predicted, and from what.
    truth, mean, std : ndarray of shape (n_samples, n_columns)
        In the units of the data; NaN in ``truth`` is not assessed.
    linear : ndarray of shape (n_samples, n_columns)
        Ridge regression's predictions from the same data, scaled as the model scales them, the
        penalty cross-validated, missing inputs at their means.
    centre, scale : ndarray
        Mean of the training columns, and the scale the model divides them by: one number where
        all columns have one unit (``scaling="view"``), one per column with ``"column"``.
    low, high, density : ndarray of shape (n_samples, n_columns), optional
        Of views that are not Gaussian: the ends of 90 % intervals (none of levels without an
        order), and the log density, or log probability, of every value.
    deviance : float, optional
        Of these views, the share of deviance that the predictions explain.
    """

    view: str
    given: str
    truth: Float[np.ndarray, "N D"]
    mean: Float[np.ndarray, "N D"]
    std: Float[np.ndarray, "N D"]
    linear: Float[np.ndarray, "N D"]
    centre: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]
    low: Float[np.ndarray, "N D"] | None = None
    high: Float[np.ndarray, "N D"] | None = None
    density: Float[np.ndarray, "N D"] | None = None
    deviance: float | None = None

    def covered(self) -> float:
        """Share of the true values inside 90 % intervals; NaN for levels without an order."""
        if self.low is None or self.high is None:
            gaussian = self.density is None
            return coverage(self.truth, self.mean, self.std, LEVEL) if gaussian else float("nan")
        known = ~np.isnan(self.truth) & ~np.isnan(self.low)
        return float(np.mean(((self.low <= self.truth) & (self.truth <= self.high))[known]))

    def densities(self) -> Float[np.ndarray, "N D"]:
        """Log density of every value: in units of the scale if Gaussian, else in its own."""
        if self.density is not None:
            return self.density
        deviation = (self.truth - self.mean) / self.std
        return -0.5 * deviation**2 - np.log(self.std / self.scale) - 0.5 * np.log(2 * np.pi)

    def error(self, prediction: Float[np.ndarray, "*N D"]) -> float:
        """Root mean square error in units of the scale."""
        return float(np.sqrt(np.nanmean(((self.truth - prediction) / self.scale) ** 2)))

    def squared_errors(self, prediction: Float[np.ndarray, "*N D"]) -> Float[np.ndarray, " n"]:
        """Mean square error of every sample with a value, in units of the scale."""
        known = ~np.isnan(self.truth).all(axis=1)
        return np.nanmean(((self.truth - prediction) / self.scale)[known] ** 2, axis=1)

    def explained_by_column(self, prediction: Float[np.ndarray, "*N D"]) -> Float[np.ndarray, " D"]:
        """R² of every column: 1 - Σ (y - prediction)² / Σ (y - mean of these y)².

        The mean is that of the samples held out, so that zero is as good as knowing their mean. NaN
        where a column does not vary among them.
        """
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value
            spread = np.nansum((self.truth - np.nanmean(self.truth, axis=0)) ** 2, axis=0)
            error = np.nansum((self.truth - prediction) ** 2, axis=0)
            return np.where(spread > SAME * self.scale**2, 1.0 - error / spread, np.nan)

    def explained(self, prediction: Float[np.ndarray, "*N D"]) -> float:
        """The median R² of the columns, which one outlier or one column cannot rule."""
        shares = self.explained_by_column(prediction)
        return float(np.nanmedian(shares)) if np.isfinite(shares).any() else float("nan")

    def summary(self) -> dict[str, Any]:
        """The row of a table."""
        return {
            "view": self.view,
            "predicted from": self.given,
            "error": self.error(self.mean),
            "error, mean": self.error(self.centre),
            "error, ridge": self.error(self.linear),
            "variance explained": self.explained(self.mean),
            "variance explained, ridge": self.explained(self.linear),
            **({} if self.deviance is None else {"deviance explained": self.deviance}),
            "coverage of 90 % intervals": self.covered(),
            "log density per value": float(np.nanmean(self.densities())),
        }


def assess(model: Any, held_out: Any, times: Any = None, sequences: Any = None) -> list[Assessment]:
    """Predict every view of held-out samples from all other views.

    In a single table one half of its columns, taken at random, is predicted from the other.
    """
    subject = Subject(model)
    when = {} if times is None and sequences is None else {"times": times, "sequences": sequences}
    if subject.single or len(subject.names) == 1:
        return _halves(subject, held_out, when)
    columns = {name: table.columns.tolist() for name, table in subject.tables.items()}
    beside = _beside(model)
    columns |= beside
    found = match_views(held_out, list(columns), list(columns.values()))
    frames = {
        name: pd.DataFrame(table, index=found.samples, columns=labels)
        for name, table, labels in zip(found.names, found.tables, found.columns, strict=True)
    }
    assessments = []
    for name in subject.names:
        truth = frames[name]
        others = [other for other in subject.names if other != name]
        informed = np.any([frames[o].notna().any(axis=1) for o in others], axis=0)
        wanted = informed & truth.notna().any(axis=1).to_numpy()
        if not wanted.any():
            continue
        known = {other: frames[other][wanted] for other in [*others, *beside]}
        stamps = {key: None if s is None else np.asarray(s)[wanted] for key, s in when.items()}
        mean, std = model.predict(known, name, return_std=True, **stamps)
        more = (
            {} if subject.gaussian(name) else _own_terms(model, known, name, truth[wanted], stamps)
        )
        compared = _compare(
            name,
            " and ".join(others) if len(others) < 4 else f"the {len(others)} other views",
            truth[wanted].to_numpy(),
            (np.asarray(mean), np.asarray(std)),
            np.hstack([subject.tables[o].to_numpy() / subject.scale(o) for o in others]),
            np.hstack([known[o].to_numpy() / subject.scale(o) for o in others]),
            subject.tables[name].to_numpy(),
            subject.scale(name),
        )
        assessments.append(replace(compared, **more))
    return assessments


def _beside(model: Any) -> dict[str, list[Any]]:
    """Tables that come with views (trials, exposures, events), and their columns."""
    kinds = [kind for kind in getattr(model, "likelihoods_", {}).values() if kind is not None]
    names = {kind.beside for kind in kinds if kind.beside is not None}
    given = zip(
        getattr(model, "given_names_", ()), getattr(model, "given_columns_", ()), strict=True
    )
    return {name: columns for name, columns in given if name in names}


def _own_terms(
    model: Any, known: Mapping[str, Any], name: str, truth: pd.DataFrame, stamps: Mapping[str, Any]
) -> dict[str, Any]:
    """Intervals that are quantiles, densities of values as they are, and their deviance."""
    rows = {**known, name: truth}
    density = model.predict_log_density(rows, name, **stamps)
    found = {
        "density": np.asarray(density),
        "deviance": model.deviance_explained(rows, name, **stamps),
    }
    if not isinstance(model.likelihoods_[name], Categorical):
        tails = (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)
        found["low"], found["high"] = model.predict_quantiles(known, name, tails, **stamps)
    return found


def _halves(subject: Subject, held_out: Any, when: Mapping[str, Any]) -> list[Assessment]:
    (name,) = subject.names
    training = subject.tables[name].to_numpy()
    rows = as_views(held_out).tables[0]
    half = np.random.default_rng(0).permutation(rows.shape[1]) < rows.shape[1] // 2
    if not half.any():
        return []
    assessments = []
    for number, hidden in enumerate((half, ~half), start=1):
        given = np.where(hidden, np.nan, rows)
        wanted = ~np.isnan(given).all(axis=1) & ~np.isnan(rows[:, hidden]).all(axis=1)
        stamps = {key: None if s is None else np.asarray(s)[wanted] for key, s in when.items()}
        labelled = pd.DataFrame(given[wanted], columns=subject.tables[name].columns)
        filled = labelled if hasattr(subject.model, "feature_names_in_") else labelled.to_numpy()
        asked = filled if subject.single else {name: filled}
        answer = subject.model.predict(asked, return_std=True, **stamps)
        mean, std = answer if subject.single else answer[name]
        assessments.append(
            _compare(
                f"half {number} of the columns" if subject.single else f"half {number} of {name}",
                "the other half",
                rows[wanted][:, hidden],
                (np.asarray(mean)[:, hidden], np.asarray(std)[:, hidden]),
                (training / subject.scale(name))[:, ~hidden],
                (rows[wanted] / subject.scale(name))[:, ~hidden],
                training[:, hidden],
                subject.scale(name)[hidden],
            )
        )
    return assessments


def _compare(
    view: str,
    given: str,
    truth: Float[np.ndarray, "n D"],
    predicted: tuple[Float[np.ndarray, "n D"], Float[np.ndarray, "n D"]],
    inputs: Float[np.ndarray, "N P"],
    new_inputs: Float[np.ndarray, "n P"],
    outputs: Float[np.ndarray, "N D"],
    scale: Float[np.ndarray, " D"],
) -> Assessment:
    centre = np.nanmean(outputs, axis=0)
    middle = np.nan_to_num(np.nanmean(inputs, axis=0))

    def filled(X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n P"]:
        return np.where(np.isnan(X), 0.0, X - middle)

    known = ~np.isnan(outputs).all(axis=1) & ~np.isnan(inputs).all(axis=1)
    Y = np.where(np.isnan(outputs), centre, outputs)[known]
    ridge = RidgeCV(alphas=PENALTIES).fit(filled(inputs)[known], Y)
    linear = ridge.predict(filled(new_inputs)).reshape(truth.shape)
    return Assessment(view, given, truth, *predicted, linear, centre, scale)

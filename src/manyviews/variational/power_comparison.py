"""How much of what the known views say should be believed, read off predictions of other views."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..errors import OptionError
from ..shells.naming import Names, listed

POWERS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02)
NORMAL_90 = 1.6448536269514722
ENOUGH_SAMPLES = 300

Tables = dict[str, pd.DataFrame]


def compare_powers(
    model: Any,
    known: Names,
    target: Names,
    powers: Sequence[float] = POWERS,
    folds: int = 0,
    **options: Any,
) -> pd.DataFrame:
    """Quality of cross-view predictions of training samples at several powers of the evidence.

    See `manyviews.MRD.compare_powers`.
    """
    if getattr(model, "when_", None) is not None:
        raise OptionError(
            "compare_powers takes samples to be independent; of time series hold out whole "
            "sequences and predict them at several values of evidence_power"
        )
    if set(listed(known)) & set(listed(target)):
        raise OptionError("a view cannot be known and wanted at once")
    check_is_fitted(model)
    for name in (*listed(known), *listed(target)):
        model._places(name)
    if folds == 1 or folds < 0:
        raise OptionError(f"folds must be 0 or at least 2, got {folds}")
    found: dict[float, list[np.ndarray]] = {power: [] for power in powers}
    for fitted, views in _held_out(model, folds):
        scales = {name: _scale(views[name]) for name in listed(target)}
        seen = {name: views[name] for name in listed(known)}
        asked = fitted.evidence_power
        try:
            for power in powers:
                fitted.set_params(evidence_power=power)
                answers = fitted.predict(seen, listed(target), return_std=True, **options)
                for name, (mean, std) in answers.items():
                    found[power].append(_scores(views[name], mean, std, scales[name]))
        finally:
            fitted.set_params(evidence_power=asked)
    rows = {power: np.concatenate(parts, axis=1) for power, parts in found.items()}
    table = {
        power: {"nlpd": r[0].mean(), "rmse": np.sqrt((r[1] ** 2).mean()), "coverage": r[2].mean()}
        for power, r in rows.items()
    }
    return pd.DataFrame(table).T.rename_axis("power")


def _held_out(model: Any, folds: int) -> Iterator[tuple[Any, Tables]]:
    """Models with samples to predict: the model itself, or one fitted to the rest of a fold."""
    views = model.training_data()
    n_samples = len(model.samples_)
    if not folds:
        rng = np.random.default_rng(0)
        some = np.sort(rng.permutation(n_samples)[:ENOUGH_SAMPLES])
        yield model, {name: table.iloc[some] for name, table in views.items()}
        return
    from sklearn.model_selection import KFold  # slow to import

    for kept, out in KFold(folds, shuffle=True, random_state=0).split(np.arange(n_samples)):
        fitted = clone(model).set_params(verbose=0, search__checkpoint=None)
        if isinstance(fitted.n_inducing, int):
            fitted.n_inducing = min(fitted.n_inducing, len(kept))
        fitted.fit({name: table.iloc[kept] for name, table in views.items()})
        yield fitted, {name: table.iloc[out] for name, table in views.items()}


def _scale(table: pd.DataFrame) -> np.ndarray:
    spread = np.nanstd(table.to_numpy(), axis=0)
    return np.where(spread > 0, spread, 1.0)


def _scores(truth: pd.DataFrame, mean: Any, std: Any, scale: np.ndarray) -> np.ndarray:
    """Negative log density, error (both in units of the column's std) and a hit or miss."""
    values = truth.to_numpy()
    error, spread = (np.asarray(mean) - values) / scale, np.asarray(std) / scale
    z = error / spread
    density = 0.5 * z**2 + np.log(spread) + 0.5 * np.log(2.0 * np.pi)
    observed = ~np.isnan(values)
    return np.stack([part[observed] for part in (density, error, np.abs(z) < NORMAL_90)])

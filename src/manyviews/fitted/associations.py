"""What latent dimensions have to do with things that are known of the samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from ..errors import DataError, OptionError

FEWEST = 4  # samples of which a variable must be known
MOST_LEVELS = 0.5  # levels of a category, as a share of the samples: beyond, it names samples


def associations(
    latent: Float[np.ndarray, "N Q"],
    metadata: Mapping[str, Any],
    method: str = "pearson",
) -> pd.DataFrame:
    """Correlations of latent dimensions with numbers and categories, with adjusted p-values.

    For numbers (and for categories of two levels, coded 0 and 1) Pearson's r, or Spearman's ρ with
    ``method="spearman"``; for categories of more levels the correlation ratio
    η = (between / total sum of squares)^½, with the p-value of a one-way analysis of variance.
    Dates are numbers. Text is a category, also where it looks like a number.
    p-values of all dimensions and variables are adjusted together by the procedure of
    [Benjamini & Hochberg 1995], which bounds the expected share of false discoveries.

    Returns
    -------
    DataFrame
        A row per variable and dimension: ``variable``, ``dimension``, ``kind`` ("number" or
        "category"), ``association``, ``n`` (samples with a value), ``p_value``,
        ``adjusted_p_value``. A variable that does not vary has NaN.
    """
    if method not in {"pearson", "spearman"}:
        raise OptionError(f"method must be 'pearson' or 'spearman', got {method!r}")
    rows = []
    for name, values in metadata.items():
        column = pd.Series(list(values))
        if len(column) != len(latent):
            raise DataError(
                f"metadata column {name!r} has {len(column)} values for {len(latent)} samples"
            )
        kind, codes = _coded(column)
        known = ~np.isnan(codes)
        for d in range(latent.shape[1]):
            found = _association(latent[known, d], codes[known], kind, method)
            rows.append((str(name), d, kind, found[0], int(known.sum()), found[1]))
    names = ["variable", "dimension", "kind", "association", "n", "p_value"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(adjusted_p_value=adjusted(table["p_value"].to_numpy(float)))


def adjusted(p_values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """p-values adjusted for the false discovery rate [Benjamini & Hochberg 1995]; NaN stays."""
    found = np.full(len(p_values), np.nan)
    known = np.isfinite(p_values)
    if known.any():
        found[known] = stats.false_discovery_control(p_values[known])
    return found


def _coded(column: pd.Series) -> tuple[str, Float[np.ndarray, " N"]]:
    """Whether a variable is a number or a category, and it as numbers; NaN is unknown."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        return "number", np.where(np.isfinite(values), values, np.nan)
    if pd.api.types.is_datetime64_any_dtype(column):
        passed = (column - column.min()).dt.total_seconds()
        return "number", passed.to_numpy(dtype=float, na_value=np.nan)
    codes = pd.Categorical(column).codes.astype(float)
    return "category", np.where(codes < 0, np.nan, codes)


def _association(
    x: Float[np.ndarray, " n"], codes: Float[np.ndarray, " n"], kind: str, method: str
) -> tuple[float, float]:
    levels = np.unique(codes)
    if len(x) < FEWEST or len(levels) < 2 or np.ptp(x) < 1e-12:
        return float("nan"), float("nan")
    if kind == "number" or len(levels) == 2:
        test = stats.spearmanr if method == "spearman" else stats.pearsonr
        found = test(x, codes)
        return float(found.statistic), float(found.pvalue)
    if len(levels) > MOST_LEVELS * len(x):
        return float("nan"), float("nan")
    ranks = stats.rankdata(x) if method == "spearman" else x
    groups = [ranks[codes == level] for level in levels]
    between = sum(len(g) * (g.mean() - ranks.mean()) ** 2 for g in groups)
    total = float(np.sum((ranks - ranks.mean()) ** 2))
    return float(np.sqrt(between / total)), float(stats.f_oneway(*groups).pvalue)


def aligned_metadata(given: Any, samples: Sequence[Any]) -> dict[str, Any]:
    """Columns of metadata, one value per sample, in the order of the samples."""
    if isinstance(given, pd.Series):
        given = given.to_frame(given.name or "label")
    if isinstance(given, pd.DataFrame):
        if set(samples) <= set(given.index):
            given = given.loc[list(samples)]
        elif len(given) != len(samples):
            absent = next(s for s in samples if s not in set(given.index))
            raise DataError(f"the metadata lack sample {absent!r}")
    columns = {str(name): given[name] for name in given}
    for name, values in columns.items():
        if len(values) != len(samples):
            raise DataError(
                f"metadata column {name!r} has {len(values)} values for {len(samples)} samples"
            )
    return columns

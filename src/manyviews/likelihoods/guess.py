"""What a table seems to hold, and why."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from .checks import seen_values

FEW_LEVELS = 10  # different whole numbers that may be levels
OVERDISPERSED = 1.2  # median ratio of variance to mean from which counts are not Poisson
HEAVY = 6.0  # excess kurtosis above that of many a skewed column
MOSTLY_ZERO = 0.15  # share of exact zeros from which amounts are zero or positive
OFTEN = 4  # times that levels beside other columns are seen, on average
RARE = 0.8  # share of zeros from which a column of zeros and ones may count rare things
MOST = 2000  # columns looked at


@dataclass(frozen=True)
class Guess:
    """A kind of data for a view, with the reason in words.

    Attributes
    ----------
    kind : str
        Name of a likelihood.
    reason : str
        What was seen in the table.
    advice : str
        What a user might do about it; empty if there is nothing to say.
    """

    kind: str
    reason: str
    advice: str = ""

    def __str__(self) -> str:
        said = f"{self.kind}: {self.reason}"
        return f"{said} ({self.advice})" if self.advice else said


def guess_kind(Y: Float[np.ndarray, "N D"]) -> Guess:
    """Take a table for counts, yes or no, ordered levels, amounts or real numbers.

    Whole columns are judged together: a gene of which only zeros and ones were read is still a
    column of counts among others.
    """
    columns = [seen_values(Y, d) for d in _some(Y.shape[1])]
    columns = [values for values in columns if values.size]
    if not columns:
        return Guess("gaussian", "there is no value to judge by")
    whole = [bool((values == np.round(values)).all()) for values in columns]
    sizes = [len(np.unique(values)) for values in columns]
    if all(whole):
        return _whole_numbers(columns, sizes)
    if any(whole):
        some = f"{sum(whole)} of {len(whole)} columns hold whole numbers only"
        plain = _real_numbers([c for c, w in zip(columns, whole, strict=True) if not w])
        advice = "if those are counts, levels or yes and no, make them a view of their own"
        return Guess(plain.kind, f"{plain.reason}; {some}", advice)
    return _real_numbers(columns)


def guess_columns(Y: Float[np.ndarray, "N D"]) -> list[tuple[Guess, list[int]]]:
    """The same for tables whose columns are of several kinds: every kind with its columns.

    Columns of few whole numbers beside others are yes or no, or levels, and those of many are
    taken for real numbers; where they look like the counts of rare things beside those of common
    ones, all are counts.
    """
    narrow = {d: kind for d in range(Y.shape[1]) if (kind := _narrow(seen_values(Y, d)))}
    wide = [d for d in range(Y.shape[1]) if d not in narrow]
    told = [d for d in wide if len(np.unique(seen_values(Y, d))) > 1]
    if not narrow or not told or _are_counts(Y, list(narrow), told):
        return [(guess_kind(Y), list(range(Y.shape[1])))]
    found = [(_real_numbers([seen_values(Y, d) for d in told]), wide)]
    whole = sum(bool((seen_values(Y, d) == np.round(seen_values(Y, d))).all()) for d in told)
    if whole:
        real = replace(
            found[0][0], reason=f"{found[0][0].reason}; {whole} of {len(told)} whole ones of many "
            "values", advice="name the kind of those that are counts",
        )  # fmt: skip
        found = [(real, wide)]
    if found[0][0].kind == "gaussian":  # columns of all sizes stand side by side
        found = [(replace(found[0][0], kind="gaussian_per_column"), wide)]
    for kind in ("bernoulli", "ordinal"):
        own = [d for d, each in narrow.items() if each == kind]
        if own:
            found.append((guess_kind(Y[:, own]), own))
    return found


def gaussian_doubts(Y: Float[np.ndarray, "N D"]) -> str:
    """Why a view that is told to be Gaussian may not be; empty if nothing speaks against it."""
    found = guess_kind(Y)
    if found.kind in {"bernoulli", "ordinal", "poisson", "negative_binomial"}:
        return f"{found.reason}: likelihood={found.kind!r} may describe it better"
    return ""


def _narrow(values: Float[np.ndarray, " n"]) -> str:
    """The kind of a column of few whole numbers, each seen several times; empty for others."""
    levels = np.unique(values)
    if not 2 <= len(levels) <= min(FEW_LEVELS, len(values) // OFTEN):
        return ""
    if (levels != np.round(levels)).any() or levels[-1] - levels[0] >= 2 * FEW_LEVELS:
        return ""
    return "bernoulli" if levels.tolist() == [0.0, 1.0] else "ordinal"


def _are_counts(Y: Float[np.ndarray, "N D"], narrow: list[int], wide: list[int]) -> bool:
    """Whether few and many whole numbers are counts of rare and of common things alike."""
    for d in wide:
        values = seen_values(Y, d)
        if values.min() < 0 or (values != np.round(values)).any():
            return False
    return bool(np.mean([_may_count(seen_values(Y, d)) for d in narrow]) > 0.5)


def _may_count(values: Float[np.ndarray, " n"]) -> bool:
    """Zeros, and most of them; or from zero to several, which are rare.

    A Poisson column that never reaches two in dozens of rows is nearly all zeros.
    """
    levels, counts = np.unique(values, return_counts=True)
    if levels[0] != 0.0:
        return False
    if len(levels) == 2:
        return bool(counts[0] > RARE * len(values))
    return bool(counts[0] > counts[1:].sum() or (len(levels) > 3 and counts[-1] < counts.max() / 2))


def _whole_numbers(columns: list[np.ndarray], sizes: list[int]) -> Guess:
    lowest = min(float(values.min()) for values in columns)
    highest = max(float(values.max()) for values in columns)
    if all(size <= 2 for size in sizes):
        if lowest >= 0.0 and highest <= 1.0:
            return Guess("bernoulli", "every value is 0 or 1")
        return Guess(
            "ordinal", f"columns of two values, from {lowest:g} to {highest:g}",
            "code them as 0 and 1 for likelihood='bernoulli'",
        )  # fmt: skip
    if all(size <= FEW_LEVELS for size in sizes) and highest - lowest < 2 * FEW_LEVELS:
        return Guess(
            "ordinal",
            f"whole numbers from {lowest:g} to {highest:g}, at most {max(sizes)} different ones "
            "per column",
            "use 'categorical' if the levels have no order, 'poisson' if they are counts",
        )
    if lowest < 0.0:
        return Guess("gaussian", f"whole numbers from {lowest:g} to {highest:g}, some negative")
    means = np.array([values.mean() for values in columns])
    ratios = np.array([values.var() for values in columns])[means > 0] / means[means > 0]
    ratio = float(np.median(ratios))
    span = f"whole numbers from {lowest:g} to {highest:g}"
    if ratio > OVERDISPERSED:
        return Guess(
            "negative_binomial",
            f"{span} whose variance is {ratio:.3g} times their mean (median of the columns)",
            "for sequencing reads, NegativeBinomial(exposure='total') takes out library sizes",
        )
    return Guess("poisson", f"{span} whose variance is about their mean ({ratio:.3g} times)")


def _real_numbers(columns: list[np.ndarray]) -> Guess:
    zeros = float(np.mean([np.mean(values == 0.0) for values in columns]))
    if zeros > MOSTLY_ZERO and all(values.min() >= 0.0 for values in columns):
        return Guess("hurdle", f"no value is negative and {zeros:.0%} are exactly zero")
    excess = float(np.median([_kurtosis(values) for values in columns]))
    if excess > HEAVY:
        return Guess(
            "gaussian", f"real numbers with heavy tails (median excess kurtosis {excess:.3g})",
            "likelihood='student_t' is not led by outliers; a logarithm may help, too",
        )  # fmt: skip
    return Guess("gaussian", "real numbers")


def _kurtosis(values: Float[np.ndarray, " n"]) -> float:
    centred = values - values.mean()
    power = float(np.mean(centred**2))
    return float(np.mean(centred**4)) / power**2 - 3.0 if power**2 > 0 else 0.0


def _some(n_columns: int) -> list[int]:
    return np.unique(np.linspace(0, n_columns - 1, min(n_columns, MOST)).astype(int)).tolist()

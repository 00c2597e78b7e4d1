"""Folds of samples: shuffled, whole groups, or stretches of one sequence."""

from typing import Any

import numpy as np
from jaxtyping import Int
from sklearn.model_selection import GroupKFold, KFold

from ..data import Views, as_groups
from ..data.times import aligned_to
from ..errors import DataError, OptionError


def fold_of_rows(
    views: Views, n_folds: Any, groups: Any = None, random_state: int = 0
) -> Int[np.ndarray, " N"]:
    """The number of every sample's fold.

    ``n_folds`` may be the folds themselves, one per sample. Otherwise samples of one group stay
    together, by default those that the views carry, and without any their sequences. A single
    sequence with time stamps is cut into stretches, in the order of time. All other samples are
    shuffled. There are fewer folds where there are fewer samples or groups.

    Examples
    --------
    >>> import numpy as np
    >>> from manyviews import Views
    >>> from manyviews.stacking import fold_of_rows
    >>> views = Views({"a": np.ones((6, 1)), "b": np.ones((6, 1))})
    >>> fold_of_rows(views, 3, groups=[1, 1, 2, 2, 3, 3], random_state=0).tolist()
    [2, 2, 1, 1, 0, 0]
    """
    n = len(views)
    if n < 2:
        raise DataError(f"folds need two samples or more, got {n}")
    if np.ndim(n_folds) > 0:
        return _given(views, n_folds)
    if n_folds < 2:
        raise OptionError(f"folds must be two or more, got {n_folds}")
    together = group_codes(views, groups)
    where = np.arange(n)
    if together is not None and together.max() == 0:
        if groups is not None or views.groups is not None:
            raise DataError("all samples are of one group, which cannot be held out")
        order = where if views.times is None else np.argsort(_first_input(views), kind="stable")
        fold = np.empty(n, dtype=int)
        fold[order] = where * min(n_folds, n) // n
        return fold
    if together is None:
        splitter: Any = KFold(min(n_folds, n), shuffle=True, random_state=random_state)
    else:
        most = min(n_folds, int(together.max()) + 1)
        splitter = GroupKFold(most, shuffle=True, random_state=random_state)
    fold = np.empty(n, dtype=int)
    for number, (_, out) in enumerate(splitter.split(where, groups=together)):
        fold[out] = number
    return fold


def _given(views: Views, folds: Any) -> Int[np.ndarray, " N"]:
    values = np.asarray(aligned_to(views.samples, folds, "folds"))
    if values.shape != (len(views),):
        raise DataError(f"there are {len(views)} samples but {values.size} folds")
    codes = np.unique(values, return_inverse=True)[1]
    if codes.max() == 0:
        raise DataError("all samples are of one fold, so that none is left to learn from")
    return codes


def group_codes(views: Views, groups: Any = None) -> Int[np.ndarray, " N"] | None:
    """The group of every sample as a number: as given, or its sequence; None without either."""
    for given in (groups, views.groups, views.sequences):
        if given is not None:
            return as_groups(given, views.samples)
    return None if views.times is None else np.zeros(len(views), dtype=int)


def _first_input(views: Views) -> np.ndarray:
    times = np.asarray(views.times)
    return times if times.ndim == 1 else times[:, 0]

"""Views whose samples do not meet."""

import numpy as np
import pandas as pd
import pytest

from manyviews import MRD
from manyviews.data import as_views, check_overlap
from manyviews.errors import DataError, OverlapWarning
from manyviews.linear import ProbabilisticCCA


def frame(names, columns="xyz"):
    rng = np.random.default_rng(len(names))
    return pd.DataFrame(rng.standard_normal((len(names), len(columns))), names, list(columns))


P = [f"P{i:03d}" for i in range(30)]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([f"Q{i:03d}" for i in range(30)], "matched by name"),
        ([name + " " for name in P], "30 names are the same but for spaces"),
        ([name.lower() for name in P], "30 names are the same but for upper and lower case"),
        ([f"p-{i}" for i in range(30)], "upper and lower case and hyphens.*and leading zeros"),
        (list(range(30)), "rows of 'B' are numbered"),
    ],
)
def test_views_without_a_common_sample_are_refused(names, reason):
    views = as_views({"A": frame(P), "B": frame(names)})
    with pytest.raises(DataError, match=f"'A' and 'B' have no sample in common.*{reason}") as found:
        check_overlap(views)
    assert "'P000', 'P001', 'P002', …" in str(found.value)
    with pytest.warns(OverlapWarning, match="no sample in common"):
        check_overlap(views, timed=True)


def test_names_of_two_types_and_a_transposed_table():
    numbers = frame(list(range(5, 35)))
    with pytest.raises(DataError, match="their type"):
        check_overlap(as_views({"A": numbers, "B": frame([str(i) for i in numbers.index])}))
    turned = frame(P).T
    with pytest.raises(DataError, match="transpose 'B'"):
        check_overlap(as_views({"A": frame(P), "B": turned}))


def test_two_pairs_that_do_not_meet():
    Q = [f"Q{i}" for i in range(30)]
    views = {"A": frame(P), "B": frame(Q), "C": frame(P[:20]), "D": frame(Q[5:])}
    with pytest.raises(DataError, match="'A' and 'B' have no sample in common"):
        check_overlap(as_views(views))
    views["D"] = frame([*Q[5:], *P[:3]])
    with pytest.warns(OverlapWarning, match="'A' has|'B' has|'D' has"):
        check_overlap(as_views(views | {"B": frame(Q[:8])}))


def test_little_overlap_is_a_warning_unless_one_view_is_small():
    other = P[:8] + [f"Q{i}" for i in range(22)]
    with pytest.warns(OverlapWarning, match="'A' has 8 of its 30 samples in common with 'B'"):
        check_overlap(as_views({"A": frame(P), "B": frame(other)}))
    check_overlap(as_views({"A": frame(P), "B": frame(P[:8])}))  # few, but all of them known


def test_fits_refuse_what_does_not_belong_together():
    A, B = frame(P), frame([f"Q{i}" for i in range(30)])
    for model in (MRD(), ProbabilisticCCA()):
        with pytest.raises(DataError, match="no sample in common"):
            model.fit({"A": A, "B": B})
        with pytest.raises(DataError, match="the second argument of fit is no view"):
            model.fit(A, B)
        with pytest.raises(DataError, match="the second argument of fit is no view"):
            model.fit([A, A], [B, B])

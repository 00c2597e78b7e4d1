"""Folds keep together what belongs together."""

import numpy as np
import pandas as pd
import pytest

from manyviews import Views
from manyviews.errors import DataError, OptionError
from manyviews.stacking import Question, fold_of_rows


def views(n=24, **when):
    return Views({"a": np.ones((n, 1)), "b": np.zeros((n, 1))}, **when)


def test_samples_are_shuffled_by_the_seed():
    first, again, other = (fold_of_rows(views(), 4, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(np.bincount(first), [6, 6, 6, 6])
    assert len(np.unique(fold_of_rows(views(3), 5))) == 3


def test_groups_and_sequences_stay_whole():
    groups = np.repeat(list("abcdef"), 4)
    sequences = views(times=np.arange(24.0), sequences=groups)
    for fold in (fold_of_rows(views(), 3, groups), fold_of_rows(sequences, 3)):
        assert len(np.unique(fold)) == 3
        for name in np.unique(groups):
            assert len(np.unique(fold[groups == name])) == 1
    assert fold_of_rows(views(), 10, groups).max() == 5
    named = pd.Series(groups[::-1], index=range(24)[::-1])
    assert len(fold_of_rows(views(), 3, named)) == 24


def test_one_sequence_is_cut_into_stretches():
    times = np.arange(24.0)[::-1]
    fold = fold_of_rows(views(times=times), 4)
    assert (np.diff(fold[np.argsort(times)]) >= 0).all()
    np.testing.assert_array_equal(np.bincount(fold), [6, 6, 6, 6])


def test_folds_may_be_given():
    given = np.repeat([3, 5], 12)
    np.testing.assert_array_equal(fold_of_rows(views(), given), given == 5)
    with pytest.raises(DataError, match="5 folds"):
        fold_of_rows(views(), [0, 1, 0, 1, 0])
    with pytest.raises(DataError, match="one fold"):
        fold_of_rows(views(), np.zeros(24))


def test_what_cannot_be_divided():
    with pytest.raises(DataError, match="one group"):
        fold_of_rows(views(), 3, np.zeros(24))
    with pytest.raises(DataError, match="2 groups"):
        fold_of_rows(views(), 3, [1, 2])
    with pytest.raises(OptionError, match="two or more"):
        fold_of_rows(views(), 1)


def test_questions_name_what_is_wrong():
    names = ("a", "b", "c")
    assert Question.of(names, "b") == Question(("a", "c"), "b")
    assert Question.of(names, "b", ("c", "b")) == Question(("c",), "b")
    with pytest.raises(OptionError, match="no view 'z'"):
        Question.of(names, "z")
    with pytest.raises(OptionError, match="no view 'y'"):
        Question.of(names, "a", ("y",))
    with pytest.raises(OptionError, match="no other view is known"):
        Question.of(names, "a", ("a",))


def test_a_row_counts_where_target_and_something_known_are_there():
    a, b = np.ones((4, 2)), np.ones((4, 2))
    a[0], b[1], b[2, 0] = np.nan, np.nan, np.nan
    rows = Question(("a",), "b").rows(Views({"a": a, "b": b}))
    np.testing.assert_array_equal(rows, [False, False, True, True])

from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from manyviews.data import as_views, as_when, match_views
from manyviews.errors import DataError, OptionError

A = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=["x", "y", "z"])
B = pd.DataFrame({"c": [7.0, 8.0]}, index=["z", "w"])


def test_union_keeps_every_sample():
    views = as_views({"A": A, "B": B})
    assert views.names == ("A", "B")
    assert views.samples == ["x", "y", "z", "w"]
    np.testing.assert_array_equal(views.tables[0][3], [np.nan, np.nan])
    np.testing.assert_array_equal(views.tables[1][:, 0], [np.nan, np.nan, 7.0, 8.0])
    assert views.columns == (["a", "b"], ["c"])
    assert views.labelled


def test_intersection_keeps_common_samples():
    views = as_views({"A": A, "B": B}, "intersection")
    assert views.samples == ["z"]
    np.testing.assert_array_equal(views.tables[0], [[3.0, 6.0]])
    with pytest.raises(DataError, match="do not overlap"):
        as_views({"A": A, "B": B.iloc[1:]}, "intersection")
    with pytest.raises(OptionError, match="align"):
        as_views({"A": A, "B": B}, "outer")


def test_lists_and_single_tables():
    assert as_views([np.ones((3, 2)), np.ones((3, 1))]).names == ("view1", "view2")
    assert as_views(np.ones((3, 2))).names == ("X",)
    assert as_views(sparse.csr_array(np.eye(3))).tables[0].sum() == 3.0


def test_arrays_take_the_row_names_of_frames_in_the_same_order():
    views = as_views({"A": A, "n": np.arange(3.0)[:, None]})
    np.testing.assert_array_equal(views.tables[1][:, 0], [0, 1, 2])
    with pytest.raises(DataError, match="'n' has no row names"):
        as_views({"A": A, "B": B, "n": np.ones((4, 1))})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "no view"),
        ({"A": None}, "is None"),
        ({"A": np.ones(3)}, r"reshape a single column"),
        ({"A": np.ones((3, 0))}, "'A' is empty"),
        ({"A": np.ones((3, 1)), "B": np.ones((4, 1))}, "equally many rows.*'A': 3, 'B': 4"),
        ({"A": pd.DataFrame({"p": ["u", "v"]})}, "column 'p' of view 'A' is not numeric"),
        ({"A": np.array([["u", "v"]])}, "'A' is not numeric"),
        ({"A": A.set_axis(["x", "x", "z"])}, "row 'x' of view 'A' appears more than once"),
        ({"A": A.set_axis(["a", "a"], axis=1)}, "column 'a' of view 'A' appears more than once"),
    ],
)
def test_bad_views_are_named(data, message):
    with pytest.raises(DataError, match=message):
        as_views(data)


def test_new_data_are_matched_by_name():
    names, columns = ("A", "B"), (["a", "b"], ["c"])
    views = match_views({"A": A[["b", "a"]]}, names, columns)
    np.testing.assert_array_equal(views.tables[0], A.to_numpy())
    assert np.isnan(views.tables[1]).all()
    assert views.tables[1].shape == (3, 1)
    by_none = match_views([None, B], names, columns)
    assert np.isnan(by_none.tables[0]).all()
    with pytest.raises(DataError, match="unknown view 'C'"):
        match_views({"C": A}, names, columns)
    with pytest.raises(DataError, match="lacks column 'b'"):
        match_views({"A": A[["a"]]}, names, columns)
    with pytest.raises(DataError, match="unknown column 'q'"):
        match_views({"A": A.assign(q=1.0)}, names, columns)
    with pytest.raises(DataError, match="has 3 columns, the model was fitted to 2"):
        match_views({"A": np.ones((2, 3))}, names, columns)
    with pytest.raises(DataError, match="dict by name"):
        match_views(np.ones((2, 2)), names, columns)


def test_mudata_by_its_interface():
    class Part:
        def __init__(self, frame):
            self.X = sparse.csr_matrix(frame.to_numpy())
            self.obs_names, self.var_names = frame.index, frame.columns

    class Container:
        mod = {"rna": Part(A), "adt": Part(B)}

    views = as_views(Container())
    assert views.names == ("rna", "adt")
    assert views.samples == ["x", "y", "z", "w"]


def test_one_view_per_column():
    split = as_views({"A": A, "B": B}).one_per_column()
    assert split.names == ("A.a", "A.b", "B.c")
    assert all(table.shape == (4, 1) for table in split.tables)
    assert as_views(A).one_per_column().names == ("a", "b")


@given(st.permutations(list("vwxyz")), st.permutations(list("xyz")))
def test_alignment_does_not_depend_on_row_order(first, second):
    left = pd.DataFrame({"l": [ord(s) for s in first]}, index=first)
    right = pd.DataFrame({"r": [-ord(s) for s in second]}, index=second)
    views = as_views({"left": left, "right": right})
    for sample, one, two in zip(views.samples, *(t[:, 0] for t in views.tables), strict=True):
        assert one == ord(sample)
        assert two == -ord(sample) if sample in second else np.isnan(two)


def test_masked_values_are_missing():
    table = np.ma.masked_greater(np.array([[1.0, 1e6], [2.0, 3.0]]), 10)
    np.testing.assert_array_equal(as_views({"a": table}).tables[0], [[1.0, np.nan], [2.0, 3.0]])
    whole = np.ma.masked_equal(np.array([[1, 7], [2, 3]]), 7)
    assert np.isnan(as_views([whole]).tables[0][0, 1])
    with pytest.raises(DataError, match="time stamp of row 1 is missing"):
        as_when(np.ma.masked_array([1.0, 2.0], [False, True]), None, [0, 1])


@pytest.mark.parametrize(
    ("views", "words"),
    [
        ({1: np.ones((3, 2)), "1": np.ones((3, 2))}, "two views have the name '1'"),
        ({"a": np.full((3, 1), "2020-01-01", "datetime64[D]")}, "holds dates"),
        ({"a": pd.DataFrame({"b": [1, 10**400]}, dtype=object)}, "column 'b'.*beyond 1e308"),
    ],
)
def test_names_and_kinds_that_would_be_lost_are_refused(views, words):
    with pytest.raises(DataError, match=words):
        as_views(views)


def test_times_go_by_label():
    given = pd.Series([3.0, 2.0, 1.0], index=[2, 1, 0])
    np.testing.assert_array_equal(as_when(given, None, [0, 1, 2]).inputs[:, 0], [1, 2, 3])
    with pytest.raises(DataError, match="lacks the sample 0: the tables have no row names"):
        as_when(pd.Series([1.0, 2.0], index=list("ab")), None, [0, 1])
    with pytest.raises(DataError, match="more than once"):
        as_when(pd.Series([1.0, 2.0, 3.0], index=list("aab")), None, ["a", "b"])


def test_dates_of_every_kind():
    zone = pd.date_range("2020-01-01", periods=2, tz="Europe/Berlin")
    for times in (zone, pd.Series(zone), zone.tolist()):
        found = as_when(times, None, [0, 1]).inputs[:, 0]
        np.testing.assert_array_equal(found, [1577833200, 1577919600])
    days = as_when([date(1970, 1, 1), date(1970, 1, 2)], None, [0, 1]).inputs[:, 0]
    np.testing.assert_array_equal(days, [0, 86400])
    far = as_when(np.array(["0001-01-01", "9999-12-31"], "datetime64[D]"), None, [0, 1])
    assert far.inputs[1, 0] - far.inputs[0, 0] == pytest.approx(3652058 * 86400)
    with pytest.raises(DataError, match="290,000 years"):
        as_when(np.array([2020, 400_000], "datetime64[Y]"), None, [0, 1])
    with pytest.raises(DataError, match="290,000 years"):
        as_when(np.full(2, np.datetime64(10**12, "D")), None, [0, 1])
    both = as_when(pd.DataFrame({"a": zone, "b": zone}), None, [0, 1]).inputs
    np.testing.assert_array_equal(both, [[1577833200] * 2, [1577919600] * 2])
    with pytest.raises(DataError, match="row 1 is missing"):
        as_when([date(2020, 1, 1), None], None, [0, 1])
    for wrong in ([1j, 2j], ["soon", "later"]):
        with pytest.raises(DataError, match="numbers or dates"):
            as_when(wrong, None, [0, 1])
    with pytest.raises(DataError, match="all texts or all numbers"):
        as_when(None, [1, "1"], [0, 1])


def test_iso_texts_are_dates():
    texts = ["2020-01-01", "2020-01-02", "2020-01-04T12:00"]
    seconds = as_when(pd.to_datetime(texts, format="ISO8601"), None, [0, 1, 2]).inputs
    for times in (texts, np.array(texts), pd.Series(texts)):
        np.testing.assert_array_equal(as_when(times, None, [0, 1, 2]).inputs, seconds)
    with pytest.raises(DataError, match="times must be numbers or dates"):
        as_when(["monday", "tuesday"], None, [0, 1])

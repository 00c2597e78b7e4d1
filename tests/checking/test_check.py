"""The look before a fit, at tables with known defects."""

import json

import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews.checking.columns import column_figures, sentinel_in
from manyviews.errors import DataError

N = 60
NAMES = [f"s{i}" for i in range(N)]


def clean(seed=0, columns="abcd"):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.standard_normal((N, len(columns))), NAMES, list(columns))


def said(found, view=None):
    concerns = [c for c in found.concerns if view in (None, c.view)]
    return " | ".join(f"{c.severity}: {c.what}" for c in concerns)


def test_clean_tables_give_no_concern():
    found = manyviews.check({"one": clean(), "two": clean(1, "xy")})
    assert found.concerns == []
    assert found.samples == N
    assert found.table["columns"].to_dict() == {"one": 4, "two": 2}
    assert found.table["kind"].tolist() == ["gaussian", "gaussian"]
    assert (found.overlap == N).all(axis=None)
    assert "nothing to warn of" in str(found)


def test_figures_are_those_of_numpy():
    table = clean()
    table.iloc[3:9, 1] = np.nan
    row = manyviews.check(table).columns.loc[("X", "b")]
    values = table["b"].dropna()
    assert row["missing"] == pytest.approx(6 / N)
    assert row["median"] == values.median()
    assert row["std"] == pytest.approx(values.std(ddof=0))
    assert row["distinct"] == len(values)


DEFECTS = {
    "sentinel": (lambda t: t.assign(a=t["a"].where(t.index != "s3", -999)), "warning", "-999 in"),
    "nines": (lambda t: t.assign(a=t["a"].where(t.index != "s3", 9999)), "warning", "9999 in"),
    "outlier": (lambda t: t.assign(a=t["a"].where(t.index != "s3", 71.3)), "warning", "lies more"),
    "id": (lambda t: t.assign(patient=np.arange(N) * 7 % N), "warning", "'patient' holds a diff"),
    "row": (lambda t: t.assign(k=np.arange(N)), "warning", "'k' numbers the rows"),
    "constant": (lambda t: t.assign(k=1.0), "note", "'k' holds one and the same"),
    "twice": (lambda t: t.assign(k=t["a"]), "note", "'k' holds the same values"),
    "wide": (lambda t: t.assign(a=1e4 * t["a"]), "warning", "'a' varies"),
    "flag": (lambda t: t.assign(k=np.arange(N) % 2), "note", "two different values"),
    "missing": (lambda t: t.mask(t > 1.5), "note", "of the values are missing"),
    "infinite": (lambda t: t.assign(a=t["a"].where(t.index != "s3", np.inf)), "error", "infinite"),
    "empty": (lambda t: t.assign(k=np.nan), "error", "no value at all"),
    "rows": (lambda t: pd.concat([t.iloc[:-9], t.iloc[:9].set_axis(NAMES[-9:])]), "warning",
             "9 rows repeat"),
    "words": (lambda t: t.assign(k="x"), "error", "not numeric"),
    "names": (lambda t: t.set_axis([*NAMES[:-1], "s0"]), "error", "'s0' .* more than once"),
    "category": (lambda t: t.assign(k=pd.Categorical(["u", "v", "w"] * 20)), "note", "categories"),
    "counts": (lambda t: (9 + 3 * t).round().clip(0), "note", "poisson data"),
}  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_seen(defect):
    spoil, severity, words = DEFECTS[defect]
    found = manyviews.check({"one": spoil(clean()), "two": clean(1, "xy")})
    assert any(
        c.severity == severity and pd.Series(c.what).str.contains(words)[0] and c.done
        for c in found.concerns
    ), said(found)
    assert not [c for c in found.concerns if c.view == "two" and c.severity != "note"]
    assert [c.severity for c in found.concerns] == sorted(
        (c.severity for c in found.concerns), key=("error", "warning", "note").index
    )


def test_sentinels_are_told_from_ordinary_values():
    ages = np.arange(18.0, 100.0)
    assert np.isnan(sentinel_in(ages))  # 99 years is an age
    assert sentinel_in(np.append(ages, -9)) == -9
    assert sentinel_in(np.append(ages, 999)) == 999
    assert np.isnan(sentinel_in(np.linspace(-2000, 2000, 101)))
    figures = column_figures(np.array([[1.0], [2.0], [np.nan]]), ["x"])
    assert figures.loc["x", "distinct"] == 2


def test_samples_that_do_not_meet():
    other = clean(1).set_axis([name.upper() + " " for name in NAMES])
    found = manyviews.check({"one": clean(), "two": other})
    (error,) = found.errors
    assert "no sample in common" in error.what
    assert "upper and lower case" in error.what
    assert error.view is None
    assert manyviews.check({"one": clean(), "two": other}, timed=True).errors == []
    part = manyviews.check({"one": clean(), "two": clean(1).iloc[5:]})
    assert "note: It is missing for 5 of 60 samples" in said(part, "two")
    assert part.overlap.loc["one", "two"] == N - 5
    numbered = manyviews.check(
        [clean().reset_index(drop=True), clean().iloc[:40].reset_index(drop=True)]
    )
    assert "numbered, not named" in said(numbered)


def test_arrays_and_single_tables():
    found = manyviews.check(clean().to_numpy())
    assert found.table.index.tolist() == ["X"]
    mixed = manyviews.check({"one": clean(), "two": np.ones((N, 1)) * np.arange(N)[:, None] ** 0.5})
    assert mixed.errors == []
    assert manyviews.check([np.eye(3), np.eye(4)]).errors
    with pytest.raises(DataError, match="no view"):
        manyviews.check({})


def test_the_record_can_be_shown_and_written():
    spoilt = clean().rename(columns={"a": "<b>"})
    spoilt.iloc[3, 0] = -999
    found = manyviews.check({"one": spoilt, "two": clean(1)})
    page = found._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>'" not in page
    again = json.loads(json.dumps(found.to_dict()))
    assert again["views"]["one"]["samples"] == N
    assert again["concerns"][0]["severity"] == "warning"
    assert "looks like a mark" in str(found)
    assert found.with_concerns([]).concerns == found.concerns

"""A comparison: the table against sums written out, going on where it stopped, the command."""

import json

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from manyviews import Views, compare
from manyviews.cli import main
from manyviews.errors import DataError, OptionError
from manyviews.linear import ProbabilisticCCA
from manyviews.stacking import ViewRegressor, comparing

mpl.use("Agg")
QUICK = ["mean", "ridge", "knn"]


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    b = np.tanh(2 * x) @ rng.normal(size=(2, 3)) + 0.2 * rng.normal(size=(60, 3))
    b[:4, 1] = np.nan
    return {"a": x @ rng.normal(size=(2, 4)) + 0.1 * rng.normal(size=(60, 4)), "b": b}


def test_errors_are_those_of_folds_written_out(views):
    plain = ViewRegressor(Ridge(1.0), marks=False, heteroscedastic=False)
    fold = np.empty(60, dtype=int)
    squares, count = 0.0, 0
    for number, (kept, out) in enumerate(KFold(4, shuffle=True, random_state=3).split(fold)):
        fold[out] = number
        X, Y = views["a"], views["b"]
        x = (X - X[kept].mean(axis=0)) / X[kept].std(axis=0)
        scale = np.nanstd(Y[kept], axis=0)
        for d in range(3):
            own = kept[~np.isnan(Y[kept, d])]
            y = (Y[:, d] - Y[own, d].mean()) / scale[d]
            error = Ridge(1.0).fit(x[own], y[own]).predict(x[out]) - y[out]
            squares += np.nansum(error**2)
            count += np.sum(~np.isnan(error))
    found = compare(views, {"ridge": plain}, targets="b", folds=fold).table
    assert found.loc[0, "error"] == pytest.approx(np.sqrt(squares / count), rel=1e-6)


def test_table_sentence_picture_and_json(views):
    found = compare(views, ["mean", "ridge", "gp"], random_state=0)
    table = found.table.set_index(["view", "method"])
    assert list(table.index) == [(v, m) for v in "ab" for m in ("mean", "ridge", "gp")]
    assert table.loc[("b", "ridge"), "error_difference"] == 0.0
    own, other = (
        found.folds.query("view == 'b' and method == @name").set_index("fold")["log_density"]
        for name in ("gp", "ridge")
    )
    apart = own - other
    assert table.loc[("b", "gp"), "log_density_difference"] == pytest.approx(apart.mean())
    assert table.loc[("b", "gp"), "log_density_difference_se"] == pytest.approx(apart.sem())
    assert table["coverage"].between(0.8, 1.0).all()
    assert found.sentence.startswith("Use gp: its log density per value is 0.")
    content = json.loads(found.to_json())
    assert content["reference"] == "ridge"
    assert len(content["table"]) == 6
    assert len(content["folds"]) == 30
    for measure in ("log_density", "error"):
        ax = found.plot(measure=measure)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["mean", "ridge", "gp"]
        mpl.pyplot.close(ax.figure)
    with pytest.raises(OptionError, match="measure must be one of"):
        found.plot(measure="speed")


def test_the_sentence_prefers_the_simple_among_equals():
    rng = np.random.default_rng(0)
    nothing = {"a": rng.normal(size=(50, 3)), "b": rng.normal(size=(50, 2))}
    found = compare(nothing, QUICK, targets="b")
    assert "Use the mean of every column" in found.sentence
    x = rng.normal(size=(80, 3))
    line = {"a": x, "b": x @ rng.normal(size=(3, 2)) + 0.5 * rng.normal(size=(80, 2))}
    twice = {"ridge": "ridge", "again": ViewRegressor("ridge", folds=20), "mean": "mean"}
    found = compare(line, twice, targets="b")
    assert found.sentence.startswith("Use ridge: no method is better")
    found = compare(line, {**twice, "knn": "knn"}, targets="b", reference="knn")
    assert found.sentence.startswith(("Use ridge: its log density", "Use again: its log density"))
    assert "higher than knn's" in found.sentence


def test_a_second_call_fits_nothing(views, tmp_path, monkeypatch):
    first = compare(views, QUICK, cache=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 15
    next(tmp_path.glob("knn-2-*.json")).unlink()
    next(tmp_path.glob("ridge-0-*.json")).write_text("{half")
    fitted = []
    real = comparing.fit_one
    monkeypatch.setattr(comparing, "fit_one", lambda *a: fitted.append((a[0], a[4])) or real(*a))
    again = compare(views, QUICK, cache=tmp_path)
    assert sorted(fitted) == [("knn", 2), ("ridge", 0)]
    columns = ["error", "log_density", "coverage"]
    pd.testing.assert_frame_equal(first.table[columns], again.table[columns])
    fitted.clear()
    compare(views, QUICK, cache=tmp_path)
    assert fitted == []
    changed = {**views, "a": views["a"] + 1.0}
    compare(changed, ["ridge"], cache=tmp_path)
    compare(views, {"ridge": ViewRegressor("ridge", folds=3)}, cache=tmp_path)
    compare(views, ["ridge"], cache=tmp_path, folds=4)
    assert len(fitted) == 5 + 5 + 4


def test_a_method_that_fails_is_said_and_left_out(views):
    found = compare(views, {"ridge": "ridge", "pcca": ProbabilisticCCA(9)}, targets="b")
    assert list(found.failures) == ["pcca"]
    assert "n_components=9" in found.notes[0]
    assert "(pcca failed)" in found.sentence
    assert list(found.table["method"]) == ["ridge"]


def test_without_ridge_the_first_method_is_the_reference(views):
    found = compare(views, ["knn", "mean"], targets="b")
    assert found.reference == "knn"
    assert (found.table.set_index("method").loc["knn", "error_difference"] == 0.0).all()
    assert str(found).endswith(found.sentence)
    assert " knn " in str(found)


def test_the_sentence_has_a_reason_where_the_reference_failed(views):
    methods = {"pcca": ProbabilisticCCA(9), "mean": "mean", "knn": "knn"}
    found = compare(views, methods, targets="b", reference="pcca")
    assert found.sentence == "Use knn: its log density is the highest (pcca failed)."


def test_a_stack_is_one_of_the_methods(views):
    stack = {"stack": comparing.Stack(["mean", "ridge"], targets="b", folds=2), "ridge": "ridge"}
    found = compare(views, stack, targets="b", folds=2, n_jobs=2, verbose=1)
    assert set(found.table["method"]) == {"stack", "ridge"}
    assert np.isfinite(found.table["log_density"]).all()
    usual = comparing._methods(None, Views(views), [])
    assert list(usual) == [
        "mean", "ridge", "pls", "knn", "gp", "forest", "gfa", "pcca", "mrd", "stack",
    ]  # fmt: skip


def test_bad_input_is_named(views):
    with pytest.raises(OptionError, match="reference='ridge' is none of the methods"):
        compare(views, ["mean"], reference="ridge")
    with pytest.raises(DataError, match="two views or more"):
        compare({"a": views["a"]})
    with pytest.raises(OptionError, match="no view 'z'"):
        compare(views, QUICK, targets="z")


def test_the_command(views, tmp_path, capsys):
    names = [f"s{i}" for i in range(60)]
    for name, table in views.items():
        pd.DataFrame(table, names).add_prefix("c").to_csv(tmp_path / f"{name}.csv")
    pd.DataFrame({"g": np.arange(60) // 3}, names).to_csv(tmp_path / "groups.csv")
    sources = [str(tmp_path / f"{name}.csv") for name in "ab"]
    chosen = ["--model", "mean", "--model", "ridge", "--target", "b", "-o", str(tmp_path / "out")]
    groups = ["--groups", f"{tmp_path / 'groups.csv'}:g"]
    assert main(["compare", *sources, *chosen, *groups]) == 0
    shown = capsys.readouterr().out
    assert "vs ridge" in shown
    assert "Use ridge" in shown
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "cells", "comparison.csv", "comparison.json", "comparison.png",
    }  # fmt: skip
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "out" / "cells").iterdir()}
    assert len(before) == 10
    assert main(["compare", *sources, *chosen, *groups, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["sentence"].startswith("Use ridge")
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "out" / "cells").iterdir()}
    assert main(["compare", *sources, "--folds", "1", "-o", str(tmp_path / "out")]) == 2
    assert main(["compare", *sources, "--model", "rigde", "-o", str(tmp_path / "out")]) == 2
    assert main(["compare", sources[0], "-o", str(tmp_path / "out")]) == 3

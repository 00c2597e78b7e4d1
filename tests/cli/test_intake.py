"""The command on files as people have them: looked at, read, refused, never overwritten."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews import linear, points
from manyviews.cli import main
from manyviews.cli import run as run_command
from manyviews.cli.loading import (
    Samples,
    categorical_of,
    hold_out,
    load_samples,
    reading_of,
)
from manyviews.cli.models import MODELS, make_model, model_name
from manyviews.cli.settings import RunOptions
from manyviews.errors import OptionError

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
N = 60


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two tables of one hidden signal: semicolons and commas, words, an identifier, a date."""
    folder = tmp_path_factory.mktemp("messy")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 1))
    index = pd.Index(range(100, 100 + N), name="patient")
    a = pd.DataFrame(x @ rng.standard_normal((1, 3)), index, list("pqr"))
    a += 0.1 * rng.standard_normal(a.shape)
    b = pd.DataFrame(x @ rng.standard_normal((1, 2)), index, list("uv"))
    b += 0.1 * rng.standard_normal(b.shape)
    b["sex"] = np.where(rng.random(N) < 0.5, "f", "m")
    b["day"] = pd.date_range("2021-03-01", periods=N).strftime("%Y-%m-%d")
    b["group"] = np.where(x[:, 0] > 0, "high", "low")
    a.to_csv(folder / "a.csv", sep=";", decimal=",")
    b.to_csv(folder / "b.csv")
    return folder


@pytest.fixture(scope="module")
def run(files):
    """A linear model of both, which takes no time to fit."""
    out = files / "run"
    arguments = ["fit", str(files / "a.csv"), str(files / "b.csv"), "-o", str(out), "--no-report"]
    labels = ["--labels", f"{files / 'b.csv'}:group"]
    assert main([*arguments, *labels, "--model", "gfa", "--components", "2", "-q"]) == 0
    return out


def test_check_says_what_will_be_done(files, capsys):
    sources = [str(files / "a.csv"), str(files / "b.csv")]
    assert main(["check", *sources, "--times", f"{files / 'b.csv'}:day"]) == 0
    shown = capsys.readouterr().out
    for words in ("decimal commas", "'patient'", "'sex=f'", "in common: a and b 60"):
        assert words in shown
    assert main(["check", *sources, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["samples"] == N
    assert found["views"]["b"]["categories"] == 2
    assert {c["severity"] for c in found["concerns"]} == {"warning", "note"}
    assert any("dates" in c["what"] for c in found["concerns"])


def test_check_of_what_a_fit_refuses(files, tmp_path, capsys):
    pd.read_csv(files / "b.csv").assign(patient=range(N)).to_csv(tmp_path / "c.csv", index=False)
    sources = [str(files / "a.csv"), str(tmp_path / "c.csv")]
    assert main(["check", *sources]) == 3
    assert "no sample in common" in capsys.readouterr().out
    assert main(["fit", *sources, "-o", str(tmp_path / "run")]) == 3
    said = capsys.readouterr().err
    assert "'a' has 100, 101, 102, …" in said
    assert "Traceback" not in said


def test_nothing_is_held_out_that_nobody_looks_at(run, files):
    record = json.loads((run / "run.json").read_text())
    assert (record["samples"], record["held_out_samples"]) == (N, 0)
    assert record["check"]["views"]["a"]["columns"] == 3
    model = manyviews.load(run / "model.safetensors")
    assert model.columns_ == (["p", "q", "r"], ["u", "v", "sex=f", "sex=m"])  # no labels, no dates
    assert model.samples_[0] == 100


def test_new_rows_are_read_as_the_training_data_were(run, files, tmp_path, capsys):
    new = pd.read_csv(files / "b.csv").iloc[:3].assign(sex="f", group=2.5)  # of two; no data
    new.to_csv(tmp_path / "b.csv", index=False)
    arguments = ["predict", str(run), str(tmp_path / "b.csv"), "-o", str(tmp_path / "out"), "-q"]
    assert main(arguments) == 0
    found = pd.read_csv(tmp_path / "out" / "a.csv", index_col=0)
    assert found.shape == (3, 3)
    assert found.index.tolist() == [100, 101, 102]
    assert main(arguments) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0
    new.assign(sex="d").to_csv(tmp_path / "b.csv", index=False)
    assert main([*arguments, "--force"]) == 3
    assert "levels of the training data are f, m" in capsys.readouterr().err


def test_a_file_that_names_no_view_of_the_model_is_named(run, files, tmp_path, capsys):
    pd.read_csv(files / "b.csv").to_csv(tmp_path / "new_b.csv", index=False)
    arguments = ["predict", str(run), str(tmp_path / "new_b.csv"), "-o", str(tmp_path / "out")]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "the model has a, b" in said
    assert f"a={tmp_path / 'new_b.csv'}" in said
    assert main(["check", str(files / "a.csv"), "--decimal", ";"]) == 2
    assert "--decimal must be . or ," in capsys.readouterr().err


def test_impute_says_who_is_not_among_the_training_data(files, tmp_path, capsys):
    out = tmp_path / "run"
    sources = [str(files / "a.csv"), str(files / "b.csv"), "--model", "gfa", "--hold-out", "0.2"]
    assert main(["fit", *sources, "-o", str(out), "--no-report", "--components", "2"]) == 0
    assert "a and b 60" in capsys.readouterr().err  # the look at the top of the fit
    assert pd.read_csv(out / "tables" / "held_out.csv").shape[0] == 2  # assessed without a report
    assert main(["impute", str(out), "-o", str(tmp_path / "filled")]) == 0
    assert "the 12 samples held out" in capsys.readouterr().err


def test_a_rare_view_is_not_emptied():
    rng = np.random.default_rng(0)
    common = pd.DataFrame(rng.standard_normal((200, 2)))
    rare = common.where(common.index.to_series() < 8)
    other = common.where(common.index.to_series() >= 8)
    samples = Samples({"common": common, "rare": rare, "other": other})
    kept, aside = hold_out(samples, 0.25, 0)
    assert len(aside.names) == 50
    assert aside.views["rare"].notna().all(axis=1).sum() == 2
    assert kept.views["rare"].notna().all(axis=1).sum() == 6


def test_index_by_file(files, tmp_path):
    pd.DataFrame({"who": [f"s{i}" for i in range(4)], "id": range(4), "x": [1.0, 2, 4, 3]}).to_csv(
        tmp_path / "x.csv", index=False
    )
    samples = load_samples(RunOptions(views=[str(tmp_path / "x.csv")], indexes={"x": "id"}))
    assert samples.names.tolist() == [0, 1, 2, 3]
    run = RunOptions(views=["x.csv"], indexes={"x": "id"}, na_values=["?"], decimal=",")
    run.write(tmp_path / "options.toml")
    again = RunOptions.read(tmp_path / "options.toml")
    assert (again.indexes, again.na_values, again.decimal) == ({"x": "id"}, ["?"], ",")
    assert reading_of(again).index_of("x") == "id"


def test_every_model_of_the_library_has_a_name():
    public = {
        getattr(module, name)
        for module in (manyviews, linear, points)
        for name in module.__all__
        if hasattr(getattr(module, name), "fit") and isinstance(getattr(module, name), type)
    }
    made = {type(make_model(name, {}, 0, verbose=0)) for name in MODELS}
    assert made == public
    assert model_name("BayesianGPLVM") == "gplvm"
    assert model_name("kernel_cca") == "kernel-cca"
    with pytest.raises(OptionError, match="unknown model 'magic'; known are mrd"):
        model_name("magic")


@pytest.mark.parametrize("name", ["mixture", "bayesian-pca", "stack"])
def test_other_models_run(name, files, tmp_path):
    sources = [str(files / "a.csv"), str(files / "b.csv")][: 1 if "pca" in name else 2]
    options = {"mixture": ["--set", "n_clusters=2"], "stack": ["--set", 'models=["mean","ridge"]']}
    out = ["-o", str(tmp_path / "run"), "--no-report", "-q", *options.get(name, [])]
    assert main(["fit", *sources, "--model", name, *out]) == 0
    if len(sources) == 2:
        arguments = ["-o", str(tmp_path / "out"), "-q"]
        assert main(["predict", str(tmp_path / "run"), sources[0], *arguments]) == 0
        assert pd.read_csv(tmp_path / "out" / "b_std.csv", index_col=0).shape == (N, 6)


def test_a_series_goes_on(tmp_path, capsys):
    t = np.arange(40)
    series = pd.DataFrame({"x": np.sin(t / 3), "y": np.cos(t / 3)})
    series.to_csv(tmp_path / "wave.csv", index=False)
    quick = ["--set", "window=3", "--set", "n_inducing=8", "--max-iter", "3", "--restarts", "1"]
    run = ["-o", str(tmp_path / "run"), "-q"]
    assert main(["fit", str(tmp_path / "wave.csv"), "--model", "autoregressive", *quick, *run]) == 0
    ahead = ["forecast", str(tmp_path / "run"), "-o", str(tmp_path / "out"), "-q"]
    assert main([*ahead, "--steps", "5"]) == 0
    found = pd.read_csv(tmp_path / "out" / "X.csv", index_col=0)
    assert found.columns.tolist() == ["x", "y"]
    assert found.index.tolist() == [1, 2, 3, 4, 5]
    assert main([*ahead, "--steps", "5"]) == 2
    assert main(["predict", str(tmp_path / "run"), str(tmp_path / "wave.csv")]) == 2
    assert "manyviews forecast" in capsys.readouterr().err


def test_times_go_on_from_dates(files, tmp_path):
    times = ["--times", f"{files / 'b.csv'}:day", "--index", "patient"]
    quick = ["--components", "1", "--inducing", "8", "--restarts", "1", "--max-iter", "2", "-q"]
    out = ["-o", str(tmp_path / "run"), "--no-report", "--set", "signal_check=off"]
    assert main(["fit", str(files / "a.csv"), *times, *quick, *out]) == 0
    ahead = ["forecast", str(tmp_path / "run"), "-o", str(tmp_path / "out"), "-q"]
    assert main([*ahead, "--steps", "3"]) == 0
    found = pd.read_csv(tmp_path / "out" / "X.csv", index_col=0)
    day = pd.Timestamp("2021-03-01").timestamp()
    np.testing.assert_allclose(found.index, day + 86400 * np.arange(N, N + 3))
    assert main([*ahead, "--force"]) == 2  # says when


def test_words_of_a_categorical_view_are_kept_with_the_run():
    run = RunOptions(views=["a.csv", "b.csv"], options={"likelihood": {"b": "categorical"}})
    assert categorical_of(run) == {"b": {}}
    run.levels = {"b:sex": ["f", "m"]}
    assert categorical_of(run) == {"b": {"sex": ["f", "m"]}}
    assert categorical_of(RunOptions()) == {}


@pytest.mark.long
def test_categories_come_back_as_words(files, tmp_path):
    words = pd.read_csv(files / "b.csv")[["patient", "sex", "group"]]
    words.to_csv(tmp_path / "w.csv", index=False)
    sources = [str(files / "a.csv"), str(tmp_path / "w.csv")]
    quick = ["--components", "1", "--inducing", "8", "--restarts", "1", "--max-iter", "10", "-q"]
    kind = ["--set", 'likelihood={w = "categorical"}', "--set", "signal_check=off", "--no-report"]
    run = tmp_path / "run"
    assert main(["fit", *sources, *quick, *kind, "-o", str(run)]) == 0
    assert RunOptions.read(run / "options.toml").levels["w:sex"] == ["f", "m"]
    assert main(["predict", str(run), sources[0], "-o", str(tmp_path / "out"), "-q"]) == 0
    found = pd.read_csv(tmp_path / "out" / "w.csv", index_col=0)
    assert set(found["group"]) <= {"high", "low"}
    assert (found["group"].to_numpy() == words["group"]).mean() > 0.8
    chances = pd.read_csv(tmp_path / "out" / "w_group.csv", index_col=0)
    np.testing.assert_allclose(chances[["high", "low"]].sum(axis=1), 1.0)
    assert main(["predict", str(run), sources[1], "-o", str(tmp_path / "back"), "-q"]) == 0
    assert pd.read_csv(tmp_path / "back" / "a.csv", index_col=0).shape == (N, 3)


def test_json_is_typed(run, capsys):
    assert main(["info", str(run), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["samples"] == N
    assert isinstance(facts["bytes"], int)
    assert facts["time_stamps"] is False
    assert facts["options"]["n_components"] == 2
    assert isinstance(facts["views"][0]["variance_explained"], float)


def test_version():
    command = [sys.executable, "-m", "manyviews", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.strip() == f"manyviews {manyviews.__version__}"


def test_ctrl_c_at_any_time_is_an_exit_code(files, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("manyviews.cli.looking.read_sources", stop)
    assert main(["check", str(files / "a.csv")]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"


@pytest.mark.parametrize(("code", "ends"), [(130, "at once"), (0, "as usual"), (3, "as usual")])
def test_what_was_interrupted_keeps_its_exit_code(code, ends, monkeypatch):
    ended = []
    monkeypatch.setattr("manyviews.cli.main", lambda: code)
    monkeypatch.setattr("os._exit", lambda code: ended.append(("at once", code)))
    monkeypatch.setattr("sys.exit", lambda code: ended.append(("as usual", code)))
    run_command()
    assert ended[0] == (ends, code)

import errno
import json
import subprocess
import sys
import tomllib
from datetime import date

import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews.cli import main
from manyviews.cli.run_folder import RunFolder
from manyviews.cli.settings import RunOptions, parse_assignments, to_toml
from manyviews.errors import OptionError
from manyviews.stacking import Stack

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
QUICK = ["--components", "3", "--inducing", "10", "--restarts", "1", "--max-iter", "15", "-q"]
QUICK += ["--set", "signal_check=off"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two views as CSV and TSV, one with holes, labels, times; and the same as NPZ."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2))
    names = [f"s{i}" for i in range(60)]
    a = pd.DataFrame(np.tanh(x) @ rng.standard_normal((2, 4)), names, list("pqrs"))
    b = pd.DataFrame(x[:, :1] @ rng.standard_normal((1, 3)), names, list("uvw"))
    a += 0.1 * rng.standard_normal(a.shape)
    b += 0.1 * rng.standard_normal(b.shape)
    a.iloc[7, 2] = np.nan
    a.to_csv(folder / "a.csv")
    b.iloc[2:].to_csv(folder / "b.tsv", sep="\t")
    a.to_parquet(folder / "a.parquet")
    a.iloc[:5].to_csv(folder / "new.csv")
    np.savez(folder / "both.npz", a=a.to_numpy(), b=b.to_numpy())
    pd.DataFrame({"batch": ["x", "y"] * 30, "t": np.arange(60)}, names).to_csv(folder / "about.csv")
    return folder


@pytest.fixture(scope="module")
def run(files):
    out = files / "run"
    sources = [f"first={files / 'a.csv'}", str(files / "b.tsv")]
    labels = ["--labels", f"{files / 'about.csv'}:batch"]
    assert main(["fit", *sources, "-o", str(out), *labels, *QUICK, "--hold-out", "0.2"]) == 0
    return out


def test_run_folder_holds_everything(run):
    assert {path.name for path in run.iterdir()} == {
        "options.toml", "run.json", "model.safetensors", "tables", "report.html",
    }  # fmt: skip
    record = json.loads((run / "run.json").read_text())
    assert record["samples"] == 48
    assert record["views"] == ["first", "b"]
    assert {"manyviews", "jax"} <= set(record["versions"])
    assert all(len(digest) == 64 for digest in record["inputs"].values())
    tables = {path.stem for path in (run / "tables").iterdir()}
    assert {"latent", "relevance", "variance_explained", "sensitivity_b", "held_out"} <= tables
    latent = pd.read_csv(run / "tables" / "latent.csv", index_col=0)
    model = manyviews.load(run / "model.safetensors")
    np.testing.assert_allclose(latent.iloc[:, :3], model.latent_mean_)
    assert latent.index.tolist() == model.samples_
    assert model.search.checkpoint is None
    assert "coloured by batch" in (run / "report.html").read_text()


def test_a_run_can_be_reproduced_from_its_options(run, files):
    again = files / "again"
    options = ["--options", str(run / "options.toml"), "--no-report", "-q"]
    assert main(["fit", *options, "-o", str(again)]) == 0
    bounds = [manyviews.load(f / "model.safetensors").lower_bound_ for f in (run, again)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)


def test_predict_writes_what_the_model_predicts(run, files, tmp_path):
    source = f"first={files / 'new.csv'}"
    assert main(["predict", str(run), source, "-o", str(tmp_path), "-q"]) == 0
    model = manyviews.load(run / "model.safetensors")
    new = pd.read_csv(files / "new.csv", index_col=0)
    mean, std = model.predict({"first": new}, "b", return_std=True)
    found = pd.read_csv(tmp_path / "b.csv", index_col=0)
    pd.testing.assert_frame_equal(found, mean, check_exact=False)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "b_std.csv", index_col=0), std)
    draws = ["--samples", "7", "--target", "b", "-o", str(tmp_path)]
    assert main(["predict", str(run), source, *draws, "-q"]) == 0
    assert np.load(tmp_path / "b.npy").shape == (7, 5, 3)


def test_transform_and_impute(run, files, tmp_path, capsys):
    source = f"first={files / 'new.csv'}"
    assert main(["transform", str(run), source, "-o", str(tmp_path), "--json", "-q"]) == 0
    written = json.loads(capsys.readouterr().out)["files"]["latent"]
    assert pd.read_csv(written, index_col=0).shape == (5, 6)
    assert main(["impute", str(run / "model.safetensors"), "-o", str(tmp_path), "-q"]) == 0
    filled = pd.read_csv(tmp_path / "first.csv", index_col=0)
    assert not filled.isna().any(axis=None)
    assert filled.shape[1] == 4


def test_info_and_report(run, files, tmp_path, capsys):
    assert main(["info", str(run), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["model"] == "MRD"
    assert [view["name"] for view in facts["views"]] == ["first", "b"]
    assert main(["info", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "options other than the defaults" in shown
    assert "checkpoint" not in shown
    page = tmp_path / "page.html"
    held_out = [f"first={files / 'a.csv'}", f"b={files / 'b.tsv'}", "--title", "Again"]
    assert main(["report", str(run), *held_out, "-o", str(page), "-q"]) == 0
    assert "<title>Again</title>" in page.read_text()


def test_info_says_who_carries_what_weight_in_a_stack(tmp_path, capsys):
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(30, 2)), "b": rng.normal(size=(30, 2))}
    path = tmp_path / "stack.safetensors"
    Stack(["mean", "ridge"], targets="b", folds=2, random_state=0).fit(views).save(path)
    assert main(["info", str(path), "--json"]) == 0
    (question,) = json.loads(capsys.readouterr().out)["questions"]
    assert question["question"] == "b from a"
    assert sum(question["weights"].values()) == pytest.approx(1.0)
    assert set(question["log_densities"]) == {"mean", "ridge", "stack"}
    assert main(["info", str(path)]) == 0
    assert "log density per value" in capsys.readouterr().out
    assert main(["report", str(path), "-o", str(tmp_path / "page.html")]) == 2
    assert "Stack has no latent space to look at\n" in capsys.readouterr().err


@pytest.mark.long
def test_two_runs_side_by_side(run, files, tmp_path, capsys):
    beside = files / "beside"
    sources = [f"first={files / 'a.csv'}", str(files / "b.tsv")]
    assert main(["fit", *sources, "-o", str(beside), *QUICK, "--no-report", "--seed", "1"]) == 0
    page = tmp_path / "both.html"
    capsys.readouterr()
    assert main(["report", str(run), str(beside), "-o", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"] == ["run", "beside"]
    assert page.read_text().count("<div class='side'>") == 3
    assert main(["report", str(run), str(run), "-o", str(page)]) == 2
    assert "beside itself" in capsys.readouterr().err


def test_the_console_says_what_is_shared(run, files, tmp_path, capsys):
    quick = [option for option in QUICK if option != "-q"]
    sources = [f"first={files / 'a.csv'}", str(files / "b.tsv")]
    assert main(["fit", *sources, "-o", str(tmp_path / "r"), *quick, "--no-report"]) == 0
    assert "shared by both views" in capsys.readouterr().err


def test_containers_and_one_table(files, capsys):
    arguments = ["-o", str(files / "npz"), "--no-report", *QUICK, "--json"]
    assert main(["fit", str(files / "both.npz"), *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["views"] == ["a", "b"]
    single = ["-o", str(files / "one"), "--no-report", *QUICK, "--json"]
    times = ["--times", f"{files / 'about.csv'}:t"]
    assert main(["fit", str(files / "a.parquet"), *single, *times]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "BayesianGPLVM"
    assert manyviews.load(files / "one" / "model.safetensors").when_ is not None


@pytest.mark.long
def test_classifier(files, capsys):
    sources = [str(files / "a.csv"), str(files / "b.tsv")]
    labels = ["--model", "classifier", "--labels", f"{files / 'about.csv'}:batch"]
    out = ["-o", str(files / "classes"), "--no-report", *QUICK, "--json"]
    assert main(["fit", *sources, *labels, *out]) == 0
    assert 0.0 <= json.loads(capsys.readouterr().out)["held_out"]["accuracy"] <= 1.0
    predicted = ["-o", str(files / "predicted"), "-q"]
    assert main(["predict", str(files / "classes"), f"a={files / 'new.csv'}", *predicted]) == 0
    table = pd.read_csv(files / "predicted" / "classes.csv", index_col=0)
    np.testing.assert_allclose(table[["x", "y"]].sum(axis=1), 1.0)
    assert main(["fit", *sources, "--model", "classifier", "-o", str(files / "c2"), "-q"]) == 2


@pytest.mark.parametrize(("model", "n_views"), [("gfa", 2), ("pcca", 2), ("ppca", 1)])
def test_linear_models_by_name(model, n_views, files, tmp_path, capsys):
    sources = [str(files / "a.csv"), str(files / "b.tsv")][:n_views]
    options = ["--model", model, "--components", "2", "-o", str(tmp_path / "run"), "-q", "--json"]
    assert main(["fit", *sources, *options]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 54
    latent = ["transform", str(tmp_path / "run"), f"a={files / 'new.csv'}", "-o", str(tmp_path)]
    assert main([*latent, "-q"]) == 0
    assert pd.read_csv(tmp_path / "latent.csv", index_col=0).shape == (5, 4)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fit", "nowhere.csv"], 3, "there is no file nowhere.csv"),
        (["fit"], 2, "name at least one file"),
        (["fit", "{a}", "--set", "colour=3"], 2, "has no option 'colour'"),
        (["fit", "{a}", "--model", "magic"], 2, "unknown model 'magic'"),
        (["fit", "{a}", "{a}"], 2, "two views are called 'a'"),
        (["fit", "{a}", "--labels", "{about}:mood"], 3, "no column 'mood'"),
        (["fit", "{a}", "--hold-out", "1.5"], 2, "--hold-out must be"),
        (["fit", "{a}", "--components", "0"], 2, "n_components"),
        (["fit", "{a}", "--resume", "{folder}/none"], 2, "no run to resume"),
        (["info", "nowhere.safetensors"], 4, "there is no file"),
        (["info", "{a}"], 4, "not a safetensors file"),
        (["predict", "{run}", "b={a}"], 3, "view 'b' lacks column 'u'"),
        (["predict", "{run}", "first={a}", "--target", "z"], 2, "there is no view 'z'"),
    ],
)
def test_errors_are_one_line_and_a_code(arguments, code, message, files, run, capsys, tmp_path):
    places = {"a": files / "a.csv", "about": files / "about.csv", "run": run, "folder": files}
    given = [argument.format(**places) for argument in arguments]
    if given[0] == "fit" and "--resume" not in given:
        given += ["-o", str(tmp_path / "out")]
    assert main([*given, "--json"]) == code
    found = capsys.readouterr()
    assert message in json.loads(found.out)["error"]["message"]
    assert "Traceback" not in found.err


def test_a_finished_run_is_not_buried(run, files, capsys):
    assert main(["fit", str(files / "a.csv"), "-o", str(run), "-q"]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_an_interrupted_run_is_resumed(files, monkeypatch, capsys):
    from manyviews.inference import optimise

    out = files / "stopped"
    sources = [str(files / "a.csv"), str(files / "b.tsv"), "-o", str(out), "--no-report", *QUICK]
    looks = []

    def stop_at_the_second_look(self):
        looks.append(1)
        if len(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(optimise.Interruption, "check", stop_at_the_second_look)
    assert main(["fit", *sources]) == 130
    assert (out / "fit.checkpoint").exists()
    assert "--resume" in capsys.readouterr().err
    monkeypatch.undo()
    assert main(["fit", "--resume", str(out), "--no-report", "-q"]) == 0
    assert not (out / "fit.checkpoint").exists()
    assert not json.loads((out / "run.json").read_text())["interrupted"]


def test_a_fit_is_not_lost_where_what_comes_after_it_fails(files, monkeypatch, capsys):
    out = files / "lost"
    sources = [str(files / "a.csv"), str(files / "b.tsv"), "-o", str(out), "--no-report", *QUICK]

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", str(out / "tables"))

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_tables", full)
        assert main(["fit", *sources]) == 4
    assert "tables: the disk is full" in capsys.readouterr().err
    assert (out / "fit.checkpoint").exists()
    first = manyviews.load(out / "model.safetensors")
    assert main(["fit", "--resume", str(out), "--no-report", "-q"]) == 0
    again = manyviews.load(out / "model.safetensors")
    np.testing.assert_array_equal(again.latent_mean_, first.latent_mean_)
    assert again.fit_info_.n_evaluations < first.fit_info_.n_evaluations
    assert {p.name for p in out.iterdir()} == {
        "options.toml", "run.json", "model.safetensors", "tables",
    }  # fmt: skip


def test_options_survive_toml(tmp_path):
    run = RunOptions(
        views=["a b=x.csv"], title='say "hi"', shapes={"a b": "8x8"}, hold_out=0.25,
        options={"kernel": {"a b": "rbf"}, "n_components": 3, "tol": 1e-5, "split_columns": True},
    )  # fmt: skip
    run.write(tmp_path / "options.toml")
    again = RunOptions.read(tmp_path / "options.toml")
    assert again.options == run.options
    assert again.shapes == run.shapes
    assert (again.title, again.hold_out) == (run.title, run.hold_out)
    assert again.views[0].startswith("a b=/")
    assert to_toml({"x": None, "y": [1, "z"]}) == 'y = [1, "z"]\n'
    odd = {"a": '😀\x7f\x01"\\', "b": date(2020, 1, 2), "c": float("inf")}
    assert tomllib.loads(to_toml(odd)) == odd
    with pytest.raises(OptionError, match="rename the file"):
        RunOptions(views=["\udcff.csv"]).write(tmp_path / "options.toml")
    assert parse_assignments(["a=1", "b=x", "c=[1, 2]"], "--set") == {"a": 1, "b": "x", "c": [1, 2]}


def test_usage_errors_are_typers(capsys):
    assert main(["fit", "--components", "many"]) == 2
    assert "--components" in capsys.readouterr().err
    assert main(["dance"]) == 2


def test_help_is_there():
    command = [sys.executable, "-m", "manyviews", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in ("fit", "predict", "transform", "impute", "report", "info", "demo"):
        assert name in shown


def test_help_needs_no_numerical_library():
    heavy = {"jax", "pandas", "scipy", "sklearn", "matplotlib"}
    code = "import sys, manyviews.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.split())

"""Every model that the command knows, through every command, on real files."""

import json

import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews.cli import main
from manyviews.cli.models import MODELS

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
GAUSSIAN_PROCESSES = {"mrd", "mcgpds", "gplvm", "classifier"}
USUAL = ("mrd", "mcgpds", "gplvm", "gfa", "pcca", "cca", "ppca", "classifier")
QUICK = ["--inducing", "6", "--restarts", "1", "--max-iter", "4", "--set", "signal_check=off"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two views, one of one column, that all models can take; labels and times.

    Twenty are trained on and five held out, five are new, and a fold is five: one program each.
    """
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((25, 2))
    names = [f"s{i}" for i in range(25)]
    first = pd.DataFrame(np.tanh(x) @ rng.standard_normal((2, 3)), names, list("pqr"))
    second = pd.DataFrame(x[:, :1] + 0.1 * rng.standard_normal((25, 1)), names, ["u"])
    first = first + 0.1 * rng.standard_normal(first.shape)
    first.to_csv(folder / "first.csv")
    second.to_csv(folder / "second.csv")
    first[:5].to_csv(folder / "new.csv")
    about = {"batch": [*"xy"] * 12 + ["x"], "t": np.arange(25)}
    pd.DataFrame(about, names).to_csv(folder / "about.csv")
    return folder


def asked(arguments, capsys):
    """The JSON that a command prints."""
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(name, marks=pytest.mark.long) if name in {"mcgpds", "classifier"} else name
        for name in USUAL
    ],
)
def test_every_command_takes_every_model(model, files, tmp_path, capsys, monkeypatch):
    several = MODELS[model].several_views
    views = [files / "first.csv", files / "second.csv"][: 1 + several]
    options = ["--model", model, "--components", 1, "--hold-out", 0.2, "-o", tmp_path / "run"]
    options += QUICK if model in GAUSSIAN_PROCESSES else []
    options += ["--labels", f"{files / 'about.csv'}:batch"] if model == "classifier" else []
    times = ["--times", f"{files / 'about.csv'}:t"] if model == "mcgpds" else []
    found = asked(["fit", *views, *options, *times], capsys)
    assert found["samples"] == 20
    assert {p.name for p in (tmp_path / "run").iterdir()} == {
        "options.toml", "run.json", "model.safetensors", "tables", "report.html",
    }  # fmt: skip
    run = tmp_path / "run"
    assert asked(["info", run], capsys)["model"] == found["model"]
    assert main(["info", str(run)]) == 0
    assert "options other than" in capsys.readouterr().out
    new = f"first={files / 'new.csv'}"
    new = [new, "--times", f"{files / 'about.csv'}:t"] if times else [new]
    out = ["-o", tmp_path / "out"]

    latent = asked(["transform", run, *new, *out], capsys) if model != "classifier" else None
    assert latent is None or len(pd.read_csv(latent["files"]["latent"])) == 5

    told = asked(["predict", run, *new, *out], capsys)["files"]
    wanted = {"classes"} if model == "classifier" else {"second", "second_std"}
    assert set(told) == (wanted if several else {"X", "X_std"})
    if model != "classifier":
        drawn = asked(["predict", run, *new, *out, "--samples", 2], capsys)["files"]
        (path,) = drawn.values()
        assert np.load(path).shape == (2, 5, 1 if several else 3)
        filled = asked(["impute", run, *out, "--force"], capsys)["files"]
        assert set(filled) == (
            {"first", "first_std", "second", "second_std"} if several else told.keys()
        )
        assert not pd.read_csv(next(iter(filled.values()))).isna().any(axis=None)
    else:
        assert main(["impute", str(run)]) == 2

    page = tmp_path / "page.html"
    asked(["report", run, "-o", page], capsys)
    assert page.read_text().startswith("<!doctype html>")
    served = []
    monkeypatch.setattr("manyviews.explore.serve", lambda *given: served.append(given))
    assert main(["explore", str(run), "--no-browser"]) == 0
    assert type(served[0][0]) is type(manyviews.load(run / "model.safetensors"))


def test_names_are_data_and_never_paths_markup_or_formulas(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 1))
    folder = tmp_path / "😀 $^$"
    folder.mkdir()
    names = [f"=s{i}" for i in range(20)]
    columns = ["$^$", "[/bold]", "\x1b[31m_"]
    for name in ("😀", "_"):
        table = pd.DataFrame(x + 0.1 * rng.standard_normal((20, 3)), names, columns)
        table.to_csv(folder / f"{name}.csv")
    run = tmp_path / "a" / "run"
    sources = [f"../../out={folder / '😀.csv'}", f"[/x]={folder / '_.csv'}"]
    labels = ["--labels", f"{folder / '_.csv'}:[/bold]"]
    options = ["--model", "gfa", "--components", "1", "-q", "--title", "$^$ [/bold]"]
    assert main(["fit", *sources, *labels, *options, "-o", str(run)]) == 0
    again = ["fit", "--options", str(run / "options.toml"), "-o", str(tmp_path / "a" / "again")]
    assert main([*again, "-q", "--no-report"]) == 0
    assert main(["info", str(run)]) == 0
    assert "[/x]" in capsys.readouterr().out
    out = tmp_path / "a" / "out"
    assert main(["impute", str(run), "-o", str(out), "-q"]) == 0
    assert main(["predict", str(run), sources[1], "-o", str(out), "-q", "--force"]) == 0
    assert {p.name for p in (tmp_path / "a").iterdir()} == {"run", "again", "out"}
    assert {p.name for p in tmp_path.iterdir()} == {"a", folder.name}
    assert {p.stem for p in out.iterdir()} == {"_.._out", "_.._out_std", "__x_", "__x__std"}
    table = pd.read_csv(out / "_.._out.csv", index_col=0)
    assert table.index[0] == "'=s0"


def test_views_whose_tables_would_be_one_file_are_refused(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 1))
    views = {name: x + 0.1 * rng.standard_normal((20, 2)) for name in ("y", "x", "x_std")}
    manyviews.linear.GroupFactorAnalysis(1).fit(views).save(tmp_path / "m.safetensors")
    np.save(tmp_path / "y.npy", views["y"])
    asked = ["predict", str(tmp_path / "m.safetensors"), str(tmp_path / "y.npy"), "-q"]
    assert main([*asked, "-o", str(tmp_path / "out")]) == 2
    assert "one at a time" in capsys.readouterr().err
    assert main([*asked, "-o", str(tmp_path / "out"), "--target", "x_std"]) == 0
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"x_std.csv", "x_std_std.csv"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("views = 'a.csv'", "views must be a list of files"),
        ("views = [1]", "views must be a list of files"),
        ("seed = 'x'", "seed must be an int of at least 0"),
        ("seed = -1", "seed must be an int of at least 0"),
        ("hold_out = 'half'", "hold_out must be a number"),
        ("model = 3", "model must be"),
        ("shapes = 3", "shapes must be a table of texts"),
        ("options = []", "options must be"),
        ("times = 1", "times must be"),
        ("[options]\nsearch = 'x'", "search"),
    ],
)
def test_options_of_a_wrong_type_are_named(text, words, files, tmp_path, capsys):
    (tmp_path / "options.toml").write_text(text)
    given = ["--options", str(tmp_path / "options.toml"), "-o", str(tmp_path / "run")]
    assert main(["fit", str(files / "first.csv"), *given]) == 2
    assert words in capsys.readouterr().err


def test_places_that_cannot_be_written_to_are_named(files, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    fit = ["fit", str(files / "first.csv"), "--model", "ppca", "-q"]
    assert main([*fit, "-o", str(tmp_path / "file" / "run")]) == 4
    said = capsys.readouterr().err
    assert "a part of its path is a file" in said
    assert str(tmp_path / "file") in said


SHORT = ["--max-iter", 3, "--restarts", 1]
POINTS = [*SHORT, "--inducing", 6]
OTHERS = {
    "cgpds": [*QUICK, "--components", 1, "--set", "n_local=1"],
    "kernel-cca": ["--components", 1],
    "bayesian-pca": ["--components", 1],
    "factor-analysis": ["--components", 1],
    "mixture": ["--set", "n_clusters=2"],
    "mixture-ppca": ["--components", 1, "--set", "n_clusters=2"],
    "dirichlet-ppca": [
        "--components",
        1,
        "--set",
        "n_chains=1",
        "--set",
        "n_sweeps=20",
        "--set",
        "thin=2",
    ],
    "dirichlet": ["--set", "n_chains=1", "--set", "n_sweeps=20", "--set", "thin=2"],
    "map-gplvm": [*POINTS, "--components", 1],
    "shared-gplvm": [*POINTS, "--components", 1],
    "subspace-gplvm": [*POINTS, "--set", "n_private={first=1, second=0}"],
    "shared-private-gplvm": SHORT,
    "gplvm-cca": [*SHORT, "--components", 1],
    "generative-classifier": [*QUICK, "--components", 1],
    "uncertain-gp": [*SHORT, "--inducing", 6],
    "autoregressive": [*SHORT, "--inducing", 6, "--set", "window=2"],
    "stack": ["--set", 'models=["mean", "ridge"]', "--set", "folds=2"],
}


@pytest.mark.long
@pytest.mark.parametrize("model", OTHERS)
def test_other_models_fit_predict_and_tell(model, files, tmp_path, capsys, monkeypatch):
    takes = MODELS[model].takes
    several = takes in {"views", "outputs"}
    views = [files / "first.csv", files / "second.csv"][: 1 + several]
    options = ["--model", model, "-o", tmp_path / "run", "--no-report", *OTHERS[model]]
    if model == "shared-private-gplvm":  # which has private dimensions in every view
        views[1] = f"second={files / 'first.csv'}"
    if takes == "classes":
        options += ["--labels", f"{files / 'about.csv'}:batch"]
    if model == "cgpds":
        options += ["--times", f"{files / 'about.csv'}:t"]
    fitted = asked(["fit", *views, *options], capsys)
    run, out = tmp_path / "run", ["-o", tmp_path / "out"]
    assert asked(["info", run], capsys)["model"] == fitted["model"]
    new = [f"first={files / 'new.csv'}"]
    if model == "cgpds":
        new += ["--times", f"{files / 'about.csv'}:t"]
    _ask_all(run, new, tmp_path / "all", capsys, monkeypatch)
    if takes == "series":
        told = asked(["forecast", run, "--steps", 3, *out], capsys)["files"]
        assert pd.read_csv(told["X"]).shape == (3, 4)
        return
    told = asked(["predict", run, *new, *out], capsys)["files"]
    (first, *_) = told.values()
    wide = 1 + {"views": 1, "outputs": 1, "table": 3, "classes": 3}[takes]
    assert pd.read_csv(first).shape == (5, 4 if model == "shared-private-gplvm" else wide)
    if fitted["active_dimensions"] is not None and takes in {"views", "table"}:
        filled = asked(["impute", run, *out, "--force"], capsys)["files"]
        assert not pd.read_csv(next(iter(filled.values()))).isna().any(axis=None)
        assert (run / "tables" / "latent.csv").exists()


def _ask_all(run, new, out, capsys, monkeypatch):
    """The other commands answer, or say why they do not."""
    monkeypatch.setattr("manyviews.explore.serve", lambda *given: None)
    capsys.readouterr()
    for asked in (
        ["transform", run, *new, "-o", out / "transform"],
        ["predict", run, *new, "--samples", 2, "-o", out / "predict"],
        ["impute", run, "-o", out / "impute"],
        ["impute", run, *new, "-o", out / "impute-new"],
        ["forecast", run, "--steps", 2, "-o", out / "forecast"],
        ["report", run, "-o", out / "page.html"],
        ["explore", run, "--no-browser"],
    ):
        code = main([*map(str, asked), "-q"] if asked[0] != "explore" else [*map(str, asked)])
        said = capsys.readouterr().err
        assert code == 0 or (code == 2 and len(said) > 20), (asked, code, said)


def test_no_model_is_forgotten():
    assert set(USUAL) | set(OTHERS) == set(MODELS)

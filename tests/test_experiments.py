import json
import math

import numpy as np
import pytest
from experiments.__main__ import main
from experiments.catalogue import EXPERIMENTS
from experiments.cuave_rivals import left_out_folds
from experiments.pose import Moments, average
from experiments.setting import DataFolderError
from experiments.table import Row, standardised

MEASURES = {
    "avletters": {"RMSE-16views", "RMSE-audio", "RMSE-audio-label", "F1"},
    "cmu35": {"legs-SC", "legs-RA", "body-SC", "body-RA"},
    "cuave": {"RMSE", "NLPD"},
    "defaults": {"density-gain-over-ridge", "RMSE-ratio-to-ridge"},
    "exam": {"canonical-correlation"},
    "fi-mrd": {"adjusted-rand"},
    "imputation": {"nutrimouse-values-RMSE", "nutrimouse-views-NLPD", "scmt-views-RMSE"},
    "kinds": {"gain-over-marginal", "gain-over-GLM"},
    "kinds-findings": {"poisson | right-pattern", "poisson | correlation"},
    "labels": {"wine | log-loss", "mean log-loss"},
    "mackey": {"MAE", "MSE", "NLPD", "coverage-90"},
    "missing-inputs": {"MSE-sim-50", "MSE-mocap-50"},
    "oil-class": {"accuracy-70", "log-loss-70"},
    "oil-map": {"nn-errors", "dimensions-kept", "imputation-RMSE-30", "imputation-RMSE-60"},
    "peers": {"toy-RMSE", "toy-NLPD", "nutrimouse-RMSE", "pose-joint-distance"},
    "pose": {"joint-distance", "NLPD", "coverage-90"},
    "pose-mc": {"joint-distance", "NLPD", "coverage-90"},
    "robustness": {"within-1-percent"},
    "thesis-mixture": {"test-log-density", "clusters", "RMSE-arc", "RMSE-sine"},
    "thesis-gplvm": {
        "linear-view-correlation",
        "circle-order",
        "exam-view-correlation",
        "bars-found-of-16",
        "bars-shared-kept-of-12",
        "faces-RMS-60",
    },
    "toy": {"signal-correlation", "dimensions-kept", "segmentation-correct", "coverage-90"},
    "toy-mc": {"signal-correlation", "segmentation-correct", "alpha-rank-correlation"},
    "tables": {"RMSE-ratio-to-ridge", "density-gain-over-ridge"},
    "taught": {"values-RMSE-20", "view-RMSE-20"},
    "usps": {"errors"},
    "video": {"MSE-pixel", "MSE-pixel-forecast"},
    "yale": {"shared-dimensions", "light-R2", "subject-silhouette", "retrieval-precision"},
}


LONG = {
    "exam",
    "toy",
    "video",
    "robustness",
    "mackey",
    "imputation",
    "missing-inputs",
    "thesis-gplvm",
    "thesis-mixture",
    "usps",
    "peers",
    "cmu35",
    "pose-mc",
    "cuave",
    "oil-class",
    "pose",
    "avletters",
    "toy-mc",
    "fi-mrd",
    "defaults",
    "kinds",
    "kinds-findings",
    "labels",
    "taught",
}


@pytest.fixture
def quick(data_folder, tmp_path):
    def run(name):
        target = tmp_path / "rows.json"
        main([name, "--quick", "--seeds", "1", "--data", str(data_folder), "--json", str(target),
              "--results", str(tmp_path)])  # fmt: skip
        return json.loads(target.read_text())

    return run


def by_length(names):
    """The names, those of long runs marked as such."""
    return [pytest.param(n, marks=pytest.mark.long) if n in LONG else n for n in names]


def test_every_experiment_is_tested():
    assert set(MEASURES) == set(EXPERIMENTS)


@pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
@pytest.mark.parametrize("name", by_length(sorted(set(EXPERIMENTS) - {"oil-map"})))
def test_a_quick_run_gives_ours_beside_the_others(quick, name):
    content = quick(name)
    assert content["experiment"] == name
    rows = content["rows"]
    assert MEASURES[name] <= {row["measure"] for row in rows}
    ours = [row for row in rows if row["role"] == "ours"]
    assert ours
    assert any(row["role"] != "ours" for row in rows)
    assert all(math.isfinite(row["value"]) for row in ours)


@pytest.mark.long
def test_oil_map_quick(quick, tmp_path, capsys):
    content = quick("oil-map")
    assert {row["measure"] for row in content["rows"]} == MEASURES["oil-map"]
    errors = {row["method"]: row for row in content["rows"] if row["measure"] == "nn-errors"}
    assert errors["Bayesian GP-LVM"]["value"] < errors["PCA"]["value"]
    assert errors["Bayesian GP-LVM"]["published"] == 1
    assert (tmp_path / "oil-map.png").stat().st_size > 10_000
    assert "Bayesian GP-LVM" in capsys.readouterr().out


def test_missing_data_folder_is_said_plainly(monkeypatch, tmp_path):
    monkeypatch.delenv("MANYVIEWS_DATA", raising=False)
    with pytest.raises(DataFolderError, match="--data"):
        main(["oil-map", "--quick"])
    with pytest.raises(DataFolderError, match=r"oil\.npz"):
        main(["oil-map", "--quick", "--data", str(tmp_path)])


def test_left_out_frames_are_as_far_from_the_rest_as_test_frames():
    train = np.arange(200.0)[
        :, None
    ]  # along a line, so that stretches are as hard as they are long
    near, far = (left_out_folds(train, np.full((9, 1), 199.0 + gap)) for gap in (1.0, 8.0))
    stretches = [1 + np.count_nonzero(np.diff(folds)) for folds in (near, far)]
    assert stretches[0] > stretches[1]
    apart = np.where(far[:, None] == far, np.inf, np.abs(train - train.T)).min(axis=1)
    assert 6.0 <= np.median(apart) <= 10.0


def test_standardised_densities_are_less_the_training_mean_s():
    rows = [Row("training mean", "NLPD", 0.8), Row("a", "NLPD", 0.5), Row("a", "RMSE", 9.0)]
    found = standardised(rows)
    assert [(row.method, round(row.value, 6)) for row in found] == [
        ("training mean", 0),
        ("a", -0.3),
    ]


def test_what_several_fits_say_together_is_their_mixture():
    rng = np.random.default_rng(0)
    means, stds = rng.standard_normal((3, 4, 2)), rng.uniform(0.1, 2.0, (3, 4, 2))
    found = average([Moments(*part) for part in zip(means, stds, strict=True)])
    which = rng.integers(3, size=200_000)
    draws = means[which, 0, 0] + stds[which, 0, 0] * rng.standard_normal(which.size)
    np.testing.assert_allclose(found.mean[0, 0], draws.mean(), atol=0.02)
    np.testing.assert_allclose(found.std[0, 0], draws.std(), rtol=0.02)

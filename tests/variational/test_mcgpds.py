"""The estimators of collaborative models: any number of views, composition, prediction, files."""

import warnings

import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews import CGPDS, MRD, McGPDS, Search, Stage
from manyviews.errors import OptionError
from manyviews.inference.bound import evidence_bound
from manyviews.kernels import RBF, Matern32, Matern52
from manyviews.latent import Collaborative, StandardNormal, Temporal
from manyviews.mappings import CollaborativeGP, CollapsedGP, make_outputs
from manyviews.plot.subject import Subject
from manyviews.report.findings import findings

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
T = 24
OPTIONS = {"n_inducing": 6, "search": Search(max_iter=25), "random_state": 0, "signal_check": "off"}


def make_views(names="ABC", seed=0):
    """Two sequences; every view is a curve of a shared sine and a cosine of its own."""
    rng = np.random.default_rng(seed)
    times = np.tile(np.linspace(0, 3, T), 2)
    sequence = np.repeat(["one", "two"], T)
    phase = np.repeat([0.0, 1.0], T)
    shared = np.sin(2 * times + phase)
    views = {}
    for place, name in enumerate(names):
        own = np.cos((2.7 + place) * times + phase)
        clean = np.stack([shared, own], axis=1) @ rng.normal(size=(2, 4))
        views[name] = np.tanh(clean) + 0.05 * rng.normal(size=clean.shape)
    return views, times, sequence


@pytest.fixture(scope="module")
def three():
    views, times, sequence = make_views()
    views["B"][5:8] = np.nan
    views["C"][2, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = McGPDS(2, sharing="dimension", fit_power=1.0, **OPTIONS)
        return model.fit(views, times=times, sequences=sequence), views, times, sequence


@pytest.mark.long
def test_the_share_of_the_shared_path_and_what_the_report_says_of_it(three):
    model, *_ = three
    paths, alpha = model.engine_.latent, model.alpha_.to_numpy()
    at = paths.sequences.inputs[:1]
    common = float(paths.shared_kernel.diagonal(at)[0])
    own = np.array([float(kernel.diagonal(at)[0]) for kernel in paths.private_kernels])[:, None]
    spread = np.asarray(paths.spread.value)[:, None]
    total = (1 - alpha) ** 2 * (common + spread) + alpha**2 * own
    expected = (1 - alpha) ** 2 * common / total
    np.testing.assert_allclose(model.following().to_numpy(), expected)
    sentences = findings(Subject(model), [])
    assert "share" in sentences[0]
    assert [name for name in "ABC" if any(s.startswith(f"{name} ") for s in sentences)] == list(
        "ABC"
    )
    assert not any("nothing in common" in s for s in sentences)


def test_three_views_with_holes_are_fitted(three):
    model, views, *_ = three
    assert isinstance(model.engine_.model.latent, Collaborative)
    assert all(isinstance(view, CollaborativeGP) for view in model.engine_.model.views)
    assert model.alpha_.shape == (3, 2)
    assert model.latent_mean_.shape == (2 * T, 4 * 2)
    assert model.path("B")[0].shape == model.path()[0].shape == (2 * T, 2)
    relevance = model.relevance_.to_numpy()
    assert np.all(relevance[0, 2:] == 0)
    assert np.all(relevance[1, :2] == 0)
    trace = model.fit_info_.bound_trace
    assert trace[-1] > trace[0]
    filled = model.impute()
    assert not any(np.isnan(table).any() for table in filled.values())
    seen = ~np.isnan(views["B"])
    np.testing.assert_allclose(np.asarray(filled["B"])[seen], views["B"][seen], atol=1e-12)


@pytest.mark.parametrize("private", ["conditional", "nearest", "nearest-own"])
def test_several_views_are_predicted_from_the_others(three, private):
    model, views, times, _ = three
    new = {"A": views["A"][:10]}
    answer = model.predict(
        new, ["B", "C"], times=times[:10], sequences="new", private=private, return_std=True
    )
    assert set(answer) == {"B", "C"}
    for mean, std in answer.values():
        assert mean.shape == std.shape == (10, 4)
        assert np.all(std > 0)


@pytest.mark.long
def test_nearest_takes_the_path_of_a_training_sample(three):
    model, views, times, _ = three
    new = model._new({"A": views["A"][:4]}, times[:4], np.repeat("new", 4))

    def paths(private):
        return model._infer(new.scaled, new.when, [2], {"private": private}).mean[:, 4:6]

    found = paths("nearest")
    train = model.path("C")[0]
    assert np.abs(found[:, None] - train[None]).sum(axis=2).min(axis=1).max() < 1e-12
    assert np.abs(found - paths("conditional")).max() > 1e-6


@pytest.mark.long
def test_the_treatment_is_chosen_on_training_sequences(three):
    model, views, times, _ = three
    losses = model.compare_private("A", "C")
    assert set(losses.index) == {"conditional", "nearest", "nearest-own"}
    assert np.isfinite(losses).all()
    options = {"times": times[:5], "sequences": "new"}
    auto = model.predict({"A": views["A"][:5]}, "C", **options)
    best = model.predict({"A": views["A"][:5]}, "C", private=losses.idxmin(), **options)
    np.testing.assert_allclose(auto, best)


@pytest.mark.long
def test_intervals_are_calibrated_unless_told_otherwise(three):
    model, views, times, _ = three
    options = {"times": times[:5], "sequences": "new", "private": "conditional"}
    answers = [
        model.set_params(calibrated=asked).predict(
            {"A": views["A"][:5]}, "C", return_std=True, **options
        )
        for asked in (False, True)
    ]
    np.testing.assert_allclose(answers[0][0], answers[1][0])
    ratio = answers[1][1] / answers[0][1]
    assert np.ptp(np.log(ratio)) > 0
    assert model.engine_.links


@pytest.mark.long
def test_draws_have_the_predicted_moments(three):
    model, views, times, _ = three
    options = {"times": times[:3], "sequences": "new", "private": "conditional"}
    mean, std = model.predict({"A": views["A"][:3]}, "C", return_std=True, **options)
    draws = model.predict({"A": views["A"][:3]}, "C", n_samples=3000, random_state=0, **options)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=4 * std.max() / np.sqrt(3000))
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.15)


def test_forecasts_samples_and_correspondences(three):
    model, _views, *_ = three
    mean, std = model.forecast([3.1, 3.2], "B", "one", return_std=True)
    assert mean.shape == std.shape == (2, 4)
    paths = model.forecast([3.1, 3.2], ["A", "B"], "two", n_samples=5, random_state=0)
    assert paths["A"].shape == (5, 2, 4)
    assert model.sample(4, random_state=0)["C"].shape == (4, 4)
    names, distance = model.correspondences(to="B", of="A", k=3)
    assert names.shape == distance.shape == (2 * T, 3)
    assert model.variance_explained().shape == (3, 9)
    assert model.sensitivity("B").shape == (4, 8)


@pytest.mark.long
def test_a_file_holds_the_model(three, tmp_path):
    model, views, times, _ = three
    model.save(tmp_path / "model.safetensors")
    loaded = manyviews.load(tmp_path / "model.safetensors")
    options = {"times": times[:4], "sequences": "new", "private": "nearest"}
    np.testing.assert_allclose(
        loaded.predict({"A": views["A"][:4]}, "B", **options),
        model.predict({"A": views["A"][:4]}, "B", **options),
    )
    pd.testing.assert_frame_equal(loaded.alpha_, model.alpha_)


@pytest.mark.long
def test_parts_compose():
    """Collaborative paths with plain mappings, MRD and one view with collaborative mappings."""
    views, times, sequence = make_views("AB")
    plain = McGPDS(2, n_local=0, **OPTIONS).fit(views, times=times, sequences=sequence)
    assert isinstance(plain.engine_.model.latent, Collaborative)
    assert all(type(view) is CollapsedGP for view in plain.engine_.model.views)
    mixed = MRD(
        2, n_local={"A": 1}, **{**OPTIONS, "search": Search(max_iter=25, n_restarts=1)}
    ).fit(views)
    kinds = [type(view) for view in mixed.engine_.model.views]
    assert kinds == [CollaborativeGP, CollapsedGP]
    assert isinstance(mixed.engine_.model.latent, StandardNormal)
    assert mixed.predict({"A": views["A"][:3]}, "B").shape == (3, 4)
    single = CGPDS(2, **OPTIONS).fit(views["A"], times=times, sequences=sequence)
    assert isinstance(single.engine_.model.latent, Temporal)
    assert isinstance(single.engine_.model.views[0], CollaborativeGP)
    assert single.predict(views["A"][:3]).shape == (3, 4)


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [{"time_kernel": "white"}, {"sharing": "none"}, {"kernel": "linear"}, {"factorised": True},
     {"outputs_per_step": 2, "n_local": 2}],
)  # fmt: skip
def test_ablations_are_options(options):
    views, times, sequence = make_views("AB")
    quick = {**OPTIONS, "search": Search(max_iter=3), "n_local": 0, **options}
    model = McGPDS(2, **quick).fit(views, times=times, sequences=sequence)
    assert np.isfinite(model.lower_bound_)
    if options.get("sharing") == "none":
        assert np.all(model.alpha_.to_numpy() > 0.999999)


@pytest.mark.long
def test_dimensions_have_dynamics_of_their_own(tmp_path):
    views, times, sequence = make_views("AB")
    model = McGPDS(
        2, n_local=0, shared_kernel=["rbf", "matern32"],
        time_kernel={"A": ["matern32", Matern52(1.0, 0.3)]},
        **{**OPTIONS, "search": Search(max_iter=3)},
    ).fit(views, times=times, sequences=sequence)  # fmt: skip
    latent = model.engine_.latent
    assert [type(kernel) for kernel in latent.shared_kernel] == [RBF, Matern32]
    assert [type(kernel) for kernel in latent.private_kernels[0]] == [Matern32, Matern52]
    assert isinstance(latent.private_kernels[1], RBF)
    assert model.following().shape == (2, 2)
    model.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    options = {"times": times[:3], "sequences": "new", "private": "conditional"}
    new = {"A": views["A"][:3]}
    np.testing.assert_array_equal(
        again.predict(new, "B", **options), model.predict(new, "B", **options)
    )
    assert model.sample(3, random_state=0)["B"].shape == (3, 4)
    assert model.forecast([3.1], "B", "one", n_samples=2, random_state=0).shape == (2, 1, 4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_kernel": {"B": ["rbf"]}}, "time_kernel of view 'B' lists 1 kernels, .* 2 dim"),
        ({"shared_kernel": ["rbf"] * 3}, "shared_kernel lists 3 kernels"),
        ({"time_kernel": [["rbf"], "rbf"]}, "time_kernel of view 'A' must list names"),
    ],
)
def test_lists_of_kernels_have_one_for_each_dimension(options, words):
    views, times, sequence = make_views("AB")
    with pytest.raises(OptionError, match=words):
        McGPDS(2, **OPTIONS, **options).fit(views, times=times, sequences=sequence)


@pytest.mark.long
def test_samples_without_time_are_points():
    views, *_ = make_views("AB")
    model = McGPDS(2, alpha=0.2, **OPTIONS).fit(views)
    np.testing.assert_allclose(model.alpha_, 0.2)  # held, not learnt
    mean, std = model.predict({"A": views["A"][:3]}, "B", private="conditional", return_std=True)
    assert mean.shape == (3, 4)
    assert np.all(std > 0)
    assert model.transform({"A": views["A"][:3]}).shape == (3, 6)
    assert np.isfinite(model.score(views))


@pytest.mark.long
def test_a_fit_power_undoes_columns_that_are_there_several_times():
    """Every column m times, and the power 1/m: m times the bound of the columns as they were."""
    views, times, sequence = make_views("AB")
    power = 0.25
    model = McGPDS(2, n_local=0, fit_power=power, **{**OPTIONS, "search": Search(max_iter=2)})
    model.fit(views, times=times, sequences=sequence)
    tempered, views = model.engine_.model, model.engine_.data
    fitted = evidence_bound(tempered, tuple(make_outputs(Y, "exact") for Y in views))
    _, kl = tempered.latent.with_rows(
        tempered.latent.sequences, tempered.latent.target.value, tempered.latent.precision.value
    ).infer()  # a space that counts its KL once
    assert float(fitted.kl) == pytest.approx(float(kl) / power)
    copies = tuple(make_outputs(np.repeat(Y, 4, axis=1), "exact") for Y in views)
    repeated = evidence_bound(tempered, copies)
    once = float(fitted.views.sum() - kl)
    assert float(repeated.total) == pytest.approx(4 * once)
    assert fitted.total == pytest.approx(model.fit_info_.restart_bounds[0])


@pytest.mark.long
def test_the_power_is_read_off_columns_that_are_there_several_times():
    """Four copies of every column have the evidence of one, and start as one does."""
    views, times, sequence = make_views("AB")
    options = {**OPTIONS, "search": Search(stages=[Stage("lbfgs", 15, hold=("alpha",))])}
    powers = []
    for copies in (1, 4):
        repeated = {name: np.repeat(Y, copies, axis=1) for name, Y in views.items()}
        model = McGPDS(2, n_local=0, fit_power="auto", **options)
        powers.append(model.fit(repeated, times=times, sequences=sequence).fit_power_)
    assert 0.3 < powers[0] <= 1.0
    assert powers[1] == pytest.approx(powers[0] / 4, rel=0.2)


def test_bad_options_have_clear_errors(three):
    model, views, *_ = three
    with pytest.raises(OptionError, match="private"):
        model.predict({"A": views["A"][:2]}, "B", private="blend")
    with pytest.raises(OptionError, match="jointly"):
        model.transform({"A": views["A"][:2]}, coupled=False)
    with pytest.raises(OptionError, match="paths of their own"):
        model.transform({"A": views["A"][:2]}, augmented=True)
    with pytest.raises(OptionError, match="no view"):
        model.path("D")
    with pytest.raises(OptionError, match="fit_power"):
        McGPDS(2, fit_power=0.0).fit({"A": views["A"], "C": views["C"]})
    with pytest.raises(OptionError, match="leave alpha out"):
        McGPDS(2, sharing="none", alpha=0.5).fit({"A": views["A"], "C": views["C"]})


@pytest.mark.long
@pytest.mark.parametrize("sequence", ["day", "another day"])
def test_paths_flow_as_training_paths_did(sequence, rng):
    """A circle seen from the side, going on or anew: its front or its back, by its sense alone."""
    t = np.arange(60.0)
    angle = 2 * np.pi * t / 15.0
    X, train = np.stack([np.cos(angle), np.sin(angle)], axis=1), t < 45
    views = {"circle": X @ rng.normal(size=(2, 6)), "side": X[:, :1] * np.ones((1, 4))}
    views = {name: Y + 0.05 * rng.normal(size=Y.shape) for name, Y in views.items()}
    model = McGPDS(
        2, kernel="linear", n_local=0, n_inducing=10, search=Search(stages=(Stage("lbfgs", 30),)),
        random_state=0, signal_check="off", fit_power=1.0,
    )  # fmt: skip
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit({name: Y[train] for name, Y in views.items()}, times=t[train],
                  sequences=np.repeat("day", 45))  # fmt: skip
        when = {"times": t[~train], "sequences": sequence, "private": "conditional"}
        for weight in (0.0, 1.0):
            side = {"side": views["side"][~train]}
            guess = model.predict(side, "circle", flow_weight=weight, **when)
            errors.append(np.sqrt(np.mean((guess - views["circle"][~train]) ** 2)))
    assert errors[1] < 0.6 * errors[0]

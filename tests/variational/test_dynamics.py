"""Estimators with time stamps: sequences, coupled inference, forecasts, files, errors."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import manyviews
from manyviews import MRD, BayesianGPLVM, Search
from manyviews.data.times import as_inputs, as_when
from manyviews.errors import DataError, OptionError
from manyviews.inference.following import followed_path
from manyviews.inference.initial_dynamics import default_time_kernel, initial_time_kernels
from manyviews.inference.paths import nearest_segment, smoothest_path
from manyviews.kernels import RBF, Matern32, Matern52
from manyviews.latent import make_sequences

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")


def signal(t, phase=0.0):
    return np.stack([np.cos(t + phase), np.sin(2 * (t + phase))], axis=1)


@pytest.fixture(scope="module")
def series():
    """Two sequences of one periodic process, seen through eight columns."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(2, 8))
    t = np.linspace(0, 4 * np.pi, 60)
    times, names = np.tile(t, 2), np.repeat(["a", "b"], 60)
    X = np.concatenate([signal(t), signal(t, 1.0)])
    Y = np.tanh(X @ W) + 0.03 * rng.normal(size=(120, 8))
    return Y, times, names


@pytest.fixture(scope="module")
def fitted(series):
    Y, times, names = series
    seen = times < 11.0
    model = BayesianGPLVM(3, n_inducing=25, search=Search(max_iter=150), random_state=0)
    return model.fit(Y[seen], times=times[seen], sequences=names[seen])


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def test_time_helps_where_half_of_the_columns_are_hidden(series, fitted):
    Y, times, names = series
    new = (times >= 11.0) & (names == "b")
    given = Y[new].copy()
    given[:, 2:] = np.nan
    along = {"times": times[new], "sequences": names[new]}
    hidden = np.s_[:, 2:]
    coupled = rmse(fitted.predict(given, **along)[hidden], Y[new][hidden])
    alone = rmse(fitted.predict(given)[hidden], Y[new][hidden])
    assert coupled < 0.7 * alone
    assert coupled < 0.15
    shortcut = rmse(fitted.predict(given, **along, coupled=False)[hidden], Y[new][hidden])
    assert shortcut < alone


def test_a_new_sequence_is_inferred_as_a_whole(series, fitted):
    Y, times, names = series
    own = names == "a"
    given = Y[own].copy()
    given[30:35] = np.nan  # frames of which nothing was seen
    filled, std = fitted.impute(given, times=times[own], sequences="new", return_std=True)
    assert rmse(filled[30:35], Y[own][30:35]) < 0.3 * np.std(Y)
    assert std[32].mean() > std[[30, 34]].mean()
    assert (std[:30] == 0).all()


def test_forecasts_from_time_stamps_alone(series, fitted):
    Y, times, names = series
    near = (times >= 11.0) & (times < 11.5) & (names == "a")
    mean, std = fitted.forecast(times[near], "a", return_std=True)
    assert rmse(mean, Y[near]) < 0.35
    _, late_std = fitted.forecast([1000.0], "a", return_std=True)
    assert late_std.mean() > 2 * std[0].mean()
    x, s = fitted.forecast_latent([1000.0], "a")
    np.testing.assert_allclose(x, 0.0, atol=1e-6)  # back at the prior
    np.testing.assert_allclose(s, 1.0, rtol=1e-6)


def test_interpolation_agrees_with_the_training_rows(series, fitted):
    _, times, names = series
    seen = times < 11.0
    own = names[seen] == "b"
    mean, std = fitted.forecast_latent(times[seen][own], "b")
    np.testing.assert_allclose(mean, fitted.latent_mean_[own], atol=1e-6)
    np.testing.assert_allclose(std, fitted.latent_std_[own], atol=1e-6)


def test_sampled_trajectories_have_the_moments_of_the_forecast(fitted):
    t = np.array([5.0, 5.1, 12.0])
    mean, std = fitted.forecast(t, "a", return_std=True)
    draws = fitted.forecast(t, "a", n_samples=3000, random_state=0)
    assert draws.shape == (3000, 3, 8)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.08)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.15, atol=0.02)


@pytest.mark.long
def test_scores_prefer_what_moves_as_the_training_rows_did(series, fitted):
    Y, times, names = series
    own = names == "a"
    forward = fitted.score(Y[own], times=times[own], sequences="new")
    mixed = fitted.score(
        Y[own][::-1][np.argsort(np.arange(60) % 7)], times=times[own], sequences="n"
    )
    assert forward > mixed
    assert fitted.score_samples(Y[own], times=times[own], sequences="new").shape == (60,)
    with pytest.raises(OptionError, match="only method='fixed'"):
        fitted.score_samples(Y[own], times=times[own], method="augmented")


def test_unsorted_rows_give_the_same_model(series):
    """With an inducing input at every row the bound does not depend on the order of rows."""
    Y, times, names = (part[::4] for part in series)
    order = np.random.default_rng(1).permutation(len(Y))
    init = np.random.default_rng(2).normal(size=(len(Y), 2))

    def first_bound(rows, when):
        model = BayesianGPLVM(
            2,
            n_inducing=len(Y),
            init=init[rows],
            search=Search(max_iter=2),
            random_state=0,
            signal_check="off",
        )
        model.fit(Y[rows], times=times[when], sequences=names[when])
        return model.fit_info_.bound_trace[0]

    sorted_rows = np.arange(len(Y))
    expected = first_bound(sorted_rows, sorted_rows)
    assert first_bound(order, order) == pytest.approx(expected, rel=1e-6)
    assert first_bound(order, sorted_rows) != pytest.approx(expected, rel=1e-3)  # misaligned


def test_files_keep_time(series, fitted, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    t = np.linspace(10, 13, 5)
    np.testing.assert_array_equal(again.forecast(t, "b"), fitted.forecast(t, "b"))


def test_mrd_with_time_predicts_one_view_from_another(series):
    Y, times, names = series
    views = {"left": Y[:, :4], "right": Y[:, 4:]}
    train, test = names == "a", names == "b"
    model = MRD(3, 20, search=Search(n_restarts=1, max_iter=100), random_state=0)
    model.fit({k: v[train] for k, v in views.items()}, times=times[train])
    given = {"left": views["left"][test]}
    mean, std = model.predict(
        given, "right", times=times[test], sequences="b", return_std=True, n_modes=2
    )
    assert rmse(mean, views["right"][test]) < 0.3
    assert std.shape == mean.shape
    modes = model.predict_modes(given, "right", times=times[test], sequences="b", n_modes=2)
    np.testing.assert_allclose(modes.weights.sum(axis=1), 1.0)
    ahead = model.forecast([13.0, 13.5])
    assert {name: table.shape for name, table in ahead.items()} == {"left": (2, 4), "right": (2, 4)}
    assert model.forecast([13.0], "left", n_samples=4, random_state=0).shape == (4, 1, 4)
    assert model.transform(given, times=times[test], sequences="b").shape == (60, 3)


def test_times_may_be_dates_and_series_in_another_order(series):
    Y, _, _ = series
    days = pd.date_range("2020-01-01", periods=60)
    frame = pd.DataFrame(Y[:60], index=[f"s{i}" for i in range(60)])
    stamps = pd.Series(days, index=frame.index).iloc[::-1]
    model = MRD(2, 15, search=Search(n_restarts=1, max_iter=20), random_state=0, signal_check="off")
    model.fit({"only": frame}, times=stamps)
    assert model.when_.inputs[1, 0] - model.when_.inputs[0, 0] == 86400.0
    assert model.forecast(pd.date_range("2020-03-01", periods=3))["only"].shape == (3, 8)


def test_any_input_can_stand_for_time(rng):
    """Warped GP regression: outputs at new inputs, through the latent space [BGPLVM16, §3.3.2]."""
    inputs = rng.uniform(-2, 2, (80, 2))
    x = np.stack([np.sin(inputs[:, 0]), np.cos(inputs[:, 1])], axis=1)
    Y = np.exp(x @ rng.normal(size=(2, 6))) + 0.02 * rng.normal(size=(80, 6))
    model = BayesianGPLVM(2, n_inducing=25, search=Search(max_iter=150), random_state=0)
    model.fit(Y[:60], times=inputs[:60])
    assert rmse(model.forecast(inputs[60:]), Y[60:]) < 0.5 * np.std(Y)


@pytest.mark.parametrize(
    ("times", "sequences", "message"),
    [
        ([1.0, 2.0], None, "3 rows but 2 time stamps"),
        ([1.0, np.nan, 2.0], None, "time stamp of row 1 is missing"),
        (["a", "b", "c"], None, "times must be numbers or dates"),
        (np.zeros((3, 1, 1)), None, "one or two dimensions"),
        ([1.0, 2.0, 3.0], ["a", "b"], "3 rows but 2 sequence names"),
        ([1.0, 2.0, 3.0], ["a", None, "b"], "a row has no sequence name"),
    ],
)
def test_bad_times_are_named(times, sequences, message):
    with pytest.raises(DataError, match=message):
        as_when(times, sequences, [0, 1, 2])


def test_time_stamps_are_read_in_many_forms():
    assert as_inputs(pd.to_timedelta([1, 2], unit="min"))[1, 0] == 120.0
    when = as_when(None, ["x", "y", "x"], [0, 1, 2])
    np.testing.assert_array_equal(when.inputs[:, 0], [0, 0, 1])
    assert when.labels == ("x", "y")
    later = as_when([5.0], ["z"], [0], when.labels)
    assert later.code.tolist() == [2]
    with pytest.raises(DataError, match="times lacks the sample 'b'"):
        as_when(pd.Series([1.0], index=["a"]), None, ["a", "b"])


def test_errors_say_what_is_wrong_with_the_request(series, fitted):
    Y = series[0]
    static = BayesianGPLVM(2, n_inducing=5, search=Search(max_iter=5), signal_check="off").fit(
        Y[:20]
    )
    with pytest.raises(OptionError, match="fitted without time stamps"):
        static.predict(Y[:3], times=[0, 1, 2])
    with pytest.raises(OptionError, match="fitted without time stamps"):
        static.forecast([1.0])
    with pytest.raises(OptionError, match="name the sequence"):
        fitted.forecast([1.0])
    with pytest.raises(OptionError, match="there is no training sequence 'c'"):
        fitted.forecast([1.0], "c")
    with pytest.raises(DataError, match="times have 2 column"):
        fitted.transform(Y[:3], times=np.zeros((3, 2)))


def test_the_default_prior_depends_on_the_time_stamps(rng):
    one = np.zeros(100, int)
    assert default_time_kernel(np.arange(100.0)[:, None], one) == "rbf"
    long = np.zeros(5000, int)
    assert default_time_kernel(np.arange(5000.0)[:, None], long) == "matern52"
    t, code = np.arange(200.0)[:, None], np.zeros(200, int)
    for scale in (3.0, 30.0):
        L = np.linalg.cholesky(
            np.asarray(RBF(1.0, scale).gram(jnp.asarray(t))) + 1e-8 * np.eye(200)
        )
        (kernel,) = initial_time_kernels("rbf", L @ rng.normal(size=(200, 3)), t, code)
        assert 0.5 < float(kernel.lengthscale.value[0]) / scale < 2.0
    means = rng.normal(size=(200, 2))
    several = initial_time_kernels(["rbf", Matern32()], means, t, code)
    assert [type(k) for k in several] == [RBF, Matern32]
    assert isinstance(initial_time_kernels(Matern52(), t, t, code)[0], Matern52)
    with pytest.raises(OptionError, match="lists 3 kernels, there are 2 dimensions"):
        initial_time_kernels(["rbf"] * 3, means, t, code)


def test_named_periodic_priors_start_at_the_period_of_the_data(rng):
    t, code = np.arange(80.0)[:, None], np.zeros(80, int)
    wave = np.cos(2 * np.pi * t / 17.0 + np.array([0.0, 1.0])) + 0.1 * rng.normal(size=(80, 2))
    for name in ("periodic", "rbf * periodic"):
        (kernel,) = initial_time_kernels(name, wave, t, code)
        parts = getattr(kernel, "parts", (kernel,))
        assert float(parts[-1].period.value) == pytest.approx(17.0, rel=0.05)
        assert not any(part.variance.free for part in parts)


def test_paths_follow_one_branch_where_frames_are_ambiguous(rng):
    """Two branches look alike in the data but for noise; the path stays on one."""
    t = np.linspace(0, 1, 30)
    X = np.concatenate([np.stack([t, 0 * t + b], axis=1) for b in (-1.0, 1.0)])
    Y = np.tile(t[:, None], (2, 3)) + 1e-3 * rng.normal(size=(60, 3))
    new = t[5:25, None] + 1e-3 * rng.normal(size=(20, 3))
    choices = np.argsort(((new[:, None] - Y[None]) ** 2).sum(axis=2), axis=1)[:, :6]
    path = smoothest_path(X, choices, (new,), (Y,), t[5:25, None], np.zeros(20, int))
    assert len({float(b) for b in X[path, 1]}) == 1
    assert len({float(b) for b in X[choices[:, 0], 1]}) == 2
    sequences = make_sequences(np.tile(t, 2)[:, None], np.repeat([0, 1], 30))
    segment = nearest_segment(sequences, (new,), (Y,), t[5:25, None], np.zeros(20, int))
    assert (np.diff(segment) == 1).all()
    assert segment[0] % 30 == 5
    longer = np.tile(new, (3, 1))
    nothing = nearest_segment(
        sequences, (longer,), (Y,), np.arange(60.0)[:, None], np.zeros(60, int)
    )
    assert nothing is None


@pytest.mark.parametrize("pace", [1.0, 0.5, "irregular"])
def test_paths_move_on_as_training_sequences_did(pace, rng):
    """A circle seen from the side: only the sense of its rotation tells front from back."""
    t = np.arange(60.0)
    angle = 2 * np.pi * t / 20.0
    X, Y = np.stack([np.cos(angle), np.sin(angle)], axis=1), np.cos(angle)[:, None]
    steps = rng.uniform(0.5, 2.0, 40) if pace == "irregular" else np.full(40, pace)
    when = 7.0 + np.cumsum(steps)
    truth = 2 * np.pi * when / 20.0
    new = np.cos(truth)[:, None] + 1e-2 * rng.normal(size=(40, 1))
    new[3] = np.nan
    sequences, shuffled = make_sequences(t[:, None], np.zeros(60, int)), rng.permutation(40)
    for trust in (1.0, 10.0):
        path = followed_path(
            X, sequences, (new[shuffled],), (Y,), when[shuffled, None], np.ones(40, int), trust
        )
        assert np.sqrt(np.mean((path[:, 1] - np.sin(truth)[shuffled]) ** 2)) < 0.3
    unknown = followed_path(
        X, sequences, (np.full((5, 1), np.nan),), (Y,), np.arange(5.0)[:, None], np.zeros(5, int),
        1.0,
    )  # fmt: skip
    assert np.isfinite(unknown).all()


def test_momentum_carries_a_path_through_a_crossing():
    """A swing whose side is seen at first only: in the middle velocity tells onward from back."""
    t = np.arange(80.0)
    X = np.sin(2 * np.pi * t / 40.0)[:, None]
    sequences, when = make_sequences(t[:, None], np.zeros(80, int)), t[5:45] + 0.5
    truth = np.sin(2 * np.pi * when / 40.0)[:, None]
    new, known = np.hstack([np.abs(truth), truth]), np.hstack([np.abs(X), X])
    new[5:, 1] = np.nan

    def error(momentum):
        where = (when[:, None], np.ones(40, int))
        return rmse(followed_path(X, sequences, (new,), (known,), *where, 1.0, momentum), truth)

    assert error(8.0) < 0.1
    assert error(0.0) > 0.3


def test_paths_are_put_together_from_the_better_stretches_of_two(series, fitted):
    """Two ends, each led astray in another stretch: one path that is right in both."""
    from manyviews.inference.path_bound import PathBound, in_chunks
    from manyviews.inference.splicing import spliced

    Y, times, names = series
    own = np.flatnonzero(names == "a")
    scaled = (Y[own] - fitted.scaling_.centre) / fitted.scaling_.scale
    latent, codes = fitted.engine_.model.latent, np.full(len(own), 7)
    joint = latent.extended(times[own, None], codes, np.zeros(0, int))
    evidence = (in_chunks(fitted.engine_.posteriors[0], scaled, 1.0),)
    bound = PathBound(joint, evidence, (0,), np.zeros(len(own), int), alone=True)
    found = fitted.transform(Y[own], times=times[own], sequences="new")
    right, _ = bound.ascend(bound.start(found, np.full(found.shape, 10.0)), 50)
    ends = []
    for wrong in (np.s_[10:20], np.s_[40:50]):
        astray = found.copy()
        astray[wrong] *= -1.0
        ends.append(bound.start(astray, np.full(found.shape, 100.0)))
    whole = spliced(bound, ends, np.arange(len(own)), 50)
    values = [bound.shares(x).sum() for x in (*ends, whole, right)]
    assert values[2] > max(values[:2])
    assert values[2] > values[3] - 1.0


def test_the_flow_of_training_paths_is_a_conditional_density(rng):
    """Against sums over training rows, written out; and one is what it integrates to."""
    from manyviews.inference.flow import NEAR, STEP, TURN, training_flow
    from manyviews.latent import Temporal

    t = np.arange(30.0)
    X = np.stack([np.cos(0.4 * t), np.sin(0.4 * t)], axis=1)
    latent = Temporal(make_sequences(t[:, None], np.zeros(30, int)), (RBF(1.0, 3.0),), X, 1e8)
    when = np.append(np.arange(6.0), [50.0, 51.0, 53.5])[
        rng.permutation(9)
    ]  # a gap, and a slow step
    new = make_sequences(when[:, None], np.zeros(9, int))
    path = np.stack([np.cos(0.4 * when), np.sin(0.4 * when)], axis=1) + 0.1
    found = np.array(training_flow(latent, new, 2.0)(jnp.asarray(path)))
    unit = np.sqrt(np.mean((X[2:] - X[1:-1]) ** 2, axis=0))
    at = {float(w): x for w, x in zip(when, path, strict=True)}

    def density(before, here, after):
        total, weight = 0.0, 0.0
        for s in range(1, 29):
            place = np.sum(((here - X[s]) / (NEAR * unit)) ** 2)
            turn = np.sum(((here - before - X[s] + X[s - 1]) / (TURN * unit)) ** 2)
            step = np.sum(((after - here - X[s + 1] + X[s]) / (STEP * unit)) ** 2)
            near = np.exp(-0.5 * (place + turn))
            total += near * np.exp(-0.5 * step) / np.prod(STEP * unit * np.sqrt(2 * np.pi))
            weight += near
        return total / weight

    for w, share in zip(when, found, strict=True):
        known = 2.0 <= w <= 5.0
        expected = 2.0 * np.log(density(at[w - 2], at[w - 1], at[w])) if known else 0.0
        np.testing.assert_allclose(share, expected, rtol=1e-4, atol=1e-8)
    side = np.linspace(-3.0, 3.0, 61)
    grid = [density(X[4], X[5], X[5] + [a, b]) for a in side for b in side]
    np.testing.assert_allclose(np.sum(grid) * 0.01, 1.0, rtol=1e-3)
    assert training_flow(latent, make_sequences(t[:2, None], np.zeros(2, int)), 1.0) is None


@pytest.mark.filterwarnings("ignore::manyviews.errors.LowSignalWarning")
def test_new_sequences_flow_as_training_sequences_did(rng):
    """A circle seen from the side: the prior over time cannot tell its front from its back."""
    t = np.arange(120.0)
    angle = 2 * np.pi * t / 15.0
    Y = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ rng.normal(size=(2, 6))
    side = np.cos(angle)[:, None] * np.ones((1, 6))
    views = {"circle": Y + 0.05 * rng.normal(size=Y.shape),
             "side": side + 0.05 * rng.normal(size=side.shape)}  # fmt: skip
    train = t < 80
    model = MRD(2, 20, kernel="linear", search=Search(n_restarts=1, max_iter=200), random_state=0)
    model.fit({name: view[train] for name, view in views.items()}, times=t[train])
    when = {"times": t[~train], "sequences": "new"}
    given = {"side": views["side"][~train]}
    assert rmse(model.predict(given, "circle", **when), Y[~train]) > 0.7 * Y.std()
    following = model.predict(given, "circle", flow_weight=3.0, **when)
    assert rmse(following, Y[~train]) < 0.3 * Y.std()
    with pytest.raises(ValueError, match="flow_weight"):
        model.predict(given, "circle", flow_weight=-1.0, **when)


def test_latent_paths_are_drawn(fitted):
    import matplotlib

    matplotlib.use("Agg")
    from manyviews.plot import latent_paths

    ax = latent_paths(fitted, "b")
    assert ax.get_title() == "latent paths of b"
    assert len(ax.lines) == 1 + min(4, int((fitted.relevance_ > 5e-3).sum()))
    with pytest.raises(OptionError, match="no training sequence 'z'"):
        latent_paths(fitted, "z")
    with pytest.raises(OptionError, match="without time stamps"):
        latent_paths(BayesianGPLVM())


@pytest.mark.long
def test_long_sequences_lend_their_nearest_rows(series, fitted, monkeypatch):
    from manyviews.inference import new_sequences

    Y, times, names = series
    late = (times >= 11.0) & (names == "b")
    given = Y[late].copy()
    given[:, 2:] = np.nan
    whole = fitted.transform(given, times=times[late], sequences="b")
    monkeypatch.setattr(new_sequences, "CONTEXT", 25)
    near = fitted.transform(given, times=times[late], sequences="b")
    active = fitted.relevance_ > 0.05
    np.testing.assert_allclose(near[:, active], whole[:, active], atol=0.1)

"""Intervals along new sequences, calibrated on training sequences that are left out."""

import numpy as np
import pytest

from manyviews import MRD, Search
from manyviews.expectations import Gaussian
from manyviews.fitted import Positions
from manyviews.latent import make_sequences
from manyviews.mappings import make_outputs
from manyviews.mappings.base import condition
from manyviews.variational.left_out_sequences import FOLDS, folds_of, found_again, without
from manyviews.variational.path_widths import FEW, path_widths
from manyviews.variational.widths import Widths, memory

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
T, TRAINED = 20, 4


def make_world(n_sequences=12, seed=0):
    """Two views of a path; a third of their noise is common to the columns of a view."""
    rng = np.random.default_rng(seed)
    t = np.tile(np.linspace(0, 4, T), n_sequences)
    name = np.repeat(np.arange(n_sequences), T)
    phase = rng.uniform(0, 6, n_sequences)[name]
    X = np.stack([np.sin(2 * t + phase), np.cos(2 * t + phase)], axis=1)
    views = {}
    for view in ("left", "right"):
        clean = np.tanh(X @ rng.normal(size=(2, 6)))
        common = 0.3 * rng.normal(size=(len(t), 1)) * rng.choice([-1, 1], 6)
        views[view] = clean + common + 0.1 * rng.normal(size=clean.shape)
    return views, t, name


@pytest.fixture(scope="module")
def fitted():
    views, t, name = make_world()
    train = name < TRAINED
    model = MRD(
        3, 15, kernel="rbf", search=Search(n_restarts=1, max_iter=60), random_state=0,
        signal_check="off",
    ).fit(
        {view: table[train] for view, table in views.items()}, times=t[train], sequences=name[train]
    )  # fmt: skip
    new = {"times": t[~train], "sequences": name[~train]}
    return model, {view: table[~train] for view, table in views.items()}, new


def test_sequences_are_left_out_whole_and_a_single_one_in_stretches():
    code = np.repeat([3, 1, 2, 0, 4], 6)
    folds = folds_of(make_sequences(np.arange(30.0)[:, None], code))
    assert [sorted(set(code[out])) for out in folds] == [[0, 4], [1], [2], [3]]
    few = folds_of(make_sequences(np.arange(30.0)[:, None], code), 24)
    assert [sorted(set(code[out])) for out in few] == [[0], [1], [2], [3]]
    fewer = folds_of(make_sequences(np.arange(30.0)[:, None], code), 12)
    assert [np.flatnonzero(out).tolist() for out in fewer][1] == [6, 7, 8]
    shuffled = np.random.default_rng(0).permutation(30).astype(float)[:, None]
    stretches = folds_of(make_sequences(shuffled, np.zeros(30, int)))
    assert np.sum(stretches, axis=0).tolist() == [1] * 30
    for out in stretches:
        assert np.ptp(shuffled[out]) == out.sum() - 1


def test_a_model_without_a_sequence_has_learnt_from_the_others_alone(fitted):
    engine = fitted[0].engine_
    out = folds_of(engine.model.latent.sequences)[1]
    fold = without(engine, out)
    q = engine.marginals.rows(np.flatnonzero(~out))
    np.testing.assert_allclose(fold.engine.marginals.mean, q.mean, atol=1e-9)
    np.testing.assert_allclose(fold.engine.marginals.variance, q.variance, atol=1e-9)
    np.testing.assert_array_equal(fold.rows[1], engine.data[1][out])
    assert not set(fold.when.code) & set(np.asarray(engine.model.latent.sequences.code))
    whole = engine.marginals
    blanked = np.where(out[:, None], np.nan, engine.data[0])  # the same, said otherwise
    view = engine.model.views[0]
    expected = condition(view, Gaussian(whole.mean, whole.variance), make_outputs(blanked, "exact"))
    at = Gaussian(whole.mean[:5], whole.variance[:5])
    found = fold.engine.moments(0, Positions.independent(at.mean, at.variance), "variance")
    np.testing.assert_allclose(found[0], expected.mean(at), atol=1e-6)
    np.testing.assert_allclose(found[1], expected.variance(at) + expected.noise, rtol=1e-5)


@pytest.mark.long
def test_means_stay_and_cost_nothing_and_intervals_hold_what_they_say(fitted):
    model, new, when = fitted
    model.engine_.links.clear()
    known = {"left": new["left"]}
    alone = model.predict(known, "right", **when)
    assert not model.engine_.links
    mean, std = model.predict(known, "right", return_std=True, **when)
    np.testing.assert_allclose(mean, alone, atol=1e-12)
    plain = model.set_params(residual_link=False).predict(known, "right", return_std=True, **when)
    model.set_params(residual_link=True)
    np.testing.assert_allclose(plain[0], mean, atol=1e-12)
    held, as_is = (np.mean(np.abs(new["right"] - mean) < 1.645 * s) for s in (std, plain[1]))
    assert 0.85 < held < 0.97
    assert abs(held - 0.9) < abs(as_is - 0.9)
    draws = model.predict(known, "right", n_samples=400, random_state=0, **when)
    np.testing.assert_allclose(draws.std(axis=0).mean(), std.mean(), rtol=0.05)


def test_widths_are_those_of_errors_of_left_out_sequences(fitted):
    model, new, when = fitted
    model.predict({"left": new["left"]}, "right", return_std=True, **when)
    engine, how = model.engine_, model._inference()
    errors, variance = [], []
    for fold, given, points in found_again(engine, (0,), powers=[1.0, 1.0], n_starts=10):
        assert np.isnan(given[1]).all()
        q = Positions.independent(points.q.mean, points.q.variance)
        mean, spread = fold.engine.moments(1, q, "variance")
        errors.append(fold.rows[1] - mean)
        variance.append(spread)
    assert len(engine.links[FOLDS]) == len(errors) == TRAINED
    factor = (1.0 + FEW / TRAINED) * memory(1.0, TRAINED * T)
    expected = Widths.fit(np.concatenate(errors), np.concatenate(variance), factor)
    found = path_widths(engine, (0,), (1,), how)[1]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.squares, expected.squares)


def test_rows_that_continue_a_training_sequence_keep_theirs(fitted):
    model, new, _ = fitted
    rows = slice(0, 5)
    known = {"left": new["left"][rows]}
    when = {"times": np.linspace(4.1, 4.5, 5), "sequences": np.zeros(5, int)}
    stds = [
        model.set_params(residual_link=link).predict(known, "right", return_std=True, **when)[1]
        for link in (False, True)
    ]
    np.testing.assert_allclose(*stds)

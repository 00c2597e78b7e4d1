"""Alternative answers from training neighbours, against the algorithm written out."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import reference as ref
from manyviews import MRD, MixturePCCA, Search
from manyviews.errors import OptionError, SegmentationWarning
from manyviews.expectations import Gaussian
from manyviews.fitted import Positions
from manyviews.fitted.candidates import completed, find_candidates, log_nearness
from manyviews.inference.bound import Model
from manyviews.kernels import RBF
from manyviews.latent import StandardNormal
from manyviews.linalg import DEFAULT_JITTER
from manyviews.linear import ProbabilisticCCA
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.mappings.base import condition
from manyviews.variational.engine import VariationalEngine

N, ROWS, Q, M, NOISE = 14, 3, 4, 5, 0.1
FAR = 200.0  # the length scale of a dimension that a view does not use
LENGTHS = ([1.0, 1.0, FAR, FAR], [1.0, FAR, 1.0, FAR], [1.0, FAR, FAR, 1.0])  # 0 is shared
WIDTHS = (3, 4, 2)
FINE = ref.hermite_nodes(Q, 9)
pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def engine():
    """Three views of a shared dimension and one of their own each; some values are missing."""
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(N, Q)), rng.uniform(0.01, 0.05, (N, Q))
    data = [rng.normal(size=(N, width)) for width in WIDTHS]
    data[1][[2, 7]] = np.nan  # two samples lack the view
    data[1][4, 1] = np.nan
    views = tuple(
        CollapsedGP(RBF(1.2, np.array(lengths)), rng.normal(size=(M, Q)), NOISE)
        for lengths in LENGTHS
    )
    q = Gaussian(jnp.asarray(mean), jnp.asarray(variance))
    posteriors = tuple(
        condition(view, q, make_outputs(Y)) for view, Y in zip(views, data, strict=True)
    )
    return VariationalEngine(Model(StandardNormal(mean, variance), views), posteriors, tuple(data))


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(1)
    return Positions.independent(rng.normal(size=(ROWS, Q)), rng.uniform(0.02, 0.1, (ROWS, Q)))


def written_out(engine, known, view, n, k):
    """[MRD21, Algorithm 1] for one row: places, distances, weights and moments of the outputs."""
    seen = np.flatnonzero(~np.isnan(engine.data[view]).all(axis=1))
    q = engine.positions
    train, row = (q.mean[seen], q.variance[seen]), (known.mean[n], known.variance[n])
    found = ref.inference_algorithm(train, row, [0], [view + 1], k)
    formula = ref.rbf(1.2, np.array(LENGTHS[view]))
    Z = np.asarray(engine.model.views[view].inducing.value)
    K = ref.matrix(formula, Z, Z)
    K = K + DEFAULT_JITTER * np.mean(np.diag(K)) * np.eye(M)
    _, first, second = ref.psi_rows(formula, Z, q.mean, q.variance, FINE)
    inducing = ref.inducing_posterior(engine.data[view], K, first, second, 1 / NOISE)
    moments = [
        ref.output_moments(formula, Z, K, NOISE, inducing, mean, variance, FINE)
        for _, _, mean, variance in found
    ]
    places = [place for place, *_ in found]
    weights = ref.smoothed_weights(train, row, [0], places)
    return seen[places], [distance for _, distance, *_ in found], weights, moments


@pytest.mark.parametrize("view", [1, 2])
def test_candidates_are_those_of_the_algorithm(engine, known, view):
    parts = engine.divided([0], [view])
    assert (parts.shared, parts.private_b) == ([0], [view + 1])
    found = find_candidates(engine, view, known, parts, 4, 4)
    assert found.means.shape == found.stds.shape == (ROWS, 4, WIDTHS[view])
    for n in range(ROWS):
        places, distances, weights, moments = written_out(engine, known, view, n, 4)
        order = np.argsort(-weights)
        np.testing.assert_array_equal(found.neighbours[n], places)
        np.testing.assert_allclose(found.distances[n], distances, rtol=1e-10)
        np.testing.assert_allclose(found.weights[n], weights[order], rtol=1e-9)
        np.testing.assert_array_equal(found.source[n], places[order])
        for k, place in enumerate(order):
            assert found.neighbours_of(n, k) == [places[place]]
            np.testing.assert_allclose(found.means[n, k], moments[place][0], rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(found.stds[n, k] ** 2, moments[place][1], rtol=1e-4)


def test_two_known_views_inform_what_either_uses(engine, known):
    parts = engine.divided([0, 1], [2])
    assert (parts.shared, parts.private_b) == ([0], [3])
    found = find_candidates(engine, 2, known, parts, 2, 2)
    train = (engine.positions.mean, engine.positions.variance)
    row = known.mean[0], known.variance[0]
    for _, (place, _, mean, variance) in zip(
        range(2), ref.inference_algorithm(train, row, [0], [3], 2), strict=True
    ):
        here = engine.moments(2, Positions.independent(mean[None], variance[None]))[0]
        (k,) = np.flatnonzero(found.source[0] == place)
        np.testing.assert_allclose(found.means[0, k], here[0], rtol=1e-8)


def test_samples_that_lack_the_wanted_view_are_no_neighbours(engine, known):
    found = find_candidates(engine, 1, known, engine.divided([0], [1]), 50, 50)
    assert found.neighbours.shape == (ROWS, N - 2)  # no more than there are
    assert not np.isin(found.neighbours, [2, 7]).any()


def test_neighbours_that_agree_are_one_candidate(engine, known):
    parts = engine.divided([0], [2])
    every = find_candidates(engine, 2, known, parts, 9, 9)
    few = find_candidates(engine, 2, known, parts, 3, 9)
    np.testing.assert_allclose(few.weights.sum(axis=1), 1.0)
    assert (np.diff(few.weights, axis=1) <= 1e-12).all()
    for n in range(ROWS):
        weight = dict(zip(every.source[n], every.weights[n], strict=True))
        members = [few.neighbours_of(n, k) for k in range(3)]
        assert sorted(p for own in members for p in own) == sorted(every.neighbours[n])
        for k, own in enumerate(members):
            assert few.weights[n, k] == pytest.approx(sum(weight[place] for place in own))
            assert few.source[n, k] == max(own, key=weight.__getitem__)
            (same,) = np.flatnonzero(every.source[n] == few.source[n, k])
            np.testing.assert_allclose(few.means[n, k], every.means[n, same])
        # those of one candidate are nearer to each other than to the others
        spread = np.nanstd(engine.data[2], axis=0)
        at = {p: every.means[n, k] / spread for k, p in enumerate(every.source[n])}
        within = [np.var([at[p] for p in own], axis=0).sum() * len(own) for own in members]
        assert sum(within) < np.var(list(at.values()), axis=0).sum() * 9


def test_a_blend_slides_by_relevance(engine, known):
    parts, strength = engine.divided([0], [1]), engine.relevance[0]
    found = find_candidates(engine, 1, known, parts, 1, 1, strength)
    q, place = engine.positions, found.source[0, 0]
    mean = strength * known.mean[0] + (1 - strength) * q.mean[place]
    variance = strength**2 * known.variance[0] + (1 - strength) ** 2 * q.variance[place]
    there = Positions.independent(mean[None], variance[None])
    np.testing.assert_allclose(found.means[0, 0], engine.moments(1, there)[0][0], rtol=1e-8)


def test_every_mode_has_neighbours_of_its_own(engine):
    """Two modes of a row with one neighbour each are two rows, with the weights of the modes."""
    rng, parts = np.random.default_rng(2), engine.divided([0], [1])
    both = Positions.independent(rng.normal(size=(4, Q)), np.full((4, Q), 0.1))
    modes = replace(both, weights=np.array([[0.3, 0.7], [0.9, 0.1]]))
    found = find_candidates(engine, 1, modes, parts, 2, 1)
    alone = find_candidates(engine, 1, both, parts, 1, 1)
    np.testing.assert_allclose(found.weights, [[0.7, 0.3], [0.9, 0.1]])
    order = [1, 0, 2, 3]
    np.testing.assert_array_equal(found.source.ravel(), alone.source.ravel()[order])
    np.testing.assert_allclose(found.means.reshape(4, -1), alone.means[order, 0], rtol=1e-10)


def test_modes_that_a_row_lacks_are_left_out(engine):
    rng, parts = np.random.default_rng(2), engine.divided([0], [1])
    both = Positions.independent(rng.normal(size=(4, Q)), np.full((4, Q), 0.1))
    modes = replace(both, weights=np.array([[0.3, 0.7], [1.0, 0.0]]))
    found = find_candidates(engine, 1, modes, parts, 2, 2)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    assert (found.candidate[1] == [0, 1, -1, -1]).all() or (
        found.candidate[1] == [1, 0, -1, -1]
    ).all()
    assert (found.candidate[0] >= 0).all()


def test_correlated_positions_are_completed_block_by_block(rng):
    root = rng.normal(size=(2, 3, 3))
    spread = root @ np.swapaxes(root, 1, 2)
    ours = Positions(rng.normal(size=(4, 3)), spread[:1], np.zeros(4, int))
    theirs = Positions(rng.normal(size=(4, 3)), spread[1:], np.zeros(4, int))
    found = completed(ours, theirs, np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(found.mean[:, :2], ours.mean[:, :2])
    np.testing.assert_allclose(found.mean[:, 2], theirs.mean[:, 2])
    covariance = found.covariance[found.kind[3]]
    np.testing.assert_allclose(covariance[:2, :2], spread[0][:2, :2])
    np.testing.assert_allclose(covariance[2, 2], spread[1][2, 2])
    np.testing.assert_allclose(covariance[:2, 2], 0.0)


def test_nearness_is_a_smoothed_density(engine, known):
    found = log_nearness(known.mean[0], known.variance[0], engine.positions, [0, 2])
    train = (engine.positions.mean, engine.positions.variance)
    row = known.mean[0], known.variance[0]
    expected = ref.smoothed_weights(train, row, [0, 2], range(N))
    np.testing.assert_allclose(np.exp(found) / np.exp(found).sum(), expected, rtol=1e-9)


# ---------------------------------------------------------------------- of fitted models


def views(n=60, seed=0):
    """Three views of one shared signal and one of their own each, as DataFrames with holes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    names = [f"s{i}" for i in range(n)]
    found = {}
    for k, name in enumerate("abc"):
        Y = np.tanh(x[:, [0, k + 1]]) @ np.random.default_rng(k).normal(size=(2, 5))
        found[name] = pd.DataFrame(Y + 0.05 * rng.normal(size=Y.shape), index=names)
    found["c"].iloc[[1, 5]] = np.nan
    found["a"].iloc[3, 2] = np.nan
    return found


@pytest.fixture(scope="module")
def model():
    data = {name: view.iloc[:50] for name, view in views().items()}
    start = Search(max_iter=150, n_restarts=1)
    return MRD(5, 15, kernel="rbf", search=start, residual_link=False, random_state=0).fit(data)


def test_names_and_units(model):
    new = {"a": views()["a"].iloc[50:].copy()}
    new["a"].iloc[0, 1] = np.nan
    found = model.predict_candidates(new, "c", 4)
    assert found.view == "c"
    assert found.weights.shape == (10, 4)
    assert found.means.shape == found.stds.shape == (10, 4, 5)
    assert set(found.neighbours.ravel()) <= set(model.samples_) - {"s1", "s5"}
    assert found.candidate.shape == found.distances.shape == (10, 4)
    one = model.predict_candidates(new, "c", 1)
    np.testing.assert_allclose(one.weights, 1.0)
    mean, std = model.predict(new, "c", private="nearest", return_std=True)
    index, _ = model.correspondences(new, "c", k=1)
    agree = (index[:, 0] == one.source[:, 0]).nonzero()[0]  # all, unless that lacks the view
    assert len(agree) >= 8
    np.testing.assert_allclose(one.means[agree, 0], mean.to_numpy()[agree], rtol=1e-6)
    np.testing.assert_allclose(one.stds[agree, 0], std.to_numpy()[agree], rtol=1e-6)


def test_options_reach_the_search_for_the_position(model):
    new = {name: views()[name].iloc[50:] for name in "ab"}
    plain = model.predict_candidates(new, "c", 2, n_neighbours=8)
    blend = model.predict_candidates(new, "c", 2, n_neighbours=8, blend=True)
    taught = model.predict_candidates(new, "c", 2, n_neighbours=8, augmented=True)
    assert plain.neighbours.shape == blend.neighbours.shape == (10, 8)
    assert not np.allclose(plain.means, blend.means)
    assert not np.allclose(plain.distances, taught.distances)


def test_bad_questions_are_named(model):
    data = {name: view.iloc[50:] for name, view in views().items()}
    known = {"a": data["a"]}
    with pytest.raises(OptionError, match="n_candidates must be at least 1"):
        model.predict_candidates(known, "c", 0)
    with pytest.raises(OptionError, match="n_neighbours must be at least n_candidates=5, got 3"):
        model.predict_candidates(known, "c", n_neighbours=3)
    with pytest.raises(OptionError, match="leave 'private' out"):
        model.predict_candidates(known, "c", private="nearest")
    with pytest.raises(OptionError, match="'c' is known and wanted at once"):
        model.predict_candidates({"a": data["a"], "c": data["c"]}, "c")
    with pytest.raises(OptionError, match="no view 'd'"):
        model.predict_candidates(known, "d")
    with pytest.raises(OptionError, match="no option 'speed'"):
        model.predict_candidates(known, "c", speed=2)


def test_models_without_neighbours_or_private_dimensions_say_so():
    data = {name: view.iloc[:40].fillna(0.0) for name, view in views().items() if name != "b"}
    mixture = MixturePCCA(2, n_restarts=1, random_state=0).fit(data)
    with pytest.raises(OptionError, match="predict_modes"):
        mixture.predict_candidates({"a": data["a"].iloc[:2]}, "c")
    shared = ProbabilisticCCA(1).fit(data)
    with pytest.warns(SegmentationWarning, match="all candidates are alike"):
        found = shared.predict_candidates({"a": data["a"].iloc[:2]}, "c", 3)
    np.testing.assert_allclose(found.means[:, 0], found.means[:, 2], rtol=1e-8)


@pytest.mark.long
def test_a_lost_sign_gives_two_candidates():
    """Of a number and its square: both signs are answers, each from samples that have it."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-2, 2, (80, 1))
    both = {"number": z * [1.0, -1.0, 0.5], "square": z**2 * [1.0, 0.5, -1.0, 0.3]}
    both = {k: view + 0.05 * rng.normal(size=view.shape) for k, view in both.items()}
    quick = Search(n_restarts=1, max_iter=150)
    model = MRD(2, 20, kernel="rbf", search=quick, random_state=0).fit(both)
    known = {"square": [[3.4, 1.7, -3.4, 1.0]]}
    found = model.predict_candidates(known, "number", 2, n_neighbours=5, n_modes=4)
    signs = np.sign(found.means[0, :, 0])
    assert sorted(signs) == [-1.0, 1.0]
    assert found.weights.min() > 0.2
    for k in range(2):
        own = z[found.neighbours_of(0, k), 0]
        assert (np.sign(own) == signs[k]).all()
        np.testing.assert_allclose(np.abs(own), np.sqrt(3.4), atol=0.35)

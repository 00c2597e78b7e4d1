"""New rows that teach the maps: `augmented=True` of transform, predict and impute."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import reference as ref
from manyviews import MRD, BayesianGPLVM, Search
from manyviews.data import When
from manyviews.errors import OptionError
from manyviews.expectations import Gaussian
from manyviews.inference.augmented import _negative_paths
from manyviews.inference.bound import Model, evidence_bound
from manyviews.kernels import RBF
from manyviews.latent import StandardNormal, Temporal, make_sequences
from manyviews.mappings import CollapsedGP, StochasticPosterior, make_outputs
from manyviews.mappings.augmented import augmented_rows
from manyviews.mappings.base import condition
from manyviews.variational.engine import VariationalEngine
from manyviews.variational.taught import check_augmented

N, NEW, Q, M = 20, 12, 2, 8
pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
bound_of = eqx.filter_jit(evidence_bound)


def tables(x):
    """Two views of the same points: five columns and four."""
    rng = np.random.default_rng(1)
    W = [rng.normal(size=(2, width)) for width in (5, 4)]
    noise = 0.1 * np.random.default_rng(2).normal(size=(len(x), 9))
    return tuple(np.sin(x @ w) + e for w, e in zip(W, np.split(noise, [5], axis=1), strict=True))


def made(latent, data):
    """An engine without a fit: any latent space, two views with the same inducing inputs."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(M, Q))
    views = tuple(CollapsedGP(RBF(1.0, np.ones(Q)), Z, 0.05) for _ in data)
    q = latent.marginals()
    posteriors = tuple(
        condition(view, q, make_outputs(Y)) for view, Y in zip(views, data, strict=True)
    )
    return VariationalEngine(Model(latent, views), posteriors, data)


@pytest.fixture(scope="module")
def engine():
    x = np.random.default_rng(0).normal(size=(N, Q))
    return made(StandardNormal(x, np.full((N, Q), 0.02)), tables(x))


@pytest.fixture(scope="module")
def new():
    """New rows of the first view, farther out than the training rows; two values missing."""
    left, right = tables(1.5 * np.random.default_rng(4).normal(size=(NEW, Q)))
    left[2, :3] = np.nan
    return left, np.full_like(right, np.nan)


@pytest.fixture(scope="module")
def answers(engine, new):
    return engine.search(new, None), engine.search(new, None, augmented=True)


def with_rows(engine, q, rows):
    """F(Y, Y*) of the model that holds new rows as if trained on them."""
    train = engine.marginals
    latent = StandardNormal(
        np.vstack([train.mean, q.mean]), np.vstack([train.variance, q.variance])
    )
    outputs = tuple(
        make_outputs(np.vstack(pair), "exact") for pair in zip(engine.data, rows, strict=True)
    )
    return float(bound_of(Model(latent, engine.model.views), outputs).total)


def alone(engine):
    return float(bound_of(engine.model, tuple(make_outputs(Y) for Y in engine.data)).total)


@pytest.mark.long
def test_what_is_gained_is_the_difference_of_bounds(engine, new, answers):
    _, found = answers
    expected = with_rows(engine, found.q, new) - alone(engine)
    assert found.bound.sum() == pytest.approx(expected, rel=1e-7)
    assert (found.bound == found.bound[0]).all()


def test_it_ascends_from_the_answer_with_the_maps_held(engine, new, answers):
    held, found = answers
    start = with_rows(engine, held.q, new) - alone(engine)
    assert start > held.bound.sum()  # q(U) at its optimum, the rows where they are
    assert found.bound.sum() > start
    assert np.abs(np.asarray(found.q.mean - held.q.mean)).max() > 1e-3


def test_the_end_is_a_maximum(engine, new, answers):
    _, found = answers
    best, rng = with_rows(engine, found.q, new), np.random.default_rng(5)
    for scale in (0.03, 0.3):
        step, factor = rng.normal(size=(2, NEW, Q))
        moved = Gaussian(
            found.q.mean + scale * np.sqrt(found.q.variance) * step,
            found.q.variance * np.exp(scale * factor),
        )
        assert with_rows(engine, moved, new) < best


def test_answers_come_from_the_maps_as_the_rows_revised_them(engine, new, answers):
    _, found = answers
    both = [np.vstack(pair) for pair in zip(engine.data, new, strict=True)]
    train = engine.marginals
    q = Gaussian(
        jnp.concatenate([train.mean, found.q.mean]),
        jnp.concatenate([train.variance, found.q.variance]),
    )
    expected = condition(engine.model.views[0], q, make_outputs(both[0], "exact"))
    at = engine.infer(new, None, [0, 1], augmented=True)
    mean, variance = engine.moments(0, at, "variance")
    np.testing.assert_allclose(mean, expected.mean(found.q), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance - 0.05, expected.variance(found.q), rtol=1e-5, atol=1e-8)
    assert found.taught[1] is engine.posteriors[1]  # of which nothing new is known
    rng = np.random.RandomState(0)
    joint = engine.draw([0, 1], at.rows(slice(4)), 4000, rng)
    spread = np.sqrt(variance[:4] / 4000)
    assert (np.abs(joint[0].mean(axis=0) - mean[:4]) < 5 * spread).all()
    held = engine.moments(0, engine.infer(new, None, [0, 1]))[0]
    assert np.abs(held - mean).max() > 0.01


def test_rows_of_half_weight_are_pulled_less(engine, new):
    half = engine.search(new, None, powers=[0.5, 1.0], augmented=True)
    twice = tuple(np.repeat(Y, 2, axis=0) for Y in new)
    both = engine.search(twice, None, powers=[0.5, 1.0], augmented=True)
    assert np.asarray(half.q.variance).mean() > np.asarray(both.q.variance).mean()


# ---------------------------------------------------------------------- with times


@pytest.fixture(scope="module")
def timed():
    """Two training sequences; new rows go on in the second and begin a third."""
    times, code = np.tile(np.arange(10.0), 2), np.repeat([0, 1], 10)
    x = np.stack([np.cos(times / 2 + code), np.sin(times / 2 + code)], axis=1)
    kernels = (RBF(1.0, 2.0),)
    latent = Temporal(make_sequences(times[:, None], code), kernels, x, 30.0)
    when = When(np.r_[10.0:13.0, 0.0:5.0][:, None], np.repeat([1, 2], [3, 5]), ())
    clock = when.inputs[:, 0] / 2 + np.repeat([1.0, 0.5], [3, 5])
    left, right = tables(np.stack([np.cos(clock), np.sin(clock)], axis=1))
    return made(latent, tables(x)), when, (left, np.full_like(right, np.nan))


def test_with_times_it_is_the_bound_of_all_rows(timed):
    engine, when, rows = timed
    latent, old = engine.model.latent, np.arange(10, 20)
    joint = latent.extended(when.inputs, when.code, old)
    rng = np.random.default_rng(0)
    target, precision = rng.normal(size=(18, Q)), rng.uniform(1.0, 50.0, (18, Q))
    known = engine.marginals.rows(np.arange(10))
    view = augmented_rows(
        engine.posteriors[0], known, engine.data[0][:10],
        np.concatenate([engine.data[0][10:], rows[0]]), np.ones(18),
    )  # fmt: skip
    x = jnp.asarray(np.concatenate([target.ravel(), np.log(precision).ravel()]))
    context = (joint, (view,), (0,), None)
    found = eqx.filter_jit(_negative_paths)(x, context)[0]

    own = (np.asarray(latent.sequences.inputs), np.asarray(latent.sequences.code))
    whole = latent.with_rows(
        make_sequences(np.vstack([own[0], when.inputs]), np.concatenate([own[1], when.code])),
        np.vstack([np.asarray(latent.target.value)[:10], target]),
        np.vstack([np.asarray(latent.precision.value)[:10], precision]),
    )
    outputs = (make_outputs(np.vstack([engine.data[0], rows[0]])),)
    expected = bound_of(Model(whole, engine.model.views[:1]), outputs).total
    untouched = float(np.sum(latent.smooth().kl[:10]))
    assert -float(found) == pytest.approx(float(expected) + untouched, rel=1e-8)
    gradient = eqx.filter_jit(eqx.filter_grad(lambda x: _negative_paths(x, context)[0]))(x)
    differences = ref.finite_differences(
        eqx.filter_jit(lambda x: _negative_paths(jnp.asarray(x), context)[0]), np.asarray(x)
    )
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-5)


@pytest.mark.long
def test_with_times_it_ascends_too(timed):
    engine, when, rows = timed
    held = engine.search(rows, when)
    found = engine.search(rows, when, augmented=True)
    assert found.bound.sum() > held.bound.sum()
    at = engine.infer(rows, when, [1], augmented=True)
    np.testing.assert_allclose(at.mean, found.q.mean, atol=1e-6)
    assert np.isfinite(engine.moments(1, at)[0]).all()


# ---------------------------------------------------------------------- for users


@pytest.fixture(scope="module")
def model():
    left, right = tables(np.random.default_rng(0).normal(size=(30, Q)))
    quick = Search(max_iter=60, n_restarts=1)
    return MRD(3, 10, kernel="rbf", search=quick, random_state=0).fit(
        {"left": left, "right": right}
    )


@pytest.mark.long
def test_models_take_it_as_an_option(model):
    left, right = tables(np.random.default_rng(6).normal(size=(9, Q)))
    right[:, 2:] = np.nan
    given = {"left": left, "right": right}
    assert not np.allclose(model.transform(given, augmented=True), model.transform(given))
    mean, std = model.predict(given, "right", return_std=True, augmented=True)
    held = model.predict(given, "right")
    assert not np.allclose(mean, held)
    assert (std > 0).all()
    assert np.isfinite(model.impute(given, augmented=True)["right"]).all()
    linked = model.predict({"left": left}, "right", augmented=True)  # with its residual link
    assert np.isfinite(linked).all()
    for private in ("nearest", "blend", "conditional"):
        found = model.predict({"left": left}, "right", augmented=True, private=private)
        assert np.isfinite(found).all()
    table = model.training_data()["left"].to_numpy()
    one = BayesianGPLVM(2, n_inducing=8, search=Search(max_iter=60), random_state=0).fit(table)
    assert not np.allclose(one.transform(left, augmented=True), one.transform(left))


def test_what_it_cannot_do_is_named(model):
    left, right = tables(np.random.default_rng(6).normal(size=(30, Q)))
    with pytest.raises(OptionError, match="n_modes must be 1"):
        model.predict({"left": left}, "right", augmented=True, n_modes=3)
    with pytest.raises(OptionError, match="coupled=False"):
        model.transform({"left": left}, augmented=True, coupled=False)
    other = object.__new__(StochasticPosterior)
    posteriors, nothing = (model.engine_.posteriors[0], other), np.full_like(right, np.nan)
    check_augmented(posteriors, (left, nothing), 1, True)  # nothing is known of such a view
    with pytest.raises(OptionError, match="view 2 are not"):
        check_augmented(posteriors, (left, right), 1, True)

"""The direct link to views that are not Gaussian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from manyviews import MRD, Search
from manyviews.expectations import Gaussian
from manyviews.fitted import Positions
from manyviews.likelihoods import (
    Bernoulli,
    Categorical,
    NegativeBinomial,
    Poisson,
    predictive_log_density,
)
from manyviews.mappings.correction import Correction
from manyviews.variational.kind_link import KindLink, averaging_weights
from manyviews.variational.taught import Linked
from manyviews.variational.without_rows import keeping_rows

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
N, NEW = 80, 60


def views(n=N + NEW, seed=0):
    """A strong signal in a wide view, and a weak one that the other views depend on."""
    rng = np.random.default_rng(seed)
    strong, weak = rng.normal(size=(2, n, 1))
    wide = strong @ rng.normal(size=(1, 12)) + weak @ np.full((1, 12), 0.4)
    yes = 3.0 * weak @ np.ones((1, 2)) + rng.logistic(size=(n, 2)) > 0
    counts = rng.poisson(np.exp(1.0 + weak @ np.array([[1.0, -1.0, 0.0]])))
    return {
        "wide": wide + 0.1 * rng.normal(size=wide.shape),
        "yes": yes.astype(float),
        "counts": counts.astype(float),
    }


def part(tables, rows):
    return {name: table[rows] for name, table in tables.items()}


@pytest.fixture(scope="module")
def data():
    return views()


@pytest.fixture(scope="module")
def model(data):
    made = MRD(
        1, 10, likelihood={"yes": "bernoulli", "counts": "negative_binomial"},
        search=Search(max_iter=20, n_restarts=1), random_state=0, signal_check="off",
    )  # fmt: skip
    return made.fit(part(data, slice(N)))


@pytest.mark.parametrize("target", ["yes", "counts"])
def test_it_finds_what_the_latent_space_leaves_out(model, data, target):
    new = part(data, slice(N, None))
    known = {"wide": new["wide"]}
    linked = model.predict_log_density({**known, target: new[target]}, target).mean()
    assert model.residual_link
    try:
        model.residual_link = False
        plain = model.predict_log_density({**known, target: new[target]}, target).mean()
    finally:
        model.residual_link = True
    assert linked > plain + 0.05


@pytest.mark.long
def test_all_answers_are_of_one_corrected_distribution(model, data):
    known = {"wide": data["wide"][N : N + 7]}  # a number of rows that is filled up
    chances = model.predict(known, "yes")
    tables = list(model.predict_proba(known, "yes").values())
    np.testing.assert_allclose(tables[1][1.0], chances[:, 1], rtol=1e-6)
    ones = model.predict_log_density({**known, "yes": np.ones((7, 2))}, "yes")
    np.testing.assert_allclose(np.exp(ones), chances, atol=2e-3)
    rates, spread = model.predict(known, "counts", return_std=True)
    draws = model.predict(known, "counts", n_samples=4000, random_state=0)
    error = 5.0 * spread / np.sqrt(4000)
    assert np.all(np.abs(draws.mean(axis=0) - rates) < error + 0.02 * rates)
    low, high = model.predict_quantiles(known, "counts", [0.1, 0.9])
    assert np.all((draws <= high).mean(axis=0) >= 0.88)
    assert np.all((draws < low).mean(axis=0) <= 0.12)
    levels = np.arange(200.0)
    for row in range(2):
        each = {name: np.repeat(table[[row]], 200, axis=0) for name, table in known.items()}
        values = np.repeat(levels[:, None], 3, axis=1)
        density = np.exp(model.predict_log_density({**each, "counts": values}, "counts"))
        np.testing.assert_allclose(density.sum(axis=0), 1.0, atol=1e-3)
        mean = (levels[:, None] * density).sum(axis=0)
        np.testing.assert_allclose(mean, rates[row], rtol=0.03)


@pytest.mark.long
def test_several_modes_have_the_corrections_of_their_rows(model, data):
    known = {"wide": data["wide"][N : N + 5]}
    one = model.predict(known, "yes", n_modes=2)
    for row in range(5):
        alone = model.predict({"wide": known["wide"][[row]]}, "yes", n_modes=2)
        np.testing.assert_allclose(alone[0], one[row], atol=0.02)
    drawn = model.predict(known, "yes", n_modes=2, n_samples=2000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), one, atol=0.06)


def test_values_of_a_row_that_is_forgotten_do_not_matter(model):
    engine, kept = model.engine_, np.arange(8, N)
    tables = [table.copy() for table in engine.data]
    tables[1][:8] = 1.0 - tables[1][:8]
    other = type(engine)(engine.model, engine.posteriors, tuple(tables))
    mine, theirs = keeping_rows(engine, kept), keeping_rows(other, kept)
    for own, changed in zip(mine.posteriors, theirs.posteriors, strict=True):
        np.testing.assert_allclose(own.weights, changed.weights, atol=1e-9)
    flipped = keeping_rows(other, np.arange(N)).posteriors[1].weights
    assert np.abs(flipped - engine.posteriors[1].weights).max() > 0.01


def link_of(kind, y, inputs, mean):
    variance = np.full(mean.shape, 0.01)
    return KindLink.fit(inputs, y, None, mean, variance, kind)


def test_the_latent_answer_stands_where_it_is_right(rng):
    mean = 2.0 * rng.normal(size=(300, 4, 1))
    y = (rng.uniform(size=(300, 4)) < 1.0 / (1.0 + np.exp(-mean[..., 0]))).astype(float)
    link = link_of(Bernoulli(), y, rng.normal(size=(300, 3)), mean)
    found = link.correction(rng.normal(size=(20, 3)))
    assert link.share > 0.8
    assert np.abs(found.shift).mean() < 0.3


def test_nothing_is_made_of_noise(rng):
    inputs, mean = rng.normal(size=(100, 30)), rng.normal(size=(100, 3, 1))
    y = rng.poisson(3.0, size=(100, 3)).astype(float)
    link = link_of(Poisson(), y, inputs, mean)
    assert link.share < 0.1
    found = link.correction(rng.normal(size=(20, 30)))
    np.testing.assert_allclose(np.exp(found.shift[..., 0]).mean(), 3.0, rtol=0.1)
    assert found.shift.std() < 0.25


def test_columns_are_trusted_as_far_as_they_surely_gain(rng):
    inputs = rng.normal(size=(100, 3))
    rate = np.exp(1.0 + inputs @ np.array([[0.8, 0.0], [-0.5, 0.0], [0.0, 0.0]]))
    y = rng.poisson(rate).astype(float)
    link = link_of(Poisson(), y, inputs, np.full((100, 2, 1), 1.0))
    assert link.trust[0] == 1.0
    assert 0.5 <= link.trust[1] < 1.0  # the columns together surely gain
    found = link.correction(rng.normal(size=(50, 3)))
    assert found.share.shape == (2, 1)
    own = link.nothing.shift(inputs)[0][:, 1, 0]
    whole = sum(w * m.shift(inputs)[0] for m, w in zip(link.members, link.weights, strict=True))
    expected = link.trust[1] * whole[:, 1, 0] + (1 - link.trust[1]) * own
    np.testing.assert_allclose(link.correction(inputs).shift[:, 1, 0], expected)


def test_parameters_of_the_likelihood_are_learnt_anew(rng):
    inputs = rng.normal(size=(400, 2))
    rate = np.exp(1.5 + inputs @ np.array([[1.0, -0.7]]).T)
    y = rng.negative_binomial(5.0, 5.0 / (5.0 + rate)).astype(float)
    kind = NegativeBinomial(size=np.array([0.5])).relative_to(y)  # as if there were no inputs
    link = link_of(kind, y, inputs, np.full((400, 1, 1), 1.5))
    np.testing.assert_allclose(link.likelihood().size.value, 5.0, rtol=0.4)


def test_what_tells_groups_apart_says_nothing_of_others():
    """Rows of a group have inputs and rates in common, which have nothing to do with each other."""
    rng, codes = np.random.default_rng(0), np.repeat(np.arange(24), 15)
    inputs = rng.normal(size=(24, 8))[codes] + 0.01 * rng.normal(size=(360, 8))
    rate = np.exp(1.0 + rng.normal(size=(24, 3)))[codes]
    y = rng.poisson(rate).astype(float)
    mean, variance = np.full((360, 3, 1), 1.0), np.full((360, 3, 1), 0.01)
    old, new = codes < 12, codes >= 12
    kind = NegativeBinomial(size=np.full(3, 2.0)).relative_to(y[old])
    known = inputs[old], y[old], None, mean[old], variance[old], kind

    def density(link):
        correction = link.correction(inputs[new])
        f, spread = correction(jnp.asarray(mean[new]), jnp.asarray(variance[new]))
        own = link.likelihood()
        found = predictive_log_density(own, jnp.asarray(y[new]), f[None], spread[None])
        return float(found.mean())

    alone, together = KindLink.fit(*known), KindLink.fit(*known, codes[old])
    assert len(together.members[0].density) == 12
    assert min(member.penalty for member in together.members) > 100.0
    assert max(member.penalty for member in alone.members) < 1.0
    assert density(together) > density(alone) + 0.05


def test_levels_stay_what_they_are(rng):
    inputs, levels = rng.normal(size=(60, 3)), np.array([[0.1, 0.2, 0.7]])
    y = levels[0][rng.integers(0, 3, size=(60, 1))]
    link = link_of(Categorical(levels), y, inputs, 0.3 * rng.normal(size=(60, 1, 3)))
    assert len(link.members) > 1
    np.testing.assert_array_equal(link.likelihood().levels, levels)


def test_without_inputs_only_the_latent_answer_is_calibrated(rng):
    mean = 3.0 * rng.normal(size=(200, 2, 1))
    y = (rng.uniform(size=(200, 2)) < 0.5).astype(float)
    link = link_of(Bernoulli(), y, np.empty((200, 0)), mean)
    assert link.share < 0.2
    assert np.isfinite(link.correction(np.empty((3, 0))).shift).all()


def test_weights_follow_densities_and_their_uncertainty(rng):
    alike = np.repeat(rng.normal(size=(50, 1)), 2, axis=1)
    np.testing.assert_allclose(averaging_weights(alike), 0.5)
    better = alike + np.array([0.5, 0.0])
    assert averaging_weights(better)[0] > 0.99
    unsure = rng.normal(size=(50, 2))
    unsure -= unsure.mean(axis=0) - np.array([0.06, 0.0])  # three nats, with an error of ten
    assert 0.5 < averaging_weights(unsure)[0] < 0.8


def test_a_correction_follows_its_rows(rng):
    shift, spread = rng.normal(size=(3, 2, 1)), rng.uniform(size=(3, 2, 1))
    whole = Correction(jnp.asarray(0.5), jnp.asarray(shift), jnp.asarray(spread))
    mean, variance = whole.rows(jnp.array([2, 0]))(jnp.ones((2, 2, 1)), jnp.full((2, 2, 1), 4.0))
    np.testing.assert_allclose(mean, 0.5 + shift[[2, 0]])
    np.testing.assert_allclose(variance, 1.0 + spread[[2, 0]])


def test_positions_keep_track_of_the_rows_of_their_parts(model, data, rng):
    q = Positions(rng.normal(size=(6, 1)), np.ones((6, 1)), np.arange(6), np.full((3, 2), 0.5))
    found = Linked.by(q, model.engine_.posteriors)
    assert found.row.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.rows([2, 1]).row.tolist() == [2, 2, 1, 1]
    assert found.likeliest().row.tolist() == [0, 1, 2]
    drawn = found.at(np.zeros((6, 1)))  # two draws of every row
    assert drawn.row.tolist() == [0, 1, 2, 0, 1, 2]
    posterior = model.engine_.posteriors[1]
    many = posterior.functions(jnp.zeros((6, 1)))[0]
    shift = jnp.asarray(rng.normal(size=(3, *many.shape[1:])))
    own = posterior.corrected(
        Correction(jnp.asarray(1.0), shift, jnp.zeros_like(shift)), posterior.likelihood
    )
    views = (model.engine_.posteriors[0], own, model.engine_.posteriors[2])
    at = Gaussian(jnp.zeros((6, 1)), jnp.zeros((6, 1)))
    moved = Linked.by(q, views).posterior(1).parts(at)[0]
    np.testing.assert_allclose(moved[0], many + shift[jnp.array([0, 0, 1, 1, 2, 2])])
    assert jax.tree_util.tree_structure(posterior) != jax.tree_util.tree_structure(own)

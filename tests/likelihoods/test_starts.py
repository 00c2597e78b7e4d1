"""Starts, checks and companions of every kind, and what a table is taken for."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from manyviews.errors import DataError, OptionError
from manyviews.likelihoods import (
    KINDS,
    Bernoulli,
    Binomial,
    Categorical,
    Censored,
    GaussianNoise,
    NegativeBinomial,
    Ordinal,
    Poisson,
    gaussian_doubts,
    guess_kind,
    kind_of,
    likelihood_from,
    register_kind,
)

N, D = 400, 3


def tables(rng):
    """Data of every kind with differing columns, and what comes beside them."""
    z = rng.normal(size=(N, D)) + np.array([-1.0, 0.0, 1.0])
    rates = np.exp(z + 1.0)
    return {
        "gaussian": z,
        "gaussian_per_column": z,
        "student_t": z + 0.5 * rng.standard_t(1.5, size=z.shape),
        "bernoulli": (z > 0).astype(float),
        "categorical": rng.choice([2.0, 5.0, 9.0], p=[0.2, 0.5, 0.3], size=z.shape),
        "ordinal": np.clip(np.round(z + 3), 1, 5),
        "poisson": rng.poisson(rates).astype(float),
        "negative_binomial": rng.negative_binomial(2, 2 / (2 + rates)).astype(float),
        "hurdle": np.where(z > 0, np.exp(z), 0.0),
        "censored": z,
        "censored_lognormal": np.exp(z),
    }


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_starts_near_the_marginal_distribution(name, rng):
    Y = tables(rng)[name]
    Y[:5, 1] = np.nan
    kind = likelihood_from(name)
    kind.check_data(Y, "v")
    given = kind.given(Y)
    begun, offset, variance = kind.start(Y, given)
    begun.check_data(Y, "v")
    assert kind_of(begun) == name
    assert offset.value.shape == (D, begun.n_functions)
    assert variance > 0
    filled = jnp.asarray(np.where(np.isnan(Y), np.nanmedian(Y, axis=0), Y))
    density = begun.log_density(
        filled, jnp.broadcast_to(offset.value, (N, *offset.value.shape)),
        None if given is None else jnp.asarray(given),
    )  # fmt: skip
    assert np.isfinite(density).all()
    mean, _ = begun.moments(
        offset.value[None], jnp.full((1, *offset.value.shape), 0.5 * variance),
        None if given is None else jnp.asarray(given[:1]),
    )  # fmt: skip
    if name not in {"categorical", "student_t"}:
        spread = np.nanstd(Y, axis=0)
        assert np.all(np.abs(np.asarray(mean)[0] - np.nanmean(Y, axis=0)) < 0.75 * spread)
    working = kind.working(Y, given)
    assert working.shape[0] == N
    assert np.isnan(working[:5]).any()
    assert np.isfinite(working[5:]).all()


def test_share_of_deviance_is_r_squared_for_gaussian_noise(rng):
    y, f = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    kind = GaussianNoise(0.3)
    found, null = (float(kind.deviance(jnp.asarray(y), jnp.asarray(at[..., None])).sum())
                   for at in (f, np.zeros_like(f)))  # fmt: skip
    assert 1 - found / null == pytest.approx(1 - np.sum((y - f) ** 2) / np.sum(y**2))


def test_ordinal_starts_at_the_frequencies_of_the_levels(rng):
    Y = rng.choice([1.0, 2.0, 4.0], p=[0.5, 0.2, 0.3], size=(5000, 1))
    begun = Ordinal().start(Y, None).likelihood
    p = begun.level_probabilities(jnp.zeros((1, 1)))
    np.testing.assert_allclose(p[0], [0.5, 0.2, 0.3], atol=0.03)
    assert np.all(np.diff(np.asarray(begun.cuts())) > 0)


# ---------------------------------------------------------------- what comes beside the data


def test_totals_are_exposures_and_missing_values_do_not_shorten_them(rng):
    profile, depth = np.array([50.0, 20.0, 100.0, 10.0]), np.exp(rng.normal(0, 1, size=(300, 1)))
    Y = rng.poisson(profile * depth).astype(float)
    kind = Poisson("total").relative_to(Y)
    given = kind.given(Y)
    assert np.mean(given) == pytest.approx(0.0, abs=1e-9)
    true = np.log(depth[:, 0]) - np.log(depth).mean()
    np.testing.assert_allclose(given[:, 0], true, atol=0.5)
    holes = Y.copy()
    holes[:, 2] = np.nan
    np.testing.assert_allclose(kind.given(holes)[:, 0], given[:, 0], atol=0.7)
    assert np.corrcoef(kind.given(holes)[:, 0], given[:, 0])[0, 1] > 0.97
    absent = np.full((2, 4), np.nan)
    np.testing.assert_array_equal(kind.given(absent), 0.0)
    begun = NegativeBinomial("total").relative_to(Y)
    np.testing.assert_allclose(begun.given(Y), given)
    assert begun.beside is None


def test_exposures_come_in_a_table_of_their_own(rng):
    hours = rng.uniform(1, 10, size=(50, 1))
    Y = rng.poisson(3 * hours).astype(float)
    kind = Poisson("hours")
    assert kind.beside == "hours"
    kind = kind.relative_to(Y, hours)
    given = kind.given(Y, hours)
    np.testing.assert_allclose(given - given.mean(), np.log(hours) - np.log(hours).mean())
    with pytest.raises(OptionError, match="hours"):
        kind.given(Y)


def test_trials_are_a_number_or_a_table():
    Y = np.array([[3.0], [np.nan]])
    np.testing.assert_array_equal(Binomial(80).given(Y), 80.0)
    kind = Binomial("reads")
    assert kind.beside == "reads"
    np.testing.assert_array_equal(kind.given(Y, np.array([[5.0], [np.nan]])), [[5.0], [1.0]])
    with pytest.raises(OptionError, match="reads"):
        kind.given(Y)
    with pytest.raises(OptionError, match="trials"):
        likelihood_from("binomial")


def test_limits_and_events_say_what_is_censored():
    Y = np.array([[0.5], [2.0]])
    np.testing.assert_array_equal(Censored(lower=0.5).given(Y), [[-1.0], [0.0]])
    events = Censored(log=True, events="died")
    np.testing.assert_array_equal(events.given(Y, np.array([[1.0], [0.0]])), [[0.0], [1.0]])
    with pytest.raises(OptionError, match="died"):
        events.given(Y)
    with pytest.raises(OptionError, match="not both"):
        Censored(lower=1.0, events="died")


def test_a_value_below_its_limit_counts_as_the_limit():
    kind = Censored(lower=1.0, noise=0.5)
    Y = np.array([[0.0], [0.7], [1.0]])
    found = kind.log_density(jnp.asarray(Y), jnp.full((3, 1, 1), 1.4), jnp.asarray(kind.given(Y)))
    np.testing.assert_allclose(found[:, 0], stats.norm.logcdf(1.0, 1.4, np.sqrt(0.5)))


# ---------------------------------------------------------------- named errors


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Poisson(), -1.0, "not negative"),
        (NegativeBinomial(), 1.5, "raw counts"),
        (Binomial(5), 6.0, "more than its trials"),
        (Bernoulli(), 2.0, "0 and 1"),
        (likelihood_from("hurdle"), -0.1, "both signs"),
        (Censored(log=True), 0.0, "above zero"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_wrong_values_are_refused_by_name(kind, value, message):
    Y = np.array([[1.0, 1.0], [1.0, value]])
    with pytest.raises(DataError, match=message) as caught:
        kind.check_data(Y, "rna", ["a", "b"], ["ann", "bob"])
    for word in ("'rna'", "'b'", "'bob'", f"{value:g}"):
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", [Ordinal(), Categorical()])
def test_levels_never_seen_in_training_are_refused(kind):
    begun = kind.start(np.array([[1.0], [2.0], [3.0]]), None).likelihood
    begun.check_data(np.array([[3.0], [np.nan]]), "survey")
    with pytest.raises(DataError, match=r"survey.*column 'q1'.*holds 4.*never seen in training"):
        begun.check_data(np.array([[4.0]]), "survey", ["q1"])
    with pytest.raises(DataError, match="60 different values"):
        kind.check_data(np.arange(60.0)[:, None], "survey")


def test_trials_and_events_are_checked():
    with pytest.raises(DataError, match="needs trials"):
        Binomial("reads").check_trials(np.ones((1, 1)), np.zeros((1, 1)), "meth")
    with pytest.raises(DataError, match=r"whole numbers.*holds 2\.5"):
        Binomial("reads").check_trials(np.ones((1, 1)), np.full((1, 1), 2.5), "meth")
    names = {"columns": ["a"], "rows": ["ann", "bob"]}
    with pytest.raises(DataError, match=r"row 'bob'.*holds 7.*more than its trials"):
        Binomial("reads").check_trials(np.full((2, 1), 7.0), np.array([[7.0], [6.0]]), "m", **names)
    with pytest.raises(DataError, match="event"):
        Censored(events="died").check_events(np.ones((1, 1)), np.full((1, 1), np.nan), "time")
    with pytest.raises(DataError, match="total of zero"):
        Poisson("total").check_data(np.zeros((2, 2)), "rna")
    with pytest.raises(OptionError, match="link"):
        Bernoulli("cloglog")


def test_kinds_by_name_and_of_ones_own():
    assert isinstance(likelihood_from("student_t"), KINDS["student_t"])
    own = Bernoulli("probit")
    assert likelihood_from(own) is own
    with pytest.raises(OptionError, match="negative_binomial"):
        likelihood_from("negbin")
    register_kind("probit", lambda: Bernoulli("probit"))
    assert likelihood_from("probit").link == "probit"
    del KINDS["probit"]


# ---------------------------------------------------------------- guesses


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("gaussian", "gaussian", "real numbers"),
        ("student_t", "gaussian", "heavy tails"),
        ("bernoulli", "bernoulli", "0 or 1"),
        ("ordinal", "ordinal", "from 1 to 5"),
        ("negative_binomial", "negative_binomial", "times their mean"),
        ("hurdle", "hurdle", "exactly zero"),
    ],
)
def test_tables_are_taken_for_what_they_are(name, kind, words, rng):
    Y = tables(rng)[name]
    Y[3, 1] = np.nan
    found = guess_kind(Y)
    assert found.kind == kind
    assert words in found.reason
    assert str(found).startswith(kind)
    doubtful = kind in {"bernoulli", "ordinal", "negative_binomial"}
    assert bool(gaussian_doubts(Y)) == doubtful


def test_counts_are_poisson_unless_they_vary_more(rng):
    assert guess_kind(rng.poisson(8.0, size=(500, 20)).astype(float)).kind == "poisson"
    rare = rng.poisson([0.1, 30.0], size=(500, 2)).astype(float)  # a gene hardly read, and another
    assert guess_kind(rare).kind == "poisson"


def test_mixed_and_empty_tables(rng):
    Y = np.column_stack([rng.normal(size=50), rng.integers(0, 2, size=50)])
    found = guess_kind(Y)
    assert found.kind == "gaussian"
    assert "1 of 2 columns" in found.reason
    assert "view of their own" in found.advice
    assert guess_kind(np.full((3, 2), np.nan)).kind == "gaussian"
    assert guess_kind(rng.choice([1.0, 2.0], size=(30, 2))).kind == "ordinal"
    assert guess_kind(rng.integers(-50, 50, size=(90, 2)).astype(float)).kind == "gaussian"
    assert "student_t" in guess_kind(rng.standard_t(1.5, size=(400, 3))).advice

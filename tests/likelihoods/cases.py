"""Every kind of data with values to try, and its log density as SciPy has it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from manyviews.likelihoods import (
    Bernoulli,
    Binomial,
    Categorical,
    Censored,
    GaussianNoise,
    Hurdle,
    NegativeBinomial,
    Ordinal,
    Poisson,
    StudentT,
)

D = 3


@dataclass(frozen=True)
class Case:
    """A likelihood, how to draw from it, and log p(y | f) of one value of one column."""

    likelihood: Any
    log_density: Any  # (y, f of C entries, column, given) -> float
    mean: Any  # (f, column, given) -> float
    variance: Any
    given: Any = None  # (rng, rows) -> array


def constant(value):
    return lambda rng, rows: np.full((rows, D), value)


SIGMA = np.array([0.3, 0.5, 1.1])
SIZE = np.array([0.7, 2.0, 15.0])
LEVELS = np.array([[1.0, 2.0, 3.0, 5.0], [0.0, 1.0, np.nan, np.nan], [1.0, 2.0, 3.0, np.nan]])
FIRST, GAPS = np.array([-1.0, 0.2, -0.5]), np.array([[0.8, 1.0], [1.0, 1.0], [0.3, 1.0]])
KINDS_OF_LEVELS = np.array([[0.0, 1.0, 2.0], [4.0, 7.0, 9.0], [0.0, 1.0, np.nan]])
LINK = {"logit": stats.logistic, "probit": stats.norm}


def cut(column, place):
    count = int(np.sum(~np.isnan(LEVELS[column])))
    if place <= 0 or place >= count:
        return -np.inf if place <= 0 else np.inf
    return FIRST[column] + GAPS[column][: place - 1].sum()


def ordinal(link):
    F = LINK[link]

    def log_density(y, f, d, given):
        place = int(np.flatnonzero(LEVELS[d] == y)[0])
        low, high = cut(d, place) - f[0], cut(d, place + 1) - f[0]
        if low + high > 0:
            low, high = -high, -low
        return np.log(F.cdf(high) - F.cdf(low))

    return Case(Ordinal(link, LEVELS, FIRST, GAPS), log_density, *by_levels(log_density, LEVELS))


def by_levels(log_density, levels):
    def moment(power):
        def value(f, d, given):
            own = levels[d][~np.isnan(levels[d])]
            return sum(np.exp(log_density(y, f, d, given)) * y**power for y in own)

        return value

    return moment(1), lambda f, d, g: moment(2)(f, d, g) - moment(1)(f, d, g) ** 2


def categorical_density(y, f, d, given):
    own = ~np.isnan(KINDS_OF_LEVELS[d])
    place = int(np.flatnonzero(KINDS_OF_LEVELS[d] == y)[0])
    return f[place] - special.logsumexp(np.asarray(f)[own])


def bernoulli(link):
    F = LINK[link]
    return Case(
        Bernoulli(link),
        lambda y, f, d, g: F.logcdf(f[0]) if y == 1 else F.logsf(f[0]),
        lambda f, d, g: F.cdf(f[0]),
        lambda f, d, g: F.cdf(f[0]) * F.sf(f[0]),
    )


def binomial(link):
    F = LINK[link]
    return Case(
        Binomial(trials="reads", link=link),
        lambda y, f, d, n: (
            np.log(special.comb(n, y)) + y * F.logcdf(f[0]) + (n - y) * F.logsf(f[0])
        ),
        lambda f, d, n: n * F.cdf(f[0]),
        lambda f, d, n: n * F.cdf(f[0]) * F.sf(f[0]),
        lambda rng, rows: rng.integers(1, 30, size=(rows, D)).astype(float),
    )


def sizes(f, d, o):
    return SIZE[d], SIZE[d] / (SIZE[d] + np.exp(f[0] + (o or 0.0)))


def hurdle_density(y, f, d, given):
    if y == 0:
        return stats.logistic.logsf(f[0])
    return stats.logistic.logcdf(f[0]) + stats.lognorm.logpdf(y, SIGMA[d], scale=np.exp(f[1]))


def hurdle_mean(f, d, given):
    return stats.logistic.cdf(f[0]) * stats.lognorm.mean(SIGMA[d], scale=np.exp(f[1]))


def hurdle_variance(f, d, given):
    second = stats.lognorm.moment(2, SIGMA[d], scale=np.exp(f[1]))
    return stats.logistic.cdf(f[0]) * second - hurdle_mean(f, d, given) ** 2


def censored(log):
    family = stats.lognorm if log else stats.norm

    def shape(f, d):
        return (SIGMA[d], 0.0, np.exp(f[0])) if log else (f[0], SIGMA[d])

    def log_density(y, f, d, flag):
        what = family.logpdf if flag == 0 else family.logcdf if flag < 0 else family.logsf
        return what(y, *shape(f, d))

    return Case(
        Censored(log, events="events", noise=SIGMA**2),
        log_density,
        lambda f, d, g: family.mean(*shape(f, d)),
        lambda f, d, g: family.var(*shape(f, d)),
        lambda rng, rows: rng.integers(-1, 2, size=(rows, D)).astype(float),
    )


def exposures(rng, rows):
    return rng.normal(0.0, 0.5, size=(rows, D))


def rate(f, d, o):
    return np.exp(f[0] + (o or 0.0))


CASES = {
    "gaussian": Case(
        GaussianNoise(SIGMA**2, per_column=True),
        lambda y, f, d, g: stats.norm.logpdf(y, f[0], SIGMA[d]),
        lambda f, d, g: f[0],
        lambda f, d, g: SIGMA[d] ** 2,
    ),
    "student_t": Case(
        StudentT(SIGMA, 3.5),
        lambda y, f, d, g: stats.t.logpdf(y, 3.5, f[0], SIGMA[d]),
        lambda f, d, g: f[0],
        lambda f, d, g: stats.t.var(3.5, f[0], SIGMA[d]),
    ),
    "bernoulli": bernoulli("logit"),
    "bernoulli, probit": bernoulli("probit"),
    "binomial": binomial("logit"),
    "binomial, probit": binomial("probit"),
    "categorical": Case(
        Categorical(KINDS_OF_LEVELS),
        categorical_density,
        *by_levels(categorical_density, KINDS_OF_LEVELS),
    ),
    "ordinal": ordinal("logit"),
    "ordinal, probit": ordinal("probit"),
    "poisson": Case(
        Poisson(),
        lambda y, f, d, o: stats.poisson.logpmf(y, rate(f, d, o)),
        rate,
        rate,
    ),
    "poisson, exposed": Case(
        Poisson("hours"),
        lambda y, f, d, o: stats.poisson.logpmf(y, rate(f, d, o)),
        rate,
        rate,
        exposures,
    ),
    "negative_binomial": Case(
        NegativeBinomial("hours", SIZE),
        lambda y, f, d, o: stats.nbinom.logpmf(y, *sizes(f, d, o)),
        lambda f, d, o: stats.nbinom.mean(*sizes(f, d, o)),
        lambda f, d, o: stats.nbinom.var(*sizes(f, d, o)),
        exposures,
    ),
    "hurdle": Case(
        Hurdle(noise=SIGMA**2), hurdle_density, hurdle_mean, hurdle_variance
    ),
    "censored": censored(False),
    "censored_lognormal": censored(True),
}  # fmt: skip

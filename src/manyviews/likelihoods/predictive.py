"""Values predicted from Gaussian function values: quantiles, draws, densities.

f comes as a mixture of Gaussians with equal weights along a first axis, one part for every node
of an uncertain latent position; one part is a Gaussian.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, ndtr
from jaxtyping import Array, Float, PRNGKeyArray

from .base import Given, Likelihood
from .categorical import Categorical
from .mixed import Mixed
from .quadrature import root, standard_nodes

HALVINGS = 60
DOUBLINGS = 20
PRECISION = 1e-15  # of the ends of a bisection, relative
ATOM = 1e-12  # nearer to zero than this is zero
QUANTILE_LOG2 = 5  # nodes of f
BINS, REACH = 96, 6.0  # intervals of f, and standard deviations that they go out to
SMALLEST = 1e-30  # probability of an interval


def predictive_moments(
    likelihood: Likelihood,
    mean: Float[Array, "K *B D C"],
    variance: Float[Array, "K *B D C"],
    given: Given = None,
) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
    """Mean and variance of y, over the parts: E[V] + V[E]."""
    means, variances = jax.lax.map(
        lambda part: likelihood.moments(part[0], part[1], given), (mean, variance)
    )
    centre = jnp.mean(means, axis=0)
    return centre, jnp.mean(variances, axis=0) + jnp.mean((means - centre) ** 2, axis=0)


def predictive_probabilities(
    likelihood: Likelihood,
    mean: Float[Array, "K *B D C"],
    variance: Float[Array, "K *B D C"],
    given: Given = None,
) -> Float[Array, "*B D L"]:
    """P(y = level)."""
    found = jax.lax.map(
        lambda part: likelihood.probabilities(part[0], part[1], given), (mean, variance)
    )
    return jnp.mean(found, axis=0)


def predictive_log_density(
    likelihood: Likelihood,
    y: Float[Array, "*B D"],
    mean: Float[Array, "K *B D C"],
    variance: Float[Array, "K *B D C"],
    given: Given = None,
) -> Float[Array, "*B D"]:
    """Logarithm of ⟨p(y | f)⟩, value by value."""
    if isinstance(likelihood, Mixed):
        return likelihood.of_groups(predictive_log_density, mean, variance, given, values=y)
    points, weights = standard_nodes(likelihood.n_functions)

    def one_part(part: tuple[Array, Array]) -> Array:
        m, s = part[0], root(part[1])
        density = jax.vmap(lambda xi: likelihood.log_density(y, m + s * xi, given))
        weighted = density(jnp.asarray(points)) + np.log(weights).reshape(-1, *[1] * y.ndim)
        return logsumexp(weighted, axis=0)

    parts = jax.lax.map(one_part, (mean, variance))
    return logsumexp(parts, axis=0) - jnp.log(mean.shape[0])


def predictive_draws(
    likelihood: Likelihood,
    key: PRNGKeyArray,
    mean: Float[Array, "*B D C"],
    variance: Float[Array, "*B D C"],
    given: Given = None,
) -> Float[Array, "*B D"]:
    """One value for every Gaussian function value."""
    function_key, value_key = jax.random.split(key)
    noise = jax.random.normal(function_key, mean.shape, mean.dtype)
    return likelihood.draw(value_key, mean + root(variance) * noise, given)


def predictive_quantiles(
    likelihood: Likelihood,
    probability: float | Float[Array, ""],
    mean: Float[Array, "K *B D C"],
    variance: Float[Array, "K *B D C"],
    given: Given = None,
) -> Float[Array, "*B D"]:
    """The smallest y with P(value ≤ y) of at least ``probability``.

    By bisection of ⟨P(value ≤ y | f)⟩: to machine precision for values with a density, and to
    the whole number or level for others.
    """
    if isinstance(likelihood, Mixed):
        return likelihood.of_groups(_ordered_quantiles, mean, variance, given, probability)
    if likelihood.n_functions == 1:
        nodes = binned(mean, variance)
    else:
        points, weights = standard_nodes(likelihood.n_functions, QUANTILE_LOG2)
        places = np.divmod(np.arange(len(mean) * len(points)), len(points))

    def cdf(y: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        def add(total: Array, node: tuple[Array, Array]) -> tuple[Array, None]:
            return total + node[1] * likelihood.cdf(y, node[0], given), None

        def of_part(total: Array, place: tuple[Array, Array]) -> tuple[Array, None]:
            part, node = place
            f = mean[part] + root(variance[part]) * jnp.asarray(points)[node]
            return add(total, (f, jnp.asarray(weights)[node] / len(mean)))

        if likelihood.n_functions == 1:
            return jax.lax.scan(add, jnp.zeros_like(y), nodes)[0]
        pairs = (jnp.asarray(places[0]), jnp.asarray(places[1]))
        return jax.lax.scan(of_part, jnp.zeros_like(y), pairs)[0]

    levels = likelihood.level_values()
    shape = mean.shape[1:-1]
    if levels is not None:
        return _level_quantile(cdf, levels, probability, shape)
    centre, spread = predictive_moments(likelihood, mean, variance, given)
    centre = jnp.where(jnp.isfinite(centre), centre, 0.0)
    step = jnp.where(jnp.isfinite(spread), jnp.sqrt(spread), 1.0) + 1.0

    def widen(state: Any) -> Any:
        low, high, _, count = state
        above, below = cdf(low) >= probability, cdf(high) < probability
        low = jnp.where(above, low - 2.0 * (centre - low) - step, low)
        high = jnp.where(below, high + 2.0 * (high - centre) + step, high)
        return low, high, jnp.any(above | below), count + 1

    rounded = (lambda y: y) if likelihood.continuous else jnp.floor
    start = (rounded(centre - step), rounded(centre + step), jnp.asarray(True), 0)
    low, high, _, _ = jax.lax.while_loop(lambda s: s[2] & (s[3] < DOUBLINGS), widen, start)

    def halve(state: Any) -> Any:
        low, high, count = state
        middle = rounded(0.5 * (low + high))
        enough = cdf(middle) >= probability
        return jnp.where(enough, low, middle), jnp.where(enough, middle, high), count + 1

    def apart(state: Any) -> Array:
        low, high, count = state
        least = PRECISION * (jnp.abs(low) + jnp.abs(high)) if likelihood.continuous else 1.0
        return jnp.any(high - low > least) & (count < HALVINGS)

    if not likelihood.continuous:
        low, high = jnp.maximum(jnp.floor(low), -1.0), jnp.ceil(high)
    _, high, _ = jax.lax.while_loop(apart, halve, (low, high, 0))
    return jnp.where(jnp.abs(high) < ATOM * step, 0.0, high)  # zero itself may have a probability


def binned(
    mean: Float[Array, "K *B D 1"], variance: Float[Array, "K *B D 1"]
) -> tuple[Float[Array, "G *B D 1"], Float[Array, "G *B D"]]:
    """Values of f that stand for a mixture, one for each of some intervals of one length.

    The mean of f in an interval, with the probability of it: E[g(f)] is exact for straight g, and
    up to a 24th of the squared length times the curvature of g for others, however many parts.
    """
    m, s = mean[..., 0], root(variance[..., 0])
    low, high = jnp.min(m - REACH * s, axis=0), jnp.max(m + REACH * s, axis=0)
    step = (high - low) / BINS

    def one(place: Array) -> tuple[Array, Array]:
        edge = low + step * place
        a, b = (edge - m) / s, (edge + step - m) / s
        below = jnp.where(a > 0.0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))  # of the nearer tail
        mass = jnp.mean(below, axis=0)
        total = jnp.mean(m * below - s * (_bell(b) - _bell(a)), axis=0)
        middle = edge + 0.5 * step
        inside = jnp.where(mass > SMALLEST, total / jnp.maximum(mass, SMALLEST), middle)
        return jnp.clip(inside, edge, edge + step)[..., None], mass

    return jax.lax.map(one, jnp.arange(BINS))


def _bell(z: Array) -> Array:
    return jnp.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)


def _ordered_quantiles(
    likelihood: Likelihood, probability: Any, mean: Array, variance: Array, given: Given
) -> Float[Array, "*B D"]:
    """Quantiles, and NaN for levels without an order, which have none."""
    if isinstance(likelihood, Categorical):
        return jnp.full(mean.shape[1:-1], jnp.nan)
    return predictive_quantiles(likelihood, probability, mean, variance, given)


def _level_quantile(
    cdf: Callable[[Array], Array],
    levels: Array,
    probability: float | Float[Array, ""],
    shape: tuple[int, ...],
) -> Float[Array, "*B D"]:
    """The first level whose cumulated probability is high enough."""
    levels = jnp.broadcast_to(levels, (shape[-1], levels.shape[1]))
    answer = jnp.broadcast_to(jnp.nanmax(levels, axis=1), shape)
    for place in reversed(range(levels.shape[1])):
        level = jnp.broadcast_to(levels[:, place], shape)
        reached = cdf(jnp.nan_to_num(level, nan=jnp.inf)) >= probability - 1e-12
        answer = jnp.where(reached & ~jnp.isnan(level), level, answer)
    return answer

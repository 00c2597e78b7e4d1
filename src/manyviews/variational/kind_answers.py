"""Answers about views of any kind of data, compiled, as NumPy arrays."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..inference.many_minima import minimise_rows
from ..mappings import StochasticPosterior
from ..mappings.observations import split_table
from .prediction import padded_alike


def fill_kind(
    posterior: StochasticPosterior, q: Gaussian, given: Float[np.ndarray, "N D"] | None
) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
    """Mean and variance of values, with what is given beside those of their rows."""
    with single_threaded_blas():
        known = None if given is None else jnp.asarray(given)
        mean, variance = _moments(posterior, q, known)
    return np.array(mean), np.array(variance)


def function_moments(
    posterior: StochasticPosterior, q: Gaussian
) -> tuple[Float[np.ndarray, "N D C"], Float[np.ndarray, "N D C"]]:
    """Mean and variance of every function, x* uncertain."""
    with single_threaded_blas():
        mean, variance = _function_moments(*padded_alike(posterior, q))
    return np.array(mean)[: len(q.mean)], np.array(variance)[: len(q.mean)]


def level_probabilities(posterior: StochasticPosterior, q: Gaussian) -> Float[np.ndarray, "N D L"]:
    """Probabilities of the levels of every column."""
    with single_threaded_blas():
        return np.array(_probabilities(*padded_alike(posterior, q)))[: len(q.mean)]


def value_quantiles(
    posterior: StochasticPosterior, q: Gaussian, probabilities: Sequence[float]
) -> Float[np.ndarray, "P N D"]:
    """Values that are not exceeded with these probabilities."""
    padded = padded_alike(posterior, q)
    with single_threaded_blas():
        found = [_quantiles(*padded, jnp.asarray(p)) for p in probabilities]
    return np.stack([np.asarray(values)[: len(q.mean)] for values in found])


def value_densities(
    posterior: StochasticPosterior, q: Gaussian, table: Float[np.ndarray, "N E"]
) -> Float[np.ndarray, "N D"]:
    """Log density (or probability) of every value on its own, NaN where there is none."""
    Y, given = split_table(table, posterior.likelihood)
    seen = ~np.isnan(Y)
    filled = jnp.asarray(np.where(seen, Y, posterior.likelihood.some_value()))
    known = None if given is None else jnp.asarray(given)
    with single_threaded_blas():
        found = np.array(_densities(posterior, q, filled, known))
    return np.where(seen, found, np.nan)


def share_of_deviance(
    posterior: StochasticPosterior, q: Gaussian, table: Float[np.ndarray, "N E"]
) -> float:
    """1 - Σ d(y, f) / Σ d(y, constant) over the observed values, d the deviance.

    f has the predicted rate, probability or mean; the constants of the columns are the best ones.
    """
    Y, given = split_table(table, posterior.likelihood)
    other = posterior.likelihood.some_value()
    seen = ~np.isnan(Y)
    known = None if given is None else jnp.asarray(given)
    with single_threaded_blas():
        left, constant = _deviances(
            posterior, q, jnp.asarray(np.where(seen, Y, other)), jnp.asarray(seen, float), known
        )
    return 1.0 - float(left) / float(constant) if constant > 0.0 else float("nan")


@eqx.filter_jit
def _moments(
    posterior: StochasticPosterior, q: Gaussian, given: Float[Array, "N D"] | None
) -> tuple[Array, Array]:
    return posterior.mean(q, given), posterior.variance(q, given)


@eqx.filter_jit
def _function_moments(posterior: StochasticPosterior, q: Gaussian) -> tuple[Array, Array]:
    means, variances = posterior.parts(q)
    return jnp.mean(means, axis=0), jnp.mean(variances, axis=0) + jnp.var(means, axis=0)


@eqx.filter_jit
def _probabilities(posterior: StochasticPosterior, q: Gaussian) -> Array:
    return posterior.probabilities(q)


@eqx.filter_jit
def _quantiles(posterior: StochasticPosterior, q: Gaussian, p: Float[Array, ""]) -> Array:
    return posterior.quantiles(q, p)


@eqx.filter_jit
def _densities(
    posterior: StochasticPosterior,
    q: Gaussian,
    y: Float[Array, "N D"],
    given: Float[Array, "N D"] | None,
) -> Array:
    return posterior.log_density(q, y, given)


@eqx.filter_jit
def _deviances(
    posterior: StochasticPosterior,
    q: Gaussian,
    y: Float[Array, "N D"],
    mask: Float[Array, "N D"],
    given: Float[Array, "N D"] | None,
) -> tuple[Array, Array]:
    """Summed deviance of the predictions, and of the best constants."""
    kind, shape = posterior.likelihood, (len(y), *posterior.offset.shape)
    left = kind.deviance(y, kind.central(*posterior.parts(q)), given)

    def of_constants(f: Float[Array, "D C"]) -> Float[Array, " D"]:
        found = kind.deviance(y, jnp.broadcast_to(f, shape), given)
        return jnp.sum(mask * found, axis=0) / jnp.sum(mask, axis=0)

    start = posterior.offset
    best = minimise_rows(of_constants, start, jnp.ones_like(start), tolerance=1e-5)[1]
    return jnp.sum(mask * left), jnp.sum(best * jnp.sum(mask, axis=0))

"""Answers about views of any kind of data, compiled, as NumPy arrays."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._runtime import single_threaded_blas
from ..expectations import Gaussian, psi1
from ..mappings import StochasticPosterior
from ..mappings.observations import split_table
from .prediction import pad


def fill_kind(
    posterior: StochasticPosterior, q: Gaussian, given: Float[np.ndarray, "N D"] | None
) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
    """Mean and variance of values, with what is given beside those of their rows."""
    with single_threaded_blas():
        known = None if given is None else jnp.asarray(given)
        mean, variance = _moments(posterior, q, known)
    return np.array(mean), np.array(variance)


def level_probabilities(posterior: StochasticPosterior, q: Gaussian) -> Float[np.ndarray, "N D L"]:
    """Probabilities of the levels of every column."""
    with single_threaded_blas():
        return np.array(_probabilities(posterior, pad(q)))[: len(q.mean)]


def value_quantiles(
    posterior: StochasticPosterior, q: Gaussian, probabilities: Sequence[float]
) -> Float[np.ndarray, "P N D"]:
    """Values that are not exceeded with these probabilities."""
    with single_threaded_blas():
        found = [_quantiles(posterior, pad(q), jnp.asarray(p)) for p in probabilities]
    return np.stack([np.asarray(values)[: len(q.mean)] for values in found])


def share_of_deviance(
    posterior: StochasticPosterior, q: Gaussian, table: Float[np.ndarray, "N E"]
) -> float:
    """1 - Σ d(y, ⟨f⟩) / Σ d(y, offset) over the observed values, d the deviance."""
    Y, given = split_table(table, posterior.likelihood)
    levels = posterior.likelihood.level_values()
    other = 1.0 if levels is None else np.asarray(levels)[:, 0]
    seen = ~np.isnan(Y)
    known = None if given is None else jnp.asarray(given)
    with single_threaded_blas():
        left, all_of_it = _deviances(posterior, q, jnp.asarray(np.where(seen, Y, other)), known)
    return 1.0 - float(np.sum(np.asarray(left)[seen]) / np.sum(np.asarray(all_of_it)[seen]))


@eqx.filter_jit
def _moments(
    posterior: StochasticPosterior, q: Gaussian, given: Float[Array, "N D"] | None
) -> tuple[Array, Array]:
    return posterior.mean(q, given), posterior.variance(q, given)


@eqx.filter_jit
def _probabilities(posterior: StochasticPosterior, q: Gaussian) -> Array:
    return posterior.probabilities(q)


@eqx.filter_jit
def _quantiles(posterior: StochasticPosterior, q: Gaussian, p: Float[Array, ""]) -> Array:
    return posterior.quantiles(q, p)


@eqx.filter_jit
def _deviances(
    posterior: StochasticPosterior,
    q: Gaussian,
    y: Float[Array, "N D"],
    given: Float[Array, "N D"] | None,
) -> tuple[Array, Array]:
    offset = jnp.broadcast_to(posterior.offset, (len(y), *posterior.offset.shape))
    moved = (psi1(posterior.kernel, posterior.Z, q) @ posterior.weights).reshape(offset.shape)
    kind = posterior.likelihood
    return kind.deviance(y, offset + moved, given), kind.deviance(y, offset, given)

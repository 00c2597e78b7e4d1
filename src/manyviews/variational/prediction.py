"""Predictions from a posterior, compiled, as NumPy arrays."""

from typing import Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..mappings import Posterior, StochasticPosterior

BUCKETS = (1, 4, 16, 64)  # numbers of rows to compile for; beyond, multiples of the last
P = TypeVar("P", bound=Posterior)
CHEAP = 20_000_000  # multiplications: a few milliseconds, less than another program costs


def moments(
    posterior: Posterior, q: Gaussian, spread: Literal["variance", "covariance"] | None
) -> tuple[Float[np.ndarray, "N D"], np.ndarray | None]:
    """Mean of y* at Gaussian inputs, and its variance or covariance across columns, with noise.

    [BGPLVM16, eq. 40-41]
    """
    n = q.mean.shape[0]
    posterior, padded = padded_alike(posterior, q, _multiplications(posterior))
    with single_threaded_blas():
        mean = np.array(_mean(posterior, padded))[:n]
        if spread is None:
            return mean, None
        how = _variance if spread == "variance" else _covariance
        return mean, np.array(how(posterior, padded))[:n]


def draw(
    posterior: Posterior, q: Gaussian, n_samples: int, key: PRNGKeyArray
) -> Float[np.ndarray, "K N D"]:
    """Draws of y*, noise included."""
    n = q.mean.shape[0]
    posterior, padded = padded_alike(posterior, q)
    with single_threaded_blas():
        return np.array(_draw(posterior, padded, n_samples, key))[:, :n]


def padded_alike(posterior: P, q: Gaussian, per_row: int = CHEAP) -> tuple[P, Gaussian]:
    """More rows, with a posterior that knows of them if it is one of certain rows."""
    if not isinstance(posterior, StochasticPosterior):
        return posterior, pad(q, per_row)
    chosen = _resized(len(q.mean), per_row)
    return posterior.rows(jnp.asarray(chosen)), q.rows(chosen)


def pad(q: Gaussian, per_row: int = CHEAP) -> Gaussian:
    """More rows, so that there are few shapes to compile for.

    Where a row takes few multiplications, small numbers of rows share a program with larger ones.
    """
    return q.rows(_resized(q.mean.shape[0], per_row))


def _resized(n: int, per_row: int) -> Int[np.ndarray, " n"]:
    last = BUCKETS[-1]
    least = max(size for size in BUCKETS if size == 1 or size * per_row <= CHEAP)
    size = next((b for b in BUCKETS if max(n, least) <= b), -(-n // last) * last)
    return np.resize(np.arange(n), size)


def _multiplications(posterior: Posterior) -> int:
    """About what the variances of one row take."""
    n_inducing, n_columns = posterior.weights.shape
    return n_inducing * n_inducing * n_columns


@eqx.filter_jit
def _mean(posterior: Posterior, q: Gaussian) -> Array:
    return posterior.mean(q)


@eqx.filter_jit
def _variance(posterior: Posterior, q: Gaussian) -> Array:
    return posterior.variance(q) + posterior.noise


@eqx.filter_jit
def _covariance(posterior: Posterior, q: Gaussian) -> Array:
    return posterior.covariance(q) + posterior.noise * jnp.eye(posterior.weights.shape[1])


@eqx.filter_jit
def _draw(posterior: Posterior, q: Gaussian, n_samples: int, key: PRNGKeyArray) -> Array:
    latent_key, noise_key = jax.random.split(key)
    f = posterior.sample(q, n_samples, latent_key)
    return f + jnp.sqrt(posterior.noise) * jax.random.normal(noise_key, f.shape, f.dtype)

"""Predictions from a posterior, compiled, as NumPy arrays."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..mappings import Posterior

BUCKETS = (1, 4, 16, 64)  # numbers of rows to compile for; beyond, multiples of the last
CHEAP = 20_000_000  # multiplications: a few milliseconds, less than another program costs


def moments(
    posterior: Posterior, q: Gaussian, spread: Literal["variance", "covariance"] | None
) -> tuple[Float[np.ndarray, "N D"], np.ndarray | None]:
    """Mean of y* at Gaussian inputs, and its variance or covariance across columns, with noise.

    [BGPLVM16, eq. 40-41]
    """
    n = q.mean.shape[0]
    padded = pad(q, _multiplications(posterior))  # few shapes, few compilations
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
    with single_threaded_blas():
        return np.array(_draw(posterior, pad(q), n_samples, key))[:, : q.mean.shape[0]]


def pad(q: Gaussian, per_row: int = CHEAP) -> Gaussian:
    """More rows, so that there are few shapes to compile for.

    Where a row takes few multiplications, small numbers of rows share a program with larger ones.
    """
    n, last = q.mean.shape[0], BUCKETS[-1]
    least = max(size for size in BUCKETS if size == 1 or size * per_row <= CHEAP)
    size = next((b for b in BUCKETS if max(n, least) <= b), -(-n // last) * last)
    return q.rows(np.resize(np.arange(n), size))


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

"""Predictions from a posterior, compiled, as NumPy arrays."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..mappings import Posterior

BUCKETS = (1, 4, 16, 64)  # numbers of rows to compile for; beyond, multiples of the last


class Moments(NamedTuple):
    """Mean and, where asked for, std or full covariance across columns; noise included."""

    mean: Float[np.ndarray, "N D"]
    std: Float[np.ndarray, "N D"]
    covariance: Float[np.ndarray, "N D D"]


def moments(posterior: Posterior, q: Gaussian, *, want_std: bool, want_covariance: bool) -> Moments:
    """Moments of y* at Gaussian inputs (002 eq. 40-41)."""
    n = q.mean.shape[0]
    padded = _pad(q)  # few shapes, few compilations
    nothing = np.empty(0)
    with single_threaded_blas():
        mean = np.array(_mean(posterior, padded))[:n]
        std = np.array(_std(posterior, padded))[:n] if want_std else nothing
        cov = np.array(_covariance(posterior, padded))[:n] if want_covariance else nothing
    return Moments(mean, std, cov)


def draw(
    posterior: Posterior, q: Gaussian, n_samples: int, key: PRNGKeyArray
) -> Float[np.ndarray, "K N D"]:
    """Draws of y*, noise included."""
    with single_threaded_blas():
        return np.array(_draw(posterior, _pad(q), n_samples, key))[:, : q.mean.shape[0]]


def _pad(q: Gaussian) -> Gaussian:
    n = q.mean.shape[0]
    size = next((b for b in BUCKETS if n <= b), -(-n // BUCKETS[-1]) * BUCKETS[-1])
    return q[jnp.asarray(np.resize(np.arange(n), size))]


@eqx.filter_jit
def _mean(posterior: Posterior, q: Gaussian) -> Array:
    return posterior.mean(q)


@eqx.filter_jit
def _std(posterior: Posterior, q: Gaussian) -> Array:
    return jnp.sqrt(posterior.variance(q) + posterior.noise)


@eqx.filter_jit
def _covariance(posterior: Posterior, q: Gaussian) -> Array:
    return posterior.covariance(q) + posterior.noise * jnp.eye(posterior.weights.shape[1])


@eqx.filter_jit
def _draw(posterior: Posterior, q: Gaussian, n_samples: int, key: PRNGKeyArray) -> Array:
    latent_key, noise_key = jax.random.split(key)
    f = posterior.sample(q, n_samples, latent_key)
    return f + jnp.sqrt(posterior.noise) * jax.random.normal(noise_key, f.shape, f.dtype)

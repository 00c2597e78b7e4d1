"""What a latent dimension does to a view, in numbers that compare across kernels."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import OptionError
from ..expectations import Gaussian
from ..mappings import PointPosterior, Posterior

Fitted = Callable[[Gaussian], Float[np.ndarray, "N D"]]
"""The mean of a view at Gaussian latent positions."""


def variance_explained(
    fitted: Fitted, q: Gaussian, Y: Float[np.ndarray, "N D"], kind: str
) -> tuple[Float[np.ndarray, " Q"], float]:
    """Share of a view's variance that each dimension explains, and that all of them do.

    Let f_S(x) = ⟨f(x)⟩ with the dimensions outside S unknown, i.e. drawn from their overall
    distribution N(mean, variance) over the samples, and R²(S) = 1 - ‖Y - f_S‖²/‖Y‖² over the
    observed values. ``"lost"`` is R²(all) - R²(all but q): what is lost when q is not known.
    ``"alone"`` is R²({q}): what q tells by itself. For an additive map the two agree and add
    up to the total; where dimensions interact, "lost" counts the interaction for each of
    them and "alone" for none.
    """
    if kind not in {"lost", "alone"}:
        raise OptionError(f"kind must be 'lost' or 'alone', got {kind!r}")
    Q = q.mean.shape[1]
    everything = np.ones(Q, bool)
    total = _r_squared(fitted, q, Y, everything)
    shares = np.empty(Q)
    for dimension in range(Q):
        known = everything.copy() if kind == "lost" else ~everything
        known[dimension] = kind != "lost"
        part = _r_squared(fitted, q, Y, known)
        shares[dimension] = total - part if kind == "lost" else part
    return shares, total


def variance_explained_by(
    fitted: Fitted, q: Gaussian, Y: Float[np.ndarray, "N D"], dimensions: list[int]
) -> float:
    """R²(S) of a set of dimensions, the others being unknown."""
    return _r_squared(fitted, q, Y, np.isin(np.arange(q.mean.shape[1]), dimensions))


def _r_squared(
    fitted: Fitted, q: Gaussian, Y: Float[np.ndarray, "N D"], known: np.ndarray
) -> float:
    mean, variance = np.asarray(q.mean), np.asarray(q.variance)
    overall = mean.var(axis=0) + variance.mean(axis=0)
    partly = Gaussian(
        jnp.asarray(np.where(known, mean, mean.mean(axis=0))),
        jnp.asarray(np.where(known, variance, overall)),
    )
    return 1.0 - float(np.nansum((Y - fitted(partly)) ** 2) / np.nansum(Y**2))


def sensitivity(posterior: Posterior | PointPosterior, q: Gaussian) -> Float[np.ndarray, "D Q"]:
    """Root mean square over the samples of ∂⟨f_d(x)⟩/∂x_q, times the spread of x_q.

    How far a column moves when a dimension moves by one standard deviation. For a linear
    map this is the absolute loading.
    """
    spread = np.asarray(q.mean).std(axis=0)
    return np.array(_slopes(posterior, q)) * spread


@jax.jit
def _slopes(posterior: Posterior | PointPosterior, q: Gaussian) -> Float[Array, "D Q"]:
    def along(direction: Float[Array, " Q"]) -> Float[Array, " D"]:
        push = jnp.broadcast_to(direction, q.mean.shape)
        slope = jax.jvp(lambda m: posterior.mean(Gaussian(m, q.variance)), (q.mean,), (push,))[1]
        return jnp.sqrt(jnp.mean(slope**2, axis=0))

    return jax.lax.map(along, jnp.eye(q.mean.shape[1])).T

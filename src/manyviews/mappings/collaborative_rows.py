"""What new rows of a collaborative view say about their latent points, q(U) fixed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..data.patterns import distinct_patterns
from ..expectations import Gaussian
from .collaborative_posterior import CollaborativePosterior
from .rows import PreparedRows, row_evidence
from .stack import Stack


class StackedRowEvidence(PreparedRows):
    """New rows of a view whose columns mix several processes."""

    stack: Stack
    prior: Float[Array, "R B"]
    """Σ_d w_dj² over the observed columns of every pattern, by process."""

    @property
    def n_inducing(self) -> int:
        return self.stack.n_inducing

    def psi1(self, q: Gaussian) -> Float[Array, "N S"]:
        return self.stack.psi1(q)

    def second_moments(self, q: Gaussian) -> Float[Array, " N"]:
        explained = self.stack.psi2_rows(q, self.quadratic, self.pattern)
        return explained + jnp.sum(self.prior[self.pattern] * self.stack.psi0(q), axis=1)


@row_evidence.register
def collaborative_row_evidence(
    posterior: CollaborativePosterior,
    filled: Float[np.ndarray, "N D"],
    observed: Bool[np.ndarray, "N D"],
    power: float = 1.0,
) -> StackedRowEvidence:
    """Prepare new rows (zeros where missing) for inference of their latent points."""
    patterns, which = distinct_patterns(observed)
    return _assemble(
        posterior,
        jnp.asarray(filled),
        jnp.asarray(patterns, jnp.float64),
        jnp.asarray(which, jnp.int32),
        jnp.asarray(observed.sum(axis=1), jnp.float64),
        jnp.asarray(power, jnp.float64),
    )


@eqx.filter_jit
def _assemble(
    posterior: CollaborativePosterior,
    filled: Float[Array, "N D"],
    patterns: Float[Array, "R D"],
    which: Int[Array, " N"],
    count: Float[Array, " N"],
    power: Float[Array, ""],
) -> StackedRowEvidence:
    B = posterior.weights
    products = jax.lax.map(lambda w: (B * w) @ B.T, patterns)
    squares = jnp.concatenate([jnp.ones((B.shape[1], 1), B.dtype), posterior.mixing**2], axis=1)
    return StackedRowEvidence(
        stack=posterior.stack,
        beta=1.0 / posterior.noise,
        linear=filled @ B.T,
        quadratic=products - posterior.summed_reduction(patterns),
        prior=patterns @ squares,
        pattern=which,
        count=count,
        sum_squares=jnp.sum(filled**2, axis=1),
        power=power,
    )

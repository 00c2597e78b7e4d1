"""What new rows of any kind of data say about their latent points."""

from typing import Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..expectations import Gaussian
from ..likelihoods.quadrature import symmetric_sample
from .observations import split_table
from .rows import PreparedRows, row_evidence
from .stochastic_posterior import StochasticPosterior

NODES_LOG2 = 4


class NodeRows(PreparedRows):
    """⟨log p(y* | f(x*))⟩ over nodes of x*, q(U) fixed.

    The nodes are the same for all rows and all steps of a search, so that it sees one smooth
    function.
    """

    posterior: StochasticPosterior
    values: Float[Array, "N D"]
    mask: Float[Array, "N D"]
    given: Float[Array, "N D"] | None
    nodes: Float[Array, "K Q"]
    power: Float[Array, ""]

    @property
    def n_rows(self) -> int:
        return self.values.shape[0]

    @property
    def n_inducing(self) -> int:
        return self.posterior.Z.shape[0]

    def __call__(self, q: Gaussian) -> Float[Array, " N"]:
        (N, Q), K = q.mean.shape, self.nodes.shape[0]
        x = q.mean[:, None] + jnp.sqrt(q.variance)[:, None] * self.nodes
        m, v = self.posterior.functions(x.reshape(N * K, Q))
        shape = (N, K, *self.posterior.offset.shape)
        given = None if self.given is None else self.given[:, None]
        y = jnp.broadcast_to(self.values[:, None], shape[:-1])
        kind = self.posterior.likelihood
        found = kind.expected_log_density(y, m.reshape(shape), v.reshape(shape), given)
        return self.power * jnp.sum(self.mask * jnp.mean(found, axis=1), axis=1)

    def take(self, rows: Int[Array, " n"]) -> Self:
        given = None if self.given is None else self.given[rows]
        picked = (self.values[rows], self.mask[rows], given)
        return eqx.tree_at(
            lambda e: (e.values, e.mask, e.given), self, picked, is_leaf=lambda leaf: leaf is None
        )


@row_evidence.register
def _(
    posterior: StochasticPosterior,
    filled: Float[np.ndarray, "N E"],
    observed: Bool[np.ndarray, "N E"],
    power: float = 1.0,
) -> NodeRows:
    Y, given = split_table(np.where(observed, filled, np.nan), posterior.likelihood)
    seen = ~np.isnan(Y)
    nodes, _ = symmetric_sample(posterior.Z.shape[1], NODES_LOG2)
    return NodeRows(
        posterior=posterior,
        values=jnp.asarray(np.where(seen, Y, posterior.likelihood.some_value())),
        mask=jnp.asarray(seen, jnp.float64),
        given=None if given is None else jnp.asarray(given),
        nodes=jnp.asarray(nodes),
        power=jnp.asarray(power, jnp.float64),
    )

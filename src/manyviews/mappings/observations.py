"""One view's data of any kind, with what is given beside them and where x is tried."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..data.patterns import distinct_patterns
from ..likelihoods import GaussianNoise, Likelihood
from ..likelihoods.quadrature import symmetric_sample

FEWEST_LOG2 = 3  # half of the nodes of a row, if there are few dimensions


class Observations(eqx.Module):
    """Rows of a view: values, mask, what is given beside them, and nodes of x.

    ⟨g(x_n)⟩ under q(x_n) = N(μ_n, S_n) is (1/K) Σ_k g(μ_n + √S_n ξ_nk). The nodes ξ_n of a row have
    mean zero, unit covariance and no odd moments, and every row has its own rotation of them: the
    sum over rows is nearly free of error, and no parameter can settle between the nodes.
    """

    values: Float[Array, "N D"]
    """The data, with some value that there can be where one is missing."""
    mask: Float[Array, "N D"]
    given: Float[Array, "N D"] | None
    nodes: Float[Array, "N K Q"] | None
    """None where expectations over x are in closed form."""
    patterns: Float[Array, "P N"]
    """Missing patterns of the columns."""
    pattern_of_column: Int[Array, " D"]
    scale: Float[Array, ""]
    """Rows that a row stands for: more than one in a batch."""
    spread: Float[Array, ""]
    """Mean square of centred values; NaN if they are not Gaussian."""

    def n_observed(self) -> float:
        """How many values are not missing."""
        return float(self.mask.sum())

    def variance(self) -> float:
        """Mean square of Gaussian values; NaN of other kinds."""
        return float(self.spread)

    def rows(self, chosen: Int[Array, " B"]) -> "Observations":
        """A batch of rows, each of which stands for N / B."""
        n_rows = self.values.shape[0]
        return Observations(
            values=self.values[chosen],
            mask=self.mask[chosen],
            given=None if self.given is None else self.given[chosen],
            nodes=None if self.nodes is None else self.nodes[chosen],
            patterns=self.patterns[:, chosen],
            pattern_of_column=self.pattern_of_column,
            scale=self.scale * n_rows / chosen.shape[0],
            spread=self.spread,
        )

    def with_few_nodes(self, n_pairs: int) -> "Observations":
        """The same rows with some of their nodes and the mirror images of these."""
        if self.nodes is None:
            return self
        half = self.nodes.shape[1] // 2
        few = np.arange(min(n_pairs, half))
        return self.with_nodes(self.nodes[:, np.concatenate([few, half + few])])

    def with_nodes(self, nodes: Float[Array, "N K Q"]) -> "Observations":
        """The same rows with x tried elsewhere: with fresh draws, an unbiased estimate."""
        if self.nodes is None:
            return self
        return eqx.tree_at(lambda o: o.nodes, self, nodes)


def make_observations(
    table: Float[np.ndarray, "N E"],
    likelihood: Likelihood,
    n_dimensions: int,
    *,
    log2_nodes: int = FEWEST_LOG2,
    seed: int = 0,
) -> Observations:
    """Arrange a table (NaN = missing) for training; see `split_table()`."""
    Y, given = split_table(table, likelihood)
    seen = ~np.isnan(Y)
    known = likelihood.start(Y, given).likelihood  # knows its levels
    patterns, place = distinct_patterns(seen.T)
    gaussian = isinstance(likelihood, GaussianNoise)
    return Observations(
        values=jnp.asarray(np.where(seen, Y, known.some_value())),
        mask=jnp.asarray(seen, jnp.float64),
        given=None if given is None else jnp.asarray(given),
        nodes=None if gaussian else jnp.asarray(row_nodes(len(Y), n_dimensions, log2_nodes, seed)),
        patterns=jnp.asarray(patterns, jnp.float64),
        pattern_of_column=jnp.asarray(place, jnp.int32),
        scale=jnp.ones(()),
        spread=jnp.asarray(np.nanmean((Y - np.nanmean(Y, axis=0)) ** 2) if gaussian else np.nan),
    )


def split_table(
    table: Float[np.ndarray, "N E"], likelihood: Likelihood
) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"] | None]:
    """The values, and what is given beside them.

    A table that has to come with the data (trials, exposures, events) stands to their right.
    """
    if likelihood.beside is None:
        return table, likelihood.given(table)
    half = table.shape[1] // 2
    return table[:, :half], likelihood.given(table[:, :half], table[:, half:])


def row_nodes(
    n_rows: int, n_dimensions: int, log2_size: int = FEWEST_LOG2, seed: int = 0
) -> Float[np.ndarray, "N K Q"]:
    """A symmetric sample of N(0, I) for every row, each in a random rotation."""
    points, _ = symmetric_sample(n_dimensions, log2_size, seed)
    rng = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(rng.standard_normal((n_rows, n_dimensions, n_dimensions)))
    return np.einsum("kq,nqr->nkr", points, turned)


def working_table(
    table: Float[np.ndarray, "N E"], likelihood: Likelihood | None
) -> Float[np.ndarray, "N _"]:
    """A table on roughly the scale of its functions, of mean zero and unit variance in all.

    Tables with Gaussian noise are scaled already.
    """
    if likelihood is None:
        return table
    Y = likelihood.working(*split_table(table, likelihood))
    centred = Y - np.nanmean(Y, axis=0)
    spread = float(np.sqrt(np.nanmean(centred**2)))
    return centred / (spread if spread > 0 else 1.0)

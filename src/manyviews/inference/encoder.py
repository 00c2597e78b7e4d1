"""q(x) of a row as a function of its values: an amortised posterior."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..expectations import Gaussian
from ..likelihoods import Censored, Hurdle, Likelihood, Mixed, NegativeBinomial, Poisson
from ..likelihoods.mixed import given_to
from ..mappings.observations import split_table

WIDTH = 128
FARTHEST = 5.0  # standard deviations; what lies beyond says no more
LOG_VARIANCES = (-12.0, 4.0)


class Seen(NamedTuple):
    """One view of some rows as an encoder sees it: zeros where a value is missing."""

    values: Float[Array, "n _"]
    mask: Float[Array, "n _"]


class Encoder(eqx.Module):
    """q(x_n) = N(m(y_n), diag s(y_n)), m and s by a network of two hidden layers.

    It sees all views of a row at once, standardised (logarithms of counts and amounts), and which
    values there are: any may be missing.
    """

    likelihoods: tuple[Likelihood, ...]
    centre: tuple[Float[Array, " _"], ...]
    scale: tuple[Float[Array, " _"], ...]
    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]

    @classmethod
    def start(
        cls,
        tables: Sequence[Float[np.ndarray, "N _"]],
        likelihoods: Sequence[Likelihood],
        n_components: int,
        seed: int,
    ) -> "Encoder":
        """An encoder with standardisations read off some rows, and random weights."""
        raw = [_shown(Y, kind) for Y, kind in zip(tables, likelihoods, strict=True)]
        centre = tuple(jnp.asarray(np.nan_to_num(np.nanmean(Y, axis=0))) for Y in raw)
        spread = [np.nan_to_num(np.nanstd(Y, axis=0)) for Y in raw]
        scale = tuple(jnp.asarray(np.where(s > 0, s, 1.0)) for s in spread)
        sizes = (2 * sum(Y.shape[1] for Y in raw), WIDTH, WIDTH, 2 * n_components)
        rng = np.random.default_rng(seed)
        pairs = list(itertools.pairwise(sizes))
        weights = tuple(
            jnp.asarray(rng.standard_normal((i, o)) / np.sqrt(i)) for i, o in pairs
        )  # fmt: skip
        biases = tuple(jnp.zeros(o) for _, o in pairs)
        return cls(tuple(likelihoods), centre, scale, weights, biases)

    def look(self, tables: Sequence[Float[np.ndarray, "n _"]]) -> tuple[Seen, ...]:
        """Rows of all views as the network takes them."""
        found = []
        parts = zip(tables, self.likelihoods, self.centre, self.scale, strict=True)
        for table, kind, centre, scale in parts:
            z = (_shown(table, kind) - np.asarray(centre)) / np.asarray(scale)
            mask = ~np.isnan(z)
            clipped = np.clip(np.where(mask, z, 0.0), -FARTHEST, FARTHEST)
            found.append(Seen(jnp.asarray(clipped), jnp.asarray(mask, jnp.float64)))
        return tuple(found)

    def __call__(self, seen: tuple[Seen, ...]) -> Gaussian:
        h = jnp.concatenate([part for view in seen for part in view], axis=1)
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = jax.nn.gelu(h @ W + b)
        mean, log_variance = jnp.split(h @ self.weights[-1] + self.biases[-1], 2, axis=1)
        return Gaussian(mean, jnp.exp(jnp.clip(log_variance, *LOG_VARIANCES)))


def _shown(table: Float[np.ndarray, "n E"], kind: Likelihood) -> Float[np.ndarray, "n D"]:
    """Values on a scale on which a network can read them."""
    return _readable(*split_table(table, kind), kind)


def _readable(Y: np.ndarray, given: np.ndarray | None, kind: Likelihood) -> np.ndarray:
    if isinstance(kind, Mixed):
        groups = kind.by_group()
        parts = [_readable(Y[:, own], given_to(part, given, own), part) for part, own in groups]
        return np.concatenate(parts, axis=1)
    if isinstance(kind, Poisson | NegativeBinomial):
        return kind.working(Y, given)
    if isinstance(kind, Hurdle) or (isinstance(kind, Censored) and kind.log):
        return np.log1p(np.maximum(Y, 0.0))
    return Y

"""The bound of new rows of sequences, with q(U) fixed, as a function of their sites."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..expectations import Gaussian
from ..latent import Paths, everything
from ..mappings import Posterior
from ..mappings.rows import PreparedRows, row_evidence
from .descent import descend, evaluate
from .flow import Flow

ROWS_AT_ONCE = 512
TOLERANCE = 1e-6  # nats per row that thirty iterations must gain together

Evidences = tuple[tuple[PreparedRows, ...], ...]


class PathBound:
    """Σ_rows evidence - KL over a joint set of rows, training ones first, new ones last.

    Parameters
    ----------
    latent
        The rows with their sites to start from.
    evidences
        For every view present, the evidence of all rows, in chunks (`in_chunks()`).
    views
        Which views these are; the others are left out of the search where no row has sites of
        theirs (``alone``).
    place
        The sequence of every row, numbered from zero.
    flow
        How training sequences moved on, an addition to the prior.
    """

    def __init__(
        self,
        latent: Paths,
        evidences: Evidences,
        views: tuple[int, ...],
        place: Int[np.ndarray, " N"],
        alone: bool = False,
        flow: Flow | None = None,
    ):
        self.whole, self.evidences = latent, evidences
        self.latent = latent.only(views) if alone else latent
        self.views = tuple(range(len(views))) if alone else views
        everything = range(latent.target.raw.shape[1])
        self.columns = latent.columns(views) if alone else np.array(everything)
        self.flow = flow
        self.place, self.n_sequences = place, int(place.max()) + 1
        self.everything = jnp.ones(len(place))

    def start(
        self, target: Float[np.ndarray, "n Q"], precision: Float[np.ndarray, "n Q"]
    ) -> Float[np.ndarray, " V"]:
        """The training rows' sites as they are, the new ones as given."""
        m, lam = np.array(self.latent.target.value), np.array(self.latent.precision.value)
        m[len(m) - len(target) :] = target[:, self.columns]
        lam[len(m) - len(target) :] = precision[:, self.columns]
        return _flat(m, lam)

    def given(self) -> Float[np.ndarray, " V"]:
        """The sites as they were given: of training rows those of the fit, of new ones none."""
        latent = self.latent
        return _flat(np.asarray(latent.target.value), np.asarray(latent.precision.value))

    def ascend(
        self, x: Float[np.ndarray, " V"], iterations: int
    ) -> tuple[Float[np.ndarray, " V"], Float[np.ndarray, " S"]]:
        """Maximise for some iterations; return the sites and each sequence's bound."""
        gain = TOLERANCE * len(self.place)
        end = descend(
            _negative_bound, jnp.asarray(x), self._context(self.everything), iterations, gain
        )
        return np.array(end.x), self._of_sequences(end.kept)

    def shares(self, x: Float[np.ndarray, " V"]) -> Float[np.ndarray, " N"]:
        """Every row's share in the bound."""
        return np.array(self._evaluated(x, self.everything))

    def exchanged(
        self,
        x: Float[np.ndarray, " V"],
        other: Float[np.ndarray, " V"],
        rows: Bool[np.ndarray, " N"],
    ) -> Float[np.ndarray, " V"]:
        """The sites of some rows taken from another path."""
        per_row = (2, len(self.place), -1)  # targets, then precisions
        return np.where(rows[:, None], other.reshape(per_row), x.reshape(per_row)).ravel()

    def of_first(self, n_rows: int) -> Float[np.ndarray, " S"]:
        """The bound of each sequence at the sites given, with the evidence of the first rows."""
        if not n_rows:
            return np.zeros(self.n_sequences)
        counted = (jnp.arange(len(self.place)) < n_rows) * 1.0
        return self._of_sequences(self._evaluated(self.given(), counted))

    def marginals(self, x: Float[np.ndarray, " V"]) -> Gaussian:
        """q(x) of all rows, of all that the latent space holds."""
        found = with_sites(self.latent, jnp.asarray(x))
        target, precision = np.array(self.whole.target.value), np.array(self.whole.precision.value)
        target[:, self.columns] = found.target.value
        precision[:, self.columns] = found.precision.value
        return everything(self.whole.with_rows(self.whole.sequences, target, precision))

    def _of_sequences(self, shares: Array) -> Float[np.ndarray, " S"]:
        return np.bincount(self.place, np.asarray(shares), minlength=self.n_sequences)

    def _evaluated(self, x: np.ndarray, counted: Float[Array, " N"]) -> Float[Array, " N"]:
        return evaluate(_negative_bound, jnp.asarray(x), self._context(counted)).kept

    def _context(self, counted: Float[Array, " N"]) -> Any:
        return self.latent, self.evidences, self.views, counted, self.flow


def in_chunks(
    posterior: Posterior, Y: Float[np.ndarray, "N D"], power: float
) -> tuple[PreparedRows, ...]:
    """The evidence of rows; all at once, a long series would need an N x M² array."""
    pieces = [Y[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(Y), ROWS_AT_ONCE)]
    return tuple(
        row_evidence(posterior, np.nan_to_num(piece), ~np.isnan(piece), power) for piece in pieces
    )


def _flat(
    target: Float[np.ndarray, "N Q"], precision: Float[np.ndarray, "N Q"]
) -> Float[np.ndarray, " V"]:
    return np.concatenate([target.ravel(), np.log(precision).ravel()])


def with_sites(latent: Paths, x: Float[Array, " V"]) -> Paths:
    """The paths with other sites."""
    N, Q = latent.target.raw.shape
    target, log_precision = x[: N * Q].reshape(N, Q), x[N * Q :].reshape(N, Q)
    precision = jnp.exp(jnp.clip(log_precision, -40.0, 40.0))
    return eqx.tree_at(
        lambda t: (t.target, t.precision),
        latent,
        (latent.target.with_value(target), latent.precision.with_value(precision)),
    )


def _negative_bound(x: Float[Array, " V"], context: Any) -> tuple[Array, Float[Array, " N"]]:
    """Minus the bound, and every row's share in the bound."""
    latent, evidences, views, counted, flow = context
    found = with_sites(latent, x).smooth()
    q = Gaussian(found.mean, found.variance)
    shares = -jnp.sum(found.kl, axis=1)
    for view, chunks in zip(views, evidences, strict=True):
        seen = q[..., latent.dimensions(view)]
        begin, parts = 0, []
        for chunk in chunks:
            size = chunk.n_rows
            parts.append(chunk(seen[begin : begin + size]))
            begin += size
        shares += counted * jnp.concatenate(parts)
    if flow is not None:
        shares += flow(q.mean)
    return -jnp.sum(shares), shares

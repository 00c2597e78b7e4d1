"""Latent spaces in parts: shared dimensions first, then those private to every view."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from ..inference.initialise import ppca_fill
from ..latent import DividedPoints
from ..linear.closed_form import canonical_directions, pcca
from ..linear.emission import CorrelatedNoise
from .starts import canonical_points, sparing_ridge


@dataclass(frozen=True)
class Division:
    """How many dimensions are shared, and how many each view has for itself."""

    n_shared: int
    n_private: tuple[int, ...]

    @property
    def total(self) -> int:
        """All dimensions."""
        return self.n_shared + sum(self.n_private)

    @property
    def shared(self) -> tuple[int, ...]:
        """The shared dimensions."""
        return tuple(range(self.n_shared))

    def private(self, view: int) -> tuple[int, ...]:
        """The dimensions private to a view."""
        begin = self.n_shared + sum(self.n_private[:view])
        return tuple(range(begin, begin + self.n_private[view]))

    def points(self, X: Float[np.ndarray, "N Q"], bounded: bool = False) -> DividedPoints:
        """The latent space that starts at X."""
        blocks = [X[:, list(self.private(view))] for view in range(len(self.n_private))]
        return DividedPoints(X[:, list(self.shared)], blocks, bounded)


def divided_start(
    data: Sequence[Float[np.ndarray, "N _"]],
    division: Division,
    names: Sequence[str],
    private: str,
) -> Float[np.ndarray, "N Q"]:
    """Shared points by CCA; private ones by what CCA leaves of every view.

    ``"ncca"``: principal components of a view less its regression on its canonical variates (Ek
    et al. 2008, in its linear form); ``"pcca"``: its scores on the leading eigenvectors of PCCA's Ψ
    [Leen08, §4.3]. Columns have unit variance.
    """
    filled = [ppca_fill(Y, min(division.n_shared, *Y.shape)) for Y in data]
    filled = [Y - Y.mean(axis=0) for Y in filled]
    for name, Y, wanted in zip(names, filled, division.n_private, strict=True):
        if wanted > min(Y.shape):
            raise OptionError(
                f"{wanted} private dimensions are more than view {name!r} of {Y.shape[1]} "
                f"columns and {Y.shape[0]} samples can start with"
            )
    blocks = [canonical_points(filled, division.n_shared)]
    ridges = [sparing_ridge(Y) for Y in filled]
    if private == "pcca":
        views = pcca(filled, division.n_shared, ridges, names).views
        for Y, view, wanted in zip(filled, views, division.n_private, strict=True):
            assert isinstance(view, CorrelatedNoise)
            vectors = np.linalg.eigh(view.covariance)[1][:, ::-1]
            blocks.append(Y @ vectors[:, :wanted])
    else:
        found = canonical_directions(filled, division.n_shared, ridges, names)
        for Y, U, wanted in zip(filled, found.directions, division.n_private, strict=True):
            variates = Y @ U
            left = Y - variates @ np.linalg.lstsq(variates, Y, rcond=None)[0]
            vectors, values, _ = np.linalg.svd(left, full_matrices=False)
            blocks.append(vectors[:, :wanted] * values[:wanted])
    X = np.concatenate(blocks, axis=1)
    return X / np.maximum(X.std(axis=0), 1e-12)

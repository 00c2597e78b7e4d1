"""Ridge regressions whose penalty is chosen by leave-one-out errors, beside a latent answer."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from .link_features import LinkFeatures
from .widths import memory

PENALTIES = (*np.logspace(-4, 4, 17).tolist(), np.inf)  # relative to the power of the features
PSEUDO_ROWS = 30.0  # by which the penalty of a component leans on that of all

Members = list[Int[np.ndarray, " _"]]
"""The rows of every group."""


class LeftOut(NamedTuple):
    """What was chosen, and the errors that it was chosen by."""

    penalty: float
    share: float
    errors: Float[np.ndarray, "N D"]
    sizes: Float[np.ndarray, " U"]
    """Of the errors of every row: see `row_errors()`."""
    axes: Float[np.ndarray, "D R"] | None = None
    """Principal axes of what is regressed, where their components have penalties of their own."""
    penalties: Float[np.ndarray, " R"] | None = None

    @property
    def error(self) -> float:
        """The mean of the sizes.

        Mean squares would let the few rows with the largest errors choose, and a regression that
        does well in these often does so by chance.
        """
        return float(self.sizes.mean())


class LinkRegression:
    """Ridge regressions on some features, for all penalties, by one decomposition ΦΦᵀ = US²Uᵀ."""

    def __init__(self, features: LinkFeatures, inputs: Float[np.ndarray, "N P"]):
        self.features = features
        table = features(inputs)
        self.centre = table.mean(axis=0)
        self.table = table - self.centre
        if self.table.shape[1] < len(table):
            self.U, self.s, _ = np.linalg.svd(self.table, full_matrices=False)
        else:  # the same, in a fraction of the time
            squares, self.U = np.linalg.eigh(self.table @ self.table.T)
            self.s = np.sqrt(np.maximum(squares, 0.0))

    def best(
        self,
        y: Float[np.ndarray, "N D"],
        m: Float[np.ndarray, "N D"],
        seen: Bool[np.ndarray, "N D"],
        together: Members | None = None,
    ) -> LeftOut:
        """The penalty of the smallest leave-one-out errors, and one for every component beside it.

        Errors count by their sizes, on average over rows; components are the principal ones of what
        is regressed. Answers are the means of both: what moves many columns together is often
        easier to tell from the known values than what is left. The penalty of a component has the
        smallest squared errors, to which those of all components count as much as thirty rows.
        """
        power = float(np.sum(self.s**2)) / len(y)
        penalties = [np.inf, *(p * power for p in PENALTIES if power)]
        tried = (left_out(self.U, self.s, y, m, seen, p, together) for p in penalties)
        found = min(tried, key=lambda each: each.error)
        if y.shape[1] == 1:
            return found
        target = y - found.share * m
        axes = np.linalg.svd(target, full_matrices=False)[2].T
        best = np.full(axes.shape[1], np.inf)
        chosen, errors = best.copy(), np.empty((len(y), len(best)))
        for penalty in penalties:
            (left,) = _left(self.U, _kept(self.s, penalty), [target], together)
            turned = np.where(seen, left, 0.0) @ axes
            squares = np.sum(turned**2, axis=0)
            costs = squares + PSEUDO_ROWS * squares.sum() / max(int(seen.sum()), 1)
            better = costs < best
            best, chosen = np.where(better, costs, best), np.where(better, penalty, chosen)
            errors[:, better] = turned[:, better]
        both = 0.5 * (found.errors + errors @ axes.T)
        sizes = row_errors(both, found.share, seen, together)
        return LeftOut(found.penalty, found.share, both, sizes, axes, chosen)

    def answer(
        self, found: LeftOut, y: Float[np.ndarray, "N D"], m: Float[np.ndarray, "N D"]
    ) -> Float[np.ndarray, "F D"]:
        """Coefficients of the regression of y - s m that was chosen."""
        target = y - found.share * m
        one = self.coefficients(target, found.penalty)
        if found.axes is None or found.penalties is None:
            return one
        turned = self.coefficients(target @ found.axes, found.penalties)
        return 0.5 * (one + turned @ found.axes.T)

    def coefficients(
        self, target: Float[np.ndarray, "N D"], penalty: float | Float[np.ndarray, " D"]
    ) -> Float[np.ndarray, "F D"]:
        """Φᵀ U (S² + penalty)⁻¹ Uᵀ target."""
        return self.table.T @ (self.U @ ((self.U.T @ target) / ((self.s**2)[:, None] + penalty)))


def left_out(
    U: Float[np.ndarray, "N R"],
    s: Float[np.ndarray, " R"],
    y: Float[np.ndarray, "N D"],
    m: Float[np.ndarray, "N D"],
    seen: Bool[np.ndarray, "N D"],
    penalty: float,
    together: Members | None = None,
) -> LeftOut:
    """Leave-one-out errors of ridge regression, e_n = (y - Hy)_n / (1 - h_n), at the better share.

    Of rows n that are left out together, e_n = (I - H_nn)⁻¹ (y - Hy)_n. They are linear in what is
    regressed, so those of y - s m are e(y) - s e(m). The share is the one of the smallest squares,
    or zero if that is better by the sizes of rows, once it is counted what the latent model knew.
    """
    of_y, of_m = _left(U, _kept(s, penalty), [y, m], together)
    power = float(np.sum(of_m[seen] ** 2))
    best = float(np.clip(np.sum((of_y * of_m)[seen]) / power, 0.0, 1.0)) if power > 0.0 else 0.0
    tried = []
    for share in (0.0, best):
        errors = of_y - share * of_m
        sizes = row_errors(errors, share, seen, together)
        tried.append(LeftOut(penalty, share, errors, sizes))
    return min(tried, key=lambda found: found.error)


def _kept(s: Float[np.ndarray, " R"], penalty: float) -> Float[np.ndarray, " R"]:
    return np.zeros_like(s) if np.isinf(penalty) else s**2 / (s**2 + penalty)


def _left(
    U: Float[np.ndarray, "N R"],
    kept: Float[np.ndarray, " R"],
    tables: list[Float[np.ndarray, "N D"]],
    together: Members | None,
) -> list[Float[np.ndarray, "N D"]]:
    """Leave-one-out errors of each table, H = U diag(kept) Uᵀ + 1/N."""
    errors = [z - (U * kept) @ (U.T @ z) for z in tables]
    if together is None:
        left = np.maximum(1.0 - (U**2) @ kept - 1.0 / len(U), 1e-12)[:, None]
        return [each / left for each in errors]
    for rows in together:
        hat = (U[rows] * kept) @ U[rows].T + 1.0 / len(U)
        within = (1.0 + 1e-12) * np.eye(len(rows)) - hat
        solved = np.linalg.solve(within, np.hstack([each[rows] for each in errors]))
        for each, part in zip(errors, np.hsplit(solved, len(errors)), strict=True):
            each[rows] = part
    return errors


def row_errors(
    errors: Float[np.ndarray, "N D"],
    share: float,
    seen: Bool[np.ndarray, "N D"],
    together: Members | None = None,
) -> Float[np.ndarray, " U"]:
    """Root mean squared errors of rows, or groups of rows, counting what a latent model knew."""
    squares, counts = np.where(seen, errors**2, 0.0).sum(axis=1), seen.sum(axis=1)
    if together is not None:
        squares, counts = (
            np.array([z[rows].sum() for rows in together]) for z in (squares, counts)
        )
    known = counts > 0
    return np.sqrt(memory(share, len(counts)) * squares[known] / counts[known])


def members_of(groups: Int[np.ndarray, " N"] | None) -> Members | None:
    """The rows of every group; None if every row stands for itself."""
    if groups is None:
        return None
    return [np.flatnonzero(groups == each) for each in np.unique(groups)]

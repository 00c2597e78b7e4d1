"""What training rows and new rows of a view say together, q(U) being optimal for both.

With q(X) of the training rows held, these enter the bound F(Y, Y*) through sums alone, and the
statistics of the new rows are added to them [BGPLVM16, §4.1; MRD21, App. B]:

    ψ0 + ψ0*,   Ψ1ᵀY + Ψ1*ᵀY*,   Ψ2 + Ψ2*.
"""

from functools import partial
from typing import NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Bool, Float, Int

from ..data.patterns import distinct_patterns
from ..errors import OptionError
from ..expectations import Gaussian, psi0, psi1, psi2
from ..kernels import Kernel
from ..linalg import map_factorising, whiten
from .collapsed import column_terms, inner_cholesky
from .outputs import MAX_EXACT_PATTERNS, gram_factor
from .posterior import GPPosterior

MOST_ENTRIES = 50_000_000  # of the matrices Ψ2, one for each pattern of missing values: 400 MB
AT_ONCE = 16  # groups, on a GPU


class Sums(eqx.Module):
    """What the bound wants of some rows, by group of columns with one pattern; L = chol K."""

    psi0: Float[Array, " G"]
    A: Float[Array, "G M M"]
    """L⁻¹Ψ2L⁻ᵀ."""
    P: Float[Array, "G M C"]
    """L⁻¹Ψ1ᵀR, R the group's columns or a factor of their products."""
    n_rows: Float[Array, " G"]
    squares: Float[Array, ""]

    def __add__(self, other: "Sums") -> "Sums":
        return jax.tree.map(jnp.add, self, other)


class Cells(eqx.Module):
    """The values of some rows by group of columns; all of a row weighs as much as it counts."""

    factors: Float[Array, "G N C"]
    weights: Float[Array, "G N"]
    """What a row counts where it was observed, zero elsewhere."""
    squares: Float[Array, " N"]
    table: Float[Array, "N D"]
    """All columns, zero where missing: for the posterior."""

    def first(self, n: int) -> Self:
        """With nothing seen of the rows after the first n."""
        kept = jnp.arange(len(self.squares)) < n
        return type(self)(
            jnp.where(kept[:, None], self.factors, 0.0),
            jnp.where(kept, self.weights, 0.0),
            jnp.where(kept, self.squares, 0.0),
            jnp.where(kept[:, None], self.table, 0.0),
        )


class AugmentedRows(eqx.Module):
    """F(Y, Y*) of one view, before any KL, as a function of q(X*).

    Exact for any missing values: columns with the same pattern of them share a factorisation.
    """

    kernel: Kernel
    Z: Float[Array, "M Q"]
    noise: Float[Array, ""]
    L: Float[Array, "M M"]
    held: Sums
    held_table: Float[Array, "M D"]
    """L⁻¹Ψ1ᵀY of the training rows."""
    cells: Cells
    n_columns: Float[Array, " G"]
    group_of_column: Int[Array, " D"]

    def __call__(self, q: Gaussian) -> Float[Array, ""]:
        beta, total = 1.0 / self.noise, self.held + self.sums(q)

        def one_group(group: tuple[Array, ...]) -> Float[Array, ""]:
            A, P, zero, n_rows, n_columns = group
            inner = inner_cholesky(A, beta)
            explained = jnp.sum(solve_triangular(inner, P, lower=True) ** 2)
            columns = column_terms(A, inner, beta, zero, n_rows, n_columns)
            return columns + 0.5 * beta**2 * explained

        groups = (total.A, total.P, total.psi0, total.n_rows, self.n_columns)
        return jnp.sum(map_factorising(one_group, groups, AT_ONCE)) - 0.5 * beta * total.squares

    def sums(self, q: Gaussian) -> Sums:
        """What the new rows add."""
        return _sums(self.kernel, self.Z, self.L, q, self.cells)

    def first(self, n: int) -> Self:
        """With nothing seen of the new rows after the first n; F(Y) itself, if n is zero."""
        return eqx.tree_at(lambda rows: rows.cells, self, self.cells.first(n))

    def posterior(self, q: Gaussian) -> GPPosterior:
        """q(U) given training rows and new ones [BGPLVM16, eq. 39]."""
        beta, A = 1.0 / self.noise, self.held.A + self.sums(q).A
        inner = map_factorising(lambda a: inner_cholesky(a, beta), A, AT_ONCE)
        first = psi1(self.kernel, self.Z, q)
        P = self.held_table + solve_triangular(self.L, first.T @ self.cells.table, lower=True)

        def solved(means: Array, group: tuple[Array, Array]) -> tuple[Array, None]:
            factor, g = group
            return jnp.where(self.group_of_column == g, cho_solve((factor, True), P), means), None

        def by_column(column: tuple[Array, Array]) -> Array:
            return cho_solve((inner[column[0]], True), column[1])

        if len(inner) <= MAX_EXACT_PATTERNS:
            means = jax.lax.scan(solved, jnp.zeros_like(P), (inner, jnp.arange(len(inner))))[0]
        else:
            means = map_factorising(by_column, (self.group_of_column, P.T), AT_ONCE).T
        return GPPosterior(
            kernel=self.kernel,
            Z=self.Z,
            noise=self.noise,
            L=self.L,
            inner=inner,
            weights=solve_triangular(self.L, beta * means, lower=True, trans="T"),
            group_of_column=self.group_of_column,
            exact=True,
        )


def augmented_rows(
    posterior: GPPosterior,
    train: Gaussian,
    Y: Float[np.ndarray, "T D"],
    new: Float[np.ndarray, "N D"],
    counts: Float[np.ndarray, " N"],
) -> AugmentedRows:
    """Prepare new rows for inference together with training rows (NaN = missing).

    Parameters
    ----------
    posterior
        Of the view's mapping, whose kernel, inducing inputs and noise are held.
    train
        q(x) of the training rows ``Y``, held.
    counts
        What each new row counts: the exponent of its likelihood.
    """
    both = np.concatenate([Y, new])
    groups = _grouped(~np.isnan(both))
    M = len(posterior.Z)
    if len(groups.patterns) * M**2 > MOST_ENTRIES:
        raise OptionError(
            f"augmented=True needs a matrix of {M} x {M} numbers for each of the "
            f"{len(groups.patterns)} patterns of missing values in a view, which is too much "
            "memory: leave it out, or ask about rows that lack the same columns together"
        )
    weighted = np.concatenate([np.ones(len(Y)), counts])[:, None] * np.nan_to_num(both)
    blocks = [gram_factor(weighted[:, columns]) for columns in groups.columns]
    width = max(block.shape[1] for block in blocks)
    factors = np.stack([np.pad(b, ((0, 0), (0, width - b.shape[1]))) for b in blocks])
    weights = groups.patterns * np.concatenate([np.ones(len(Y)), counts])
    squares = np.sum(weighted * np.nan_to_num(both), axis=1)

    def some(rows: slice) -> Cells:
        arrays = (factors[:, rows], weights[:, rows], squares[rows], weighted[rows])
        return Cells(*(jnp.asarray(array, jnp.float64) for array in arrays))

    old = some(slice(len(Y)))
    held, held_table = _held(posterior.kernel, posterior.Z, posterior.L, train, old)
    return AugmentedRows(
        kernel=posterior.kernel,
        Z=posterior.Z,
        noise=posterior.noise,
        L=posterior.L,
        held=held,
        held_table=held_table,
        cells=some(slice(len(Y), None)),
        n_columns=jnp.asarray([len(columns) for columns in groups.columns], jnp.float64),
        group_of_column=jnp.asarray(groups.of_column, jnp.int32),
    )


class _Groups(NamedTuple):
    """Columns with the same rows missing; every column by itself, if there are many patterns."""

    patterns: Bool[np.ndarray, "G N"]
    of_column: Int[np.ndarray, " D"]
    columns: list[Int[np.ndarray, " c"]]


def _grouped(observed: Bool[np.ndarray, "N D"]) -> _Groups:
    patterns, of_column = distinct_patterns(observed.T)
    if len(patterns) > MAX_EXACT_PATTERNS:
        patterns, of_column = observed.T, np.arange(observed.shape[1])
    return _Groups(
        patterns, of_column, [np.flatnonzero(of_column == g) for g in range(len(patterns))]
    )


def _sums(
    kernel: Kernel, Z: Float[Array, "M Q"], L: Float[Array, "M M"], q: Gaussian, cells: Cells
) -> Sums:
    first = psi1(kernel, Z, q)
    products = jnp.einsum("nm,gnc->mgc", first, cells.factors)
    P = solve_triangular(L, products.reshape(len(L), -1), lower=True).reshape(products.shape)
    return Sums(
        psi0=cells.weights @ psi0(kernel, q),
        A=map_factorising(partial(whiten, L), psi2(kernel, Z, q, cells.weights), AT_ONCE),
        P=jnp.swapaxes(P, 0, 1),
        n_rows=jnp.sum(cells.weights, axis=1),
        squares=jnp.sum(cells.squares),
    )


@eqx.filter_jit
def _held(
    kernel: Kernel, Z: Float[Array, "M Q"], L: Float[Array, "M M"], q: Gaussian, cells: Cells
) -> tuple[Sums, Float[Array, "M D"]]:
    products = psi1(kernel, Z, q).T @ cells.table
    return _sums(kernel, Z, L, q, cells), solve_triangular(L, products, lower=True)

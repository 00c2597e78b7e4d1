"""What new rows of a view say about their latent points.

Two forms of the bound serve [BGPLVM16, §4.1]. With q(U) fixed, each new row adds

    Σ_{d observed} [½ log(β/2π) - (β/2)(y_d² - 2 y_d ψ1b_d + ⟨(kᵀb_d)²⟩ + ψ0 - tr(R_dΨ2))],

R_d = K⁻¹ - (K+βΨ2)⁻¹, which is linear in the row's ψ1 and Ψ2. With q(U) optimal for
training data and new row together, it adds F(Y, y*) - F(Y), which is never less.
"""

from abc import abstractmethod
from functools import singledispatch
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from ..data.patterns import distinct_patterns
from ..errors import OptionError
from ..expectations import Gaussian, psi0, psi1, psi2, psi2_rows
from ..kernels import Kernel
from ..linalg import log_determinant, map_factorising
from .collapsed import inner_cholesky
from .posterior import ROWS_AT_ONCE, GPPosterior


class PreparedRows(eqx.Module):
    """The bound of new rows with q(U) fixed, as a function of their q(x*) alone."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    @abstractmethod
    def n_inducing(self) -> int:
        """Inducing inputs."""

    @abstractmethod
    def __call__(self, q: Gaussian) -> Float[Array, " N"]:
        """What every row adds to the bound, before its KL."""

    @abstractmethod
    def take(self, rows: Int[Array, " n"]) -> Self:
        """The evidence of some rows, in the given order (repetition allowed)."""


class QuadraticRows(PreparedRows):
    """Rows with Gaussian noise, whose evidence is linear in ψ1 and Ψ2."""

    beta: Float[Array, ""]
    linear: Float[Array, "N M"]
    """Σ_d y_d b_d over the observed columns."""
    quadratic: Float[Array, "R M M"]
    """Σ_d (b_db_dᵀ - R_d) over the observed columns, once per pattern of them."""
    pattern: Int[Array, " N"]
    count: Float[Array, " N"]
    sum_squares: Float[Array, " N"]
    power: Float[Array, ""]
    """The evidence is raised to this power (multiplied by it, as a logarithm)."""

    @property
    def n_rows(self) -> int:
        return self.linear.shape[0]

    @abstractmethod
    def psi1(self, q: Gaussian) -> Float[Array, "N M"]:
        """ψ1 of every row."""

    @abstractmethod
    def second_moments(self, q: Gaussian) -> Float[Array, " N"]:
        """tr(``quadratic`` Ψ2) + Σ_d ψ0 of every row, d over its observed columns."""

    def __call__(self, q: Gaussian) -> Float[Array, " N"]:
        explained = 2.0 * jnp.sum(self.psi1(q) * self.linear, axis=1)
        misfit = self.sum_squares - explained + self.second_moments(q)
        likelihood = 0.5 * self.count * jnp.log(self.beta / (2.0 * jnp.pi))
        return self.power * (likelihood - 0.5 * self.beta * misfit)

    def take(self, rows: Int[Array, " n"]) -> Self:
        fields = (self.linear, self.pattern, self.count, self.sum_squares)
        picked = tuple(field[rows] for field in fields)
        return eqx.tree_at(lambda e: (e.linear, e.pattern, e.count, e.sum_squares), self, picked)


class RowEvidence(QuadraticRows):
    """New rows of a view with one process for all columns."""

    kernel: Kernel
    Z: Float[Array, "M Q"]

    @property
    def n_inducing(self) -> int:
        return self.Z.shape[0]

    def psi1(self, q: Gaussian) -> Float[Array, "N M"]:
        return psi1(self.kernel, self.Z, q)

    def second_moments(self, q: Gaussian) -> Float[Array, " N"]:
        explained = psi2_rows(self.kernel, self.Z, q, self.quadratic, self.pattern)
        return explained + self.count * psi0(self.kernel, q)


@singledispatch
def row_evidence(
    posterior: Any,
    filled: Float[np.ndarray, "N D"],
    observed: Bool[np.ndarray, "N D"],
    power: float = 1.0,
) -> PreparedRows:
    """Prepare new rows (zeros where missing) for inference of their latent points.

    Posteriors of other mappings register a form of their own.
    """
    patterns, which = distinct_patterns(observed)
    groups = np.eye(posterior.inner.shape[0])[np.asarray(posterior.group_of_column)]
    return _assemble(
        posterior,
        *jax.device_put(
            (
                filled,
                np.asarray(patterns, np.float64),
                groups,
                np.asarray(which, np.int32),
                observed.sum(axis=1).astype(np.float64),
                np.asarray(power, np.float64),
            )
        ),
    )


@eqx.filter_jit
def _assemble(
    posterior: GPPosterior,
    filled: Float[Array, "N D"],
    patterns: Float[Array, "R D"],
    groups: Float[Array, "D G"],
    which: Int[Array, " N"],
    count: Float[Array, " N"],
    power: Float[Array, ""],
) -> RowEvidence:
    B = posterior.weights
    products = jax.lax.map(lambda w: (B * w) @ B.T, patterns)
    removed = jnp.einsum("rg,gml->rml", patterns @ groups, posterior.reduction())
    return RowEvidence(
        kernel=posterior.kernel,
        Z=posterior.Z,
        beta=1.0 / posterior.noise,
        linear=filled @ B.T,
        quadratic=products - removed,
        pattern=which,
        count=count,
        sum_squares=jnp.sum(filled**2, axis=1),
        power=power,
    )


@eqx.filter_jit
def augmented_evidence(
    posterior: GPPosterior,
    q: Gaussian,
    filled: Float[Array, "N D"],
    observed: Float[Array, "N D"],
) -> Float[Array, " N"]:
    """F(Y, y*) - F(Y) for every row on its own, before the KL of its latent point."""
    if not posterior.exact:
        raise OptionError(
            "the augmented bound needs posteriors that are exact for their missing patterns; "
            "with scattered missing training values use method='fixed'"
        )
    beta = 1.0 / posterior.noise
    n_groups, M = posterior.inner.shape[0], posterior.Z.shape[0]
    groups = jax.nn.one_hot(posterior.group_of_column, n_groups)  # D x G
    means = posterior.L.T @ posterior.weights
    gram = jax.vmap(lambda c: c @ c.T)(posterior.inner)  # I + βA
    solved = jnp.einsum("dg,gml,ld->md", groups, gram, means) / beta  # L⁻¹Ψ1ᵀY
    log_dets = jax.vmap(log_determinant)(posterior.inner)

    def one_row(row: tuple[Gaussian, Array, Array]) -> Float[Array, ""]:
        point, y, seen = row
        single = Gaussian(point.mean[None], point.variance[None])
        zero = psi0(posterior.kernel, single)[0]
        first = psi1(posterior.kernel, posterior.Z, single)[0]
        second = psi2(posterior.kernel, posterior.Z, single, jnp.ones((1, 1)))[0]
        half = solve_triangular(posterior.L, second, lower=True)
        a = solve_triangular(posterior.L, half.T, lower=True)
        p = solve_triangular(posterior.L, first, lower=True)
        total = -0.5 * beta * jnp.sum(seen * y**2)
        for g in range(n_groups):
            mask = seen * groups[:, g]
            count = mask.sum()
            before = gram[g]
            inner = inner_cholesky((before - jnp.eye(M)) / beta + a, beta)
            targets = (solved + jnp.outer(p, y)) * mask
            gain = jnp.sum(solve_triangular(inner, targets, lower=True) ** 2) - jnp.sum(
                solve_triangular(posterior.inner[g], solved * mask, lower=True) ** 2
            )
            total += 0.5 * beta**2 * gain + 0.5 * count * (
                jnp.log(beta / (2.0 * jnp.pi))
                - log_determinant(inner)
                + log_dets[g]
                - beta * (zero - jnp.trace(a))
            )
        return total

    return map_factorising(one_row, (q, filled, observed), min(ROWS_AT_ONCE, len(filled)))

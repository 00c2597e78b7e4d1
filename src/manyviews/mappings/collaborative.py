"""The collaborative GP mapping: a process for all outputs, and local ones mixed by weights
[McGPDS23].

The bound is the joint one. [McGPDS23, eq. 10] drops the coupling of the global and the local
inducing variables and is not a bound: with one data point and βh = βw²g = 1 it claims a precision
of zero.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, ArrayLike, Float, Int

from ..errors import DataError
from ..expectations import Gaussian, expectation_error
from ..expectations.exp_sum import BLOCK_ENTRIES
from ..kernels import Kernel
from ..linalg import DEFAULT_JITTER, log_determinant, whiten
from ..parameters import Parameter, parameter, positive
from .base import Evidence, Mapping
from .collaborative_posterior import CollaborativePosterior
from .collapsed import inner_cholesky
from .mixing import mixed_evidence, mixed_means
from .outputs import GaussianOutputs, PatternedOutputs
from .stack import Stack


class CollaborativeGP(Mapping):
    """y_nd = h_d(x_n) + Σ_j w_dj g_jd(x_n) + noise,  h_d ~ GP(0, k),  g_jd ~ GP(0, k_j).

    Independent functions for every output, so that f_d ~ GP(0, k + Σ_j w_dj² k_j): the weights say
    how much of each kernel an output has. All inducing variables of an output are stacked,
    K = blockdiag(k(Z,Z), k_1(Z_1,Z_1), …), Ψ1 = [Ψ_h, w_d1Ψ_1, …] and Ψ2 with the cross statistics
    of different processes, and the bound of an output is that of `CollapsedGP`. Without
    local processes it is that mapping.

    Parameters
    ----------
    kernel, inducing
        Of the process that all outputs have.
    local_kernels, local_inducing
        Of the J local processes.
    mixing
        w, outputs x processes.
    """

    kernel: Kernel
    inducing: Parameter
    local_kernels: tuple[Kernel, ...]
    local_inducing: tuple[Parameter, ...]
    mixing: Parameter
    noise: Parameter
    floor: Float[Array, ""]
    jitter: float = eqx.field(static=True)

    def __init__(
        self,
        kernel: Kernel,
        inducing: ArrayLike,
        local_kernels: Sequence[Kernel],
        local_inducing: Sequence[ArrayLike],
        mixing: ArrayLike,
        noise: ArrayLike = 0.01,
        jitter: float = DEFAULT_JITTER,
        floor: ArrayLike = 0.0,
    ):
        self.kernel = kernel
        self.inducing = parameter(inducing)
        self.local_kernels = tuple(local_kernels)
        self.local_inducing = tuple(parameter(Z) for Z in local_inducing)
        self.mixing = parameter(mixing)
        self.noise = positive(noise)
        self.floor = jnp.asarray(floor, self.noise.raw.dtype)
        self.jitter = jitter

    def noise_variance(self) -> Float[Array, ""]:
        return self.noise.value + self.floor

    def relevance(self) -> Float[Array, " Q"]:
        """Of the global process, and of the local ones by the mean square of their weights."""
        Q = self.inducing.raw.shape[1]
        shares = jnp.mean(self.mixing.value**2, axis=0)
        local = [s * k.relevance(Q) for s, k in zip(shares, self.local_kernels, strict=True)]
        return sum(local, self.kernel.relevance(Q))

    def size(self, n_rows: int) -> int:
        M = self.stack().n_inducing
        return min(n_rows * M * (M + 1) // 2, BLOCK_ENTRIES)

    def expectation_error(self, q: Gaussian) -> float:
        stack = self.stack()
        pairs = zip(stack.kernels, stack.inducing, strict=True)
        return max(expectation_error(kernel, Z, q) for kernel, Z in pairs)

    def n_samplable(self) -> int:
        return self.mixing.raw.shape[0]

    def some_outputs(
        self, outputs: GaussianOutputs, columns: Int[Array, " n"]
    ) -> tuple[Mapping, GaussianOutputs]:
        outputs = patterned(outputs)
        chosen = eqx.tree_at(
            lambda o: (o.filled, o.group_of_column), outputs,
            (outputs.filled[:, columns], outputs.group_of_column[columns]),
        )  # fmt: skip
        return eqx.tree_at(lambda m: m.mixing.raw, self, self.mixing.raw[columns]), chosen

    def stack(self) -> Stack:
        """All processes, the global one first."""
        inducing = (self.inducing, *self.local_inducing)
        return Stack((self.kernel, *self.local_kernels), tuple(Z.value for Z in inducing))

    def expected_log_likelihood(self, q: Gaussian, outputs: GaussianOutputs) -> Evidence:
        outputs = patterned(outputs)
        beta = 1.0 / self.noise_variance()
        stack, W = self.stack(), self.mixing.value
        L, jitter = stack.factor(self.jitter)
        psi0, psi2 = outputs.weights @ stack.psi0(q), stack.psi2(q, outputs.weights)
        P = solve_triangular(L, stack.psi1(q).T @ outputs.filled, lower=True)
        squares = jnp.concatenate([jnp.ones((W.shape[0], 1)), W**2], axis=1)  # D x (1 + J)
        sum_squares = jnp.sum(outputs.filled**2, axis=0)
        n_groups = psi2.shape[0]

        def one_group(group: tuple[Array, ...]) -> Float[Array, ""]:
            place, second, zero, n_rows = group
            mask = (outputs.group_of_column == place) * 1.0
            A = whiten(L, second)
            reduced = eliminate(A, P, self.n_global(), beta)
            traces = jnp.stack([jnp.sum(part) for part in self._by_process(jnp.diagonal(A))])
            each = (
                0.5 * n_rows * jnp.log(beta / (2.0 * jnp.pi))
                - 0.5 * log_determinant(reduced.inner)
                - 0.5 * beta * (squares @ (zero - traces))
                - 0.5 * beta * sum_squares
                + 0.5 * beta**2 * jnp.sum(reduced.explained**2, axis=0)
            )
            total = jnp.sum(mask * each)
            if W.shape[1]:
                total += mixed_evidence(reduced.E, beta * reduced.R, W, mask)
            return total

        groups = (jnp.arange(n_groups), psi2, psi0, outputs.weights.sum(axis=1))
        return Evidence(jnp.sum(jax.lax.map(one_group, groups)), jitter)

    def posterior(self, q: Gaussian, outputs: GaussianOutputs) -> CollaborativePosterior:
        outputs = patterned(outputs)
        beta = 1.0 / self.noise_variance()
        stack, W, M = self.stack(), self.mixing.value, self.n_global()
        L, _ = stack.factor(self.jitter)
        psi2 = stack.psi2(q, outputs.weights)
        P = solve_triangular(L, stack.psi1(q).T @ outputs.filled, lower=True)

        def one_group(group: tuple[Array, Array]) -> tuple[Array, ...]:
            place, second = group
            mask = outputs.group_of_column == place
            found = eliminate(whiten(L, second), P, M, beta)
            local = mixed_means(found.E, beta * found.R, W) if W.shape[1] else beta * found.R
            whole = solve_triangular(
                found.inner, beta * found.explained - found.half @ local, lower=True, trans="T"
            )
            means = jnp.where(mask, jnp.concatenate([whole, local]), 0.0)
            return found.inner, found.half, found.E, means

        inner, half, E, means = jax.lax.map(one_group, (jnp.arange(psi2.shape[0]), psi2))
        return CollaborativePosterior(
            stack=stack,
            mixing=W,
            noise=self.noise_variance(),
            L=L,
            inner=inner,
            half=half,
            E=E,
            weights=solve_triangular(L, means.sum(axis=0), lower=True, trans="T"),
            group_of_column=outputs.group_of_column,
        )

    def n_global(self) -> int:
        """Inducing inputs of the global process."""
        return self.inducing.raw.shape[0]

    def _by_process(self, values: Float[Array, " M"]) -> list[Array]:
        sizes = [self.n_global(), *(Z.raw.shape[0] for Z in self.local_inducing)]
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


class Reduced(eqx.Module):
    """One group's statistics with the global process eliminated (a Schur complement)."""

    inner: Float[Array, "M M"]
    """chol(I + βA_hh)."""
    half: Float[Array, "M L"]
    """inner⁻¹ βA_hg."""
    E: Float[Array, "L L"]
    """βA_gg - β²A_gh(I + βA_hh)⁻¹A_hg."""
    explained: Float[Array, "M D"]
    """inner⁻¹ P_h."""
    R: Float[Array, "L D"]
    """P_g - βA_gh(I + βA_hh)⁻¹P_h."""


def eliminate(
    A: Float[Array, "S S"], P: Float[Array, "S D"], M: int, beta: Float[Array, ""]
) -> Reduced:
    """Eliminate the first M of the whitened inducing variables."""
    inner = inner_cholesky(A[:M, :M], beta)
    half = solve_triangular(inner, beta * A[:M, M:], lower=True)
    explained = solve_triangular(inner, P[:M], lower=True)
    E = beta * A[M:, M:] - half.T @ half
    return Reduced(inner, half, E, explained, P[M:] - half.T @ explained)


def patterned(outputs: GaussianOutputs) -> PatternedOutputs:
    """GaussianOutputs by their missing patterns, which is how this mapping treats holes."""
    if not isinstance(outputs, PatternedOutputs):
        raise DataError(
            "a collaborative mapping treats every missing pattern exactly: use missing='exact' or "
            "'auto'"
        )
    return outputs

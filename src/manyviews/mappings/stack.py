"""Several independent processes of the same latent point, their features side by side."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float, Int

from ..expectations import Gaussian, cross_psi2, cross_psi2_rows, psi0, psi1, psi2, psi2_rows
from ..kernels import Kernel
from ..linalg import safe_cholesky


class Stack(eqx.Module):
    """Kernels k_0 … k_J with inducing inputs Z_0 … Z_J of their own.

    k(x) = [k_0(Z_0, x), …, k_J(Z_J, x)] has M = Σ M_j entries, the prior covariance of the stacked
    inducing variables is block-diagonal.
    """

    kernels: tuple[Kernel, ...]
    inducing: tuple[Float[Array, "_ Q"], ...]

    @property
    def n_inducing(self) -> int:
        """M."""
        return sum(Z.shape[0] for Z in self.inducing)

    def factor(self, jitter: float) -> tuple[Float[Array, "M M"], Float[Array, ""]]:
        """Lower factor of the block-diagonal covariance, and the largest jitter it took."""
        pairs = [
            safe_cholesky(kernel.gram(Z), jitter)
            for kernel, Z in zip(self.kernels, self.inducing, strict=True)
        ]
        return block_diag(*[L for L, _ in pairs]), jnp.max(jnp.stack([rung for _, rung in pairs]))

    def psi0(self, q: Gaussian) -> Float[Array, "N B"]:
        """⟨k_j(x_n, x_n)⟩ by process."""
        return jnp.stack([psi0(kernel, q) for kernel in self.kernels], axis=1)

    def psi1(self, q: Gaussian) -> Float[Array, "N M"]:
        """⟨k(x_n)⟩."""
        pairs = zip(self.kernels, self.inducing, strict=True)
        return jnp.concatenate([psi1(kernel, Z, q) for kernel, Z in pairs], axis=1)

    def psi2(self, q: Gaussian, W: Float[Array, "G N"]) -> Float[Array, "G M M"]:
        """Σ_n W_gn ⟨k(x_n) k(x_n)ᵀ⟩, cross statistics of different processes included."""
        size = len(self.kernels)
        blocks: list[list[Array]] = [[jnp.empty(0)] * size for _ in range(size)]
        for i, (a, Za) in enumerate(zip(self.kernels, self.inducing, strict=True)):
            blocks[i][i] = psi2(a, Za, q, W)
            for j in range(i + 1, size):
                cross = cross_psi2(a, Za, self.kernels[j], self.inducing[j], q, W)
                blocks[i][j], blocks[j][i] = cross, jnp.swapaxes(cross, 1, 2)
        return jnp.block(blocks)

    def psi2_rows(
        self, q: Gaussian, T: Float[Array, "R M M"], which: Int[Array, " N"]
    ) -> Float[Array, " N"]:
        """⟨k(x_n)ᵀ T[which_n] k(x_n)⟩ for symmetric T."""
        ends = [0]
        for Z in self.inducing:
            ends.append(ends[-1] + Z.shape[0])
        total = jnp.zeros(q.mean.shape[0])
        for i, (a, Za) in enumerate(zip(self.kernels, self.inducing, strict=True)):
            own = slice(ends[i], ends[i + 1])
            total += psi2_rows(a, Za, q, T[:, own, own], which)
            for j in range(i + 1, len(self.kernels)):
                other = slice(ends[j], ends[j + 1])
                b, Zb = self.kernels[j], self.inducing[j]
                total += 2.0 * cross_psi2_rows(a, Za, b, Zb, q, T[:, own, other], which)
        return total

    def features(self, x: Float[Array, "N Q"]) -> Float[Array, "N M"]:
        """k(x_n) at points."""
        pairs = zip(self.kernels, self.inducing, strict=True)
        return jnp.concatenate([kernel.cross(x, Z) for kernel, Z in pairs], axis=1)

    def diagonal(self, x: Float[Array, "N Q"]) -> Float[Array, "N B"]:
        """k_j(x_n, x_n) at points, by process."""
        return jnp.stack([kernel.diagonal(x) for kernel in self.kernels], axis=1)


def row_psi2(stack: Stack, row: Gaussian) -> Float[Array, "M M"]:
    """⟨k(x) k(x)ᵀ⟩ of a single row."""
    one = jax.tree_util.tree_map(lambda a: a[None], row)
    return stack.psi2(one, jnp.ones((1, 1), row.mean.dtype))[0]

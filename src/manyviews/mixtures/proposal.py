"""Proposals of a whole component from Gibbs steps with latent positions known.

Given x, a Gibbs step pins μ and W down more than the data do, which know x up to its mean, scale
and sign only: of n samples, to about n^{-1/2} and (2n)^{-1/2}. The proposals here are that much
wider in these directions, in all views together, and the signs are drawn. (With several latent
dimensions their orientation is free, too; that is not followed, and fewer proposals are good.)
"""

from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag, solve_triangular
from jaxtyping import Array, Float

from . import conditionals as given
from .draws import wishart_factor
from .hierarchy import Components, Hyper, log_wishart_constant, repeated
from .indicators import log_normal
from .renewal import Numbers

Parts = tuple[Components, ...]  # one component: an entry per view, without a K axis
Sums = tuple[given.Sums, ...]


class Extra(NamedTuple):
    """Random numbers beyond those of a Gibbs step: a shift, a change of scale, which signs."""

    shift: Float[Array, " q"]
    change: Float[Array, "q q"]
    signs: Float[Array, " q"]


def all_signs(q: int) -> Float[Array, "S q"]:
    """Every pattern of q signs."""
    return jnp.asarray(list(product((1.0, -1.0), repeat=q)))


def proposed(
    numbers: tuple[Numbers, ...], extra: Extra, old: Parts, sums: Sums, hypers: tuple[Hyper, ...]
) -> Parts:
    """A draw of μ, A and W of all views."""
    centre = _Centre.of(old, sums, hypers)
    shift = centre.loadings @ extra.shift / jnp.sqrt(sums[0].n)
    pieces = [
        solve_triangular(L, own.mean, lower=True, trans="T")
        for L, own in zip(centre.factors, numbers, strict=True)
    ]
    mu = centre.mean + jnp.concatenate(pieces) + shift
    moved, means = centre.moved(mu, sums), centre.by_view(mu)
    noise = []
    for own, before, added, mean, hyper in zip(numbers, old, moved, means, hypers, strict=True):
        wishart = given.noise_given_rest(added, mean, before.W, hyper)
        noise.append(repeated(*wishart_factor(own.T, wishart.inverse_scale), hyper.copies()))
    found = []
    for own, added, mean, (factor, log_det), hyper in zip(
        numbers, moved, means, noise, hypers, strict=True
    ):
        rotated = given.loadings_given_rest(
            flipped(added, extra.signs), mean, factor @ factor.T, hyper
        )
        M = rotated.left @ rotated.mean @ rotated.right.T
        W = rotated.draw(own.loadings) + M @ (extra.change * _scale_error(added.n, len(M[0])))
        found.append(Components(mean, factor, log_det, W))
    return tuple(found)


def log_proposed(new: Parts, old: Parts, sums: Sums, hypers: tuple[Hyper, ...]) -> Float[Array, ""]:
    """Log density with which `proposed()` draws ``new``."""
    centre = _Centre.of(old, sums, hypers)
    mu = jnp.concatenate([own.mu for own in new])
    total = centre.log_density(mu, sums[0].n)
    moved = centre.moved(mu, sums)
    for own, before, added, hyper in zip(new, old, moved, hypers, strict=True):
        d = len(hyper.C)
        df, B = given.noise_given_rest(added, own.mu, before.W, hyper)
        G = jnp.linalg.cholesky(B)
        total += 0.5 * (df - d - 1.0) * own.log_det / hyper.copies()
        total -= 0.5 * jnp.sum((own.factor[:d, :d].T @ G) ** 2)
        total += df * jnp.sum(jnp.log(jnp.diagonal(G))) + log_wishart_constant(df, d)
    signs = all_signs(new[0].W.shape[1])
    by_signs = jax.lax.map(lambda sign: _log_loadings(new, moved, hypers, sign), signs)
    return total + jax.nn.logsumexp(by_signs) - np.log(len(signs))


def flipped(sums: given.Sums, sign: Float[Array, " q"]) -> given.Sums:
    """The sums with x times signs."""
    return sums._replace(x=sums.x * sign, yx=sums.yx * sign, xx=sums.xx * jnp.outer(sign, sign))


def shifted(sums: given.Sums, shift: Float[Array, " q"]) -> given.Sums:
    """The sums with x - shift for x."""
    cross = jnp.outer(sums.x, shift)
    return sums._replace(
        x=sums.x - sums.n * shift,
        yx=sums.yx - jnp.outer(sums.y, shift),
        xx=sums.xx - cross - cross.T + sums.n * jnp.outer(shift, shift),
    )


class _Centre(NamedTuple):
    """μ of all views: N(m, P⁻¹ + WWᵀ/n), P block-diagonal with factors L."""

    mean: Float[Array, " D"]
    factors: tuple[Float[Array, "m m"], ...]
    loadings: Float[Array, "D q"]

    @classmethod
    def of(cls, old: Parts, sums: Sums, hypers: tuple[Hyper, ...]) -> "_Centre":
        means, factors = [], []
        for before, added, hyper in zip(old, sums, hypers, strict=True):
            P, b = given.mean_given_rest(added, before.factor @ before.factor.T, before.W, hyper)
            L = jnp.linalg.cholesky(P)
            half = solve_triangular(L, b, lower=True)
            means.append(solve_triangular(L, half, lower=True, trans="T"))
            factors.append(L)
        W = jnp.concatenate([before.W for before in old])
        return cls(jnp.concatenate(means), tuple(factors), W)

    def by_view(self, mu: Float[Array, " D"]) -> list[Float[Array, " m"]]:
        edges = np.cumsum([len(L) for L in self.factors])[:-1].tolist()
        return jnp.split(mu, edges)

    def _white(self, mu: Float[Array, " D"]) -> tuple[Array, Array]:
        """Lᵀ(μ - m) and LᵀW."""
        L = block_diag(*self.factors)
        return L.T @ (mu - self.mean), L.T @ self.loadings

    def log_density(self, mu: Float[Array, " D"], n: Float[Array, ""]) -> Float[Array, ""]:
        apart, W = self._white(mu)
        log_det = sum(jnp.sum(jnp.log(jnp.diagonal(L))) for L in self.factors)
        return log_det + log_normal(apart[None], W / jnp.sqrt(n))[0]

    def moved(self, mu: Float[Array, " D"], sums: Sums) -> Sums:
        """The sums with x shifted by what μ tells of the shift."""
        apart, W = self._white(mu)
        shift = jnp.linalg.solve(sums[0].n * jnp.eye(W.shape[1]) + W.T @ W, W.T @ apart)
        return tuple(shifted(added, shift) for added in sums)


def _log_loadings(
    new: Parts, sums: Sums, hypers: tuple[Hyper, ...], sign: Float[Array, " q"]
) -> Float[Array, ""]:
    """W of all views: N(M, Σ) made wider by M E, with small random E common to them."""
    apart, wide, total = [], [], jnp.zeros(())
    for own, added, hyper in zip(new, sums, hypers, strict=True):
        V, U, mean, precision = given.loadings_given_rest(
            flipped(added, sign), own.mu, own.factor @ own.factor.T, hyper
        )
        root, q = jnp.sqrt(precision), mean.shape[1]
        apart.append((root * (V.T @ own.W @ U - mean)).ravel())
        M, error = mean @ U.T, _scale_error(added.n, q)  # VᵀM
        each = jnp.einsum("ja,ab,bi->jiab", M, error, U)  # Vᵀ M E U for every entry of E
        wide.append((root[:, :, None, None] * each).reshape(-1, q * q))
        total += 0.5 * jnp.sum(jnp.log(precision))
    return total + log_normal(jnp.concatenate(apart)[None], jnp.concatenate(wide))[0]


def _scale_error(n: Float[Array, ""], q: int) -> Float[Array, "q q"]:
    """How well n samples tell the scale of x (the diagonal), and products of its dimensions."""
    return jnp.sqrt((1.0 - 0.5 * jnp.eye(q)) / n)

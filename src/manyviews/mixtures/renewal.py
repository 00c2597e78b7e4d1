"""Gibbs steps: μ, A and W of a component given its samples, and x given the components."""

from typing import NamedTuple

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from ..linalg import map_factorising
from . import conditionals as given
from .draws import (
    bartlett,
    gaussian,
    log_chi_squares,
    wishart_factor,
)
from .hierarchy import Components, Hyper, Tables, n_normals, repeated
from .numbers import Tape, normals, split


class Numbers(NamedTuple):
    """What one view's draws take: normal numbers for μ and W, Bartlett's T for A."""

    mean: Float[Array, "K m"]
    T: Float[Array, "K d d"]
    loadings: Float[Array, "K m q"]


def draw_numbers(
    seed: Array, counts: Float[Array, " K"], hypers: tuple[Hyper, ...]
) -> tuple[Numbers, ...]:
    """The random numbers of K components with so many samples, for every view."""
    seeds, K = split(seed), len(counts)
    sizes = [len(hyper.C) for hyper in hypers]
    tape = Tape(normals(seeds[0], K * sum(n_normals(hyper) for hyper in hypers)))
    df = [hyper.copies() * counts + hyper.beta for hyper in hypers]
    chi = log_chi_squares(seeds[1], df, sizes)
    found = []
    for hyper, chi_square, d in zip(hypers, chi, sizes, strict=True):
        m, q = hyper.gamma.shape
        T = bartlett(tape.take(K, d, d), chi_square)
        found.append(Numbers(tape.take(K, m), T, tape.take(K, m, q)))
    return tuple(found)


def component_sums(
    member: Float[Array, " N"], table: Float[Array, "N m"], x: Float[Array, "N q"]
) -> given.Sums:
    """The sums of the samples of one component (member is one for these, else zero)."""
    m = table.shape[1]
    rows = jnp.concatenate([jnp.ones((len(table), 1)), table, x], axis=1)
    sums = (rows * member[:, None]).T @ rows
    own, latent = slice(1, 1 + m), slice(1 + m, None)
    return given.Sums(
        sums[0, 0], sums[0, own], sums[0, latent],
        sums[own, own], sums[own, latent], sums[latent, latent],
    )  # fmt: skip


def renewed(numbers: Numbers, old: Components, sums: given.Sums, hyper: Hyper) -> Components:
    """μ given the old A and W, then A, then W; one component of one view, without a K axis."""
    A = old.factor @ old.factor.T
    mu = gaussian(numbers.mean, *given.mean_given_rest(sums, A, old.W, hyper))
    wishart = given.noise_given_rest(sums, mu, old.W, hyper)
    factor, log_det = repeated(*wishart_factor(numbers.T, wishart.inverse_scale), hyper.copies())
    W = given.loadings_given_rest(sums, mu, factor @ factor.T, hyper).draw(numbers.loadings)
    return Components(mu, factor, log_det, W)


def draw_latents(
    components: tuple[Components, ...],
    c: Int[Array, " N"],
    Y: Tables,
    normal: Float[Array, "N q"],
) -> Float[Array, "N q"]:
    """x_n given its component and all of its views, from standard normal numbers."""
    precision, gains = given.latent_given_rest(components)
    inverse = map_factorising(_inverse_factor, precision, len(precision))[c]
    linear = sum(
        jnp.einsum("nmq,nm->nq", gain[c], table - own.mu[c])
        for gain, table, own in zip(gains, Y, components, strict=True)
    )
    half = jnp.einsum("nqr,nr->nq", inverse, linear) + normal
    return jnp.einsum("nrq,nr->nq", inverse, half)


def _inverse_factor(precision: Float[Array, "q q"]) -> Float[Array, "q q"]:
    """L⁻¹ with LLᵀ the precision."""
    L = jnp.linalg.cholesky(precision)
    return solve_triangular(L, jnp.eye(len(L)), lower=True)

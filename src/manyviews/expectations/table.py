"""The open table of expectations: kernel in, psi statistics out.

With q(x_n) = N(μ_n, diag S_n) and inducing inputs Z, the three statistics of a kernel are

    psi0[n]       = ⟨k(x_n, x_n)⟩
    psi1[n, m]    = ⟨k(x_n, z_m)⟩
    psi2[g, m, l] = Σ_n W_gn ⟨k(z_m, x_n) k(x_n, z_l)⟩

where each row g of the weights W picks the data that one group of outputs has seen.
A kernel whose sums and products reduce to registered closed forms uses those; every
other kernel goes through `quadrature`, which reports its error.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..kernels import Bias, Kernel, Product, Restricted, Sum
from . import quadrature
from .gaussian import Gaussian


class ClosedForm(NamedTuple):
    """The three statistics of one kernel family."""

    psi0: Callable[..., Array]
    psi1: Callable[..., Array]
    psi2: Callable[..., Array]


class Term(NamedTuple):
    """A registered kernel times a constant."""

    scale: Any
    kernel: Kernel


CLOSED_FORMS: dict[type, ClosedForm] = {}
CROSS_FORMS: dict[tuple[type, type], Callable[..., Array]] = {}
ROW_FORMS: dict[type, Callable[..., Array]] = {}
CROSS_ROW_FORMS: dict[tuple[type, type], Callable[..., Array]] = {}


def register(
    kind: type[Kernel],
    psi0: Callable[..., Array],
    psi1: Callable[..., Array],
    psi2: Callable[..., Array],
) -> None:
    """Enter the closed form of one kernel family."""
    CLOSED_FORMS[kind] = ClosedForm(psi0, psi1, psi2)


def register_cross(a: type[Kernel], b: type[Kernel], function: Callable[..., Array]) -> None:
    """Enter Σ_n W_gn ⟨k_a(z, x_n) k_b(x_n, z')⟩ for two families (one order is enough)."""
    CROSS_FORMS[a, b] = function


def register_rows(kind: type[Kernel], function: Callable[..., Array]) -> None:
    """Enter a fast form of `psi2_rows()` for one family; without it a slower one serves."""
    ROW_FORMS[kind] = function


def register_cross_rows(a: type[Kernel], b: type[Kernel], function: Callable[..., Array]) -> None:
    """Enter a fast form of `cross_psi2_rows()` for two families."""
    CROSS_ROW_FORMS[a, b] = function


def psi0(kernel: Kernel, q: Gaussian) -> Float[Array, " N"]:
    """⟨k(x_n, x_n)⟩ for every row."""
    terms = closed_terms(kernel)
    if terms is None:
        return quadrature.psi0(kernel, q)
    return sum_terms([t.scale * CLOSED_FORMS[type(t.kernel)].psi0(t.kernel, q) for t in terms])


def psi1(kernel: Kernel, Z: Float[Array, "M Q"], q: Gaussian) -> Float[Array, "N M"]:
    """⟨k(x_n, z_m)⟩ for every row and inducing input."""
    terms = closed_terms(kernel)
    if terms is None:
        return quadrature.psi1(kernel, Z, q)
    return sum_terms([t.scale * CLOSED_FORMS[type(t.kernel)].psi1(t.kernel, Z, q) for t in terms])


def psi2(
    kernel: Kernel, Z: Float[Array, "M Q"], q: Gaussian, W: Float[Array, "G N"]
) -> Float[Array, "G M M"]:
    """Σ_n W_gn ⟨k(z, x_n) k(x_n, z')⟩, the cross terms of a sum included."""
    terms = closed_terms(kernel)
    if terms is None:
        return quadrature.cross_psi2(kernel, Z, kernel, Z, q, W)
    parts = [t.scale**2 * CLOSED_FORMS[type(t.kernel)].psi2(t.kernel, Z, q, W) for t in terms]
    for s, t in combinations(terms, 2):
        cross = s.scale * t.scale * _registered_cross(s.kernel, Z, t.kernel, Z, q, W)
        parts.append(cross + jnp.swapaxes(cross, 1, 2))
    return sum_terms(parts)


def cross_psi2(
    a: Kernel,
    Za: Float[Array, "M Q"],
    b: Kernel,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    W: Float[Array, "G N"],
) -> Float[Array, "G M L"]:
    """Σ_n W_gn ⟨k_a(z, x_n) k_b(x_n, z')⟩ for two independent functions of the same x."""
    terms_a, terms_b = closed_terms(a), closed_terms(b)
    if terms_a is None or terms_b is None:
        return quadrature.cross_psi2(a, Za, b, Zb, q, W)
    return sum_terms(
        [
            s.scale * t.scale * _registered_cross(s.kernel, Za, t.kernel, Zb, q, W)
            for s in terms_a
            for t in terms_b
        ]
    )


def psi2_rows(
    kernel: Kernel,
    Z: Float[Array, "M Q"],
    q: Gaussian,
    T: Float[Array, "R M M"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """Σ_ml ⟨k(z_m, x_n) k(x_n, z_l)⟩ T[which_n, m, l] for every row n; T is symmetric."""
    terms = closed_terms(kernel)
    if terms is not None and all(type(t.kernel) in ROW_FORMS for t in terms):
        pairs = list(combinations(terms, 2))
        if all(_row_form(s.kernel, t.kernel) for s, t in pairs):
            own = [t.scale**2 * ROW_FORMS[type(t.kernel)](t.kernel, Z, q, T, which) for t in terms]
            return sum_terms(own + [2.0 * _cross_rows(s, Z, t, Z, q, T, which) for s, t in pairs])
    one = jnp.ones((1, 1), q.mean.dtype)

    def single_row(mean: Array, variance: Array, index: Array) -> Array:
        return jnp.sum(T[index] * psi2(kernel, Z, Gaussian(mean[None], variance[None]), one)[0])

    return jax.vmap(single_row)(q.mean, q.variance, which)


def cross_psi2_rows(
    a: Kernel,
    Za: Float[Array, "M Q"],
    b: Kernel,
    Zb: Float[Array, "L Q"],
    q: Gaussian,
    T: Float[Array, "R M L"],
    which: Int[Array, " N"],
) -> Float[Array, " N"]:
    """Σ_ml ⟨k_a(z_m, x_n) k_b(x_n, z_l)⟩ T[which_n, m, l] for every row n."""
    terms_a, terms_b = closed_terms(a), closed_terms(b)
    if terms_a is not None and terms_b is not None:
        pairs = [(s, t) for s in terms_a for t in terms_b]
        if all(_row_form(s.kernel, t.kernel) for s, t in pairs):
            return sum_terms([_cross_rows(s, Za, t, Zb, q, T, which) for s, t in pairs])
    one = jnp.ones((1, 1), q.mean.dtype)

    def single_row(mean: Array, variance: Array, index: Array) -> Array:
        row = Gaussian(mean[None], variance[None])
        return jnp.sum(T[index] * cross_psi2(a, Za, b, Zb, row, one)[0])

    return jax.vmap(single_row)(q.mean, q.variance, which)


def expectation_error(kernel: Kernel, Z: Float[Array, "M Q"], q: Gaussian) -> float:
    """Relative error of the statistics: zero for closed forms, estimated otherwise."""
    terms = closed_terms(kernel)
    if terms is not None:
        pairs = [(type(s.kernel), type(t.kernel)) for s, t in combinations(terms, 2)]
        if all(pair in CROSS_FORMS or pair[::-1] in CROSS_FORMS for pair in pairs):
            return 0.0
    return quadrature.relative_error(kernel, Z, q)


def closed_terms(kernel: Kernel) -> list[Term] | None:
    """Expand a kernel into constants times registered kernels; None if that cannot be."""
    if isinstance(kernel, Restricted) and closed_terms(kernel.kernel) is None:
        return None
    if type(kernel) in CLOSED_FORMS:
        return [Term(1.0, kernel)]
    if isinstance(kernel, Sum):
        expanded = [closed_terms(part) for part in kernel.parts]
        return None if None in expanded else [t for terms in expanded for t in terms or []]
    if isinstance(kernel, Product):
        product = [Term(1.0, Bias())]
        for part in kernel.parts:
            terms = closed_terms(part)
            if terms is None:
                return None
            pairs = [_product(s, t) for s in product for t in terms]
            if any(pair is None for pair in pairs):
                return None
            product = [pair for pair in pairs if pair is not None]
        return product
    return None


def _product(s: Term, t: Term) -> Term | None:
    """A constant times a term is a term; any other product has no closed form here."""
    if isinstance(s.kernel, Bias):
        return Term(s.scale * s.kernel.variance.value * t.scale, t.kernel)
    if isinstance(t.kernel, Bias):
        return Term(s.scale * t.kernel.variance.value * t.scale, s.kernel)
    return None


def _registered_cross(
    a: Kernel, Za: Array, b: Kernel, Zb: Array, q: Gaussian, W: Array
) -> Float[Array, "G M L"]:
    if (type(a), type(b)) in CROSS_FORMS:
        return CROSS_FORMS[type(a), type(b)](a, Za, b, Zb, q, W)
    if (type(b), type(a)) in CROSS_FORMS:
        return jnp.swapaxes(CROSS_FORMS[type(b), type(a)](b, Zb, a, Za, q, W), 1, 2)
    return quadrature.cross_psi2(a, Za, b, Zb, q, W)


def _row_form(a: Kernel, b: Kernel) -> bool:
    """Whether two families have a fast form in either order."""
    pair = (type(a), type(b))
    return pair in CROSS_ROW_FORMS or pair[::-1] in CROSS_ROW_FORMS


def _cross_rows(
    s: Term, Za: Array, t: Term, Zb: Array, q: Gaussian, T: Array, which: Array
) -> Float[Array, " N"]:
    a, b = s.kernel, t.kernel
    if (type(a), type(b)) in CROSS_ROW_FORMS:
        found = CROSS_ROW_FORMS[type(a), type(b)](a, Za, b, Zb, q, T, which)
    else:
        turned = jnp.swapaxes(T, 1, 2)
        found = CROSS_ROW_FORMS[type(b), type(a)](b, Zb, a, Za, q, turned, which)
    return s.scale * t.scale * found


def sum_terms(parts: list[Array]) -> Array:
    """Add arrays without starting from the number zero."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total

r"""What outputs with mixing weights of their own add to the bound.

Once the process that all outputs have in common is eliminated, output d has left

    φ_d = -½ log|I + DED| + ½ rᵀD (I + DED)⁻¹ Dr,   D = diag(w_d1 I, …, w_dJ I),

with E common to all. For one local process E = UΛUᵀ diagonalises all outputs at once, at the cost
of one decomposition and products of matrices. For several there is one Cholesky per output.
Gradients are by hand: those of a spectral function are smooth where eigenvectors are not, and
the factor of an output serves value and gradient alike.
"""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from ..linalg import log_determinant

Weights = Float[Array, "D J"]


@jax.custom_vjp
def mixed_evidence(
    E: Float[Array, "L L"], R: Float[Array, "L D"], W: Weights, mask: Float[Array, " D"]
) -> Float[Array, ""]:
    """Σ_d mask_d φ_d."""
    return _forward(E, R, W, mask)[0]


def _forward(E: Array, R: Array, W: Array, mask: Array) -> tuple[Array, tuple[Array, ...]]:
    gradients = _by_spectrum if W.shape[1] == 1 else _by_output
    value, *slopes = gradients(E, R, W, mask)
    return value, (*slopes, mask)


def _backward(saved: tuple[Array, ...], slope: Array) -> tuple[Array, ...]:
    dE, dR, dW, mask = saved
    return slope * dE, slope * dR, slope * dW, jnp.zeros_like(mask)


mixed_evidence.defvjp(_forward, _backward)


def _by_spectrum(E: Array, R: Array, W: Array, mask: Array) -> tuple[Array, ...]:
    """With ρ = Uᵀr and t = 1/(1 + w²λ): φ = Σ_i [-½ log(1 + w²λ_i) + ½ w²ρ_i²t_i]."""
    values, U = spectrum(E)
    square = W[:, 0] ** 2
    t = 1.0 / (1.0 + values[:, None] * square)
    rho = U.T @ R
    kept = t * rho
    each = 0.5 * jnp.sum(square * rho * kept - jnp.log1p(values[:, None] * square), axis=0)
    strength = mask * square
    moved = kept * jnp.sqrt(mask) * square
    inside = jnp.diag(t @ strength) + moved @ moved.T
    by_square = 0.5 * mask * jnp.sum(kept**2 - values[:, None] * t, axis=0)
    return (
        jnp.sum(mask * each),
        -0.5 * U @ inside @ U.T,
        strength * (U @ kept),
        (2.0 * W[:, 0] * by_square)[:, None],
    )


def _by_output(E: Array, R: Array, W: Array, mask: Array) -> tuple[Array, ...]:
    """One output after the other: with S = (I + DED)⁻¹ and a = SDr,

    dφ/dE = -½ D(S + aaᵀ)D,  dφ/dr = Da,  dφ/dD = diag[(r - EDa)aᵀ - EDS] by symmetry.
    """
    size = E.shape[0] // W.shape[1]
    identity = jnp.eye(E.shape[0], dtype=E.dtype)

    def one_output(
        dE: Array, output: tuple[Array, Array, Array]
    ) -> tuple[Array, tuple[Array, Array, Array]]:
        r, w, m = output
        D = jnp.repeat(w, size)
        scaled = E * D  # ED
        L = jnp.linalg.cholesky(identity + D[:, None] * scaled)
        S = cho_solve((L, True), identity)
        a = S @ (D * r)
        value = 0.5 * (jnp.sum(D * r * a) - log_determinant(L))
        dE = dE - 0.5 * m * (S + jnp.outer(a, a)) * D[:, None] * D
        by_entry = (r - scaled @ a) * a - jnp.sum(scaled * S, axis=1)
        dw = jnp.sum(by_entry.reshape(-1, size), axis=1)
        return dE, (m * value, m * D * a, m * dw)

    dE, (values, dR, dW) = jax.lax.scan(one_output, jnp.zeros_like(E), (R.T, W, mask))
    return jnp.sum(values), dE, dR.T, dW


def spectrum(E: Float[Array, "L L"]) -> tuple[Float[Array, " L"], Float[Array, "L L"]]:
    """Eigenvalues, none below zero, and eigenvectors of a covariance."""
    values, vectors = jnp.linalg.eigh(0.5 * (E + E.T))
    return jnp.maximum(values, 0.0), vectors


def mixed_means(E: Float[Array, "L L"], R: Float[Array, "L D"], W: Weights) -> Float[Array, "L D"]:
    """D(I + DED)⁻¹Dr of every output: what the local processes add to the mean."""
    if W.shape[1] == 1:
        values, U = spectrum(E)
        square = W[:, 0] ** 2
        return U @ (square / (1.0 + values[:, None] * square) * (U.T @ R))
    return jax.lax.map(lambda o: _inside(E, o[1]) @ o[0], (R.T, W)).T


def mixed_precision(
    E: Float[Array, "L L"], W: Weights, counts: Float[Array, "R D"]
) -> Float[Array, "R L L"]:
    """Σ_d counts_rd D(I + DED)⁻¹D."""
    if W.shape[1] == 1:
        values, U = spectrum(E)
        square = W[:, 0] ** 2
        heights = counts @ (square / (1.0 + values[:, None] * square)).T
        return jnp.einsum("li,ri,mi->rlm", U, heights, U)

    def add(total: Array, output: tuple[Array, Array]) -> tuple[Array, None]:
        w, count = output
        return total + count[:, None, None] * _inside(E, w), None

    start = jnp.zeros((counts.shape[0], *E.shape), E.dtype)
    return jax.lax.scan(add, start, (W, counts.T))[0]


def mixed_traces(
    E: Float[Array, "L L"], W: Weights, spreads: Float[Array, "N L L"]
) -> Float[Array, "N D"]:
    """tr[D(I + DED)⁻¹D Φ_n] for every row's Φ and every output."""
    if W.shape[1] == 1:
        values, U = spectrum(E)
        square = W[:, 0] ** 2
        along = jnp.einsum("li,nlm,mi->ni", U, spreads, U)
        return along @ (square / (1.0 + values[:, None] * square))
    return jax.lax.map(lambda w: jnp.einsum("lm,nlm->n", _inside(E, w), spreads), W).T


def _inside(E: Float[Array, "L L"], w: Float[Array, " J"]) -> Float[Array, "L L"]:
    """D(I + DED)⁻¹D of one output."""
    D = jnp.repeat(w, E.shape[0] // w.shape[0])
    identity = jnp.eye(E.shape[0], dtype=E.dtype)
    L = jnp.linalg.cholesky(identity + D[:, None] * E * D)
    return cho_solve((L, True), jnp.diag(D)) * D[:, None]

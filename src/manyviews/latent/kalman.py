"""Gaussian sites on a state-space prior: one filter and one smoother pass, linear in N.

The filter is a prefix sum of an associative operation (Särkkä & García-Fernández 2021); so is
the smoother, in the form of Bryson & Frazier, which needs no inverse of a covariance and so
takes repeated time stamps and noiseless transitions. See `blocked_scan()`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .scan import blocked_scan
from .state_space import StateSpace


def smooth_states(
    model: StateSpace, target: Float[Array, " N"], precision: Float[Array, " N"]
) -> tuple[Float[Array, " N"], Float[Array, " N"], Float[Array, " N"]]:
    """Mean, variances and shares of the KL of q(x) ∝ p(x) Π_n N(m_n | x_n, 1/λ_n), rows in order.

    With the filter's predictions N(h, s) of every x_n, the KL is

        Σ ½ [log(1 + λs) + λ(m-h)²/(1 + λs) - λ((m-μ)² + v)].
    """
    A, Q, H = model
    mean, P = _filter(model, target, precision)
    before_mean = jnp.pad(mean[:-1], ((1, 0), (0, 0)))
    before_P = jnp.pad(P[:-1], ((1, 0), (0, 0), (0, 0)))
    predicted = _apply(A, before_mean)
    predicted_P = _product(_product(A, before_P), _turn(A)) + Q
    column = predicted_P @ H
    spread = column @ H
    weight = precision / (1.0 + precision * spread)
    surprise = target - predicted @ H

    kept = jnp.eye(len(H)) - weight[:, None, None] * column[:, :, None] * H
    seen = jnp.einsum("i,nij->nj", H, A)
    identity = (jnp.eye(len(H)), jnp.zeros((len(H), len(H))), jnp.zeros(len(H)))
    steps = (
        _product(kept, A),
        weight[:, None, None] * seen[:, :, None] * seen[:, None, :],
        -(weight * surprise)[:, None] * seen,
    )
    _, information, pull = blocked_scan(_join_adjoints, steps, identity, reverse=True)
    information = jnp.pad(information[1:], ((0, 1), (0, 0), (0, 0)))
    pull = jnp.pad(pull[1:], ((0, 1), (0, 0)))

    row = P @ H
    smoothed = mean @ H - jnp.sum(row * pull, axis=1)
    filtered = row @ H
    variance = filtered - jnp.sum(row * _apply(information, row), axis=1)
    variance = jnp.maximum(variance, 1e-14 * filtered)  # rounding can go below zero
    kl = 0.5 * (
        jnp.log1p(precision * spread)
        + weight * surprise**2
        - precision * ((target - smoothed) ** 2 + variance)
    )
    return smoothed, variance, kl


def _filter(
    model: StateSpace, target: Float[Array, " N"], precision: Float[Array, " N"]
) -> tuple[Float[Array, "N d"], Float[Array, "N d d"]]:
    """Mean and covariance of every state given the sites up to it."""
    A, Q, H = model
    d = len(H)
    column = Q @ H
    weight = precision / (1.0 + precision * (column @ H))
    gain = weight[:, None] * column
    kept = jnp.eye(d) - gain[:, :, None] * H
    seen = jnp.einsum("i,nij->nj", H, A)
    elements = (
        _product(kept, A),
        gain * target[:, None],
        _product(kept, Q),
        (weight * target)[:, None] * seen,
        weight[:, None, None] * seen[:, :, None] * seen[:, None, :],
    )
    zero, square = jnp.zeros(d), jnp.zeros((d, d))
    identity = (jnp.eye(d), zero, square, zero, square)
    _, mean, covariance, _, _ = blocked_scan(_join_filters, elements, identity)
    return mean, covariance


def _join_filters(early: tuple[Array, ...], late: tuple[Array, ...]) -> tuple[Array, ...]:
    """Lemma 8 of Särkkä & García-Fernández (2021)."""
    A1, b1, C1, e1, J1 = early
    A2, b2, C2, e2, J2 = late
    inverse = small_inverse(jnp.eye(C1.shape[-1]) + _product(C1, J2))
    forward = _product(A2, inverse)
    backward = _turn(_product(inverse, A1))
    return (
        _product(forward, A1),
        _apply(forward, b1 + _apply(C1, e2)) + b2,
        _product(_product(forward, C1), _turn(A2)) + C2,
        _apply(backward, e2 - _apply(J2, b1)) + e1,
        _product(_product(backward, J2), A1) + J1,
    )


def _join_adjoints(late: tuple[Array, ...], early: tuple[Array, ...]) -> tuple[Array, ...]:
    """Information and pull of the future, carried over one more transition F."""
    F1, M1, v1 = late
    F2, M2, v2 = early
    back = _turn(F2)
    return _product(F1, F2), M2 + _product(_product(back, M1), F2), v2 + _apply(back, v1)


@jax.custom_vjp
def small_inverse(matrix: Float[Array, "*n d d"]) -> Float[Array, "*n d d"]:
    """Inverse of many small matrices, by elimination with partial pivoting, written out."""
    d = matrix.shape[-1]
    work = jnp.concatenate([matrix, jnp.broadcast_to(jnp.eye(d), matrix.shape)], axis=-1)
    places = jnp.arange(d)
    for step in range(d):
        sizes = jnp.where(places >= step, jnp.abs(work[..., step]), -1.0)
        pivot = jnp.argmax(sizes, axis=-1)[..., None]
        swapped = jnp.where(places == step, pivot, jnp.where(places == pivot, step, places))
        work = jnp.take_along_axis(work, swapped[..., None], axis=-2)
        row = work[..., step, :] / work[..., step, step, None]
        factor = jnp.where(places == step, 0.0, work[..., step])
        work = jnp.where((places == step)[:, None], row[..., None, :], work)
        work = work - factor[..., None] * row[..., None, :]
    return work[..., d:]


def _inverse_forward(matrix: Array) -> tuple[Array, Array]:
    inverse = small_inverse(matrix)
    return inverse, inverse


def _inverse_backward(inverse: Array, slope: Array) -> tuple[Array]:
    back = _turn(inverse)
    return (-_product(_product(back, slope), back),)


small_inverse.defvjp(_inverse_forward, _inverse_backward)


def _product(a: Float[Array, "*#n i j"], b: Float[Array, "*#n j k"]) -> Float[Array, "..."]:
    """Products of many small matrices; as sums, which vectorise over n."""
    return jnp.sum(a[..., :, :, None] * b[..., None, :, :], axis=-2)


def _apply(a: Float[Array, "*#n i j"], b: Float[Array, "*#n j"]) -> Float[Array, "..."]:
    return jnp.sum(a * b[..., None, :], axis=-1)


def _turn(a: Float[Array, "*n i j"]) -> Float[Array, "*n j i"]:
    return jnp.swapaxes(a, -1, -2)

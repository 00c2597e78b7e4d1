"""Moves that split and merge: their proposals have the density they claim."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from manyviews.mixtures import hierarchy, numbers
from manyviews.mixtures.proposal import Extra, all_signs, log_proposed, proposed
from manyviews.mixtures.renewal import component_sums, draw_numbers
from manyviews.mixtures.split_merge import draw_pair

N, DRAWS = 12, 20_000


def problem(q, sizes):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N, q))
    hypers, old, sums = [], [], []
    for m in sizes:
        table = x @ rng.normal(size=(q, m)) + 0.3 * rng.normal(size=(N, m))
        values = (np.zeros(m), np.eye(m), 0.2 * np.eye(m), m + 2.0, 0.8, 0.1 * np.ones((m, q)))
        hypers.append(hierarchy.Hyper(*(jnp.asarray(v, dtype=jnp.float64) for v in values)))
        parts = (table.mean(axis=0), 2.0 * np.eye(m), 2 * m * np.log(2.0), rng.normal(size=(m, q)))
        old.append(hierarchy.Components(*map(jnp.asarray, parts)))
        sums.append(component_sums(jnp.ones(N), jnp.asarray(table), jnp.asarray(x)))
    return tuple(old), tuple(sums), tuple(hypers)


def coordinates(parts):
    """μ, log diagonal and lower part of A's factor, and W, as one row per draw."""
    rows = []
    for own in parts:
        A = own.factor @ jnp.swapaxes(own.factor, 1, 2)
        m = A.shape[-1]
        L = np.linalg.cholesky(np.asarray(A))
        i, j = np.tril_indices(m, -1)
        rows += [own.mu, np.log(np.diagonal(L, axis1=1, axis2=2)), L[:, i, j]]
    loadings = [own.W.reshape(len(own.W), -1) for own in parts]
    return np.concatenate([*rows, *loadings], axis=1)


def log_jacobian(parts):
    """Of A in these coordinates: dA = 2^m Π l_ii^{m-i+1} dL, and dl_ii = l_ii d log l_ii."""
    total = 0.0
    for own in parts:
        L = np.linalg.cholesky(np.asarray(own.factor @ jnp.swapaxes(own.factor, 1, 2)))
        m = L.shape[-1]
        diagonal = np.diagonal(L, axis1=1, axis2=2)
        total = total + m * np.log(2.0) + np.log(diagonal) @ (m - np.arange(m) + 1.0)
    return total


@pytest.mark.long
@pytest.mark.parametrize(("q", "sizes"), [(1, (1, 2)), (2, (2, 1))])
def test_proposals_have_their_density(q, sizes):
    """The mean of g/q over draws from q is one for any density g within its support."""
    old, sums, hypers = problem(q, sizes)
    seeds = numbers.split(numbers.as_seed(5), 3)
    drawn = draw_numbers(seeds[0], jnp.full(DRAWS, float(N)), hypers)
    normal = numbers.normals(seeds[1], DRAWS * q * (q + 1)).reshape(DRAWS, q, q + 1)
    uniform = numbers.uniforms(seeds[2], DRAWS * q).reshape(DRAWS, q)
    extra = Extra(normal[:, :, 0], normal[:, :, 1:], jnp.where(uniform < 0.5, -1.0, 1.0))

    def both(parts):
        new = proposed(*parts, old, sums, hypers)
        return new, log_proposed(new, old, sums, hypers)

    new, log_q = jax.jit(lambda *parts: jax.lax.map(both, parts))(drawn, extra)
    values = coordinates(new)
    log_q = np.asarray(log_q) + log_jacobian(new)
    upright = np.asarray((extra.signs > 0).all(axis=1))  # g sits on one of the modes
    spread = 0.5 * np.cov(values[upright].T)
    centre = np.median(values[upright], axis=0)
    apart = np.linalg.solve(np.linalg.cholesky(spread), (values - centre).T)
    log_g = -0.5 * np.sum(apart**2, axis=0) - 0.5 * np.linalg.slogdet(2 * np.pi * spread)[1]
    ratio = np.exp(log_g - log_q)
    assert abs(ratio.mean() - 1.0) < 4 * ratio.std() / np.sqrt(DRAWS)
    assert ratio.std() / np.sqrt(DRAWS) < 0.08


def test_pairs_are_uniform():
    state = hierarchy.State(
        (hierarchy.Components(jnp.zeros((6, 1)), *(jnp.zeros(6),) * 3),), (), jnp.zeros((4, 1)),
        jnp.array([0, 0, 3, 3]), jnp.asarray(1.0),
    )  # fmt: skip
    pairs = jax.jit(jax.vmap(lambda seed: draw_pair(seed, state)))(
        numbers.split(numbers.as_seed(0), 24_000)
    )
    found, counts = np.unique(np.stack([pairs.i, pairs.j]), axis=1, return_counts=True)
    assert found.shape[1] == 12
    assert (found[0] != found[1]).all()
    np.testing.assert_allclose(counts, 2000, rtol=0.1)
    together = np.asarray(pairs.i // 2 == pairs.j // 2)
    assert (np.asarray(pairs.divided) == ~together).all()
    assert (np.asarray(pairs.second_slot)[together] == 1).all()  # the first that is free
    assert len(all_signs(3)) == 8

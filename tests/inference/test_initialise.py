import numpy as np
import pytest

from manyviews import kernels
from manyviews.data import Scaling
from manyviews.errors import DataError
from manyviews.inference.initialise import (
    inducing_inputs,
    initial_kernel,
    initial_means,
    ppca_fill,
    residual_share,
)


@pytest.fixture
def low_rank(rng):
    return rng.standard_normal((40, 2)) @ rng.standard_normal((2, 6))


def test_pca_and_ppca_scores_span_the_signal_at_unit_variance(low_rank, rng):
    for init in ("pca", "ppca"):
        X = initial_means(low_rank, 2, init, rng)
        np.testing.assert_allclose(X.std(axis=0), 1.0)
        projected = X @ np.linalg.lstsq(X, low_rank - low_rank.mean(0), rcond=None)[0]
        np.testing.assert_allclose(projected, low_rank - low_rank.mean(0), atol=1e-8)


def test_degenerate_directions_get_random_scores(low_rank, rng):
    X = initial_means(low_rank, 4, "pca", rng)
    assert np.isfinite(X).all()
    np.testing.assert_allclose(X.std(axis=0)[2:], 1.0, atol=0.5)


def test_given_means_are_checked(low_rank, rng):
    given = np.ones((40, 2))
    np.testing.assert_array_equal(initial_means(low_rank, 2, given, rng), given)
    given[0, 0] = np.nan
    with pytest.raises(DataError, match="NaN"):
        initial_means(low_rank, 2, given, rng)


def test_ppca_fills_holes_of_low_rank_data(low_rank, rng):
    holes = rng.uniform(size=low_rank.shape) < 0.2
    filled = ppca_fill(np.where(holes, np.nan, low_rank), 2)
    np.testing.assert_array_equal(filled[~holes], low_rank[~holes])
    assert np.abs(filled - low_rank)[holes].max() < 0.05 * low_rank.std()


@pytest.mark.parametrize("init", ["kmeans", "subset"])
def test_inducing_inputs_lie_among_the_points(init, rng):
    X = rng.standard_normal((50, 3))
    Z = inducing_inputs(X, 8, init, rng)
    assert Z.shape == (8, 3)
    nearest = np.sqrt(((Z[:, None] - X) ** 2).sum(-1)).min(axis=1)
    assert nearest.max() < (1e-12 if init == "subset" else 1.5)
    assert np.unique(Z, axis=0).shape == (8, 3)


def test_named_kernels_start_at_the_data_and_objects_at_their_own_values(rng):
    X = rng.standard_normal((50, 3))
    span = X.max(axis=0) - X.min(axis=0)
    kernel = initial_kernel("rbf + linear", X, 4.0)
    np.testing.assert_allclose(kernel.parts[0].weights(3), 5.0 / span**2)
    np.testing.assert_allclose(kernel.parts[0].variance.value, 4.0)
    own = initial_kernel(kernels.RBF(2.0, 0.3), X, 4.0)
    np.testing.assert_allclose(own.lengthscale.value, [0.3] * 3)
    np.testing.assert_allclose(own.variance.value, 2.0)


def test_scaling_round_trip(rng):
    Y = rng.standard_normal((20, 3)) * [1.0, 10.0, 100.0] + [5.0, 0.0, -3.0]
    Y[2, 1] = np.nan
    for choice, spreads in (("view", 1), ("column", 3)):
        scaling = Scaling.fit(Y, choice)
        scaled = scaling.apply(Y)
        np.testing.assert_allclose(np.nanmean(scaled, axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(scaling.undo(scaled), Y)
        assert np.unique(scaling.scale).size == spreads
        expected = np.log(scaling.scale).sum() - np.log(scaling.scale[1])
        np.testing.assert_allclose(scaling.log_jacobian(Y)[2], expected)


@pytest.fixture(scope="module")
def tall():
    rng = np.random.default_rng(1)
    signal = rng.standard_normal((30_000, 3)) @ (np.array([[3.0], [2.0], [1.0]]) * np.eye(3, 7))
    return signal + 0.1 * rng.standard_normal((30_000, 7))


def test_a_tall_table_starts_where_a_short_one_would(tall, rng, monkeypatch):
    def at_the_limit(rows):
        monkeypatch.setattr("manyviews.inference.tall_tables.MANY_ROWS", rows)
        holes = np.where(np.random.default_rng(2).uniform(size=tall.shape) < 0.1, np.nan, tall)
        return (
            initial_means(tall, 3, "pca", rng),
            ppca_fill(holes, 3),
            residual_share(tall, 3),
        )

    scores, filled, share = at_the_limit(10**6)
    tall_scores, tall_filled, tall_share = at_the_limit(20_000)
    same = np.sign(np.sum(scores * tall_scores, axis=0))
    np.testing.assert_allclose(tall_scores * same, scores, atol=1e-9)
    np.testing.assert_allclose(tall_filled, filled, atol=1e-9)
    np.testing.assert_allclose(tall_share, share, rtol=1e-9)


def test_kmeans_of_a_part_of_many_points_covers_all_as_well(tall, rng):
    X = tall[:, :3]

    def spread(Z):
        return np.mean(np.min(np.sum((X[:, None] - Z) ** 2, axis=2), axis=1))

    chosen = spread(inducing_inputs(X, 10, "kmeans", rng))
    from sklearn.cluster import KMeans

    everything = KMeans(10, n_init=1, max_iter=30, random_state=0).fit(X).cluster_centers_
    assert chosen < 1.05 * spread(everything)

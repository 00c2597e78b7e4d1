import numpy as np
import pytest

from manyviews import BayesianGPLVM, Search
from manyviews.inference.neighbours import nearest_rows
from manyviews.inference.new_points import infer_new_points


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 80)
    W = rng.standard_normal((4, 6))
    clean = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], 1) @ W
    Y = clean + 0.05 * rng.standard_normal(clean.shape)
    model = BayesianGPLVM(3, n_inducing=20, random_state=0, search=Search(max_iter=600, tol=0)).fit(
        Y[:60]
    )
    return model, Y[60:]


pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")


def test_nearest_rows_ignore_missing_columns():
    train = np.array([[0.0, 0.0, 5.0], [1.0, 1.0, np.nan], [3.0, 3.0, 3.0]])
    new = np.array([[np.nan, 0.9, 0.0], [np.nan, np.nan, 4.6]])
    found = nearest_rows((new,), (train,), 2)
    assert found[0, 0] == 1  # row 1 is nearest in the one column both have
    assert found[1].tolist() == [0, 2]


def test_rows_are_inferred_independently_of_their_company(curve):
    model, new = curve
    together = model.transform(new)
    alone = np.concatenate([model.transform(row[None]) for row in new[:3]])
    np.testing.assert_allclose(together[:3], alone, atol=1e-6)
    np.testing.assert_allclose(model.transform(new[::-1])[::-1], together, atol=1e-6)


def test_training_rows_keep_their_latent_positions(curve):
    model, _ = curve
    Y = model.scaling_.undo(model.engine_.data[0])
    mean, std = model.transform(Y, return_std=True)
    difference = np.abs(mean - model.latent_mean_)[:, model.relevance_ > 0.01]
    assert np.median(difference) < 1e-3
    assert np.quantile(difference, 0.9) < 0.05
    assert (std > 0).all()


def test_more_starts_never_lower_the_bound(curve):
    model, new = curve
    scaled = model.scaling_.apply(new)
    scaled[:, 3:] = np.nan
    latent, posteriors = model.engine_.model.latent, model.engine_.posteriors
    bounds = []
    for n in (1, 4, 12):
        starts = nearest_rows((scaled,), model.engine_.data, n)
        found = infer_new_points(
            latent.prior(len(scaled)),
            latent.marginals(),
            posteriors,
            (scaled,),
            starts,
            n_optimised=n,
        )
        bounds.append(found.bound)
    assert (bounds[1] >= bounds[0] - 1e-6).all()
    assert (bounds[2] >= bounds[1] - 1e-6).all()


def test_the_inferred_point_is_a_stationary_maximum(curve):
    from manyviews.expectations import Gaussian
    from manyviews.mappings.rows import row_evidence

    model, new = curve
    scaled = model.scaling_.apply(new[:5])
    starts = nearest_rows((scaled,), model.engine_.data, 10)
    prior, train = model.engine_.model.latent.prior(5), model.engine_.marginals
    found = infer_new_points(prior, train, model.engine_.posteriors, (scaled,), starts)
    evidence = row_evidence(model.engine_.posteriors[0], scaled, np.ones(scaled.shape, bool))

    def bound(q):
        return np.asarray(evidence(q) - q.kl(model.engine_.model.latent.prior(len(q.mean))))

    np.testing.assert_allclose(bound(found.q), found.bound, atol=1e-7)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-1):
        moved = Gaussian(
            found.q.mean
            + scale * np.sqrt(found.q.variance) * rng.standard_normal(found.q.mean.shape),
            found.q.variance * np.exp(scale * rng.standard_normal(found.q.variance.shape)),
        )
        assert (bound(moved) <= found.bound + 1e-8).all()


def test_less_evidence_gives_wider_posteriors(curve):
    model, new = curve
    partial = new.copy()
    partial[:, 1:] = np.nan
    _, narrow = model.transform(new, return_std=True)
    _, wide = model.transform(partial, return_std=True)
    active = model.relevance_ > 0.01
    assert wide[:, active].mean() > 1.5 * narrow[:, active].mean()


def test_independent_share_counts_correlated_columns_and_rows_once(rng):
    from manyviews.inference.independence import independent_share
    from manyviews.latent import make_sequences

    noise = rng.standard_normal((400, 30))
    assert independent_share(noise) > 0.9
    assert independent_share(np.repeat(noise[:, :6], 5, axis=1)) == pytest.approx(0.2, abs=0.02)
    assert independent_share(noise.T) > 0.85  # wider than long
    holes = np.where(rng.uniform(size=noise.shape) < 0.2, np.nan, noise)
    assert independent_share(holes) > 0.9
    slow = np.zeros_like(noise)
    for row in range(1, 400):
        slow[row] = 0.8 * slow[row - 1] + noise[row]
    sequences = make_sequences(np.arange(400.0)[:, None], np.zeros(400, int))
    share = independent_share(slow, sequences)
    assert share == pytest.approx((1 - 0.8) / (1 + 0.8), rel=0.3)  # of an AR(1) process
    assert independent_share(noise, sequences) > 0.9

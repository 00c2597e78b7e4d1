import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from manyviews.variational.link_blend import LinkBlend, trust
from manyviews.variational.link_features import LinkFeatures
from manyviews.variational.link_regression import LinkRegression, row_errors


def centred(table):
    return table - table.mean(axis=0)


def bent(rng, n, curve, noise=0.5):
    """Inputs, centred values that bend by so much, and no latent answer."""
    inputs = rng.uniform(-2.0, 2.0, size=(n, 2))
    Y = inputs + curve * inputs**2 + noise * rng.normal(size=(n, 2))
    return inputs, centred(Y), np.zeros((n, 2)), np.ones((n, 2), bool)


def parts(inputs, y, m, seen):
    """The straight regression, and the best of the curved ones, on their own."""
    found = []
    for features in LinkFeatures.candidates(inputs):
        regression = LinkRegression(features, inputs)
        found.append((regression, regression.best(y, m, seen)))
    best = min(found[1:], key=lambda pair: pair[1].error)
    return found[0], best


def test_answers_are_averages_of_a_straight_and_a_curved_regression(rng):
    inputs, *tables = bent(rng, 40, curve=0.15)
    given = inputs, *(table[:, :1] for table in tables)  # one column has one penalty
    y = given[1]
    blend, (straight, curved) = LinkBlend.fit(*given), parts(*given)
    assert 0.05 < blend.trust < 0.95
    new = rng.uniform(-2.0, 2.0, size=(7, 2))
    z, z_new = ((x - inputs.mean(axis=0)) / inputs.std(axis=0) for x in (inputs, new))
    line = Ridge(alpha=2 * straight[1].penalty).fit(z, y).predict(z_new).reshape(-1, 1)

    def kernel(a, b):
        gamma = curved[0].features.curves.gamma
        return a @ b.T / 2 + np.exp(-gamma * cdist(a, b, "sqeuclidean"))

    K, K_new = kernel(z, z), kernel(z_new, z)
    middle, right = K.mean(axis=0), K.mean()
    machine = KernelRidge(alpha=curved[1].penalty, kernel="precomputed")
    machine.fit(K - middle - middle[:, None] + right, y)
    curve = machine.predict(K_new - K_new.mean(axis=1)[:, None] - middle + right)
    found = (blend.features(new) - blend.centre) @ blend.coefficients
    expected = (1 - blend.trust) * line + blend.trust * curve
    np.testing.assert_allclose(found, expected, atol=1e-4)
    errors = (1 - blend.trust) * straight[1].errors + blend.trust * curved[1].errors
    np.testing.assert_allclose(blend.errors, errors, atol=1e-12)


@pytest.mark.parametrize(("curve", "low", "high"), [(0.0, 0.0, 0.5), (1.0, 1.0, 1.0)])
def test_curves_are_believed_where_they_are_sure(curve, low, high):
    found = [LinkBlend.fit(*bent(np.random.default_rng(s), 80, curve)).trust for s in range(8)]
    assert low <= np.mean(found) <= high


def test_columns_and_components_have_penalties_and_errors_are_those_without_the_row(rng):
    """One direction of the outputs follows the inputs closely, the others hardly."""
    inputs = rng.normal(size=(60, 30))
    signal = inputs @ rng.normal(size=(30, 1)) @ rng.normal(size=(1, 6))
    y, seen = centred(signal + rng.normal(size=(60, 6))), np.ones((60, 6), bool)
    m = centred(signal + 3.0 * rng.normal(size=(60, 6)))
    regression = LinkRegression(LinkFeatures.candidates(inputs)[0], inputs)
    found = regression.best(y, m, seen)
    assert found.penalties[0] < found.penalties[1:].min()
    target = y - found.share * m
    errors = np.empty_like(y)
    for row in range(60):
        kept = np.arange(60) != row
        one = Ridge(alpha=found.penalty).fit(regression.table[kept], target[kept])
        turned = Ridge(alpha=np.minimum(found.penalties, 1e9))
        turned.fit(regression.table[kept], target[kept] @ found.axes)
        said = [model.predict(regression.table[[row]])[0] for model in (one, turned)]
        errors[row] = target[row] - 0.5 * (said[0] + said[1] @ found.axes.T)
    np.testing.assert_allclose(found.errors, errors, atol=1e-6)
    whole = Ridge(alpha=found.penalty).fit(regression.table, target).coef_.T
    turned = Ridge(alpha=np.minimum(found.penalties, 1e9)).fit(
        regression.table, target @ found.axes
    )
    expected = 0.5 * (whole + turned.coef_.T @ found.axes.T)
    np.testing.assert_allclose(regression.answer(found, y, m), expected, atol=1e-6)


def test_few_rows_with_large_errors_do_not_decide(rng):
    straight, curved = 0.1 * rng.normal(size=(2, 50, 1))
    straight[:2], curved[:2] = 5.0, 4.0
    curved[2:] *= 1.3
    seen = np.ones((50, 1), bool)
    sizes = [row_errors(errors, 0.0, seen) for errors in (straight, curved)]
    assert np.mean(curved**2) < 0.8 * np.mean(straight**2)
    assert trust(sizes[0] - sizes[1]) < 0.5


def test_trust_is_half_the_standard_errors():
    gain = np.array([1.0, -1.0, 1.0, 1.0])
    error = gain.std() / 2.0
    assert trust(gain) == pytest.approx(gain.mean() / (2.0 * error))
    assert trust(-gain) == 0.0
    assert trust(10.0 + gain) == trust(np.ones(3)) == 1.0
    assert trust(np.zeros(3)) == 0.0


def test_groups_count_once(rng):
    errors, seen = rng.normal(size=(30, 2)), rng.random((30, 2)) < 0.8
    seen[0] = False
    together = [np.arange(10), np.arange(10, 30)]
    sizes = row_errors(errors, 0.5, seen, together)
    known = [errors[rows][seen[rows]] for rows in together]
    expected = [np.sqrt(np.mean(e**2) * (1 + 10 * 0.5 / 2)) for e in known]
    np.testing.assert_allclose(sizes, expected)
    assert len(row_errors(errors, 0.5, seen)) == int(seen.any(axis=1).sum())


def test_shares_are_averaged(rng):
    inputs, y, _, seen = bent(rng, 40, curve=0.15)
    m = centred(y + rng.normal(size=y.shape))
    blend, (straight, curved) = LinkBlend.fit(inputs, y, m, seen), parts(inputs, y, m, seen)
    shares = straight[1].share, curved[1].share
    assert min(shares) <= blend.share <= max(shares)
    assert blend.share == pytest.approx((1 - blend.trust) * shares[0] + blend.trust * shares[1])

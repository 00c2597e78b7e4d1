"""Factors of standard deviations come from most errors, not from a few strange values."""

import numpy as np
import pytest
from scipy.stats import norm

from manyviews.stacking import Mixture, Question
from manyviews.stacking.blend import SCALES, learn_blend
from manyviews.stacking.scores import training_scale
from manyviews.stacking.widths import REACH, calibrated

FOLD = np.arange(400) % 5
NORMAL = Mixture.gaussian(np.zeros((400, 3)), np.ones((400, 3)))


@pytest.fixture
def errors():
    return np.random.default_rng(0).normal(size=(400, 3))


@pytest.mark.parametrize("wide", [3.0, 30.0])
def test_a_factor_is_the_root_mean_square_where_errors_are_normal(errors, wide):
    found = calibrated(NORMAL, wide * errors, FOLD)
    np.testing.assert_allclose(found.factors, wide * np.sqrt(np.mean(errors**2)), rtol=1e-12)
    np.testing.assert_allclose(found.bounded, found.log_density)


def test_a_few_strange_values_do_not_widen_all_intervals(errors):
    errors[::100, 1] = 50.0
    found = calibrated(NORMAL, errors, FOLD)
    assert np.sqrt(np.mean(errors**2)) > 2.9
    assert (found.factors < 1.1).all()
    exact = -0.5 * 50.0**2 - 0.5 * np.log(2.0 * np.pi)
    assert found.log_density[100, 1] < exact / 1.3
    assert found.bounded[100, 1] > -0.5 * (1.1 * REACH) ** 2 - 1.1


def test_missing_values_stay_missing(errors):
    errors[:7, 2] = np.nan
    found = calibrated(NORMAL, errors, FOLD)
    assert np.isnan(found.bounded[:7, 2]).all()
    assert np.isfinite(found.factors).all()
    assert np.isnan(found.bounded).sum() == np.isnan(found.log_density).sum() == 7


def test_strange_values_do_not_choose_members_and_are_part_of_the_scores(errors):
    """The wide member is better on them alone."""
    errors[::100, 1] = 50.0
    wide = Mixture.gaussian(np.zeros((400, 3)), np.full((400, 3), 12.0))
    question = Question(("a",), "b")
    found = learn_blend(question, ["own", "wide"], [NORMAL, wide], errors, FOLD, "view", False)
    own = found.weights[::2, 0].sum()
    assert own > 0.95
    alone = learn_blend(question, ["own"], [NORMAL], errors, FOLD, "view", False)
    true = NORMAL.log_density(errors) + np.log(training_scale(errors))
    assert alone.scores[0] == pytest.approx(true.mean())
    scales = np.log(training_scale(errors))
    best = Mixture.blend(
        [NORMAL.widened(np.full(3, scale)) for scale in SCALES], alone.weights
    ).log_density(errors)
    assert alone.score == pytest.approx(np.mean(best + scales), rel=0.02)


def test_tails_are_as_heavy_as_errors_are():
    """One value in ten is four times as far off: a Gaussian has to be too wide for the others."""
    rng = np.random.default_rng(0)
    size = np.where(rng.uniform(size=(2000, 2)) < 0.1, 4.0, 1.0)
    errors, fold = size * rng.normal(size=(2000, 2)), np.arange(2000) % 5
    part = Mixture.gaussian(np.zeros((2000, 2)), np.ones((2000, 2)))
    blend = learn_blend(Question(("a",), "b"), ["own"], [part], errors, fold)
    gaussian = -np.log(np.sqrt(np.mean(errors**2))) - 0.5 - 0.5 * np.log(2.0 * np.pi)
    found = blend([part]).log_density(errors).mean()
    parts = [norm.pdf(errors, 0.0, 1.0), norm.pdf(errors, 0.0, 4.0)]
    true = np.log(0.9 * parts[0] + 0.1 * parts[1]).mean()
    assert gaussian + 0.1 < found < true
    assert found > true - 0.03

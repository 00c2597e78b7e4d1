"""Every public estimator answers what it answered when the numbers were recorded.

Fits and searches amplify rounding, which differs between processors; what must agree to 1e-8 on
one machine is compared by ``python -m tests.golden --compare``.
"""

import pytest

from .record import CASES, answers_of, difference, read

RECORDED = read()
TOLERANCE = 1e-3  # of a quantity's scale
LONG = {  # seconds of compilation each, for what is a variant of a case that is not
    "autoregressive_exogenous", "bayesian_gplvm_frame", "bayesian_gplvm_holes",
    "bayesian_gplvm_matern", "bayesian_gplvm_shared_covariance", "bayesian_gplvm_times", "cgpds",
    "cgpds_times", "dirichlet_pcca_gibbs", "generative_classifier", "gplvm_back_gp",
    "gplvm_cca", "gplvm_cca_diagonal", "gplvm_sparse", "gplvm_times", "mcgpds",
    "mcgpds_factorised", "mcgpds_times", "mrd_classifier", "mrd_classifier_calibrated",
    "mrd_frames", "mrd_holes", "mrd_linear", "mrd_local", "mrd_rbf_linear", "mrd_split_columns",
    "mrd_three_views", "mrd_times", "shared_gplvm", "shared_gplvm_sparse",
    "shared_private_gplvm", "subspace_gplvm", "uncertain_regressor_missing",
}  # fmt: skip


def test_all_cases_are_recorded():
    assert set(RECORDED) == set(CASES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in CASES]
)
def test_answers_are_those_recorded(name):
    found, recorded = answers_of(name), RECORDED[name]
    assert set(found) == set(recorded)
    for quantity, expected in recorded.items():
        assert difference(found[quantity], expected) < TOLERANCE, f"{name}: {quantity}"

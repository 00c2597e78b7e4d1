"""Every public estimator answers what it answered when the numbers were recorded.

Fits and searches amplify rounding, which differs between processors; what must agree to 1e-8 on
one machine is compared by ``python -m tests.golden --compare``.
"""

import pytest

from .record import CASES, answers_of, difference, read

RECORDED = read()
TOLERANCE = 1e-3  # of a quantity's scale
LONG = {
    "mcgpds_times", "mrd_times", "bayesian_gplvm_times", "cgpds_times", "mcgpds_factorised",
    "dirichlet_pcca_gibbs", "mrd_local", "mrd_rbf_linear", "autoregressive_exogenous",
    "shared_gplvm_sparse", "gplvm_back_gp",
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

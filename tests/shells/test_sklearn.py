import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyviews import (
    MRD,
    BayesianGPLVM,
    DirichletPPCA,
    GenerativeClassifier,
    MixturePPCA,
    MRDClassifier,
    Search,
    UncertainGPRegressor,
)
from manyviews.linear import PPCA, BayesianPCA, FactorAnalysis
from manyviews.points import GPLVM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning"),
    pytest.mark.filterwarnings("ignore:.*SCIPY_ARRAY_API.*"),
]


@parametrize_with_checks(
    [
        GenerativeClassifier(PPCA(1)),
        PPCA(),
        FactorAnalysis(),
        BayesianPCA(),
        MixturePPCA(2, n_restarts=1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def known_limits(estimator):
    """Checks that a model cannot pass, and why."""
    if isinstance(estimator, DirichletPPCA) and estimator.inference == "variational":
        return {"check_estimators_pickle": "fits complete data only; new rows may have holes"}
    return {}


@pytest.mark.long
@parametrize_with_checks(
    [
        BayesianGPLVM(),
        DirichletPPCA(inference="variational", max_clusters=3, n_restarts=1, max_iter=30),
        UncertainGPRegressor(search=Search(max_iter=50)),
        GPLVM(search=Search(tol=1e-3)),
        MRDClassifier(
            MRD(
                2,
                10,
                kernel="rbf",
                search=Search(max_iter=60, n_restarts=1),
                signal_check="off",
                random_state=0,
            )
        ),
    ],
    expected_failed_checks=known_limits,
)
def test_scikit_learn_checks_of_more_estimators(estimator, check):
    check(estimator)

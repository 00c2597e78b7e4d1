"""One case for each estimator and way of fitting it; each returns named answers."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from manyviews import (
    CGPDS,
    MRD,
    AutoregressiveGP,
    BayesianGPLVM,
    DirichletPCCA,
    GenerativeClassifier,
    McGPDS,
    MixturePCCA,
    MRDClassifier,
    Search,
    UncertainGPRegressor,
)
from manyviews.linear import (
    CCA,
    PPCA,
    BayesianPCA,
    FactorAnalysis,
    GroupFactorAnalysis,
    KernelCCA,
    ProbabilisticCCA,
    feature_efficiency,
    gaussian_mutual_information,
)
from manyviews.mixtures import choose_n_clusters
from manyviews.points import (
    GPLVM,
    GPLVMCCA,
    SharedGPLVM,
    SharedPrivateGPLVM,
    SubspaceGPLVM,
)

from . import data
from .asking import (
    ask,
    at_other_settings,
    attributes,
    crossing,
    forecasts,
    outputs,
    reloaded,
    table,
    views,
)
from .data import LATER, NEW_TIMES, SEED, SEQUENCES, TIMES, two, with_holes

BRIEF = Search(max_iter=6, n_starts=3)
FEW = {"n_inducing": 6, "search": BRIEF, "random_state": 0, "signal_check": "off"}
PLAIN = {**FEW, "fit_power": 1.0, "calibrated": False}  # of McGPDS
ONE = {**FEW, "search": replace(BRIEF, n_restarts=1)}
POINTS = {"search": Search(max_iter=8, n_starts=3), "random_state": 0}
LINEAR = {"max_iter": 10, "random_state": 0}
latent_mrd = partial(MRD, kernel="rbf", scaling="view", residual_link=False)
WHEN = {"times": TIMES, "sequences": SEQUENCES}
METHODS = ("augmented", "fixed")
TREATMENTS = ("posterior", "nearest", "blend", "conditional")
NEW_ONE = {"times": NEW_TIMES, "sequences": ["one"] * 5}
NEW_OTHER = {"times": NEW_TIMES, "sequences": ["other"] * 5}

CASES = {}


def case(function):
    """Enter the case under the function's name."""
    CASES[function.__name__] = function
    return function


# ---------------------------------------------------------------------- one table, variational


@case
def bayesian_gplvm():
    model = BayesianGPLVM(2, **FEW).fit(data.TABLE)
    return {
        **table(model, data.NEW_TABLE, methods=METHODS),
        "power": at_other_settings(
            model, lambda m: m.transform(data.NEW_TABLE, return_std=True), evidence_power=0.3
        ),
        "power auto": at_other_settings(
            model, lambda m: m.predict(data.NEW_TABLE, return_std=True), evidence_power="auto"
        ),
    }


@case
def bayesian_gplvm_holes():
    model = BayesianGPLVM(2, **FEW, scaling="column").fit(data.holey_table(data.TABLE))
    return table(model, data.NEW_TABLE, methods=METHODS)


@case
def bayesian_gplvm_shared_covariance():
    other = replace(BRIEF, positive="softplus", inducing="subset")
    model = BayesianGPLVM(2, **{**FEW, "search": other}, missing="shared")
    return table(model.fit(data.holey_table(data.TABLE)), data.NEW_TABLE, methods=METHODS)


@case
def bayesian_gplvm_frame():
    frame = data.frames({"A": data.TABLE}, "s")["A"]
    new = data.frames({"A": data.NEW_TABLE}, "n")["A"]
    model = BayesianGPLVM(2, **FEW, kernel="rbf + linear + bias").fit(frame)
    model.set_output(transform="pandas")
    return {
        **attributes(model),
        "transform": model.transform(new),
        "names": list(model.transform(new).columns),
        "predict": model.predict(new, return_std=True),
        "columns": list(model.predict(new).columns),
        "impute": model.impute(new),
        "fit_transform": BayesianGPLVM(2, **FEW).fit_transform(data.TABLE),
    }


@case
def bayesian_gplvm_times():
    model = BayesianGPLVM(2, **FEW).fit(data.TIMED_TABLE, **WHEN)
    new = data.NEW_TIMED_TABLE
    return {
        **table(model, new, methods=METHODS, **NEW_OTHER),
        **forecasts(model, LATER, "two"),
        "known sequence": model.transform(new, return_std=True, **NEW_ONE),
        "not coupled": model.predict(new, coupled=False, return_std=True, **NEW_ONE),
        "without times": ask(model.transform, new, return_std=True),
        "flow": model.transform(new, return_std=True, flow_weight=0.5, **NEW_OTHER),
        "power": at_other_settings(
            model, lambda m: m.predict(new, return_std=True, **NEW_OTHER), evidence_power="auto"
        ),
    }


@case
def bayesian_gplvm_matern():
    model = BayesianGPLVM(2, **FEW, time_kernel="matern52").fit(data.TIMED_TABLE, **WHEN)
    new = data.NEW_TIMED_TABLE
    return {
        **attributes(model),
        **forecasts(model, LATER, "one"),
        "predict": model.predict(new, return_std=True, **NEW_OTHER),
        "score": model.score(new, **NEW_OTHER),
    }


@case
def cgpds():
    model = CGPDS(2, n_local=1, **FEW).fit(data.TABLE)
    return table(model, data.NEW_TABLE, methods=METHODS)


@case
def cgpds_times():
    model = CGPDS(2, n_local=2, **FEW).fit(data.TIMED_TABLE, **WHEN)
    return {
        **table(model, data.NEW_TIMED_TABLE, **NEW_OTHER),
        **forecasts(model, LATER, "two"),
    }


# ---------------------------------------------------------------------- MRD


@case
def mrd():
    model = latent_mrd(3, **{**FEW, "search": replace(BRIEF, n_restarts=2)}).fit(two(data.VIEWS))
    new = with_holes(two(data.NEW))
    alone = {"A": new["A"]}

    def answer(m):
        return m.predict(alone, "B", return_std=True)

    return {
        **views(model, new),
        **crossing(model, new, TREATMENTS),
        "conditional cov": model.predict(alone, "B", private="conditional", return_cov=True),
        "conditional draws": model.predict(
            alone, "B", private="conditional", n_modes=2, n_samples=2, random_state=SEED
        ),
        "conditional predict_modes": model.predict_modes(
            alone, "B", n_modes=2, private="conditional"
        ),
        "compare_powers": model.compare_powers("A", "B", powers=(1.0, 0.25)),
        "compare_powers folds": model.compare_powers(
            "A", "B", powers=(1.0, 0.25), folds=2, private="nearest"
        ),
        "power": at_other_settings(model, answer, evidence_power={"A": 0.3, "B": 1.0}),
        "power auto": at_other_settings(model, answer, evidence_power="auto"),
    }


@case
def mrd_three_views():
    model = latent_mrd(3, **ONE, init="canonical").fit(data.VIEWS)
    known = {"A": data.NEW["A"], "C": data.NEW["C"]}
    return {
        **attributes(model),
        "predict": model.predict(known, return_std=True),
        "two targets": model.predict({"C": data.NEW["C"]}, ["A", "B"], return_std=True),
        "segment": model.segment(["A", "C"], "B"),
        "shared": model.shared("A", "B", "C", threshold=0.1),
        "list": model.predict([None, data.NEW["B"], None], "A"),
    }


@case
def mrd_times():
    model = latent_mrd(2, **ONE).fit(two(data.TIMED), **WHEN)
    new = with_holes(two(data.NEW_TIMED))
    alone = {"A": new["A"]}

    def answer(m):
        return m.predict(alone, "B", return_std=True, **NEW_OTHER)

    return {
        **views(model, new, **NEW_OTHER),
        **crossing(model, new, TREATMENTS, **NEW_OTHER),
        **forecasts(model, LATER, "two"),
        "forecast one": model.forecast(LATER, "B", "one", return_std=True),
        "known sequence": model.transform(new, return_std=True, **NEW_ONE),
        "not coupled": model.predict(alone, "B", coupled=False, return_std=True, **NEW_ONE),
        "flow": model.predict(alone, "B", return_std=True, flow_weight=0.5, **NEW_OTHER),
        "power": at_other_settings(model, answer, evidence_power=0.3),
        "power auto": at_other_settings(model, answer, evidence_power="auto"),
    }


@case
def mrd_holes():
    model = latent_mrd(3, **ONE).fit(data.holey_views(two(data.VIEWS)))
    new = with_holes(two(data.NEW))
    return {**views(model, new), **crossing(model, new, ("posterior", "conditional"))}


@case
def mrd_split_columns():
    tables = {"A": data.VIEWS["A"][:, :3]}
    model = latent_mrd(2, **ONE, split_columns=True).fit(tables)
    new = {"A": data.NEW["A"][:, :3].copy()}
    new["A"][:, 1] = np.nan
    return {
        **attributes(model),
        "names": list(model.view_names_),
        "transform": model.transform(new, return_std=True),
        "predict": model.predict(new, return_std=True),
        "lost": model.variance_explained(),
        "loaded": reloaded(model, lambda m: m.predict(new, return_std=True)),
    }


@case
def mrd_local():
    model = latent_mrd(2, **ONE, n_local=1).fit(two(data.VIEWS))
    new = with_holes(two(data.NEW))
    return {**views(model, new), **crossing(model, new, ("posterior", "conditional"))}


@case
def mrd_frames():
    training = data.frames(two(data.VIEWS), "s")
    training["B"] = training["B"].iloc[2:]
    new = data.frames(with_holes(two(data.NEW)), "n")
    alone = {"A": new["A"]}
    model = latent_mrd(3, **ONE, scaling={"A": "column", "B": "view"}).fit(training)
    model.set_output(transform="pandas")
    found = model.transform(new)
    predicted = model.predict(alone, "B", return_std=True)
    return {
        **attributes(model),
        "transform": found,
        "index": list(found.index),
        "columns": list(found.columns),
        "predict": predicted,
        "predict columns": list(predicted[0].columns),
        "impute": model.impute(),
        "impute new": model.impute(new, return_std=True),
        "names": list(model.get_feature_names_out()),
        "correspondences": model.correspondences(alone, "B", 2),
        "traverse": model.traverse(1, at="s3", steps=3),
        "latent_posterior": model.latent_posterior(),
        "sample_private": model.sample_private("A", "s4", 2, random_state=SEED),
        "intersection": latent_mrd(3, **ONE, align="intersection").fit(training).latent_mean_,
    }


def _mrd_with(**options):
    model = latent_mrd(2, **{**ONE, **options}).fit(two(data.VIEWS))
    new = with_holes(two(data.NEW))
    return {
        **attributes(model),
        "transform": model.transform(new, return_std=True),
        "predict": outputs(lambda **o: model.predict({"A": new["A"]}, "B", **o)),
        "score_samples": model.score_samples(new),
        "sensitivity": model.sensitivity("A"),
        "lost": model.variance_explained(),
        "loaded": reloaded(model, lambda m: m.predict({"A": new["A"]}, "B")),
    }


@case
def mrd_linear():
    return _mrd_with(kernel="linear")


@case
def mrd_rbf_linear():
    return _mrd_with(kernel={"A": "rbf + linear", "B": "rbf"}, n_inducing={"A": 6, "B": 7})


# ---------------------------------------------------------------------- McGPDS


@case
def mcgpds_times():
    model = McGPDS(2, sharing="dimension", **PLAIN).fit(two(data.TIMED), **WHEN)
    new = with_holes(two(data.NEW_TIMED))
    alone = {"A": new["A"]}
    return {
        **views(model, new, **NEW_OTHER),
        **crossing(model, new, ("auto", "conditional", "nearest", "nearest-own"), **NEW_OTHER),
        "conditional predict_modes": model.predict_modes(
            alone, "B", n_modes=2, private="conditional", **NEW_OTHER
        ),
        **forecasts(model, LATER, "two"),
        "following": model.following(),
        "path": model.path(),
        "path B": model.path("B"),
        "compare_private": model.compare_private("A", "B"),
        "flow": model.predict(
            alone, "B", private="conditional", return_std=True, flow_weight=0.5, **NEW_OTHER
        ),
        "power": at_other_settings(
            model, lambda m: m.transform(new, return_std=True, **NEW_OTHER), evidence_power=0.3
        ),
    }


@case
def mcgpds():
    model = McGPDS(2, **PLAIN, alpha=0.2).fit(data.holey_views(two(data.VIEWS)))
    new = with_holes(two(data.NEW))
    return {
        **attributes(model),
        "transform": model.transform(new, return_std=True),
        "predict": outputs(
            lambda **o: model.predict({"A": new["A"]}, "B", private="conditional", **o)
        ),
        "impute": model.impute(return_std=True),
        "score_samples": model.score_samples(new),
        "following": model.following(),
        "sample": model.sample(2, random_state=SEED),
    }


@case
def mcgpds_factorised():
    model = McGPDS(2, **PLAIN, factorised=True, sharing="view", n_local=0, init="canonical")
    model.fit(two(data.TIMED), **WHEN)
    alone = {"A": data.NEW_TIMED["A"]}
    return {
        **attributes(model),
        "transform": model.transform(alone, return_std=True, **NEW_OTHER),
        "predict": model.predict(alone, "B", private="nearest", return_std=True, **NEW_OTHER),
        "forecast": model.forecast(LATER, sequence="one", return_std=True),
    }


# ---------------------------------------------------------------------- classifiers, regression


def _classes(model, new):
    return {
        "predict": model.predict(new),
        "predict_proba": model.predict_proba(new),
        "classes": model.classes_,
        "loaded": reloaded(model, lambda m: m.predict_proba(new)),
    }


@case
def mrd_classifier():
    model = MRDClassifier(latent_mrd(3, **ONE)).fit(two(data.VIEWS), data.CLASSES)
    new = with_holes(two(data.NEW))
    return {
        **_classes(model, new),
        "one view": model.predict_proba({"A": new["A"]}),
        "label_noise": model.label_noise_,
        "relevance": model.model_.relevance_,
    }


@case
def mrd_classifier_table():
    model = MRDClassifier(latent_mrd(3, **ONE), private="posterior", n_modes=1)
    labels = np.where(data.CLASSES == 1, "yes", "no")
    return _classes(model.fit(data.TABLE, labels), data.NEW_TABLE)


@case
def mrd_classifier_labels():
    y = np.stack([data.CLASSES, data.VIEWS["B"][:, 0] > 0], axis=1).astype(float)
    y[3] = np.nan
    model = MRDClassifier(latent_mrd(3, **ONE)).fit(two(data.VIEWS), y)
    return _classes(model, with_holes(two(data.NEW)))


@case
def mrd_classifier_calibrated():
    model = MRDClassifier(latent_mrd(3, **ONE), calibration_folds=2)
    model.fit(two(data.VIEWS), data.CLASSES)
    return {**_classes(model, two(data.NEW)), "label_noise": model.label_noise_}


@case
def generative_classifier():
    density = BayesianGPLVM(2, **FEW)
    model = GenerativeClassifier(density, reject_share=0.1).fit(data.TABLE, data.CLASSES)
    new = data.NEW_TABLE
    return {
        **_classes(model, new),
        "predict_log_proba": model.predict_log_proba(new),
        "log_densities": model.log_densities(new),
        "score_samples": model.score_samples(new),
        "threshold": model.threshold_,
        "priors": model.log_priors_,
        "reject": model.reject(np.vstack([new, new + 9.0])),
        "predict reject": model.predict(np.vstack([new, new + 9.0]), reject_label=-1),
    }


@case
def generative_classifier_calibrated():
    model = GenerativeClassifier(PPCA(2), priors="uniform", calibration=2, reject_share=0.1)
    model.fit(data.TABLE, data.CLASSES)
    return {
        **_classes(model, data.NEW_TABLE),
        "power": model.powers_.power,
        "offset": model.powers_.offset,
        "threshold": model.threshold_,
    }


def _regression(model, new, y):
    return {
        **attributes(model),
        "input_mean": model.input_mean_,
        "input_std": model.input_std_,
        "input_noise": model.input_noise_std_,
        "predict": outputs(lambda **o: model.predict(new, **o)),
        "uncertain": model.predict(new, 0.2, return_std=True),
        "infer_inputs": model.infer_inputs(return_std=True),
        "infer_inputs new": model.infer_inputs(new, return_std=True),
        "infer_inputs given": model.infer_inputs(new, y, return_std=True),
        "loaded": reloaded(model, lambda m: m.predict(new, return_std=True)),
    }


REGRESSION = {"n_inducing": 6, "search": Search(max_iter=6), "random_state": 0}
X = data.VIEWS["A"][:, :2]
NEW_X = np.array([[0.1, -0.3], [np.nan, 0.4], [0.5, np.nan], [-0.2, 0.6], [0.0, 0.0]])


@case
def uncertain_regressor():
    model = UncertainGPRegressor(**REGRESSION).fit(X, data.VIEWS["B"])
    return {
        **_regression(model, NEW_X, data.NEW["B"]),
        "score": model.score(X, data.VIEWS["B"]),
    }


@case
def uncertain_regressor_missing():
    holes = X.copy()
    holes[[3, 8, 14], [0, 1, 0]] = np.nan
    model = UncertainGPRegressor(**REGRESSION, learn_from="all").fit(holes, data.VIEWS["B"])
    return _regression(model, NEW_X, data.NEW["B"])


@case
def uncertain_regressor_known_noise():
    model = UncertainGPRegressor(**REGRESSION).fit(X, data.VIEWS["B"][:, 0], 0.1)
    return _regression(model, NEW_X, data.NEW["B"][:, 0])


@case
def uncertain_regressor_learnt_noise():
    model = UncertainGPRegressor(**REGRESSION, input_noise="column").fit(X, data.VIEWS["B"])
    return _regression(model, NEW_X, data.NEW["B"])


def _propagations(model, **extra):
    found = {}
    for propagation in ("sampled", "augmented", "girard", "naive"):
        found[propagation] = model.forecast(
            4, propagation=propagation, return_std=True, random_state=SEED, **extra
        )
    found["draws"] = model.forecast(4, n_samples=2, random_state=SEED, **extra)
    return found


@case
def autoregressive():
    model = AutoregressiveGP(3, UncertainGPRegressor(**REGRESSION)).fit(data.SERIES)
    return {
        **_propagations(model),
        "history": model.forecast(3, history=data.SERIES[:10], propagation="girard"),
        "predict": model.predict(data.SERIES, return_std=True),
        "loaded": reloaded(model, lambda m: m.forecast(4, propagation="girard")),
    }


@case
def autoregressive_exogenous():
    series, extra = data.SERIES[:, 0], np.cos(data.SERIES_TIMES)[:, None]
    names = np.repeat(["one", "two"], 17)
    model = AutoregressiveGP(3, UncertainGPRegressor(**REGRESSION, kernel="rbf + linear"))
    model.fit(series, extra, sequences=names)
    return {
        **_propagations(model, exogenous=extra[:4], sequence="two"),
        "predict": model.predict(series[:12], extra[:12], return_std=True),
    }


# ---------------------------------------------------------------------- points


@case
def gplvm():
    return table(GPLVM(2, **POINTS).fit(data.TABLE), data.NEW_TABLE)


@case
def gplvm_sparse():
    model = GPLVM(2, n_inducing=6, ard=False, **POINTS).fit(data.holey_table(data.TABLE))
    return table(model, data.NEW_TABLE)


@case
def gplvm_back_gp():
    return table(GPLVM(2, back_constraint="gp", **POINTS).fit(data.TABLE), data.NEW["A"])


@case
def gplvm_back_kernel():
    return table(GPLVM(2, back_constraint="kernel", **POINTS).fit(data.TABLE), data.NEW["A"])


@case
def gplvm_times():
    model = GPLVM(2, **POINTS).fit(data.TIMED_TABLE, **WHEN)
    new = data.NEW_TIMED_TABLE
    return {
        **table(model, new, **NEW_OTHER),
        **forecasts(model, LATER, "two"),
        "known sequence": model.transform(new, return_std=True, **NEW_ONE),
        "not coupled": model.predict(new, coupled=False, return_std=True, **NEW_ONE),
    }


@case
def shared_gplvm():
    model = SharedGPLVM(2, **POINTS).fit(two(data.VIEWS))
    return views(model, with_holes(two(data.NEW)))


@case
def shared_gplvm_sparse():
    model = SharedGPLVM(2, n_inducing=6, **POINTS).fit(data.holey_views(two(data.VIEWS)))
    return views(model, with_holes(two(data.NEW)))


@case
def subspace_gplvm():
    model = SubspaceGPLVM(1, 1, **POINTS).fit(two(data.VIEWS))
    return views(model, with_holes(two(data.NEW)))


@case
def shared_private_gplvm():
    model = SharedPrivateGPLVM(1, 1, n_rounds=1, **POINTS).fit(two(data.VIEWS))
    answers = views(model, with_holes(two(data.NEW)))
    for part in ("shared", "private"):
        answers[f"component {part}"] = model.component("B", part, return_std=True)
        answers[f"component {part} at"] = model.component("A", part, model.latent_mean_[:2])
    return answers


@case
def gplvm_cca():
    model = GPLVMCCA(1, **POINTS).fit(two(data.VIEWS))
    return views(model, with_holes(two(data.NEW)))


@case
def gplvm_cca_diagonal():
    model = GPLVMCCA(2, psi="diagonal", **POINTS).fit(two(data.VIEWS))
    new = with_holes(two(data.NEW))
    return {
        **attributes(model),
        "predict": model.predict({"A": new["A"]}, "B", return_std=True),
        "score_samples": model.score_samples(new),
    }


# ---------------------------------------------------------------------- linear


@case
def ppca():
    return table(PPCA(2).fit(data.TABLE), data.NEW_TABLE)


@case
def ppca_holes():
    return table(PPCA(2, **LINEAR).fit(data.holey_table(data.TABLE)), data.NEW_TABLE)


@case
def factor_analysis():
    return table(FactorAnalysis(2, **LINEAR).fit(data.TABLE), data.NEW_TABLE)


@case
def factor_analysis_holes():
    model = FactorAnalysis(2, **LINEAR, scaling="column").fit(data.holey_table(data.TABLE))
    return table(model, data.NEW_TABLE)


@case
def bayesian_pca():
    return table(BayesianPCA(3, **LINEAR).fit(data.TABLE), data.NEW_TABLE)


@case
def bayesian_pca_holes():
    model = BayesianPCA(3, **LINEAR, noise="column").fit(data.holey_table(data.TABLE))
    return table(model, data.NEW_TABLE)


@case
def probabilistic_cca():
    model = ProbabilisticCCA(2, regularisation=0.01).fit(two(data.VIEWS))
    return views(model, with_holes(two(data.NEW)))


@case
def probabilistic_cca_holes():
    model = ProbabilisticCCA(2, **LINEAR, regularisation="auto")
    model.fit(data.holey_views(two(data.VIEWS)))
    return views(model, with_holes(two(data.NEW)))


@case
def probabilistic_cca_three():
    model = ProbabilisticCCA(2, **LINEAR).fit(data.VIEWS)
    return views(model, with_holes(data.NEW))


@case
def group_factor_analysis():
    model = GroupFactorAnalysis(3, **LINEAR).fit(two(data.VIEWS))
    new = with_holes(two(data.NEW))

    def answer(m):
        return m.predict({"A": new["A"]}, "B", return_std=True)

    return {
        **views(model, new),
        "power": at_other_settings(model, answer, evidence_power={"A": 0.3, "B": 1.0}),
        "power auto": at_other_settings(model, answer, evidence_power="auto"),
    }


@case
def group_factor_analysis_holes():
    model = GroupFactorAnalysis(3, **LINEAR, noise="column", evidence_power=0.5, n_restarts=2)
    model.fit(data.holey_views(data.VIEWS))
    return views(model, with_holes(data.NEW))


def _canonical(model, new):
    known = {"A": new["A"]}
    return {
        **views(model, new),
        "variates": model.variates(new),
        "impute known": model.impute(known, return_std=True),
    }


@case
def cca():
    return _canonical(CCA(2, regularisation=0.01).fit(two(data.VIEWS)), two(data.NEW))


@case
def cca_three():
    return _canonical(CCA(2, regularisation="auto").fit(data.VIEWS), data.NEW)


@case
def kernel_cca():
    return _canonical(KernelCCA(2).fit(two(data.VIEWS)), two(data.NEW))


@case
def linear_information():
    a, b = data.VIEWS["A"], data.VIEWS["B"]
    return {
        "mutual information": gaussian_mutual_information(a, b, regularisation=0.01),
        "efficiency": feature_efficiency(a[:, :4], b, n_bins=4),
    }


# ---------------------------------------------------------------------- mixtures


def _mixture(model, new):
    points = np.array([[0.0, 0.0], [1.0, -2.0], [-1.0, 0.5]])
    alone = {"A": new["A"]}
    return {
        **attributes(model),
        "transform": model.transform(new, return_std=True),
        "responsibilities": model.responsibilities(new),
        "predict_cluster": model.predict_cluster(new),
        "score_samples": model.score_samples(new),
        "score": model.score(new),
        "density": model.predictive_density(alone, "B", points),
        "density marginal": model.predictive_density(None, "B", points[:, :1], columns=[1]),
        "predict": outputs(lambda **o: model.predict(alone, "B", **o)),
        "predict_modes": model.predict_modes(alone, "B", n_modes=2),
        "impute": model.impute(new, return_std=True),
        "sample": model.sample(3, random_state=SEED),
        "loaded": reloaded(model, lambda m: m.predict(alone, "B", return_std=True)),
    }


@case
def mixture_pcca():
    model = MixturePCCA(2, 1, max_iter=10, n_restarts=2, random_state=0).fit(data.CLUSTERS)
    return {
        **_mixture(model, data.NEW_CLUSTERS),
        "bic": model.bic(data.CLUSTERS),
        "n_parameters": model.n_parameters(),
    }


@case
def mixture_pcca_em():
    views = {name: table.copy() for name, table in data.CLUSTERS.items()}
    views["A"][4, 0] = np.nan
    views["B"][9] = np.nan
    model = MixturePCCA(2, 1, m_step="em", max_iter=8, n_restarts=1, random_state=0).fit(views)
    return {**_mixture(model, data.NEW_CLUSTERS), "bic": model.bic(views)}


@case
def mixture_choice():
    model = MixturePCCA(2, 1, max_iter=6, n_restarts=1, random_state=0)
    found = {}
    for criterion in ("held-out", "bic"):
        chosen, scores = choose_n_clusters(
            model, data.CLUSTERS, (1, 2), criterion=criterion, n_folds=2
        )
        found[criterion] = [pd.Series([chosen.n_clusters]), scores]
    return found


@case
def dirichlet_pcca_gibbs():
    model = DirichletPCCA(1, n_chains=2, n_sweeps=12, thin=3, random_state=0).fit(data.CLUSTERS)
    return {
        **_mixture(model, data.NEW_CLUSTERS),
        "n_clusters_posterior": model.n_clusters_posterior(),
        "similarity": model.similarity(),
        "trace": model.trace_,
        "assignments": model.assignments_,
    }


@case
def dirichlet_pcca_variational():
    options = {"inference": "variational", "max_clusters": 4, "max_iter": 10, "n_restarts": 1}
    model = DirichletPCCA(1, random_state=0, **options).fit(data.CLUSTERS)
    return _mixture(model, data.NEW_CLUSTERS)

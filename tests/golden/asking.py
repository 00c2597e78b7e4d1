"""Questions that many estimators understand, asked through their public interface."""

import tempfile
from pathlib import Path

import numpy as np

import manyviews
from manyviews.errors import DataError, OptionError

from .data import SEED

FITTED = (
    "lower_bound_", "n_active_", "n_iter_", "latent_mean_", "latent_std_", "relevance_",
    "noise_variance_", "loadings_", "canonical_correlations_", "psi_", "beta_", "psi_condition_",
    "weights_", "alpha_", "labels_", "n_clusters_", "objective_", "bound_trace_",
)  # fmt: skip


def ask(question, *arguments, **options):
    """The answer, or the name of the error with which the question is refused."""
    try:
        return question(*arguments, **options)
    except (DataError, OptionError) as refusal:
        return f"refused: {type(refusal).__name__}"


def attributes(model):
    """The fitted attributes that a model has."""
    found = {name: ask(getattr, model, name, None) for name in FITTED}
    return {name: value for name, value in found.items() if value is not None}


def reloaded(model, question):
    """Save and load the model: the same question must get the same answer. Return the answer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        again = manyviews.load(path)
    expected, found = question(model), question(again)
    _assert_same(expected, found)
    return expected


def _assert_same(a, b):
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            _assert_same(one, other)
    else:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def outputs(question, **options):
    """Mean, std, covariance and draws."""
    return {
        "mean": ask(question, **options),
        "std": ask(question, return_std=True, **options),
        "cov": ask(question, return_cov=True, **options),
        "draws": ask(question, n_samples=2, random_state=SEED, **options),
    }


# ---------------------------------------------------------------------- one table


def table(model, X, *, methods=(), **when):
    """Whatever a model of one table offers; `when` has times and sequences of the new rows."""
    x = np.array(model.latent_mean_[:3]) + 0.1
    answers = {
        **attributes(model),
        "transform": ask(model.transform, X, return_std=True, **when),
        "impute": ask(model.impute, return_std=True),
        "impute new": ask(model.impute, X, return_std=True, **when),
        "score_samples": ask(model.score_samples, X, **when),
        "score": ask(model.score, X, **when),
        "prior": ask(model.sample, 3, random_state=SEED),
        "posterior": ask(model.sample, 3, latent="posterior", random_state=SEED),
        "predict": outputs(lambda **o: model.predict(X, **when, **o)),
        "inverse": outputs(lambda **o: model.inverse_transform(x, **o)),
        "inverse uncertain": ask(model.inverse_transform, x, 0.3, return_std=True),
        "sensitivity": ask(model.sensitivity),
        "training_data": ask(model.training_data),
        "lost": ask(model.variance_explained, "lost"),
        "alone": ask(model.variance_explained, "alone"),
    }
    for method in methods:
        answers[f"score {method}"] = ask(model.score_samples, X, method=method, **when)
    answers["loaded"] = reloaded(model, lambda m: m.predict(X, return_std=True, **when))
    return answers


def forecasts(model, times, sequence):
    """Forecasts of a model of one table or of many."""
    return {
        "forecast_latent": model.forecast_latent(times, sequence),
        "forecast": model.forecast(times, sequence=sequence, random_state=SEED),
        "forecast std": model.forecast(
            times, sequence=sequence, return_std=True, random_state=SEED
        ),
        "forecast draws": model.forecast(times, sequence=sequence, n_samples=2, random_state=SEED),
    }


# ---------------------------------------------------------------------- several views


def views(model, new, **when):
    """What all models of several views offer."""
    alone = {"A": new["A"]}
    first, last = model.latent_mean_[0], model.latent_mean_[-1]
    x = np.array(model.latent_mean_[:3]) + 0.1
    answers = {
        **attributes(model),
        "transform": ask(model.transform, new, return_std=True, **when),
        "transform one": ask(model.transform, alone, return_std=True, **when),
        "predict": outputs(lambda **o: model.predict(alone, "B", **when, **o)),
        "predict all": ask(model.predict, new, return_std=True, **when),
        "impute": ask(model.impute, return_std=True),
        "impute new": ask(model.impute, new, return_std=True, **when),
        "score": ask(model.score, new, **when),
        "prior": ask(model.sample, 3, random_state=SEED),
        "posterior": ask(model.sample, 3, "B", latent="posterior", random_state=SEED),
        "fixed": ask(model.sample, 2, "A", fixed={0: 0.5}, random_state=SEED),
        "sample_private": ask(model.sample_private, "B", 1, 2, random_state=SEED),
        "inverse": ask(model.inverse_transform, x, return_std=True),
        "inverse uncertain": ask(model.inverse_transform, x, "A", 0.3, return_std=True),
        "traverse": ask(model.traverse, 0, "B", steps=4),
        "traverse span": ask(model.traverse, 0, "A", at=first, steps=3, span=1.0),
        "interpolate": ask(model.interpolate, first, last, "B", steps=3),
        "interpolate some": ask(model.interpolate, 0, 5, ["A"], steps=3, dimensions=[0]),
        "sensitivity": ask(model.sensitivity, "B"),
        "latent_posterior": ask(model.latent_posterior),
        "training_data": ask(model.training_data),
        "lost": ask(model.variance_explained, "lost"),
        "alone": ask(model.variance_explained, "alone"),
        "explained by": ask(model.variance_explained_by, [0]),
        "segment": ask(model.segment, "A", "B"),
        "shared": ask(model.shared, "A", "B"),
        "private": [ask(model.private, "A"), ask(model.private, "B")],
    }
    if hasattr(model, "score_samples"):
        answers["score_samples"] = ask(model.score_samples, new, **when)
    if hasattr(model, "latent_by_view"):
        answers["latent_by_view"] = model.latent_by_view()
    answers["loaded"] = reloaded(model, lambda m: m.predict(alone, "B", return_std=True, **when))
    return answers


def crossing(model, new, treatments, **when):
    """What variational models of several views offer besides."""
    alone = {"A": new["A"]}
    answers = {
        "correspondences": ask(model.correspondences, to="B", k=3),
        "correspondences new": ask(model.correspondences, alone, "B", 3, **when),
        "predict_modes": ask(model.predict_modes, alone, "B", n_modes=2, **when),
    }
    for method in ("augmented", "fixed"):
        answers[f"score {method}"] = ask(model.score_samples, new, method=method, **when)
    for private in treatments:
        given = {"private": private, **when}
        answers[private] = ask(model.predict, alone, "B", return_std=True, **given)
        answers[f"{private} modes"] = ask(
            model.predict, alone, "B", n_modes=2, return_std=True, **given
        )
    return answers


def at_other_settings(model, question, **settings):
    """The answer with some options changed after the fit, and put back afterwards."""
    before = {name: getattr(model, name) for name in settings}
    try:
        return ask(question, model.set_params(**settings))
    finally:
        model.set_params(**before)

"""The members of a stack: models of this library, regressors, and whatever keeps the protocol."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from ..data import Views
from ..errors import DataError, OptionError
from ..inference.search import Search
from ..linear import GroupFactorAnalysis, ProbabilisticCCA
from ..shells import TableModel
from ..variational import MRD
from ..variational.options import MOST_INDUCING
from .mixture import Mixture
from .question import Question
from .regressions import RECIPES, Recipe
from .view_regressor import ViewRegressor

USUAL = ("mean", "joint-ridge", "joint-pls", "joint-knn", "joint-gp", "gfa", "mrd")
JOINT = ("ridge", "pls", "knn", "gp")  # regressions of columns that there are by components, too
FEW_NUMBERS = 200_000  # in all views, up to which a forest is grown
FEW_COLUMNS = 600  # of two complete views, up to which covariances are modelled in full
FEW_BY_ITERATION = 100  # of more views or with holes, where there is no closed form
BRIEF = Search(n_restarts=1, max_iter=150)
N_INDUCING = 25


class Asked(BaseEstimator):
    """A model together with options that its ``predict`` is to be given.

    Parameters
    ----------
    model : model of views
        Any model that a stack takes.
    options : dict, optional
        Arguments for each call of its ``predict``.

    Examples
    --------
    >>> from manyviews import MRD
    >>> from manyviews.stacking import Asked
    >>> member = Asked(MRD(n_components=5), {"private": "conditional"})
    """

    def __init__(self, model: Any, options: dict[str, Any] | None = None):
        self.model = model
        self.options = options

    def fit(self, views: Any, y: Any = None) -> Self:
        """Fit a clone of the model."""
        self.model_ = clone(self.model).fit(views)
        return self

    def predict(self, views: Any, target: str, **asked: Any) -> Any:
        """As the model predicts, with the options."""
        return self.model_.predict(views, target, **{**(self.options or {}), **asked})


def known_members() -> dict[str, Any]:
    """Unfitted members by their short names."""
    return {
        **{name: ViewRegressor(name) for name in RECIPES},
        **{f"joint-{name}": ViewRegressor(name, joint=True) for name in JOINT},
        "gfa": GroupFactorAnalysis(noise="column", scaling="column"),
        "pcca": ProbabilisticCCA(regularisation=0.3, scaling="column"),
        "mrd": MRD(n_inducing=N_INDUCING, signal_check="off", search=BRIEF),
    }


def usual_members(views: Views) -> list[str]:
    """Names of the members that serve for data of this size."""
    n_samples, n_columns = views.shape
    forest = ["forest"] if n_samples * n_columns <= FEW_NUMBERS else []
    holes = any(np.isnan(views.array(name)).any() for name in views)
    few = FEW_COLUMNS if len(tuple(views)) == 2 and not holes else FEW_BY_ITERATION
    return [*USUAL, *forest, *(["pcca"] if n_columns <= few else [])]


def named_members(models: Any) -> dict[str, Any]:
    """Members by name, unfitted, from what the user gave.

    A list of models, short names (``"ridge"``, ``"gfa"``, ...) and scikit-learn regressors, or a
    dict of them. Models of a list are named after their classes, with
    numbers where there are several of one.
    """
    if isinstance(models, str) or not isinstance(models, Mapping | list | tuple):
        raise OptionError(f"models must be a list or a dict of models, got {models!r}")
    if not models:
        raise OptionError("models is empty: name at least one")
    if isinstance(models, Mapping):
        return {str(name): as_member(model) for name, model in models.items()}
    names = [each if isinstance(each, str) else type(each).__name__.lower() for each in models]
    members = {}
    for place, (name, model) in enumerate(zip(names, models, strict=True)):
        number = names[: place + 1].count(name)
        members[f"{name}-{number}" if names.count(name) > 1 else name] = as_member(model)
    return members


def as_member(model: Any) -> Any:
    """A model that has ``fit(views)`` and ``predict(known, target, return_std=True)``."""
    if isinstance(model, str):
        known = known_members()
        if model not in known:
            raise OptionError(f"there is no model {model!r}: there are {', '.join(known)}")
        return known[model]
    kind = type(model).__name__
    if isinstance(model, type):
        raise OptionError(f"{model.__name__} is a class: give an instance, {model.__name__}(...)")
    if isinstance(model, TableModel):
        raise OptionError(f"{kind} is a model of one table: it cannot predict a view from others")
    known_kind = hasattr(model, "__sklearn_tags__")
    if known_kind and is_classifier(model):
        raise OptionError(f"{kind} is a classifier: it cannot predict a view from others")
    if isinstance(model, Recipe) or (known_kind and is_regressor(model)):
        return ViewRegressor(model)
    if not hasattr(model, "fit") or not hasattr(model, "predict"):
        raise OptionError(
            f"{kind} cannot be a member: it needs fit(views) and "
            "predict(known, target, return_std=True)"
        )
    if not takes(model, "target"):
        raise OptionError(
            f"{kind} cannot be a member: its predict takes no target; a member has "
            "predict(known, target, return_std=True), a regressor is_regressor"
        )
    return model


def fresh(member: Any, n_rows: int, seed: int | None) -> Any:
    """A clone to be fitted to so many rows: inducing inputs fewer, an open seed set."""
    made = clone(member, safe=False)
    if not hasattr(made, "get_params"):
        return made
    for name, value in made.get_params().items():
        if name.rpartition("__")[2] == "n_inducing":
            if isinstance(value, dict):
                made.set_params(**{name: {k: min(v, n_rows) for k, v in value.items()}})
            elif isinstance(value, int) or (n_rows < MOST_INDUCING and _is_mrd(made)):
                made.set_params(**{name: min(value or MOST_INDUCING, n_rows)})
        if name.rpartition("__")[2] == "random_state" and value is None and seed is not None:
            made.set_params(**{name: seed})
    return made


def _is_mrd(member: Any) -> bool:
    """Whether no number of inducing inputs means `MOST_INDUCING`, or as many as there are rows."""
    return isinstance(member.model if isinstance(member, Asked) else member, MRD)


def fitted(member: Any, views: Views, groups: Any) -> Any:
    """The member fitted; told of groups if it wants to know."""
    takes = "groups" in signature(member.fit).parameters
    return member.fit(views, **({"groups": groups} if takes and groups is not None else {}))


def answer(member: Any, views: Views, question: Question) -> Mixture:
    """What a fitted member says of the target, checked."""
    known = question.known_of(views)
    if hasattr(member, "predict_mixture"):
        found = member.predict_mixture(known, question.target)
    else:
        found = Mixture.gaussian(*member.predict(known, question.target, return_std=True))
    n_columns = views.array(question.target).shape[1] if question.target in views else None
    wanted = (len(views), found.means.shape[2] if n_columns is None else n_columns)
    if found.means.shape[1:] != wanted or found.stds.shape[1:] != wanted:
        raise DataError(
            f"predictions of {question.target!r} have the shape {found.means.shape[1:]} instead "
            f"of {wanted}"
        )
    if not np.isfinite(found.means).all() or not (found.stds > 0).all():
        raise DataError(f"predictions of {question.target!r} are not all finite")
    return found


def own_draws(
    models: list[Any],
    said: Mixture,
    views: Views,
    question: Question,
    n_samples: int,
    rng: np.random.RandomState,
) -> Float[np.ndarray, "K N D"]:
    """Draws of a member, by its own means if it has them, each from one of its fits."""
    if not all(takes(model, "n_samples") for model in models):
        return said.draw(n_samples, rng)
    known, drawn = question.known_of(views), np.empty((n_samples, *said.means.shape[1:]))
    which = rng.randint(len(models), size=n_samples)
    for place, model in enumerate(models):
        own = which == place
        if own.any():
            drawn[own] = model.predict(
                known, question.target, n_samples=int(own.sum()), random_state=rng
            )
    return drawn


def takes(member: Any, option: str) -> bool:
    """Whether a member's predict has an option."""
    inner = member.model if isinstance(member, Asked) else member
    return option in signature(inner.predict).parameters

"""The models that the command knows, by their short names."""

import importlib
from typing import Any, NamedTuple

from ..errors import OptionError


class Known(NamedTuple):
    """Where a model is, and what it takes."""

    place: str
    several_views: bool
    about: str


MODELS = {
    "mrd": Known("manyviews.MRD", True, "several views, nonlinear: shared and private dimensions"),
    "mcgpds": Known("manyviews.McGPDS", True, "several views over time, each on a path of its own"),
    "gplvm": Known("manyviews.BayesianGPLVM", False, "one table, nonlinear"),
    "gfa": Known(
        "manyviews.linear.GroupFactorAnalysis", True, "several views, linear, like MOFA: seconds"
    ),
    "pcca": Known("manyviews.linear.ProbabilisticCCA", True, "what all views share, linear"),
    "cca": Known("manyviews.linear.CCA", True, "canonical correlations, no missing values"),
    "ppca": Known("manyviews.linear.PPCA", False, "one table, linear"),
    "classifier": Known("manyviews.MRDClassifier", True, "classes from several views"),
}


def make_model(name: str, options: dict[str, Any], seed: int, **settings: Any) -> Any:
    """An unfitted model with options of the user's and settings of ours."""
    if name not in MODELS:
        raise OptionError(f"unknown model {name!r}; known are {', '.join(MODELS)}")
    if name == "classifier":
        kind = _found("manyviews.MRD")
        own = _found(MODELS[name].place)
        outer = {k: options[k] for k in options if k in own().get_params(deep=False)}
        inner = {k: v for k, v in options.items() if k not in outer}
        return own(_made(kind, {**inner, "random_state": seed, **settings}), **outer)
    kind = _found(MODELS[name].place)
    return _made(kind, {**options, "random_state": seed, **settings})


def _found(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _made(kind: Any, options: dict[str, Any]) -> Any:
    """A model with these options, which may be given by their place in its search or without."""
    known = kind().get_params()
    inside = {name: f"search__{name}" for name in options if name not in known}
    options = {
        inside[name] if inside.get(name) in known else name: value
        for name, value in options.items()
    }
    optional = {"verbose", "search__checkpoint"}  # ours, for the models that have them
    unknown = [name for name in options if name not in known and name not in optional]
    if unknown:
        raise OptionError(
            f"{kind.__name__} has no option {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    return kind().set_params(**{k: v for k, v in options.items() if k in known})

"""The models that the command knows, by their short names and those of their classes."""

import importlib
from typing import Any, Literal, NamedTuple

from ..errors import OptionError

Takes = Literal["views", "table", "classes", "outputs", "series"]
CLASSIFIERS = ("classifier", "generative-classifier")


class Known(NamedTuple):
    """Where a model is, what it takes, and what it is for."""

    place: str
    takes: Takes
    about: str

    @property
    def several_views(self) -> bool:
        """Whether it takes views by name."""
        return self.takes == "views" or self.place.endswith("MRDClassifier")


MODELS = {
    "mrd": Known(
        "manyviews.MRD", "views", "several views, nonlinear: shared and private dimensions"
    ),
    "mcgpds": Known(
        "manyviews.McGPDS", "views", "several views over time, each on a path of its own"
    ),
    "gplvm": Known("manyviews.BayesianGPLVM", "table", "one table, nonlinear"),
    "cgpds": Known("manyviews.CGPDS", "table", "one table over time, with local processes"),
    "gfa": Known(
        "manyviews.linear.GroupFactorAnalysis", "views", "several views, linear, like MOFA: seconds"
    ),
    "pcca": Known("manyviews.linear.ProbabilisticCCA", "views", "what all views share, linear"),
    "cca": Known("manyviews.linear.CCA", "views", "canonical correlations, no missing values"),
    "kernel-cca": Known("manyviews.linear.KernelCCA", "views", "canonical correlations, kernels"),
    "ppca": Known("manyviews.linear.PPCA", "table", "one table, linear"),
    "bayesian-pca": Known(
        "manyviews.linear.BayesianPCA", "table", "one table, linear, finds its dimension"
    ),
    "factor-analysis": Known(
        "manyviews.linear.FactorAnalysis", "table", "one table, linear, noise by column"
    ),
    "mixture": Known("manyviews.MixturePCCA", "views", "clusters of linear relations"),
    "dirichlet": Known("manyviews.DirichletPCCA", "views", "the same, number of clusters inferred"),
    "mixture-ppca": Known("manyviews.MixturePPCA", "table", "one table, clusters of linear maps"),
    "dirichlet-ppca": Known(
        "manyviews.DirichletPPCA", "table", "the same, number of clusters inferred"
    ),
    "map-gplvm": Known("manyviews.points.GPLVM", "table", "one table, latent points"),
    "shared-gplvm": Known("manyviews.points.SharedGPLVM", "views", "views share all latent points"),
    "subspace-gplvm": Known(
        "manyviews.points.SubspaceGPLVM", "views", "shared and private latent points"
    ),
    "shared-private-gplvm": Known(
        "manyviews.points.SharedPrivateGPLVM", "views", "the same, divided by relevance"
    ),
    "gplvm-cca": Known("manyviews.points.GPLVMCCA", "views", "shared points, correlated noise"),
    "classifier": Known("manyviews.MRDClassifier", "classes", "classes from several views"),
    "generative-classifier": Known(
        "manyviews.GenerativeClassifier", "classes", "classes from one table, a model for each"
    ),
    "uncertain-gp": Known(
        "manyviews.UncertainGPRegressor", "outputs", "the second table from the first, with holes"
    ),
    "autoregressive": Known("manyviews.AutoregressiveGP", "series", "the next rows of one table"),
    "stack": Known("manyviews.Stack", "views", "several methods mixed, for prediction"),
}


def model_name(asked: str) -> str:
    """The short name of a model that is called by it, or by its class."""
    short = asked.lower().replace("_", "-")
    if short in MODELS:
        return short
    for name, known in MODELS.items():
        if known.place.rpartition(".")[2].lower() == short:
            return name
    raise OptionError(f"unknown model {asked!r}; known are {', '.join(MODELS)}")


def make_model(name: str, options: dict[str, Any], seed: int, **settings: Any) -> Any:
    """An unfitted model with options of the user's and settings of ours."""
    name = model_name(name)
    kind = _found(MODELS[name].place)
    settings = {"random_state": seed, **settings}
    inside = {"classifier": "manyviews.MRD", "generative-classifier": "manyviews.BayesianGPLVM",
              "autoregressive": "manyviews.UncertainGPRegressor"}  # fmt: skip
    if name not in inside:
        return _made(kind, {**options, **settings})
    outer = {k: options[k] for k in options if k in kind().get_params(deep=False)}
    inner = {k: v for k, v in options.items() if k not in outer}
    if name != "classifier":
        settings.pop("search__checkpoint", None)  # several fits would share it
    return kind(_made(_found(inside[name]), {**inner, **settings})).set_params(**outer)


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
    optional = {"verbose", "search__checkpoint", "random_state"}  # ours, where there are such
    unknown = [name for name in options if name not in known and name not in optional]
    if unknown:
        raise OptionError(
            f"{kind.__name__} has no option {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    return kind().set_params(**{k: v for k, v in options.items() if k in known})

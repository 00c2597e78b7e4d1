"""Kinds of data by name."""

from collections.abc import Callable

from ..errors import OptionError
from .base import Likelihood
from .bernoulli import Bernoulli
from .categorical import Categorical
from .censored import Censored
from .gaussian import GaussianNoise
from .hurdle import Hurdle
from .negative_binomial import NegativeBinomial
from .ordinal import Ordinal
from .poisson import Poisson
from .student_t import StudentT

KINDS: dict[str, Callable[[], Likelihood]] = {
    "gaussian": GaussianNoise,
    "gaussian_per_column": lambda: GaussianNoise(per_column=True),
    "student_t": StudentT,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "ordinal": Ordinal,
    "poisson": Poisson,
    "negative_binomial": NegativeBinomial,
    "hurdle": Hurdle,
    "censored": Censored,
    "censored_lognormal": lambda: Censored(log=True),
}
"""Kinds that need nothing but the data; a binomial needs its trials."""


def likelihood_from(kind: str | Likelihood) -> Likelihood:
    """A likelihood by its name, or as it is."""
    if isinstance(kind, Likelihood):
        return kind
    if kind == "binomial":
        raise OptionError(
            "a binomial likelihood needs its trials: Binomial(trials=80), or "
            "Binomial(trials='coverage') with a table of that name"
        )
    if kind not in KINDS:
        raise OptionError(
            f"there is no likelihood {kind!r}: there are {', '.join(KINDS)}, and Binomial(trials)"
        )
    return KINDS[kind]()


def register_kind(name: str, make: Callable[[], Likelihood]) -> None:
    """Enter a kind of data of one's own."""
    KINDS[name] = make


def kind_of(likelihood: Likelihood) -> str:
    """The name of a likelihood's kind."""
    names = {make: name for name, make in KINDS.items() if isinstance(make, type)}
    if isinstance(likelihood, Censored) and likelihood.log:
        return "censored_lognormal"
    if isinstance(likelihood, GaussianNoise) and likelihood.per_column:
        return "gaussian_per_column"
    return names.get(type(likelihood), type(likelihood).__name__.lower())

"""What the options of an estimator may be, declared beside them and checked by `fit`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from .errors import OptionError


@dataclass(frozen=True)
class Kind:
    """One kind of value: its description and the test for it."""

    description: str
    fits: Callable[[Any], bool]


def count(least: int = 1) -> Kind:
    """A whole number from ``least`` on."""
    return Kind(
        f"an int of at least {least}",
        lambda v: (
            isinstance(v, Integral) and not isinstance(v, bool | np.bool_) and int(v) >= least
        ),
    )


def number(low: int | float, high: int | float = np.inf, closed: str = "both") -> Kind:
    """A number from ``low`` to ``high``; ``closed`` names the ends that are allowed."""
    left, right = closed in {"both", "left"}, closed in {"both", "right"}
    ends = f"{'[' if left else '('}{low:g}, {high:g}{']' if right and high < np.inf else ')'}"

    def fits(v: Any) -> bool:
        if not isinstance(v, Real) or isinstance(v, bool | np.bool_):
            return False
        x = float(v)
        return (x >= low if left else x > low) and (x <= high if right else x < high)

    return Kind(f"a number in {ends}", fits)


def one_of(*words: str) -> Kind:
    """One of some words."""
    return Kind(f"a str among {sorted(words)}", lambda v: isinstance(v, str) and v in words)


def instance_of(*kinds: type) -> Kind:
    """An instance of a class."""
    names = " or ".join(kind.__name__ for kind in kinds)
    return Kind(f"an instance of {names}", lambda v: isinstance(v, kinds))


def _is_seed(v: Any) -> bool:
    from sklearn.utils import check_random_state  # the command names options without it

    try:
        check_random_state(v)
    except ValueError:
        return False
    return True


NONE = Kind("None", lambda v: v is None)
BOOLEAN = Kind("a bool", lambda v: isinstance(v, bool | np.bool_))
ARRAY = Kind(
    "an array-like",
    lambda v: not isinstance(v, str) and (hasattr(v, "__len__") or hasattr(v, "__array__")),
)
BY_VIEW = instance_of(dict)
SEED = Kind("an int, a numpy.random.RandomState or None", _is_seed)
VERBOSE = Kind("a bool or an int of at least 0", lambda v: isinstance(v, Integral) and int(v) >= 0)

Options = dict[str, tuple[Kind, ...]]


def check_options(owner: Any, options: Options) -> None:
    """Refuse values of an estimator's options that are of none of the kinds allowed."""
    for name, kinds in options.items():
        value = getattr(owner, name)
        if hasattr(value, "check"):
            value.check()
        if not any(kind.fits(value) for kind in kinds):
            raise OptionError(
                f"The {name!r} parameter of {type(owner).__name__} must be "
                f"{_listed(kind.description for kind in kinds)}. Got {value!r} instead."
            )


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last

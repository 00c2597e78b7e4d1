"""Kernels by name: ``"rbf"``, ``"linear + bias"``, ``"matern32 * periodic"``."""

from collections.abc import Callable
from functools import reduce
from operator import add, mul

from ..errors import OptionError
from .base import Kernel
from .constant import Bias, White
from .linear import Linear
from .matern import Matern12, Matern32, Matern52
from .periodic import Periodic
from .polynomial import Polynomial
from .rbf import RBF

NAMES: dict[str, Callable[[], Kernel]] = {
    "rbf": RBF,
    "linear": Linear,
    "bias": Bias,
    "white": lambda: White(1e-3),
    "matern12": Matern12,  # type: ignore[dict-item]
    "matern32": Matern32,  # type: ignore[dict-item]
    "matern52": Matern52,  # type: ignore[dict-item]
    "periodic": lambda: Periodic(period=4.0),
    "polynomial": Polynomial,
}


def kernel_from_name(name: str) -> Kernel:
    """Build a kernel from its name; ``+`` adds, ``*`` multiplies and binds tighter."""
    try:
        terms = [
            [NAMES[word.strip().lower()]() for word in term.split("*")] for term in name.split("+")
        ]
    except KeyError as unknown:
        raise OptionError(
            f"unknown kernel {unknown} in {name!r}; "
            f"use names from {sorted(NAMES)} joined by + and *"
        ) from None
    return reduce(add, [reduce(mul, factors) for factors in terms])

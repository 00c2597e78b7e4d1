"""What becomes of one case, and which errors are an answer."""

import traceback
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from manyviews.errors import ManyviewsError

OURS = {"manyviews", "sklearn", "narwhals"}  # scikit-learn's checks, and those that it borrows


@dataclass
class Result:
    """The outcome of a case in one word, and what is wrong with it if anything is."""

    outcome: str
    wrong: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """A series of cases.

    ``start`` gets a folder of its own and returns what tries a case. A case that takes more than
    ``limit`` seconds hangs; ``share`` is the part's share of the time. Goals count cases, or the
    number that the cases note under the name ``counted``.
    """

    about: str
    limit: float
    share: float
    start: Callable[[Path], Callable[[np.random.Generator, int], Result]]
    counted: str = ""


def generator(seed: int, part: str, number: int) -> np.random.Generator:
    """The random numbers of a case."""
    return np.random.default_rng([seed, zlib.crc32(part.encode()), number])


def attempt(
    case: Callable[[np.random.Generator, int], Result], rng: np.random.Generator, number: int
) -> Result:
    """Try a case: an error that it does not expect is wrong."""
    try:
        return case(rng, number)
    except Exception as error:
        return Result("wrong", "".join(traceback.format_exception(error)[-4:]))


def in_words(error: BaseException) -> str:
    """What is wrong with an error as an answer to a user; empty if nothing is."""
    modules = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]
    last = modules[-1] if modules else ""
    checked = last.split(".")[0] in OURS or "sklearn.utils.validation" in modules
    text = str(error)
    plain = isinstance(error, ManyviewsError) or (
        isinstance(error, ValueError | TypeError | NotFittedError) and checked
    )
    if plain and len(text) > 15 and "tracer" not in text.lower():
        return ""
    return "".join(traceback.format_exception(error)[-4:])


def refused(error: BaseException, about: str) -> Result:
    """The result of a case that ended with an error."""
    wrong = in_words(error)
    return Result("wrong", f"{about}\n{wrong}") if wrong else Result("refused")

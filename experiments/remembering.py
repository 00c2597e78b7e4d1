"""Searches for new rows kept, so that what is done with their ends is compared without another."""

from collections.abc import Callable
from typing import Any

from joblib import hash as fingerprint


class LastAnswer:
    """A function that keeps its last answer."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.asked, self.answer = "", None

    def __call__(self, *args: Any, **options: Any) -> Any:
        asked = fingerprint((args, options))
        if asked != self.asked:
            self.asked, self.answer = asked, self.function(*args, **options)
        return self.answer


def remembering(model: Any) -> Any:
    """The fitted variational model, which now keeps its engine's last search for new rows."""
    vars(model.engine_)["search"] = LastAnswer(model.engine_.search)  # an engine is frozen
    return model

"""What a file can hold of a stack, and a clear word about the member that it cannot."""

from typing import Any

from sklearn.base import clone

from ..errors import OptionError
from ..io import why_not
from .members import Asked
from .view_regressor import ViewRegressor


def refuse_unsaveable(models: dict[str, list[Any]]) -> None:
    """Name the first member that cannot be written to a file, and why."""
    for name, fits in models.items():
        for fit in fits:
            inner = fit.model_ if isinstance(fit, Asked) else fit
            if isinstance(inner, ViewRegressor):
                for regressor in (answer.unsaveable() for answer in inner.answers_):
                    if regressor is not None:
                        raise OptionError(
                            f"member {name!r} cannot be saved: there is no form of a fitted "
                            f"{type(regressor).__name__} but pickle, which files of this library "
                            "do not hold. Leave it out, or use a linear model, k-NN or a forest"
                        )
            reason = why_not(fit)
            if reason:
                raise OptionError(f"member {name!r} cannot be saved: {reason}")


def unfitted(models: Any) -> Any:
    """The members as the user gave them, without anything fitted."""
    if isinstance(models, dict):
        return {name: clone(model, safe=False) for name, model in models.items()}
    return clone(models, safe=False)

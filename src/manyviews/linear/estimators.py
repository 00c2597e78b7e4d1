"""What the linear estimators share: options, checks, the end of a fit, loadings of a table."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..errors import ConvergenceWarning, OptionError
from ..fitted import Tables
from ..inference.diagnostics import FitInfo
from ..options import BY_VIEW, NONE, SEED, Options, count, number, one_of
from ..shells import TableModel
from .linear_engine import LinearEngine
from .linear_gaussian import LinearGaussian

NOISE_FLOOR = 1e-6  # of a view's variance

ITERATIONS: Options = {"max_iter": (count(),), "tol": (number(0),), "random_state": (SEED,)}
TABLE: Options = {
    **ITERATIONS,
    "n_components": (count(), NONE),
    "scaling": (one_of("view", "column", "none"),),
}
VIEWS: Options = {
    "n_components": (count(), NONE),
    "scaling": (one_of("view", "column", "none"), BY_VIEW),
    "align": (one_of("union", "intersection"),),
    "random_state": (SEED,),
}
REGULARISATION = (number(0), one_of("auto"), BY_VIEW)


def adopt(
    estimator: Any, model: LinearGaussian, data: Tables, info: FitInfo, rows: Any = slice(None)
) -> Any:
    """Give an estimator its fitted model; the bound is that of some rows."""
    noise = [float(np.mean(view.variance)) for view in model.views]
    info.signal_to_noise = np.array(
        [np.nanvar(Y) / variance for Y, variance in zip(data, noise, strict=True)]
    )
    engine = LinearEngine(model, tuple(data))
    trace = info.bound_trace
    estimator._adopt(engine, info, float(trace[-1]), len(trace) - 1, rows)
    if not info.converged:
        warnings.warn(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} iterations "
            "before it converged: raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return estimator


def refuse_thin_columns(
    Y: Float[np.ndarray, "N D"], n_components: int, view: str, columns: Sequence[Any], option: str
) -> None:
    """A column of no more values than loadings can be fitted exactly: its noise has no bound."""
    counts = (~np.isnan(Y)).sum(axis=0)
    thin = int(np.argmin(counts))
    if counts[thin] <= n_components + 1:
        raise OptionError(
            f"column {columns[thin]!r} of view {view!r} has {counts[thin]} values, too few for a "
            f"noise variance of its own beside {n_components} factors: use noise={option!r} or "
            "fewer components"
        )


class LinearTable(TableModel):
    """A linear-Gaussian model of one table."""

    engine_: LinearEngine
    n_components: int | None

    def _components(self, scaled: Float[np.ndarray, "N D"]) -> int:
        """The number asked for, or as many as make sense, up to ten."""
        N, D = scaled.shape
        if self.n_components is None:
            return max(1, min(10, D - 1, N - 1))
        if self.n_components > D:
            raise OptionError(f"n_components={self.n_components} is more than the {D} columns")
        return int(self.n_components)

    @property
    def noise_variance_(self) -> Float[np.ndarray, " D"]:
        """Noise variance of every column, in the units of the data."""
        check_is_fitted(self)
        return self.engine_.model.views[0].variance * self.scaling_.scale**2

    @property
    def loadings_(self) -> Float[np.ndarray, "D Q"]:
        """Columns x dimensions, in the units of the data."""
        check_is_fitted(self)
        return self.engine_.model.views[0].loadings * self.scaling_.scale[:, None]

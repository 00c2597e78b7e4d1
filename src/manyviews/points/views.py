"""The protocol of models of several views by latent points: the same as of MRD."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils._param_validation import Interval, StrOptions

from ..errors import OptionError
from ..inference.stages import Stage
from ..kernels import Kernel
from ..latent import Points
from ..mappings import Mapping
from ..models.direct_views import DirectViews
from .core import MakeLatent, check_inducing, fit_points
from .estimator import PointEstimator

VIEWS_CONSTRAINTS: dict[str, list[Any]] = {
    **PointEstimator._parameter_constraints,
    "kernel": [str, Kernel, dict],
    "scaling": [StrOptions({"view", "column", "none"}), dict],
    "noise_floor": [Interval(Real, 0, 1, closed="left"), dict],
    "align": [StrOptions({"union", "intersection"})],
}
INDUCING = [Interval(Integral, 1, None, closed="left"), dict, None]

MakePart = Callable[
    [int, Float[np.ndarray, "N D"], Float[np.ndarray, "N Q"], np.random.Generator], Mapping
]


class PointViews(PointEstimator, DirectViews):
    """A model of several named views with one latent point per sample."""

    def _fit_views(
        self,
        tables: Sequence[Float[np.ndarray, "N _"]],
        start: Callable[[np.random.Generator], Float[np.ndarray, "N Q"]],
        make_part: MakePart,
        exact: Sequence[bool],
        make_latent: MakeLatent = Points,
        stages: tuple[Stage, ...] | None = None,
    ) -> None:
        options = self._options()
        core, info = fit_points(
            tables,
            start,
            lambda place, means, rng: make_part(place, tables[place], means, rng),
            options if stages is None else replace(options, stages=stages),
            exact=exact,
            names=self.view_names_,
            make_latent=make_latent,
        )
        self.relevance_values_ = self._publish(core, info)

    def _inducing(self, n_samples: int) -> list[int | None]:
        asked = self._by_view(self.n_inducing, "n_inducing", None)  # type: ignore[attr-defined]
        return [check_inducing(m, n_samples) for m in asked]

    def latent_by_view(self) -> dict[str, Float[np.ndarray, "N Q"]]:
        """Where each view alone puts the training samples (001 §3.4.2); NaN where it is absent.

        Views that say the same of a sample put it in the same place: the correlation of these
        points is what the views share.
        """
        places = {}
        for place, name in enumerate(self.view_names_):
            rows = [np.full_like(Y, np.nan) for Y in self.core_.data]
            rows[place] = self.core_.data[place]
            there = ~np.isnan(rows[place]).all(axis=1)
            x = np.full_like(self.latent_mean_, np.nan)
            x[there] = self._locate([Y[there] for Y in rows]).x
            places[name] = x
        return places


def check_components(n_components: int, tables: Sequence[np.ndarray], init: Any) -> None:
    """Refuse more dimensions than the start can give."""
    limit = min(len(tables[0]), sum(Y.shape[1] for Y in tables))
    if isinstance(init, str) and init != "random" and n_components > limit:
        raise OptionError(
            f"n_components={n_components} is more than init={init!r} can give for "
            f"{len(tables[0])} samples and {sum(Y.shape[1] for Y in tables)} columns"
        )

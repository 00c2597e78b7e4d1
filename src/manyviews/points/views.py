"""The options that the models of latent points share, and what a fit makes of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state

from ..errors import OptionError
from ..inference.stages import Stage
from ..kernels import Kernel
from ..latent import Points
from ..mappings import Mapping
from ..shells import ViewsModel
from ..shells.options import (
    BOOLEAN,
    BY_VIEW,
    NONE,
    SEED,
    Options,
    count,
    instance_of,
    number,
    one_of,
)
from .engine import PointEngine
from .fit import MakeLatent, PointOptions, fit_points

NOISE_FLOOR = 1e-6  # of a view's variance

SEARCH: Options = {
    "n_restarts": (count(),),
    "max_iter": (count(),),
    "tol": (number(0),),
    "n_starts": (count(),),
    "random_state": (SEED,),
}
TABLE: Options = {
    **SEARCH,
    "n_components": (count(), NONE),
    "ard": (BOOLEAN,),
    "n_inducing": (count(), NONE),
    "kernel": (instance_of(str, Kernel),),
    "scaling": (one_of("view", "column", "none"),),
    "noise_floor": (number(0, 1, "left"),),
}
VIEWS: Options = {
    **SEARCH,
    "scaling": (one_of("view", "column", "none"), BY_VIEW),
    "noise_floor": (number(0, 1, "left"), BY_VIEW),
    "align": (one_of("union", "intersection"),),
}
SHARED: Options = {
    **VIEWS,
    "n_components": (count(),),
    "kernel": (instance_of(str, Kernel), BY_VIEW),
    "ard": (BOOLEAN,),
}
INDUCING = (count(), BY_VIEW, NONE)
COUNTS = (count(0), BY_VIEW)

MakePart = Callable[
    [int, Float[np.ndarray, "N D"], Float[np.ndarray, "N Q"], np.random.Generator], Mapping
]


def point_options(model: Any, stages: tuple[Stage, ...] | None = None) -> PointOptions:
    """How to search, as an estimator's parameters say."""
    return PointOptions(
        n_restarts=int(model.n_restarts),
        stages=(Stage("lbfgs", int(model.max_iter)),) if stages is None else stages,
        tolerance=float(model.tol),
        seed=int(check_random_state(model.random_state).randint(2**31 - 1)),
    )


class PointViews(ViewsModel):
    """A model of several named views with one latent point per sample."""

    engine_: PointEngine

    def _fit_views(
        self,
        tables: Sequence[Float[np.ndarray, "N _"]],
        start: Callable[[np.random.Generator], Float[np.ndarray, "N Q"]],
        make_part: MakePart,
        exact: Sequence[bool],
        make_latent: MakeLatent = Points,
        stages: tuple[Stage, ...] | None = None,
    ) -> Any:
        engine, info = fit_points(
            tables,
            start,
            lambda place, means, rng: make_part(place, tables[place], means, rng),
            point_options(self, stages),
            exact=exact,
            names=self.view_names_,
            make_latent=make_latent,
        )
        return self._adopt(engine, info, max(info.restart_bounds), len(info.bound_trace))

    def _inference(self) -> dict[str, Any]:
        return {"n_starts": self.n_starts}  # type: ignore[attr-defined]

    def latent_by_view(self) -> dict[str, Float[np.ndarray, "N Q"]]:
        """Where each view alone puts the training samples (001 §3.4.2); NaN where it is absent.

        Views that say the same of a sample put it in the same place: the correlation of these
        points is what the views share.
        """
        data, places = self.engine_.data, {}
        for place, name in enumerate(self.view_names_):
            rows = [np.full_like(Y, np.nan) for Y in data]
            rows[place] = data[place]
            there = ~np.isnan(rows[place]).all(axis=1)
            x = np.full_like(self.latent_mean_, np.nan)
            x[there] = self._infer([Y[there] for Y in rows]).mean
            places[name] = x
        return places


def inducing_counts(asked: Sequence[int | None], n_samples: int) -> list[int | None]:
    """The number of inducing inputs of every view, None for an exact mapping."""
    for m in asked:
        if m is not None and m > n_samples:
            raise OptionError(f"n_inducing={m} is more than the {n_samples} samples there are")
    return [None if m is None else int(m) for m in asked]


def check_components(n_components: int, tables: Sequence[np.ndarray], init: Any) -> None:
    """Refuse more dimensions than the start can give."""
    limit = min(len(tables[0]), sum(Y.shape[1] for Y in tables))
    if isinstance(init, str) and init != "random" and n_components > limit:
        raise OptionError(
            f"n_components={n_components} is more than init={init!r} can give for "
            f"{len(tables[0])} samples and {sum(Y.shape[1] for Y in tables)} columns"
        )

"""What both shells share: an engine, random numbers, units, times, files."""

import os
from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data import Scaling, When
from ..errors import DataError, OptionError
from ..fitted import Engine, Positions, Tables
from ..fitted.adjustment import Adjustment
from ..fitted.engine import Spread
from ..fitted.segmentation import ACTIVE_THRESHOLD
from ..inference.diagnostics import FitInfo
from ..inference.search import Search, with_fields, without_fields
from ..io import write
from ..options import Options, check_options
from .times import forecast_times, read_times

MIN_SAMPLES = 3
LARGEST_BLOCK = 20_000_000  # numbers in one temporary array
LARGEST_COVARIANCE = 5_000  # columns; beyond, one row's covariance takes 200 MB


class FittedModel(BaseEstimator):
    """An estimator that holds a fitted `Engine` in ``engine_``.

    A model says which values its options may have (``_options``), builds an engine in ``fit``
    and hands it to `_adopt()`; what the engine is asked of new rows comes from
    `_inference()`.
    """

    _options: Options = {}
    engine_: Engine
    fit_info_: FitInfo
    when_: When | None = None
    search: Search | None
    random_state: Any = None

    @property
    def _scalings(self) -> tuple[Scaling, ...]:
        raise NotImplementedError

    def _inference(self) -> dict[str, Any]:
        """The estimator's options that concern new rows, as the engine's ``infer`` takes them."""
        if "n_starts" not in keyword_options(self.engine_.infer):
            return {}
        return {"n_starts": (self.search or Search()).n_starts}

    # ------------------------------------------------------------------ options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep``, those of the search as ``search__max_iter``, …"""
        params = super().get_params(deep=deep)
        return with_fields(params) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, also those of the search."""
        return super().set_params(**without_fields(self, params))

    def _check_options(self) -> None:
        check_options(self, self._options)

    # ------------------------------------------------------------------ after a fit

    @property
    def latent_mean_(self) -> Float[np.ndarray, "N Q"]:
        """Posterior means of the training samples' latent positions."""
        check_is_fitted(self, "engine_")
        return self.engine_.positions.likeliest().mean

    @property
    def latent_std_(self) -> Float[np.ndarray, "N Q"]:
        """Posterior standard deviations of the training samples' latent positions."""
        check_is_fitted(self, "engine_")
        return self.engine_.positions.likeliest().std

    @property
    def n_active_(self) -> int:
        """Dimensions that any view uses (relevance above 0.005)."""
        check_is_fitted(self, "engine_")
        return int((self.engine_.relevance > ACTIVE_THRESHOLD).any(axis=0).sum())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one ``.safetensors`` file; see `manyviews.load`."""
        check_is_fitted(self)
        write(path, self)

    def _adopt(
        self,
        engine: Engine,
        info: FitInfo,
        bound: float | None = None,
        n_iter: int = 1,
        rows: Any = slice(None),
    ) -> Self:
        """Take a fitted engine; ``bound``, if there is one, is that of some rows as scaled."""
        self.engine_, self.fit_info_ = engine, info
        info.n_active = self.n_active_
        self.n_iter_ = max(1, n_iter)
        if bound is not None:
            pairs = zip(self._scalings, engine.data, strict=True)
            jacobian = sum(float(_jacobian(scaling, Y[rows]).sum()) for scaling, Y in pairs)
            self.lower_bound_ = bound - jacobian
        return self

    # ------------------------------------------------------------------ asking the engine

    def _rng(self, seed: Any) -> np.random.RandomState:
        return check_random_state(self.random_state if seed is None else seed)

    def _infer(
        self,
        rows: Tables,
        when: When | None = None,
        wanted: Sequence[int] = (),
        how: dict[str, Any] | None = None,
    ) -> Positions:
        own = self._inference()
        allowed = [name for name in keyword_options(self.engine_.infer) if name not in own]
        for name in how or {}:
            if name not in allowed:
                has = f"it has {allowed}" if allowed else "it has none"
                raise OptionError(
                    f"{type(self).__name__} has no option {name!r} for new samples: {has}"
                )
        return self.engine_.infer(rows, when, wanted, **own, **(how or {}))

    def _trained(self) -> Positions:
        """q(x) of the training samples, as the estimator's options have it."""
        return self._infer(self.engine_.data)

    def _moments(
        self, place: int, q: Positions, std: bool, cov: bool, adjust: Adjustment | None = None
    ) -> Any:
        """Mean, (mean, std) or (mean, covariance) of one view, in the units of the data."""
        scaling = self._scalings[place]
        if cov:
            refuse_large_covariance(len(scaling.scale))
        kind: Spread = "covariance" if cov else "variance" if std else None
        mean, spread = self._mixed(place, q, kind)
        if adjust is not None:
            mean, spread = adjust.values(mean), adjust.spread(spread)
        return in_units(scaling, mean, spread)

    def _mixed(self, place: int, q: Positions, kind: Spread) -> tuple[np.ndarray, Any]:
        """Moments of every row, block by block where rows have many parts."""
        size = len(self._scalings[place].scale) ** (2 if kind == "covariance" else 1)
        per_block = max(1, LARGEST_BLOCK * len(q) // (len(q.mean) * size))
        if q.weights is None or per_block >= len(q):
            return q.mix(*self.engine_.moments(place, q, kind))
        found = []
        for first in range(0, len(q), per_block):
            part = q.rows(slice(first, first + per_block))
            found.append(part.mix(*self.engine_.moments(place, part, kind)))
        means, spreads = zip(*found, strict=True)
        return np.concatenate(means), None if kind is None else np.concatenate(spreads)

    def _draws(
        self,
        places: Sequence[int],
        q: Positions,
        n_samples: int,
        rng: np.random.RandomState,
        adjust: Sequence[Adjustment | None] = (),
    ) -> list[Float[np.ndarray, "S N D"]]:
        found = self.engine_.draw(places, q, n_samples, rng)
        for at, each in enumerate(adjust):
            found[at] = found[at] if each is None else each.values(found[at])
        return [self._scalings[p].undo(values) for p, values in zip(places, found, strict=True)]

    def _densities(self, rows: Tables, when: When | None, how: dict[str, Any]) -> Any:
        allowed = keyword_options(self.engine_.log_density)
        own = {name: value for name, value in self._inference().items() if name in allowed}
        for name in how:
            if name not in allowed:
                raise OptionError(f"{type(self).__name__} has no option {name!r} for densities")
        density = self.engine_.log_density(rows, when, **{**own, **how})
        for scaling, table in zip(self._scalings, rows, strict=True):
            density = density - _jacobian(scaling, table)
        return density

    def _at(self, X: Any, latent_std: Any = None) -> Positions:
        """Latent positions given by the user, checked."""
        check_is_fitted(self)
        if self.engine_.positions.cluster is not None:
            raise OptionError(
                f"every cluster of a {type(self).__name__} has a latent space of its own: there "
                "is none to walk in"
            )
        positions = np.asarray(X, dtype=np.float64)
        n_components = self.latent_mean_.shape[1]
        if positions.ndim != 2 or positions.shape[1] != n_components:
            raise DataError(
                f"latent positions must have shape (n, {n_components}), got {positions.shape}"
            )
        return Positions.known(positions, latent_std)

    def _source(self, n_samples: int, latent: str, rng: np.random.RandomState) -> Positions:
        """Where new samples come from: the prior, or the posteriors of training samples."""
        if latent not in {"prior", "posterior"}:
            raise OptionError(f"latent must be 'prior' or 'posterior', got {latent!r}")
        if latent == "prior":
            return self.engine_.prior(n_samples)
        q = self._trained()
        return q.rows(rng.randint(len(q), size=n_samples))

    # ------------------------------------------------------------------ over time

    def _when(self, times: Any, sequences: Any, samples: list[Any]) -> When | None:
        """When new samples were seen; None if nothing is said about it."""
        check_is_fitted(self)
        if times is None and sequences is None:
            return None
        return read_times(times, sequences, samples, self.when_)

    def forecast_latent(
        self, times: Any, sequence: Any = None
    ) -> tuple[Float[np.ndarray, "n Q"], Float[np.ndarray, "n Q"]]:
        """Mean and std of the latent path at other times of a training sequence."""
        check_is_fitted(self)
        q = self.engine_.ahead(forecast_times(times, sequence, self.when_))
        return q.mean, q.std

    def _forecast(
        self, places: Sequence[int], times: Any, sequence: Any, std: bool, n_samples: int | None,
        seed: Any,
    ) -> list[Any]:  # fmt: skip
        """Views at other times of a training sequence: moments, or trajectories."""
        check_is_fitted(self)
        when = forecast_times(times, sequence, self.when_)
        rng = self._rng(seed)
        if n_samples is None:
            kind: Spread = "variance" if std else None
            found = [self.engine_.forecast(place, when, kind, rng) for place in places]
            return [in_units(self._scalings[p], *f) for p, f in zip(places, found, strict=True)]
        refuse_both(std, False)
        x = self.engine_.paths(when, n_samples, rng)
        flat = Positions.known(x.reshape(-1, x.shape[-1]))
        drawn = self._draws(places, flat, 1, rng)
        return [values[0].reshape(*x.shape[:2], -1) for values in drawn]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _jacobian(scaling: Scaling, table: Float[np.ndarray, "N _"]) -> Float[np.ndarray, " N"]:
    """That of the values of a table, which stand before what came beside them."""
    return scaling.log_jacobian(table[:, : len(scaling.scale)])


def in_units(scaling: Scaling, mean: np.ndarray, spread: np.ndarray | None) -> Any:
    """The mean, or mean and std, or mean and covariance, in the units of the data."""
    if spread is None:
        return scaling.undo(mean)
    if spread.ndim == 3:
        return scaling.undo(mean), scaling.undo_covariance(spread)
    return scaling.undo(mean), scaling.undo_std(np.sqrt(spread))


def refuse_both(std: bool, cov: bool) -> None:
    """Draws and moments are different questions."""
    if std or cov:
        raise OptionError("ask for samples or for moments, not for both")


def refuse_large_covariance(n_columns: int) -> None:
    """One row's covariance has to fit into memory."""
    if n_columns > LARGEST_COVARIANCE:
        raise OptionError(
            f"the full covariance of {n_columns} columns does not fit into memory; ask for "
            "return_std or for samples"
        )


def keyword_options(function: Any) -> list[str]:
    """The names of a function's keyword-only parameters."""
    parameters = signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]

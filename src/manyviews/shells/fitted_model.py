"""What both shells share: an engine, random numbers, units, times, files."""

import os
from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, Self

import jax
import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._runtime import refuse_fork, stranded
from ..data import Scaling, When
from ..errors import DataError, OptionError
from ..fitted import Engine, Positions, Tables
from ..fitted.adjustment import Adjustment
from ..fitted.associations import aligned_metadata, associations
from ..fitted.engine import Spread
from ..fitted.segmentation import ACTIVE_THRESHOLD
from ..fitted.stability import Stability
from ..fitted.summary import Summary, summarise
from ..inference.diagnostics import FitInfo
from ..inference.search import Search, with_fields, without_fields
from ..io import write
from ..options import Options, check_options, count
from .times import forecast_times, read_times

MIN_SAMPLES = 3
DRAWS = count()
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
    samples_: list[Any]
    dimension_names_: list[str] | None = None

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

    # ------------------------------------------------------------------ what it has found

    def summary(self, stability: bool = True) -> Summary:
        """The findings in sentences, and a table of the variance explained.

        Print it, or let a notebook show it.

        Parameters
        ----------
        stability : bool, default=True
            Whether to find out how sure the number of shared dimensions is, which takes a while
            the first time; see `MRD.stability`.
        """
        check_is_fitted(self, "engine_")
        return summarise(self, self._stability() if stability else self._known_stability())

    def name_dimensions(self, names: Mapping[int, Any] | Sequence[Any]) -> Self:
        """Give latent dimensions names, by number or in order; "" takes one away.

        Names appear in summaries, reports, pictures and the explorer, and are saved with the
        model. A new fit forgets them.
        """
        check_is_fitted(self, "engine_")
        n = self.engine_.relevance.shape[1]
        given = names if isinstance(names, Mapping) else dict(enumerate(names))
        kept = list(self.dimension_names_ or [""] * n)
        for dimension, name in given.items():
            if not 0 <= dimension < n:
                raise OptionError(f"dimensions go from 0 to {n - 1}: {dimension} cannot be named")
            if not isinstance(name, str):
                raise OptionError(f"the name of dimension {dimension} must be text, got {name!r}")
            kept[dimension] = name
        self.dimension_names_ = kept
        return self

    def dimension_labels(self) -> list[str]:
        """The number of every dimension, with its name if it has one: "0", "1 (size)"."""
        check_is_fitted(self, "engine_")
        n = self.engine_.relevance.shape[1]
        names = self.dimension_names_ or [""] * n
        return [f"{d} ({name})" if name else str(d) for d, name in enumerate(names)]

    def associations(self, metadata: Any, method: str = "pearson") -> pd.DataFrame:
        """Correlations of the latent dimensions with what is known of the training samples.

        Parameters
        ----------
        metadata : DataFrame, Series or dict of sequences
            Numbers or categories, aligned on the index if there is one, else in the order of the
            samples.
        method : {"pearson", "spearman"}
            Of values, or of ranks.

        Returns
        -------
        DataFrame
            With p-values adjusted for the false discovery rate; see
            `fitted.associations.associations`. The order of the samples in time,
            if they have one, is not allowed for.
        """
        check_is_fitted(self, "engine_")
        if self.engine_.positions.cluster is not None:
            raise OptionError(
                f"every cluster of a {type(self).__name__} has a latent space of its own: there "
                "are no dimensions of all samples to correlate"
            )
        return associations(self.latent_mean_, aligned_metadata(metadata, self.samples_), method)

    def _stability(self) -> Stability | None:
        """How sure the number of shared dimensions is; None where nothing can be shared."""
        return None

    def _known_stability(self) -> Stability | None:
        """The same if it has been asked for before."""
        return None

    def _repr_html_(self) -> str | None:
        if is_fitted(self):
            now = (*self.dimension_labels(), id(self._known_stability()))
            known = self.__dict__.get("_shown", (None, ""))
            if known[0] != now:  # notebooks ask twice
                known = self._shown = (now, self.summary(stability=False)._repr_html_())
            return known[1]
        try:
            return super()._repr_html_()
        except AttributeError:  # scikit-learn has been told to show text
            return None

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and is_fitted(self):
            bundle["text/html"] = self._repr_html_()
        return bundle

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
        for stale in ("dimension_names_", "_stabilities", "_shown"):
            self.__dict__.pop(stale, None)
        info.n_active = self.n_active_
        self.n_iter_ = max(1, n_iter)
        if bound is not None:
            pairs = zip(self._scalings, engine.data, strict=True)
            jacobian = sum(float(_jacobian(scaling, Y[rows]).sum()) for scaling, Y in pairs)
            self.lower_bound_ = bound - jacobian
        return self

    # ------------------------------------------------------------------ asking the engine

    @property
    def _engine(self) -> Engine:
        """The engine, where it can be asked."""
        if stranded() and _computes_with_jax(self.engine_):
            refuse_fork()
        return self.engine_

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
        return self._engine.infer(rows, when, wanted, **own, **(how or {}))

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
            mean, spread = adjust.centre, adjust.spread(spread)
        return in_units(scaling, mean, spread)

    def _mixed(self, place: int, q: Positions, kind: Spread) -> tuple[np.ndarray, Any]:
        """Moments of every row, block by block where rows have many parts."""
        size = len(self._scalings[place].scale) ** (2 if kind == "covariance" else 1)
        per_block = max(1, LARGEST_BLOCK * len(q) // (len(q.mean) * size))
        if q.weights is None or per_block >= len(q):
            return q.mix(*self._engine.moments(place, q, kind))
        found = []
        for first in range(0, len(q), per_block):
            part = q.rows(slice(first, first + per_block))
            found.append(part.mix(*self.engine_.moments(place, part, kind)))
        means, spreads = zip(*found, strict=True)
        return np.concatenate(means), None if kind is None else np.concatenate(spreads)

    def _filled(
        self, place: int, rows: Tables, q: Positions, std: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """What a view lacks, by its engine, and its std if wanted, in units of the data."""
        mean, variance = self._engine.fill(place, rows, q)
        if not std:
            return self._scalings[place].undo(mean), None
        if self._calibrates:
            variance = self._engine.widened(place, variance, self._inference())
        return in_units(self._scalings[place], mean, variance)  # type: ignore[no-any-return]

    @property
    def _calibrates(self) -> bool:
        """Whether intervals of imputed values are calibrated, if the engine can do it."""
        return True

    def _draws(
        self,
        places: Sequence[int],
        q: Positions,
        n_samples: int,
        rng: np.random.RandomState,
        adjust: Sequence[Adjustment | None] = (),
    ) -> list[Float[np.ndarray, "S N D"]]:
        found = self._engine.draw(places, q, at_least_one(n_samples), rng)
        for at, each in enumerate(adjust):
            found[at] = found[at] if each is None else each.values(found[at])
        return [self._scalings[p].undo(values) for p, values in zip(places, found, strict=True)]

    def _densities(self, rows: Tables, when: When | None, how: dict[str, Any]) -> Any:
        allowed = keyword_options(self.engine_.log_density)
        own = {name: value for name, value in self._inference().items() if name in allowed}
        for name in how:
            if name not in allowed:
                raise OptionError(f"{type(self).__name__} has no option {name!r} for densities")
        density = self._engine.log_density(rows, when, **{**own, **how})
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
        at_least_one(n_samples)
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
        q = self._engine.ahead(forecast_times(times, sequence, self.when_))
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
            found = [self._engine.forecast(place, when, kind, rng) for place in places]
            return [in_units(self._scalings[p], *f) for p, f in zip(places, found, strict=True)]
        refuse_both(std, False)
        x = self._engine.paths(when, at_least_one(n_samples), rng)
        flat = Positions.known(x.reshape(-1, x.shape[-1]))
        drawn = self._draws(places, flat, 1, rng)
        return [values[0].reshape(*x.shape[:2], -1) for values in drawn]

    # ------------------------------------------------------------------ from a file

    def _incoherence(self) -> str:
        """Why the parts of a model from a file do not belong together; empty if they do."""
        if "engine_" not in vars(self):  # options of a model, not a model
            return ""
        data, scalings = self.engine_.data, self._scalings
        if len(data) != len(scalings):
            return f"it has {len(scalings)} scalings for {len(data)} tables"
        for table, scaling in zip(data, scalings, strict=True):
            n_columns = len(scaling.scale)
            if table.ndim != 2 or len(table) != len(self.samples_) or table.shape[1] < n_columns:
                return f"one of its tables has the shape {table.shape}"
            if len(scaling.centre) != n_columns or not (scaling.scale > 0).all():
                return "one of its scales is not positive"
        return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _jacobian(scaling: Scaling, table: Float[np.ndarray, "N _"]) -> Float[np.ndarray, " N"]:
    """That of the values of a table, which stand before what came beside them."""
    return scaling.log_jacobian(table[:, : len(scaling.scale)])


def _computes_with_jax(engine: Engine) -> bool:
    """Engines of NumPy arrays do not."""
    return any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(vars(engine)))


def in_units(scaling: Scaling, mean: np.ndarray, spread: np.ndarray | None) -> Any:
    """The mean, or mean and std, or mean and covariance, in the units of the data."""
    if spread is None:
        return scaling.undo(mean)
    if spread.ndim == 3:
        return scaling.undo(mean), scaling.undo_covariance(spread)
    return scaling.undo(mean), scaling.undo_std(np.sqrt(spread))


def at_least_one(n_samples: Any) -> int:
    """A number of draws, checked."""
    if not DRAWS.fits(n_samples):
        raise OptionError(f"n_samples must be {DRAWS.description}, got {n_samples!r}")
    return int(n_samples)


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


def is_fitted(model: FittedModel) -> bool:
    """Whether there is an engine to ask."""
    return hasattr(model, "engine_")


def keyword_options(function: Any) -> list[str]:
    """The names of a function's keyword-only parameters."""
    parameters = signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]

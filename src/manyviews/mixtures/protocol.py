"""What both mixture models answer: views in, views out, all from one Gaussian mixture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.utils.validation import check_is_fitted

from ..data import Views
from ..errors import DataError, OptionError
from ..models.cross_prediction import Modes
from ..models.named_tables import NamedTables, Names, check_views, listed
from .joint import JointMixture
from .predictive import draw_conditional, find_modes, mixture_moments


class MixtureEstimator(NamedTables):
    """Named views around a mixture of their scaled columns."""

    mixture_: JointMixture

    # ------------------------------------------------------------------ clusters and latents

    @property
    def _clusters(self) -> JointMixture:
        """The mixture whose components are the clusters."""
        return self.mixture_

    def transform(self, views: Any, *, return_std: bool = False) -> Any:
        """Latent means (and std) of samples, each in the space of its likeliest cluster.

        The latent spaces of different clusters have nothing to do with each other: compare
        positions only among samples of one cluster (:meth:`predict_cluster`).
        """
        Y = self._new(views)[1]
        best = self._clusters.responsibilities(Y).argmax(axis=1)
        mean, std = self._clusters.latent(Y)
        rows = np.arange(len(Y))
        return (mean[rows, best], std[rows, best]) if return_std else mean[rows, best]

    def responsibilities(self, views: Any) -> Any:
        """p(cluster | what is known) of every sample, samples x clusters."""
        found, Y = self._new(views)
        share = self._clusters.responsibilities(Y)
        return pd.DataFrame(share, index=found.samples) if found.labelled else share

    def predict_cluster(self, views: Any) -> Int[np.ndarray, " N"]:
        """The likeliest cluster of every sample."""
        return self._clusters.responsibilities(self._new(views)[1]).argmax(axis=1)

    # ------------------------------------------------------------------ densities

    def score_samples(self, views: Any) -> Float[np.ndarray, " N"]:
        """Log density of every sample's observed values, in the units of the data."""
        found, Y = self._new(views)
        return self.mixture_.log_density(Y) - self._log_jacobian(found)

    def score(self, views: Any, y: Any = None) -> float:
        """Mean of :meth:`score_samples`: higher is better."""
        return float(np.mean(self.score_samples(views)))

    def predictive_density(
        self, views: Any, target: str, points: Any, columns: Sequence[Any] | None = None
    ) -> Float[np.ndarray, "N P"]:
        """Density of a view at given points, given what is known of each sample.

        Parameters
        ----------
        views : dict, list with None for what is wanted, MuData; or None
            What is known. None: nothing; the answer has one row, the marginal density.
        target : str
            The view wanted; its own values, if given, are not used.
        points : array-like of shape (n_points, n_columns)
        columns : sequence, optional
            Columns of the view that the points are about; the others are integrated out.
        """
        check_is_fitted(self)
        (place,) = self._places(target)
        labels = self.columns_[place]
        chosen = list(labels) if columns is None else list(columns)
        unknown = [label for label in chosen if label not in labels]
        if unknown:
            raise OptionError(f"view {target!r} has no column {unknown[0]!r}")
        within = np.array([labels.index(label) for label in chosen])
        wanted = self._offsets()[place] + within
        grid = np.asarray(points, dtype=np.float64)
        if grid.ndim != 2 or grid.shape[1] != len(wanted):
            raise DataError(f"points must have shape (n, {len(wanted)}), got {grid.shape}")
        scaling = self.scalings_[place]
        scaled = (grid - scaling.centre[within]) / scaling.scale[within]
        jacobian = float(np.sum(np.log(scaling.scale[within])))
        known = np.full((1, sum(self._sizes())), np.nan)
        if views is not None:
            known = self._hidden(self._new(views)[1], [target])
        answer = np.zeros((len(known), len(grid)))
        for part in self.mixture_.condition(known, wanted):
            for row, weights, means in zip(part.rows, part.weights, part.means, strict=True):
                kept = weights > 1e-12 * weights.max()
                empty = np.zeros((int(kept.sum()), len(wanted), 0))
                local = JointMixture(
                    np.log(weights[kept]), means[kept], empty, part.covariances[kept]
                )
                answer[row] = np.exp(local.log_density(scaled) - jacobian)
        return answer

    # ------------------------------------------------------------------ views from views

    def predict(
        self,
        views: Any,
        target: Names | None = None,
        *,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Predict views of samples from their other views (and columns).

        The prediction is a Gaussian mixture per sample; mean, std and covariance are those of
        the mixture and say little where it has several modes: see :meth:`predict_modes`,
        :meth:`predictive_density`, and draws.

        Parameters
        ----------
        views : dict, list with None for what is wanted, MuData
        target : str or list of str, optional
            Views to predict. Default: those not given. Values of the targets themselves are
            not used: for holes in a view see :meth:`impute`.
        return_std, return_cov : bool
            Also return the standard deviation of every value, or the covariance across columns
            (samples x columns x columns).
        n_samples : int, optional
            Return draws (n_samples x samples x columns) instead, joint across targets.

        Returns
        -------
        The result for the target, or a dict of them by view if ``target`` is a list or None.
        """
        found, Y = self._new(views)
        targets = self._targets(target, found)
        known = self._hidden(Y, targets, found.samples)
        places = self._places(targets)
        wanted = np.concatenate([self._span(place) for place in places])
        if n_samples is not None:
            if return_std or return_cov:
                raise OptionError("ask for samples or for moments, not for both")
            rng = self._rng(random_state)
            drawn = draw_conditional(self.mixture_, known, wanted, n_samples, rng)
            parts = np.split(drawn, np.cumsum([self._sizes()[p] for p in places])[:-1], axis=2)
            answers = {
                name: self.scalings_[place].undo(part)
                for name, place, part in zip(targets, places, parts, strict=True)
            }
        else:
            answers = {
                name: self._like(found, name, self._moments(known, place, return_std, return_cov))
                for name, place in zip(targets, places, strict=True)
            }
        return answers[targets[0]] if isinstance(target, str) else answers

    def predict_modes(self, views: Any, target: str, *, n_modes: int = 5) -> Modes:
        """The distinct answers that the known views allow, with their weights.

        Components of the predictive mixture whose means are within two standard deviations of
        a heavier one are counted with it. Weights of modes beyond ``n_modes`` are left out.
        """
        found, Y = self._new(views)
        (place,) = self._places(target)
        known = self._hidden(Y, [target], found.samples)
        weights, means, stds = find_modes(self.mixture_, known, self._span(place), n_modes)
        scaling = self.scalings_[place]
        return Modes(weights, scaling.undo(means), scaling.undo_std(stds))

    def impute(self, views: Any, *, return_std: bool = False) -> Any:
        """All views with their holes filled; observed values are returned as they are."""
        found, Y = self._new(views)
        everything = np.arange(Y.shape[1])
        mean, covariance = mixture_moments(self.mixture_, Y, everything)
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        std = np.sqrt(np.maximum(variance, 0.0))  # of what is known, zero but for rounding
        filled, stds = {}, {}
        for place, (name, table) in enumerate(zip(found.names, found.tables, strict=True)):
            span, scaling, missing = self._span(place), self.scalings_[place], np.isnan(table)
            values = np.where(missing, scaling.undo(mean[:, span]), table)
            spread = np.where(missing, scaling.undo_std(std[:, span]), 0.0)
            filled[name] = self._like(found, name, values)
            stds[name] = self._like(found, name, spread)
        return (filled, stds) if return_std else filled

    def sample(
        self, n_samples: int = 1, *, random_state: Any = None
    ) -> dict[str, Float[np.ndarray, "N _"]]:
        """New samples of all views."""
        check_is_fitted(self)
        rng = self._rng(random_state)
        rows, _ = self.mixture_.draw(n_samples, rng)
        pairs = zip(self.view_names_, self.scalings_, strict=True)
        return {n: s.undo(rows[:, self._span(i)]) for i, (n, s) in enumerate(pairs)}

    # ------------------------------------------------------------------ edges

    def _read(self, views: Any) -> Float[np.ndarray, "N D"]:
        """Check training views, remember their names, return them scaled, side by side."""
        found = self._read_training(views)
        if len(found.names) < 2:
            raise DataError("a mixture of PCCA needs at least two views, got one")
        scaled = self._take(found)
        self.ranges_ = tuple(
            np.stack([np.nanmin(table, axis=0), np.nanmax(table, axis=0)]) for table in found.tables
        )
        widths = sorted(self._sizes(), reverse=True)
        if self.n_components > widths[1]:
            raise OptionError(
                f"n_components={self.n_components}, but no more than {widths[1]} latent "
                f"dimensions can be shared by views of {self._sizes()} columns"
            )
        return np.concatenate(scaled, axis=1)

    def _new(self, views: Any) -> tuple[Views, Float[np.ndarray, "N D"]]:
        found = self._read_new(views)
        check_views(found)
        return found, np.concatenate(self._scaled(found), axis=1)

    def _log_jacobian(self, found: Views) -> Float[np.ndarray, " N"]:
        pairs = zip(self.scalings_, found.tables, strict=True)
        return np.sum([s.log_jacobian(table) for s, table in pairs], axis=0)

    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(columns) for columns in self.columns_)

    def _offsets(self) -> Int[np.ndarray, " K"]:
        return np.cumsum((0, *self._sizes()))[:-1]

    def _span(self, place: int) -> Int[np.ndarray, " m"]:
        return self._offsets()[place] + np.arange(self._sizes()[place])

    def _targets(self, target: Names | None, found: Views) -> list[str]:
        if target is not None:
            self._places(target)
            return listed(target)
        absent = [name for name in found.names if name not in self._known(found)]
        if not absent:
            raise OptionError("all views are given: name the one to predict from the others")
        return absent

    def _hidden(
        self, Y: Float[np.ndarray, "N D"], targets: list[str], samples: list[Any] | None = None
    ) -> Float[np.ndarray, "N D"]:
        """The rows without the targets' own values."""
        known = Y.copy()
        for place in self._places(targets):
            known[:, self._span(place)] = np.nan
        empty = np.flatnonzero(np.isnan(known).all(axis=1))
        if empty.size:
            name = int(empty[0]) if samples is None else samples[int(empty[0])]
            raise DataError(
                f"sample {name!r} has no value outside of {targets}: there is nothing to "
                "predict from"
            )
        return known

    def _moments(self, known: Float[np.ndarray, "N D"], place: int, std: bool, cov: bool) -> Any:
        mean, covariance = mixture_moments(self.mixture_, known, self._span(place))
        scaling = self.scalings_[place]
        if cov:
            return scaling.undo(mean), scaling.undo_covariance(covariance)
        spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        return (scaling.undo(mean), scaling.undo_std(spread)) if std else scaling.undo(mean)

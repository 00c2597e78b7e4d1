"""The shell for several named views: names, scales and missing views around any engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import sklearn
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import (
    Aligned,
    Scaling,
    Views,
    When,
    as_views,
    as_when,
    check_overlap,
    check_scaled,
    check_training_columns,
    match_views,
)
from ..errors import DataError, OptionError
from ..fitted import Positions
from ..fitted.adjustment import Adjustment
from ..fitted.candidates import Candidates
from ..fitted.explain import mean_slopes, variance_explained, variance_explained_by
from ..fitted.findings import divided
from ..fitted.segmentation import ACTIVE_THRESHOLD, Segmentation, segment
from ..fitted.stability import Stability, assess_stability
from .candidates import predict_candidates
from .fitted_model import MIN_SAMPLES, FittedModel, in_units, keyword_options, refuse_both
from .naming import (
    Names,
    by_view,
    check_views,
    known_views,
    listed,
    places_of,
    refuse_second_view,
)


class NewSamples(NamedTuple):
    """Views of new samples, the same scaled, and when they were seen (if that is known)."""

    found: Aligned
    scaled: list[Float[np.ndarray, "N _"]]
    when: When | None


@dataclass(frozen=True)
class Modes:
    """Predictions of one view as a mixture, the most probable mode first.

    Attributes
    ----------
    weights : ndarray of shape (n_rows, n_modes)
        Of the modes; they add up to one.
    means, stds : ndarray of shape (n_rows, n_modes, n_columns)
        Of each column in each mode.
    """

    weights: Float[np.ndarray, "N S"]
    means: Float[np.ndarray, "N S D"]
    stds: Float[np.ndarray, "N S D"]


class ViewsModel(FittedModel):
    """A model of several named views: any of them from any other."""

    view_names_: tuple[str, ...]
    columns_: tuple[list[Any], ...]
    samples_: list[Any]
    labelled_: bool
    scalings_: tuple[Scaling, ...]
    align: str
    scaling: str | dict[str, str]
    split_columns: bool = False

    def fit(self, views: Any, y: Any = None) -> Any:
        """Fit to a dict or list of tables, a MuData object, or a single table; NaN is missing."""
        raise NotImplementedError

    def fit_transform(self, views: Any, y: Any = None, **times: Any) -> Float[np.ndarray, "N Q"]:
        """Fit the model and return the latent means of the training samples."""
        return self.fit(views, y, **times).latent_mean_

    # ------------------------------------------------------------------ who uses what

    @property
    def relevance_(self) -> pd.DataFrame:
        """Views x dimensions, normalised to a maximum of one per view."""
        check_is_fitted(self)
        return pd.DataFrame(self.engine_.relevance, index=list(self.view_names_))

    def training_data(self) -> dict[str, pd.DataFrame]:
        """The views the model was fitted to, NaN where a value was missing."""
        check_is_fitted(self)
        found = self._training_views()
        parts = zip(found.names, found.tables, found.columns, strict=True)
        return {
            name: pd.DataFrame(table, index=found.samples, columns=columns)
            for name, table, columns in parts
        }

    def latent_posterior(self) -> pd.DataFrame:
        """Mean and std of every training sample's latent position."""
        check_is_fitted(self)
        parts = {"mean": self.latent_mean_, "std": self.latent_std_}
        frames = {name: pd.DataFrame(part, index=self.samples_) for name, part in parts.items()}
        return pd.concat(frames, axis=1, names=["moment", "dimension"])

    def latent_by_view(self) -> dict[str, Float[np.ndarray, "N Q"]]:
        """Latent positions of the training samples inferred from each view alone [Leen08, §3.4.2].

        NaN where a sample lacks the view. Views that agree about a sample place it alike, so
        correlations between these positions measure what the views share.
        """
        check_is_fitted(self)
        data, places = self.engine_.data, {}
        for place, name in enumerate(self.view_names_):
            rows = [np.full_like(Y, np.nan) for Y in data]
            rows[place] = data[place]
            there = ~np.isnan(rows[place]).all(axis=1)
            x = np.full_like(self.latent_mean_, np.nan)
            x[there] = self._infer([Y[there] for Y in rows]).likeliest().mean
            places[name] = x
        return places

    def segment(self, a: Names, b: Names, threshold: float = ACTIVE_THRESHOLD) -> Segmentation:
        """Divide the dimensions between two sets of views: shared, private to each, unused."""
        check_is_fitted(self)
        return segment(self.engine_.relevance, self._places(a), self._places(b), threshold)

    def shared(self, *views: str, threshold: float = ACTIVE_THRESHOLD) -> list[int]:
        """Dimensions that all the named views use (by default, all views of the model)."""
        check_is_fitted(self)
        places = self._places(views or self.view_names_)
        return np.flatnonzero((self.engine_.relevance[places] > threshold).all(axis=0)).tolist()

    def private(self, view: Names, threshold: float = ACTIVE_THRESHOLD) -> list[int]:
        """Dimensions that a view (or a set of views) uses and no other does."""
        check_is_fitted(self)
        others = [name for name in self.view_names_ if name not in listed(view)]
        return self.segment(view, others, threshold).private_a

    def variance_explained(self, kind: str = "lost") -> pd.DataFrame:
        """Share of each view's variance by dimension, and in total.

        ``kind="lost"`` is the share lost if the dimension is unknown and all others are known;
        ``"alone"`` is what it explains by itself. For the definition see
        `manyviews.fitted.explain.variance_explained`.
        """
        check_is_fitted(self)
        found = [variance_explained(self._engine, k, kind) for k in range(len(self.view_names_))]
        columns = [*range(len(found[0][0])), "total"]
        rows = [[*shares, total] for shares, total in found]
        return pd.DataFrame(rows, index=list(self.view_names_), columns=columns)

    def variance_divided(self) -> pd.DataFrame:
        """Shares of each view's variance by who shares the dimensions; they add up to the total.

        Columns "shared by all", "shared by some", "private" and "total". What shared and private
        dimensions explain only together is divided equally between them; see
        `fitted.explain.variance_divided`.
        """
        check_is_fitted(self)
        return pd.DataFrame.from_dict(divided(self), orient="index")

    def stability(self, n_rows: int = 200) -> Stability:
        """How sure the number of shared dimensions is, from restarts and samples left out.

        Each view alone places samples that its maps are made to forget; views that share a
        dimension put them in the same place. q(X) of the other samples, kernels and noise are
        held, so this costs seconds and not another fit. It is remembered until the next fit.

        Parameters
        ----------
        n_rows : int, default=200
            The most samples to leave out, in five folds. 0: restarts and the positions only.

        Returns
        -------
        Stability
            ``count`` is the number in words ("2", "at least 1, perhaps 2"), ``reasons()`` says
            why. See `fitted.stability`.
        """
        check_is_fitted(self)
        known = self.__dict__.setdefault("_stabilities", {})
        if n_rows not in known:
            known[n_rows] = assess_stability(
                self.engine_, self.fit_info_, n_rows, self._inference(), self.when_ is not None
            )
        return known[n_rows]

    def _stability(self) -> Stability | None:
        return self.stability() if len(self.view_names_) > 1 else None

    def _known_stability(self) -> Stability | None:
        return next(iter(getattr(self, "_stabilities", {}).values()), None)

    def variance_explained_by(self, dimensions: Sequence[int]) -> pd.Series:
        """Share of each view's variance that a set of dimensions explains, others unknown."""
        check_is_fitted(self)
        chosen = [self._dimension(d) for d in dimensions]
        places = range(len(self.view_names_))
        shares = [variance_explained_by(self._engine, place, chosen) for place in places]
        return pd.Series(shares, index=list(self.view_names_))

    def sensitivity(self, view: str, signed: bool = False) -> pd.DataFrame:
        """Columns x dimensions: how far a column moves per standard deviation of a dimension.

        In the units of the data: the root mean square of the slopes at the training samples, for a
        linear map absolute loadings. With ``signed``, the mean of the slopes, for a linear map
        the loadings: near zero for a column that goes up and then down.
        """
        check_is_fitted(self)
        (place,) = self._places(view)
        moves = mean_slopes(self._engine, place) if signed else self._engine.slopes(place)
        scaled = moves * self.scalings_[place].scale[:, None]
        return pd.DataFrame(scaled, index=self.columns_[place])

    # ------------------------------------------------------------------ new samples

    def transform(
        self, views: Any, *, times: Any = None, sequences: Any = None, return_std: bool = False,
        **how: Any,
    ) -> Any:  # fmt: skip
        """Latent means (and std) of new samples from the views that they have.

        For ``times``, ``sequences``, ``coupled``, ``flow_weight`` and ``augmented`` see
        `BayesianGPLVM.transform`.
        """
        new = self._new(views, times, sequences)
        q = self._infer(new.scaled, new.when, how=how).likeliest()
        mean, std = self._named_output(q, new.found)
        return (mean, std) if return_std else mean

    def predict(
        self,
        views: Any,
        target: Names | None = None,
        *,
        times: Any = None,
        sequences: Any = None,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
        **how: Any,
    ) -> Any:
        """Predict views of new samples from the views (and columns) that are known.

        Parameters
        ----------
        views : dict, list with None for what is wanted, MuData
            Known views of new samples; NaN is missing.
        target : str or list of str, optional
            Views to predict. Default: those not given (all, if all are given).
        times, sequences
            For models fitted with time stamps; see `BayesianGPLVM.transform`.
        return_std, return_cov, n_samples
            Return the mean alone; mean and standard deviation; mean and covariance of each row's
            values; or draws of shape (n_samples, n_rows, n_columns). Noise is included.
        random_state : int, RandomState or None, default=None
            Seed of the draws.
        **how
            Options of the model for new samples; see its Notes.

        Returns
        -------
        result, or dict of results by view
            For the target; a dict if ``target`` is a list or None.
        """
        new = self._new(views, times, sequences)
        targets = self._targets(target, new.found)
        places = self._places(targets)
        q, adjust = self._asked(new, places, how)
        if n_samples is not None:
            refuse_both(return_std, return_cov)
            drawn = self._draws(places, q, n_samples, self._rng(random_state), adjust)
            answers = dict(zip(targets, drawn, strict=True))
        else:
            answers = {
                name: self._like(
                    new.found, name, self._moments(place, q, return_std, return_cov, each)
                )
                for name, place, each in zip(targets, places, adjust, strict=True)
            }
        return answers[targets[0]] if isinstance(target, str) else answers

    def predict_quantiles(
        self,
        views: Any,
        target: str,
        probabilities: Sequence[float] = (0.05, 0.5, 0.95),
        *,
        times: Any = None,
        sequences: Any = None,
        random_state: Any = None,
        **how: Any,
    ) -> Float[np.ndarray, "P N D"]:
        """Predictive quantiles of a view, noise included.

        The 5 % and 95 % quantiles bound a 90 % interval for any kind of data.
        """
        new = self._new(views, times, sequences)
        (place,) = self._places(target)
        q, (adjust,) = self._asked(new, [place], how)
        found = self._engine.quantiles(place, q, list(probabilities), self._rng(random_state))
        return self.scalings_[place].undo(found if adjust is None else adjust.values(found))

    def predict_proba(
        self, views: Any, target: str, *, times: Any = None, sequences: Any = None, **how: Any
    ) -> dict[Any, pd.DataFrame]:
        """Predict probabilities of the levels of a view: a table (samples x levels) by column.

        In a view of mixed kinds, of the columns that have levels.
        """
        new = self._new(views, times, sequences)
        (place,) = self._places(target)
        q, _ = self._asked(new, [place], how)
        found, levels = self.engine_.probabilities(place, q), self.engine_.levels(place)
        assert levels is not None
        return {
            name: pd.DataFrame(found[:, d, known], index=new.found.samples, columns=own[known])
            for d, (name, own) in enumerate(zip(self.columns_[place], levels, strict=True))
            for known in [~np.isnan(own)]
            if known.any()
        }

    def predict_modes(
        self, views: Any, target: str, *, times: Any = None, sequences: Any = None,
        n_modes: int = 5, **how: Any,
    ) -> Modes:  # fmt: skip
        """Predict a view as a mixture of distinct answers, with their weights.

        Where several latent positions explain the known views, each optimum of the bound gives a
        mode with a weight proportional to exp(bound).
        """
        new = self._new(views, times, sequences)
        (place,) = self._places(self._targets(target, new.found))
        if "n_modes" in keyword_options(self.engine_.infer):
            how["n_modes"] = n_modes
        q, (adjust,) = self._asked(new, [place], how)
        weights, means, variances = self.engine_.modes(place, q, n_modes)
        stds = np.sqrt(variances)
        if adjust is not None:
            means, stds = adjust.parts(means), stds * adjust.stretch[:, None]
        scaling = self.scalings_[place]
        return Modes(weights, in_units(scaling, means, None), scaling.undo_std(stds))

    def predict_candidates(
        self, views: Any, target: str, n_candidates: int = 5, *, n_neighbours: int | None = None,
        blend: bool = False, times: Any = None, sequences: Any = None, **how: Any,
    ) -> Candidates:  # fmt: skip
        """Predict a view as alternatives, each from training samples [MRD21, Algorithm 1].

        The known views say where a sample is in the dimensions that they share with the wanted
        view. For each of the training samples that are nearest there, its private dimensions are
        taken and an output is generated. Where known views leave several answers, as a
        silhouette does of a pose, these are answers that occurred.

        Parameters
        ----------
        views
            Known views of new samples; NaN is missing.
        target : str
            The view to predict, of which nothing is given.
        n_candidates : int, default=5
            How many alternatives to return for each sample.
        n_neighbours : int, optional
            Training samples to take private dimensions from; samples that lack the wanted view do
            not count. By default as many as candidates. With more, neighbours whose outputs are
            alike are one candidate (Ward's clusters): the output of the most probable of them,
            with the weight of all. With ``n_modes``, so many for every mode.
        blend : bool, default=False
            Whether all dimensions lie between the neighbour's and those inferred, by the
            relevance that they have for the known views, instead of only the private ones being
            replaced.
        times, sequences
            For models fitted with time stamps; see `BayesianGPLVM.transform`.
        **how
            Options of the model for new samples; see its Notes.

        Returns
        -------
        Candidates
            Weights, means, standard deviations, and the training samples that they come from.
            Weights are the density of the inferred position around each neighbour in the shared
            dimensions, smoothed by Scott's bandwidth. What is private has the neighbour's own
            uncertainty; the paper keeps that of the new sample, which is the prior's and makes
            candidates alike.
        """
        return predict_candidates(
            self, self._new(views, times, sequences), target, n_candidates, n_neighbours, blend, how
        )

    def _asked(
        self, new: NewSamples, places: Sequence[int], how: dict[str, Any]
    ) -> tuple[Positions, list[Adjustment | None]]:
        """Where new samples are, and how the answers about the wanted views are corrected."""
        q = self._infer(new.scaled, new.when, places, how)
        return q, [self._adjustment(place, new, q, places, how) for place in places]

    def _adjustment(
        self, place: int, new: NewSamples, q: Positions, places: Sequence[int], how: dict[str, Any]
    ) -> Adjustment | None:
        """The correction of one view's answers, for models that have learnt one."""
        return None

    def score_samples(
        self, views: Any, *, times: Any = None, sequences: Any = None, **how: Any
    ) -> Float[np.ndarray, " N"]:
        """Log density of each new sample's observed values, in the units of the data.

        Of variational models an approximation; see `BayesianGPLVM.score_samples`.
        """
        new = self._new(views, times, sequences)
        return self._densities(new.scaled, new.when, how)

    def score(
        self, views: Any, y: Any = None, *, times: Any = None, sequences: Any = None
    ) -> float:
        """Mean of `score_samples()`: higher is better."""
        return float(np.mean(self.score_samples(views, times=times, sequences=sequences)))

    def impute(
        self, views: Any = None, *, times: Any = None, sequences: Any = None,
        return_std: bool = False, **how: Any,
    ) -> Any:  # fmt: skip
        """Fill missing values of the training samples (``views=None``) or of new samples.

        Observed values are returned as they are, with a std of zero. Values of views with levels
        (yes or no, ordered or not) are filled with the most probable level, others with their mean;
        the std is that of the value around its mean. Variational models of samples
        without times have calibrated intervals for Gaussian views: see
        `manyviews.variational.forgetting.imputation_widths`.
        """
        check_is_fitted(self)
        if views is None:
            found, scaled = self._training_views(), self.engine_.data
            q = self._trained()
        else:
            new = self._new(views, times, sequences)
            found, scaled = new.found, tuple(new.scaled)
            q = self._infer(scaled, new.when, how=how)
        filled, stds = {}, {}
        for place, (name, table) in enumerate(zip(found.names, found.tables, strict=True)):
            table = table[:, : len(self.columns_[place])]  # not what came beside it
            mean, std = self._filled(place, scaled, q, return_std)
            missing = np.isnan(table)
            filled[name] = self._like(found, name, np.where(missing, mean, table))
            if std is not None:
                stds[name] = self._like(found, name, np.where(missing, std, 0.0))
        return (filled, stds) if return_std else filled

    def correspondences(
        self,
        views: Any = None,
        to: Names | None = None,
        k: int = 6,
        *,
        of: Names | None = None,
        times: Any = None,
        sequences: Any = None,
    ) -> tuple[np.ndarray, Float[np.ndarray, "N K"]]:
        """Training samples nearest to given ones in the shared dimensions [MRD21, §5.2].

        Parameters
        ----------
        views : optional
            New samples; by default the training samples themselves.
        to : str or list of str, optional
            The views to find correspondences in. Default: those not given.
        of : str or list of str, optional
            For training samples: the views they are seen through. Default: all but ``to``.

        Returns
        -------
        names, distances
            For every sample the k nearest training samples, and their distances.
        """
        check_is_fitted(self)
        if views is None:
            if to is None:
                raise OptionError("name the view to find correspondences in: to='...'")
            known = listed(of) or [n for n in self.view_names_ if n not in listed(to)]
            wanted, q = listed(to), self.engine_.positions
        else:
            new = self._new(views, times, sequences)
            known, wanted = known_views(new.found), self._targets(to, new.found)
            q = self._infer(new.scaled, new.when)
        shared = self.engine_.common(self._places(known), self._places(wanted))
        if not shared or q.cluster is not None:
            raise OptionError(f"{known} and {wanted} share no dimension: nothing corresponds")
        there = self.latent_mean_[:, shared]
        from sklearn.neighbors import NearestNeighbors  # slow to import

        search = NearestNeighbors(n_neighbors=min(k, len(there))).fit(there)
        distance, index = search.kneighbors(q.likeliest().mean[:, shared])
        return np.asarray(self.samples_, dtype=object if self.labelled_ else None)[index], distance

    def forecast(
        self,
        times: Any,
        view: Names | None = None,
        sequence: Any = None,
        *,
        return_std: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Predict views at other times of a training sequence, from time stamps [BGPLVM16, §4.2].

        Times may be before, between or after those of the training samples. ``n_samples`` returns
        trajectories of shape (n_samples, n_times, n_columns), all views from common latent paths
        that are drawn jointly over time.
        """
        places = self._places(listed(view) or self.view_names_)
        found = self._forecast(places, times, sequence, return_std, n_samples, random_state)
        return self._by_name(view, found)

    # ------------------------------------------------------------------ from the latent space

    def inverse_transform(
        self, X: Any, view: Names | None = None, latent_std: Any = None, *, return_std: bool = False
    ) -> Any:
        """Predict views at given latent positions, which may be uncertain (``latent_std``)."""
        q = self._at(X, latent_std)
        places = self._places(listed(view) or self.view_names_)
        return self._by_name(view, [self._moments(p, q, return_std, False) for p in places])

    def traverse(
        self, dimension: int, view: Names | None = None, *, at: Any = None, steps: int = 9,
        span: float | None = None,
    ) -> Any:  # fmt: skip
        """Predict views along one latent dimension, with the others held [MRD21, figure 10].

        Parameters
        ----------
        at : sample name or latent position, optional
            Position of the other dimensions. Default: the sample nearest to the centre.
        span : float, optional
            Half the length of the traversal. Default: the range of the training samples.
        """
        base = self._place_of(at)
        values = self.latent_mean_[:, self._dimension(dimension)]
        ends = (values.min(), values.max())
        if span is not None:
            ends = (base[dimension] - span, base[dimension] + span)
        X = np.tile(base, (steps, 1))
        X[:, dimension] = np.linspace(*ends, steps)
        return self.inverse_transform(X, view)

    def interpolate(
        self, start: Any, end: Any, view: Names | None = None, *, steps: int = 9,
        dimensions: Sequence[int] | None = None,
    ) -> Any:  # fmt: skip
        """Predict views along the line between two samples or positions, or in some dimensions."""
        a, b = self._place_of(start), self._place_of(end)
        move = np.ones_like(a) if dimensions is None else np.zeros_like(a)
        if dimensions is not None:
            move[[self._dimension(d) for d in dimensions]] = 1.0
        return self.inverse_transform(a + np.linspace(0, 1, steps)[:, None] * move * (b - a), view)

    def sample(
        self, n_samples: int = 1, view: Names | None = None, *, latent: str = "prior",
        fixed: dict[int, float] | None = None, random_state: Any = None,
    ) -> Any:  # fmt: skip
        """Draw new samples of all views (or some) from common latent positions.

        Parameters
        ----------
        latent : {"prior", "posterior"}
            Draw x from its prior, or from the posteriors of training samples.
        fixed : dict, optional
            Dimensions held at values, e.g. the shared ones of a sample, so that only the
            private ones vary.
        """
        check_is_fitted(self)
        rng = self._rng(random_state)
        q = self._source(n_samples, latent, rng)
        if q.cluster is None:
            x = q.draw(1, rng)[0]
            for dimension, value in (fixed or {}).items():
                x[:, self._dimension(dimension)] = value
            q = Positions.known(x)
        elif fixed:
            raise OptionError("dimensions of different clusters cannot be held together")
        places = self._places(listed(view) or self.view_names_)
        return self._by_name(view, [values[0] for values in self._draws(places, q, 1, rng)])

    def sample_private(
        self, view: str, at: Any, n_samples: int = 9, *, random_state: Any = None
    ) -> Float[np.ndarray, "K D"]:
        """Draw a view with its shared dimensions held at a sample and its private ones free."""
        place = self._place_of(at)
        held = [d for d in range(place.size) if d not in self.private(view)]
        fixed = {d: float(place[d]) for d in held}
        return self.sample(
            n_samples, view, latent="posterior", fixed=fixed, random_state=random_state
        )

    def _incoherence(self) -> str:
        if "engine_" not in vars(self):
            return ""
        n_views = len(self.engine_.data)
        if not len(self.view_names_) == len(self.columns_) == n_views:
            return f"it names {len(self.view_names_)} views of {n_views}"
        sizes = [len(scaling.scale) for scaling in self.scalings_]
        if [len(columns) for columns in self.columns_] != sizes:
            return "it does not name every column"
        return super()._incoherence()

    # ------------------------------------------------------------------ what transform returns

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``transform`` returns, as in scikit-learn: "pandas" or "default"."""
        if transform not in {None, "default", "pandas"}:
            raise OptionError(f"transform must be 'default' or 'pandas', got {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the latent dimensions."""
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}{d}" for d in range(self.latent_mean_.shape[1])], dtype=object)

    def _named_output(self, q: Positions, found: Aligned) -> tuple[Any, Any]:
        """Latent moments as arrays, or as DataFrames if the user has asked for them."""
        asked = getattr(self, "_sklearn_output_config", {}).get("transform")
        if (asked or sklearn.get_config()["transform_output"]) != "pandas":
            return q.mean, q.std
        names: Any = {"index": found.samples, "columns": self.get_feature_names_out()}
        return pd.DataFrame(q.mean, **names), pd.DataFrame(q.std, **names)

    # ------------------------------------------------------------------ edges

    @property
    def _scalings(self) -> tuple[Scaling, ...]:
        return self.scalings_

    def _prepare(
        self, views: Any, times: Any = None, sequences: Any = None, y: Any = None
    ) -> list[np.ndarray]:
        """Check the options and the training views, keep their names; return them scaled."""
        self._check_options()
        refuse_second_view(y)
        times, sequences = carried(views, times, sequences)
        found = as_views(views, self.align)
        check_overlap(found, timed=times is not None or sequences is not None)
        self.given_names_, self.given_columns_ = found.names, found.columns
        found = self._take_kinds(found.one_per_column() if self.split_columns else found)
        if len(found.samples) < MIN_SAMPLES:
            raise DataError(f"at least {MIN_SAMPLES} samples are needed, got {len(found.samples)}")
        timed = times is not None or sequences is not None
        self.when_ = as_when(times, sequences, found.samples) if timed else None
        check_views(found, empty_rows=timed)
        for name, table, columns in zip(found.names, found.tables, found.columns, strict=True):
            check_training_columns(table[:, : len(columns)], name, columns)
        self.view_names_, self.columns_ = found.names, found.columns
        self.samples_, self.labelled_ = found.samples, found.labelled
        choices = self._scaling_choices()
        self.scalings_ = tuple(
            Scaling.fit(table[:, : len(columns)], choice)
            for table, columns, choice in zip(found.tables, found.columns, choices, strict=True)
        )
        return self._scaled(found, training=True)

    def _scaling_choices(self) -> list[Any]:
        """How each view is scaled."""
        return self._by_view(self.scaling, "scaling", "view")

    def _take_kinds(self, found: Aligned) -> Aligned:
        """Settle what kind of data training views are; tables that come with a view join it."""
        return found

    def _of_kinds(self, found: Aligned) -> Aligned:
        """Check that new views are of these kinds; tables that come with a view join it."""
        return found

    def _new(self, views: Any, times: Any = None, sequences: Any = None) -> NewSamples:
        check_is_fitted(self)
        found = match_views(views, self.given_names_, self.given_columns_, self.align)
        found = self._of_kinds(found.one_per_column() if self.split_columns else found)
        when = self._when(*carried(views, times, sequences), found.samples)
        check_views(found, empty_rows=when is not None)
        return NewSamples(found, self._scaled(found), when)

    def _scaled(self, found: Aligned, training: bool = False) -> list[Float[np.ndarray, "N _"]]:
        scaled = []
        parts = zip(self.scalings_, found.names, found.tables, found.columns, strict=True)
        for scaling, name, table, columns in parts:
            own, beside = np.split(table, [len(columns)], axis=1)
            values = scaling.apply(own)
            check_scaled(values, name, columns, found.samples, training=training)
            scaled.append(np.concatenate([values, beside], axis=1))
        return scaled

    def _training_views(self) -> Aligned:
        """The training views as they came, from what is kept of them."""
        parts = zip(self.scalings_, self.engine_.data, self.columns_, strict=True)
        tables = tuple(s.undo(Y[:, : len(columns)]) for s, Y, columns in parts)
        return Aligned(self.view_names_, tables, self.columns_, self.samples_, bool(self.labelled_))

    def _by_view(self, option: Any, name: str, default: Any) -> list[Any]:
        return by_view(option, name, default, self.view_names_)

    def _places(self, names: Names) -> list[int]:
        check_is_fitted(self)
        return places_of(names, self.view_names_)

    def _targets(self, target: Names | None, found: Aligned) -> list[str]:
        if target is not None:
            self._places(target)
            return listed(target)
        known = known_views(found)
        return [name for name in found.names if name not in known] or list(found.names)

    def _by_name(self, view: Names | None, answers: Sequence[Any]) -> Any:
        """The answer for one view, or a dict of them."""
        names = listed(view) or list(self.view_names_)
        return answers[0] if isinstance(view, str) else dict(zip(names, answers, strict=True))

    def _like(self, found: Aligned, name: str, answer: Any) -> Any:
        """Tables come back as DataFrames where rows came with names."""
        if isinstance(answer, tuple):
            return tuple(self._like(found, name, part) for part in answer)
        if found.labelled and answer.ndim == 2:
            columns = self.columns_[self.view_names_.index(name)]
            return pd.DataFrame(answer, index=found.samples, columns=columns)
        return answer

    def _place_of(self, at: Any) -> Float[np.ndarray, " Q"]:
        """The latent position of a sample's name, of the central sample, or as given."""
        check_is_fitted(self)
        X = self.latent_mean_
        if at is None:
            spread = np.maximum(X.std(axis=0), 1e-12)
            return X[np.argmin(np.sum(((X - X.mean(axis=0)) / spread) ** 2, axis=1))]
        if np.ndim(at) == 0:
            if at not in self.samples_:
                raise DataError(f"there is no training sample {at!r}")
            return X[self.samples_.index(at)]
        return self._at(np.asarray(at, dtype=np.float64)[None]).mean[0]

    def _dimension(self, dimension: int) -> int:
        if not 0 <= dimension < self.latent_mean_.shape[1]:
            raise OptionError(
                f"dimension must be from 0 to {self.latent_mean_.shape[1] - 1}, got {dimension}"
            )
        return dimension


def carried(views: Any, times: Any, sequences: Any) -> tuple[Any, Any]:
    """Times and sequences as given or, where none are, as the container of the views has them."""
    if times is None and sequences is None and isinstance(views, Views):
        return views.times, views.sequences
    return times, sequences

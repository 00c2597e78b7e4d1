"""Variational models of several views: variance explained, new samples, imputation, forecasts."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import Views, When
from ..inference.new_points import NewPoints
from .base import VariationalEstimator
from .named_tables import Names, check_views, listed
from .named_views import NamedViews


class NewSamples(NamedTuple):
    """Views of new samples, the same scaled, and when they were seen (if that is known)."""

    found: Views
    scaled: list[Float[np.ndarray, "N _"]]
    when: When | None


class MultiViewEstimator(NamedViews, VariationalEstimator):
    """A fitted core with a name, columns and a scaling for every view."""

    evidence_power: float | str | dict[str, float | str]

    # ------------------------------------------------------------------ new samples

    def transform(
        self,
        views: Any,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        return_std: bool = False,
    ) -> Any:
        """Latent means (and std) of new samples from whatever views they have.

        For ``times``, ``sequences`` and ``coupled`` see :meth:`BayesianGPLVM.transform`.
        """
        new = self._new(views, times, sequences)
        q = self._locate(new, coupled=coupled).q
        mean, std = self._named_output(np.array(q.mean), np.sqrt(np.array(q.variance)), new.found)
        return (mean, std) if return_std else mean

    def score_samples(
        self, views: Any, *, times: Any = None, sequences: Any = None, method: str = "auto"
    ) -> Float[np.ndarray, " N"]:
        """Approximate log density of each new sample's observed values (002 eq. 36)."""
        new = self._new(views, times, sequences)
        return self._score_rows(new.scaled, method, new.when)

    def score(
        self, views: Any, y: Any = None, *, times: Any = None, sequences: Any = None
    ) -> float:
        """Mean of :meth:`score_samples`: higher is better."""
        return float(np.mean(self.score_samples(views, times=times, sequences=sequences)))

    def impute(
        self,
        views: Any = None,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        return_std: bool = False,
    ) -> Any:
        """All views with their holes filled, of the training samples or of new ones.

        Observed values are returned as they are, with a std of zero.
        """
        check_is_fitted(self)
        if views is None:
            found, q = self._training_views(), self.core_.marginals()
        else:
            new = self._new(views, times, sequences)
            found, q = new.found, self._locate(new, coupled=coupled).q
        filled, stds = {}, {}
        for place, (name, table) in enumerate(zip(found.names, found.tables, strict=True)):
            mean, std = self._outputs(place, q, True, False, None, None)
            missing = np.isnan(table)
            filled[name] = self._like(found, name, np.where(missing, mean, table))
            stds[name] = self._like(found, name, np.where(missing, std, 0.0))
        return (filled, stds) if return_std else filled

    # ------------------------------------------------------------------ edges

    def _new(self, views: Any, times: Any = None, sequences: Any = None) -> NewSamples:
        found = self._read_new(views)
        when = self._new_times(times, sequences, found.samples)
        check_views(found, empty_rows=when is not None)
        return NewSamples(found, self._scaled(found), when)

    def _locate(
        self, new: NewSamples, n_modes: int | None = None, coupled: bool = True
    ) -> NewPoints:
        """q(x*), each view's evidence at the power the user gave it."""
        asked = self._by_view(self.evidence_power, "evidence_power", 1.0)
        powers = self._powers(asked, new.when is not None)
        return self._infer(new.scaled, n_modes, powers, new.when, coupled, self.flow_weight)

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
        """Views at other times of a training sequence, from the time stamps alone (002 §4.2).

        Before, between or after the training samples. With ``n_samples``, trajectories of shape
        (n_samples, n_times, n_columns) whose latent paths are drawn jointly over time, and
        from which all views are drawn.
        """
        names = listed(view) or list(self.view_names_)
        places = self._places(names)
        found = self._forecast(places, times, sequence, return_std, n_samples, random_state)
        answers = dict(zip(names, found, strict=True))
        return answers[view] if isinstance(view, str) else answers

    def _draw_positions(
        self, n_samples: int, latent: str, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S Q"]:
        q = self._draw_latent(n_samples, latent, rng)
        return np.array(q.mean) + np.sqrt(np.array(q.variance)) * rng.standard_normal(q.mean.shape)

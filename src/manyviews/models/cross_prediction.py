"""Predicting some views from others, with what stays ambiguous (000 §4.3)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..errors import OptionError
from .cross_view import TREATMENTS, Mixture, as_mixture, fill_private, neighbours
from .multiview import MultiViewEstimator, NewSamples
from .named_tables import Names, listed


@dataclass(frozen=True)
class Modes:
    """Predictions of one view as a mixture, the likeliest mode first.

    Attributes
    ----------
    weights : ndarray of shape (n_rows, n_modes)
    means, stds : ndarray of shape (n_rows, n_modes, n_columns)
    """

    weights: Float[np.ndarray, "N S"]
    means: Float[np.ndarray, "N S D"]
    stds: Float[np.ndarray, "N S D"]


class CrossPrediction(MultiViewEstimator):
    """Any set of views from any other."""

    def predict(
        self,
        views: Any,
        target: Names | None = None,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        private: str = "posterior",
        n_modes: int = 1,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Predict views of new samples from the views (and columns) that are known.

        Parameters
        ----------
        views : dict, list with None for what is wanted, MuData
        target : str or list of str, optional
            Views to predict. Default: those not given (all, if all are given).
        times, sequences, coupled
            For models fitted with time stamps; see :meth:`BayesianGPLVM.transform`. Modes are
            then whole paths.
        private : {"posterior", "nearest", "blend", "conditional"}, default="posterior"
            Where the dimensions come from that the known views do not inform: from the
            posterior, which is their prior; from the training sample nearest in the shared
            dimensions (sharper, 000 Algorithm 1); from a blend of the two by relevance; or
            from all training samples near in the shared dimensions, as a mixture.
        n_modes : int, default=1
            With more, q(x*) is a mixture of up to so many optima found: what the known views
            leave ambiguous shows in the std and in the draws. See :meth:`predict_modes`.
        return_std, return_cov, n_samples
            As in :meth:`BayesianGPLVM.predict`; observation noise is included.

        Returns
        -------
        The result for the target, or a dict of them by view if ``target`` is a list or None.
        """
        new = self._new(views, times, sequences)
        found, targets = new.found, self._targets(target, new.found)
        mixture = self._mixture(new, targets, private, n_modes, coupled)
        rng = self._rng(random_state)
        answers: dict[str, Any] = {}
        if n_samples is not None:
            if return_std or return_cov:
                raise OptionError("ask for samples or for moments, not for both")
            x = mixture.draw(n_samples, rng)
            answers = {name: self._draw_at(self._places(name)[0], x, rng) for name in targets}
        else:
            for name in targets:
                answer = self._mixture_moments(name, mixture, return_std, return_cov)
                answers[name] = self._like(found, name, answer)
        return answers[targets[0]] if isinstance(target, str) else answers

    def predict_modes(
        self,
        views: Any,
        target: str,
        *,
        times: Any = None,
        sequences: Any = None,
        n_modes: int = 5,
        private: str = "posterior",
    ) -> Modes:
        """The distinct answers that the known views allow, with their weights.

        One silhouette can mean two poses: the search for x* ends in several optima, and each
        is weighed by exp(bound).
        """
        (place,) = self._places(target)
        mixture = self._mixture(self._new(views, times, sequences), [target], private, n_modes)
        shape = mixture.weights.shape
        mean, std = self._outputs(place, mixture.flat(), True, False, None, None)
        return Modes(mixture.weights, mean.reshape(*shape, -1), std.reshape(*shape, -1))

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
        """Training samples that correspond to given ones in the shared dimensions (000 §5.2).

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
            wanted, q = listed(to), self.core_.marginals()
        else:
            new = self._new(views, times, sequences)
            known, wanted = self._known(new.found), self._targets(to, new.found)
            q = self._locate(new).q
        shared = self._common(known, wanted)
        if not shared:
            raise OptionError(f"{known} and {wanted} share no dimension: nothing corresponds")
        index, distance = neighbours(q, self.core_.marginals(), shared, k)
        return np.asarray(self.samples_, dtype=object if self.labelled_ else None)[index], distance

    def _common(self, known: list[str], wanted: list[str]) -> list[int]:
        """The dimensions in which samples of these views correspond."""
        return self.segment(known, wanted).shared

    def _mixture(
        self,
        new: NewSamples,
        targets: list[str],
        private: str,
        n_modes: int,
        coupled: bool = True,
    ) -> Mixture:
        if private not in TREATMENTS:
            raise OptionError(f"private must be one of {TREATMENTS}, got {private!r}")
        if n_modes < 1:
            raise OptionError(f"n_modes must be at least 1, got {n_modes}")
        points = self._locate(new, n_modes if n_modes > 1 else None, coupled)
        known = self._known(new.found)
        return fill_private(
            as_mixture(points, n_modes),
            self.core_.marginals(),
            self.segment(known, targets),
            self.relevance_values_[self._places(known)].max(axis=0),
            private,
        )

    def _mixture_moments(self, name: str, mixture: Mixture, std: bool, cov: bool) -> Any:
        (place,) = self._places(name)
        if cov:
            means, covariances = self._outputs(place, mixture.flat(), False, True, None, None)
            return mixture.moments(means, None)[0], mixture.covariance(means, covariances)
        answer = self._outputs(place, mixture.flat(), std, False, None, None)
        means, stds = answer if std else (answer, None)
        mean, total = mixture.moments(means, stds)
        return (mean, total) if std else mean

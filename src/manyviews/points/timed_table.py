"""The protocol of one table whose latent points may follow a path over time."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import When
from ..errors import OptionError
from ..inference.point_paths import locate_paths
from ..inference.point_rows import PointRows
from ..latent import Temporal, TimedPoints
from ..latent.timed_points import WANDER
from ..models.direct_table import DirectTable
from ..models.dynamics import Dynamics
from ..models.one_table import row_names
from .positions import Positions

FORECAST_DRAWS = 200  # of a position, for the spread of a forecast


class TimedTable(Dynamics, DirectTable):
    """transform, predict, score, impute and forecast with time stamps."""

    n_starts: int

    if TYPE_CHECKING:

        def _moments(self, view: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...

    def transform(
        self,
        X: Any,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        return_std: bool = False,
    ) -> Any:
        """Most probable latent points of new rows (and their std, by Laplace's approximation).

        Parameters
        ----------
        times, sequences : array-like, optional
            For models fitted with time stamps: those of the new rows. Rows of one sequence are
            placed together, and with the training rows if it is a training sequence. Without
            ``sequences`` rows belong to the training sequence if there was but one, without a name,
            else to a new one. Rows without any value are then allowed.
        coupled : bool, default=True
            False places rows one by one, given the training rows: faster, less smooth.
        """
        q = self._placed(X, times, sequences, coupled)[1]
        return (q.mean, np.sqrt(q.variance)) if return_std else q.mean

    def score_samples(
        self, X: Any, *, times: Any = None, sequences: Any = None
    ) -> Float[np.ndarray, " N"]:
        """Log density of every row's observed values, by Laplace's approximation.

        With time stamps: of every row by itself, given the training points of its sequence.
        """
        if times is None and sequences is None:
            return super().score_samples(X)
        scaled, when = self._timed(X, times, sequences)
        return self._along(scaled, when, False).log_density - self.scaling_.log_jacobian(scaled)

    def score(self, X: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> float:
        """Mean of :meth:`score_samples`: higher is better."""
        return float(np.mean(self.score_samples(X, times=times, sequences=sequences)))

    def predict(
        self,
        X: Any,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Complete rows given partly observed ones: find x*, then predict every column.

        Returns the mean; ``(mean, std)`` or ``(mean, covariance)`` on request; or, with
        ``n_samples``, draws of shape (n_samples, n_rows, n_features). Noise is included. For
        ``times``, ``sequences`` and ``coupled`` see :meth:`transform`.
        """
        q = self._placed(X, times, sequences, coupled)[1]
        return self._like(X, self._outputs(0, q, return_std, return_cov, n_samples, random_state))

    def impute(
        self,
        X: Any = None,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        return_std: bool = False,
    ) -> Any:
        """Fill the holes of the training data (``X=None``) or of new data.

        Observed values are returned as they are, with a std of zero.
        """
        if X is None:
            return super().impute(return_std=return_std)
        scaled, q = self._placed(X, times, sequences, coupled)
        mean, std = self._fill(0, scaled, q)
        return self._filled(X, scaled, mean, std, return_std)

    def forecast(
        self,
        times: Any,
        sequence: Any = None,
        *,
        return_std: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Rows at other times of a training sequence, from the time stamps alone.

        At the expected points. The std has the spread of the points in it, from draws; with
        ``n_samples``, trajectories of shape (n_samples, n_times, n_features).
        """
        rng = self._rng(random_state)
        if n_samples is not None:
            if return_std:
                raise OptionError("ask for samples or for moments, not for both")
            return self._draw_at(0, self._drawn(times, sequence, n_samples, rng), rng)
        mean = self._moments(0, np.array(self._latent_at(times, sequence).mean))[0]
        if not return_std:
            return self.scaling_.undo(mean)
        x = self._drawn(times, sequence, FORECAST_DRAWS, rng)
        means, variances = self._moments(0, x.reshape(-1, x.shape[-1]))
        variance = variances.reshape(*x.shape[:2], -1).mean(axis=0)
        variance = variance + means.reshape(*x.shape[:2], -1).var(axis=0)
        return self.scaling_.undo(mean), self.scaling_.undo_std(np.sqrt(variance))

    def fit_transform(self, X: Any, y: Any = None, **times: Any) -> Any:
        """Fit the model and return the latent points of the training rows."""
        return self.fit(X, y, **times).latent_mean_

    # ------------------------------------------------------------------ edges

    def _placed(
        self, X: Any, times: Any, sequences: Any, coupled: bool
    ) -> tuple[Float[np.ndarray, "N D"], Positions]:
        """The scaled rows and their points."""
        if times is None and sequences is None:
            scaled = self._new(X)
            return scaled, self._infer([scaled])
        scaled, when = self._timed(X, times, sequences)
        found = self._along(scaled, when, coupled)
        return scaled, Positions(found.x, found.covariance)

    def _timed(self, X: Any, times: Any, sequences: Any) -> tuple[Float[np.ndarray, "N D"], When]:
        check_is_fitted(self)
        Y = self._check(X, reset=False, empty_rows=True)
        when = self._new_times(times, sequences, row_names(X, len(Y)))
        assert when is not None
        return self.scaling_.apply(Y), when

    def _along(self, scaled: Float[np.ndarray, "N D"], when: When, coupled: bool) -> PointRows:
        latent = self.core_.model.latent
        assert isinstance(latent, TimedPoints)
        return locate_paths(
            latent, self.core_.posteriors[0], self.core_.data[0], scaled,  # type: ignore[arg-type]
            when.inputs, when.code, coupled=coupled, n_neighbours=self.n_starts,
        )  # fmt: skip

    def _path(self) -> Temporal:
        latent = self.core_.model.latent
        assert isinstance(latent, TimedPoints)
        return latent.placed

    def _drawn(
        self, times: Any, sequence: Any, n_paths: int, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S n Q"]:
        """Paths, and how far points are from them."""
        x = self._paths_at(times, sequence, n_paths, rng)
        return x + np.sqrt(WANDER) * rng.standard_normal(x.shape)

"""The protocol of models of one table: new rows, prediction, imputation, forecasts."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import When
from ..expectations import Gaussian
from .base import VariationalEstimator
from .one_table import OneTable, row_names


class SingleViewEstimator(OneTable, VariationalEstimator):
    """A fitted core with one scaling, and scikit-learn's habits."""

    evidence_power: float | str

    # ------------------------------------------------------- latent positions of new rows

    def transform(
        self,
        X: Any,
        *,
        times: Any = None,
        sequences: Any = None,
        coupled: bool = True,
        return_std: bool = False,
    ) -> Any:
        """Posterior means of the latent positions of new rows (and their std on request).

        Parameters
        ----------
        times, sequences : array-like, optional
            For models fitted with time stamps: those of the new rows. Rows of one sequence are
            inferred jointly, and with the training rows if it is a training sequence. Without
            ``sequences`` rows belong to the training sequence if there was but one, without
            a name, else to a new one. Rows without any value are then allowed.
        coupled : bool, default=True
            False infers rows one by one, given the training rows: faster, less exact.
        """
        q = self._locate(X, times, sequences, coupled)[1]
        if return_std:
            return np.array(q.mean), np.sqrt(np.array(q.variance))
        return np.array(q.mean)

    def score_samples(
        self, X: Any, *, times: Any = None, sequences: Any = None, method: str = "auto"
    ) -> Float[np.ndarray, " N"]:
        """Approximate log p(y* | Y) of every row: F(Y, y*) - F(Y) (002 eq. 36).

        Parameters
        ----------
        method : {"auto", "augmented", "fixed"}
            ``"augmented"`` lets the new row revise q(U), as the equation has it; ``"fixed"``
            keeps q(U) of the training data, which gives a lower number. ``"auto"`` is
            ``"augmented"`` unless scattered missing training values rule it out. Rows with
            time stamps are scored by sequence (``"fixed"``), each with an equal share.
        """
        scaled, when = self._new(X, times, sequences)
        return self._score_rows([scaled], method, when)

    def score(self, X: Any, y: Any = None, *, times: Any = None, sequences: Any = None) -> float:
        """Mean of :meth:`score_samples`: higher is better."""
        return float(np.mean(self.score_samples(X, times=times, sequences=sequences)))

    # ------------------------------------------------------------------ back to the data

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
        """Complete rows given partly observed ones: infer x*, then predict every column.

        Returns the mean; ``(mean, std)`` or ``(mean, covariance)`` on request, covariance
        of shape (n_rows, n_features, n_features); or, with ``n_samples``, draws of shape
        (n_samples, n_rows, n_features). Observation noise is included. For ``times``,
        ``sequences`` and ``coupled`` see :meth:`transform`.
        """
        q = self._locate(X, times, sequences, coupled)[1]
        return self._like(X, self._outputs(0, q, return_std, return_cov, n_samples, random_state))

    def inverse_transform(
        self,
        X: Any,
        latent_std: Any = None,
        *,
        return_std: bool = False,
        return_cov: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Data at given latent positions, with their uncertainty if ``latent_std`` is given.

        The options are those of :meth:`predict`.
        """
        q = self._positions(X, latent_std)
        return self._outputs(0, q, return_std, return_cov, n_samples, random_state)

    def forecast(
        self,
        times: Any,
        sequence: Any = None,
        *,
        return_std: bool = False,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Rows at other times of a training sequence, from the time stamps alone (002 §4.2).

        Before, between or after the training rows. With ``n_samples``, trajectories of shape
        (n_samples, n_times, n_features) whose latent paths are drawn jointly over time.
        """
        return self._forecast([0], times, sequence, return_std, n_samples, random_state)[0]

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
        check_is_fitted(self)
        if X is None:
            scaled, q = self.core_.data[0], self.core_.marginals()
        else:
            scaled, q = self._locate(X, times, sequences, coupled)
        mean, std = self._outputs(0, q, True, False, None, None)
        return self._filled(X, scaled, mean, std, return_std)

    def sample(
        self, n_samples: int = 1, *, latent: str = "prior", random_state: Any = None
    ) -> Float[np.ndarray, "K D"]:
        """Draw new rows: x from the prior (or from the training points' posteriors), then y."""
        check_is_fitted(self)
        rng = self._rng(random_state)
        q = self._draw_latent(n_samples, latent, rng)
        return self._outputs(0, q, False, False, 1, rng)[0]

    # ------------------------------------------------------------------ edges

    def _locate(
        self, X: Any, times: Any, sequences: Any, coupled: bool
    ) -> tuple[Float[np.ndarray, "N D"], Gaussian]:
        """The scaled rows and q(x*)."""
        scaled, when = self._new(X, times, sequences)
        power = self._powers([self.evidence_power], when is not None)
        found = self._infer(
            [scaled], powers=power, when=when, coupled=coupled, flow_weight=self.flow_weight
        )
        return scaled, found.q

    def _new(
        self, X: Any, times: Any = None, sequences: Any = None
    ) -> tuple[Float[np.ndarray, "N D"], When | None]:
        """New rows, scaled, and when they were seen."""
        check_is_fitted(self)
        timed = times is not None or sequences is not None
        Y = self._check(X, reset=False, empty_rows=timed)
        return self.scaling_.apply(Y), self._new_times(times, sequences, row_names(X, len(Y)))

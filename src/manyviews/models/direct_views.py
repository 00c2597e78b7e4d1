"""The protocol of models of several views that answer for new samples directly."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..data import Views
from ..errors import OptionError
from .generation import Generation
from .named_tables import Names, check_views


class DirectViews(Generation):
    """transform, predict, score and impute, the same as of MRD, for linear and MAP models."""

    scaling: str | dict[str, str]

    if TYPE_CHECKING:  # what the estimator's side provides

        def _infer(self, scaled: Any) -> Any: ...
        def _score_rows(self, scaled: Any) -> Float[np.ndarray, " N"]: ...
        def _fill(self, view: int, rows: Any, q: Any) -> tuple[np.ndarray, np.ndarray]: ...
        def fit(self, views: Any, y: Any = None) -> Any: ...

    def transform(self, views: Any, *, return_std: bool = False) -> Any:
        """Latent means (and std) of new samples from whatever views they have."""
        found, scaled = self._new(views)
        q = self._infer(scaled)
        mean, std = self._named_output(q.mean, np.sqrt(q.variance), found)
        return (mean, std) if return_std else mean

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
        """Predict views of new samples from the views (and columns) that are known.

        Parameters
        ----------
        views : dict, list with None for what is wanted, MuData
        target : str or list of str, optional
            Views to predict. Default: those not given (all, if all are given).
        return_std, return_cov, n_samples
            The mean alone; or with the std of every value; or with the covariance of each
            row's values; or draws (n_samples, n_rows, n_columns). Noise is included.

        Returns
        -------
        The result for the target, or a dict of them by view if ``target`` is a list or None.
        """
        found, scaled = self._new(views)
        targets, q = self._targets(target, found), self._infer(scaled)
        answers: dict[str, Any] = {}
        if n_samples is not None:
            if return_std or return_cov:
                raise OptionError("ask for samples or for moments, not for both")
            rng = self._rng(random_state)
            x = q.draw(n_samples, rng)
            answers = {name: self._draw_at(self._places(name)[0], x, rng) for name in targets}
        else:
            for name in targets:
                place = self._places(name)[0]
                answer = self._outputs(place, q, return_std, return_cov, None, None)
                answers[name] = self._like(found, name, answer)
        return answers[targets[0]] if isinstance(target, str) else answers

    def score_samples(self, views: Any) -> Float[np.ndarray, " N"]:
        """Log density of each new sample's observed values."""
        return self._score_rows(self._new(views)[1])

    def score(self, views: Any, y: Any = None) -> float:
        """Mean of :meth:`score_samples`: higher is better."""
        return float(np.mean(self.score_samples(views)))

    def impute(self, views: Any = None, *, return_std: bool = False) -> Any:
        """All views with their holes filled, of the training samples or of new ones.

        Observed values are returned as they are, with a std of zero.
        """
        check_is_fitted(self)
        if views is None:
            found, scaled = self._training_views(), list(self.core_.data)
        else:
            found, scaled = self._new(views)
        q = self._infer(scaled)
        filled, stds = {}, {}
        for place, (name, table) in enumerate(zip(found.names, found.tables, strict=True)):
            mean, std = self._fill(place, scaled[place], q)
            missing = np.isnan(table)
            filled[name] = self._like(found, name, np.where(missing, mean, table))
            stds[name] = self._like(found, name, np.where(missing, std, 0.0))
        return (filled, stds) if return_std else filled

    def fit_transform(self, views: Any, y: Any = None) -> Float[np.ndarray, "N Q"]:
        """Fit the model and return the latent means of the training samples."""
        return self.fit(views).latent_mean_

    # ------------------------------------------------------------------ edges

    def _new(self, views: Any) -> tuple[Views, list[Float[np.ndarray, "N _"]]]:
        found = self._read_new(views)
        check_views(found)
        return found, self._scaled(found)

    def _prepare(self, views: Any) -> list[Float[np.ndarray, "N _"]]:
        """Read, check and scale the training views."""
        self._validate_params()
        return self._take(self._read_training(views))

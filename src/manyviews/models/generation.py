"""Walking in the latent space and drawing from it (000 §5.2)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from .named_tables import Names, listed
from .named_views import NamedViews


class Generation(NamedViews):
    """New data from latent positions, whatever maps them to the views."""

    if TYPE_CHECKING:  # what the mapping's side of the estimator provides

        def _positions(self, X: Any, latent_std: Any = None) -> Any: ...
        def _outputs(
            self, view: int, q: Any, std: bool, cov: bool, n_samples: int | None, seed: Any
        ) -> Any: ...
        def _draw_positions(
            self, n_samples: int, latent: str, rng: np.random.RandomState
        ) -> Float[np.ndarray, "S Q"]: ...
        def _draw_at(
            self, view: int, x: Float[np.ndarray, "S N Q"], rng: np.random.RandomState
        ) -> Float[np.ndarray, "S N D"]: ...

    def inverse_transform(
        self, X: Any, view: Names | None = None, latent_std: Any = None, *, return_std: bool = False
    ) -> Any:
        """Views at given latent positions (with their uncertainty, if given)."""
        q = self._positions(X, latent_std)
        names = listed(view) or list(self.view_names_)
        answers = {
            name: self._outputs(self._places(name)[0], q, return_std, False, None, None)
            for name in names
        }
        return answers[view] if isinstance(view, str) else answers

    def traverse(
        self, dimension: int, view: Names | None = None, *, at: Any = None, steps: int = 9,
        span: float | None = None,
    ) -> Any:  # fmt: skip
        """Views along one latent dimension, the others held (000 figure 10).

        Parameters
        ----------
        at : sample name or latent position, optional
            Where the others are held. Default: the sample nearest to the centre.
        span : float, optional
            Half the length of the walk; default: the range of the training samples.
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
        """Views on the straight line between two samples or positions, or in some dimensions."""
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
        x = self._draw_positions(n_samples, latent, rng)
        for dimension, value in (fixed or {}).items():
            x[:, self._dimension(dimension)] = value
        names = listed(view) or list(self.view_names_)
        answers = {name: self._draw_at(self._places(name)[0], x[None], rng)[0] for name in names}
        return answers[view] if isinstance(view, str) else answers

    def sample_private(
        self, view: str, at: Any, n_samples: int = 9, *, random_state: Any = None
    ) -> Float[np.ndarray, "K D"]:
        """Draws of one view with its shared dimensions held at a sample, the private ones free."""
        place = self._place_of(at)
        held = [d for d in range(place.size) if d not in self.private(view)]
        fixed = {d: float(place[d]) for d in held}
        return self.sample(
            n_samples, view, latent="posterior", fixed=fixed, random_state=random_state
        )

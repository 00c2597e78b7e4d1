"""What estimators need to know of time: reading stamps, paths at other times."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from sklearn.utils.validation import check_is_fitted

from ..data import When, as_when
from ..data.times import as_inputs
from ..errors import DataError, OptionError
from ..expectations import Gaussian
from ..latent import Paths, everything


class Dynamics:
    """The temporal side of an estimator whose latent space may hold :class:`.Paths`."""

    core_: Any
    when_: When | None

    def _training_times(self, times: Any, sequences: Any, samples: list[Any]) -> When | None:
        if times is None and sequences is None:
            return None
        return as_when(times, sequences, samples)

    def _new_times(self, times: Any, sequences: Any, samples: list[Any]) -> When | None:
        """When new rows were seen; None if nothing is said about it."""
        check_is_fitted(self)
        if times is None and sequences is None:
            return None
        trained = self._trained_times()
        when = as_when(times, sequences, samples, trained.labels)
        return self._same_inputs(when)

    def _trained_times(self) -> When:
        check_is_fitted(self)
        if self.when_ is None:
            raise OptionError(
                "the model was fitted without time stamps: fit(..., times=..., sequences=...)"
            )
        return self.when_

    def _same_inputs(self, when: When) -> When:
        wanted = self._trained_times().inputs.shape[1]
        if when.inputs.shape[1] != wanted:
            raise DataError(
                f"times have {when.inputs.shape[1]} column(s), the model was fitted to {wanted}"
            )
        return when

    def _future(self, times: Any, sequence: Any) -> tuple[Paths, int]:
        """The latent space with rows at other times of a sequence added last, and their number."""
        trained = self._trained_times()
        if sequence is None and len(trained.labels) > 1:
            raise OptionError(
                f"name the sequence: sequence=... ({len(trained.labels)} were trained on, "
                f"{trained.labels[0]!r} for one)"
            )
        sequence = trained.labels[0] if sequence is None else sequence
        if sequence not in trained.labels:
            raise OptionError(
                f"there is no training sequence {sequence!r}: there are {list(trained.labels[:5])}"
            )
        inputs = as_inputs(times)
        place = trained.labels.index(sequence)
        when = self._same_inputs(When(inputs, np.full(len(inputs), place), trained.labels))
        own = np.flatnonzero(trained.code == place)
        return self._path().extended(when.inputs, when.code, own), len(inputs)

    def _path(self) -> Paths:
        """The prior over time with what is known of the training rows."""
        latent = self.core_.model.latent
        assert isinstance(latent, Paths)
        return latent

    def forecast_latent(
        self, times: Any, sequence: Any = None
    ) -> tuple[Float[np.ndarray, "n Q"], Float[np.ndarray, "n Q"]]:
        """Mean and std of the latent path at other times of a training sequence."""
        q = self._latent_at(times, sequence)
        return np.array(q.mean), np.sqrt(np.array(q.variance))

    def _latent_at(self, times: Any, sequence: Any) -> Gaussian:
        latent, n = self._future(times, sequence)
        return everything(latent)[jnp.arange(-n, 0)]

    def _paths_at(
        self, times: Any, sequence: Any, n_paths: int, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S n Q"]:
        """Latent paths drawn jointly at other times of a training sequence."""
        latent, n = self._future(times, sequence)
        key = jax.random.key(rng.randint(2**31 - 1))
        return np.asarray(_paths(latent, key, n_paths))[:, -n:]


@eqx.filter_jit
def _paths(latent: Paths, key: PRNGKeyArray, n_paths: int) -> Array:
    return latent.sample(key, n_paths)

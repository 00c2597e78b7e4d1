"""The latent space that points live in: free, a function of the data, or along paths over time."""

import numpy as np
from jaxtyping import Float

from ..data import When
from ..errors import OptionError
from ..inference.initial_dynamics import TimeKernel, initial_time_kernels
from ..latent import BackConstrained, LatentSpace, Points, TimedPoints, make_sequences
from .back import BackMap


def refuse_path_and_map(timed: bool, back_constraint: object) -> None:
    """Points have one source."""
    if timed and back_constraint is not None:
        raise OptionError(
            "points are a function of the data (back_constraint) or follow a path over time "
            "(times), not both"
        )


def latent_space(
    means: Float[np.ndarray, "N Q"],
    when: When | None,
    time_kernel: TimeKernel,
    back: BackMap | None = None,
) -> LatentSpace:
    """The latent space that starts at ``means``."""
    if when is not None:
        return timed_points(means, when, time_kernel)
    if back is None:
        return Points(means)
    return BackConstrained(back.weights_for(means), back.features(back.rows))


def timed_points(
    means: Float[np.ndarray, "N Q"], when: When, time_kernel: TimeKernel
) -> TimedPoints:
    """Points along paths over time, whose kernels are read off the start or given."""
    kernels = initial_time_kernels(time_kernel, means, when.inputs, when.code)
    return TimedPoints(make_sequences(when.inputs, when.code), kernels, means)

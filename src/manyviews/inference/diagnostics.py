"""What happened during a fit, and whether the result can be trusted."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from jaxtyping import Float

from ..errors import LowSignalError, LowSignalWarning

LOW_SIGNAL = 2.0  # variance of a view over that of its noise


@dataclass
class FitInfo:
    """A record of one fit.

    Attributes
    ----------
    bound_trace : ndarray
        The bound after every accepted iteration of the best restart.
    signal_trace : ndarray of shape (n_iterations, n_views)
        Signal-to-noise ratio of every view after these iterations.
    gradient_norm : float
        Norm of the gradient over the free unconstrained parameters at the end.
    jitter : ndarray
        Relative jitter the kernel matrix of each view needed at the end.
    signal_to_noise : ndarray
        Variance of the data over the noise variance, per view.
    n_active : int
        Latent dimensions whose relevance exceeds the threshold in any view.
    bound_noise : float
        Rounding noise of the bound at the solution, in nats.
    expectation_error : float
        Relative error of the psi statistics; zero where they are in closed form.
    seconds, compile_seconds : float
        Wall-clock time of the whole fit, and of its first evaluation, compilation included.
    n_evaluations : int
        Evaluations of the bound with its gradient, over all restarts.
    restart_bounds : list of float
        The highest bound of every restart, of the data as scaled; the largest is the final one.
        What the best gains alone in the last stage is added to all that it was compared with.
    restart_finished : list of bool
        Whether a restart was among those compared last. The others were dropped before, and their
        bounds say only that they were behind.
    restart_relevance : list of ndarray of shape (n_views, n_dimensions)
        The relevance of every dimension where each restart that was compared ended, not
        normalised.
    converged, interrupted : bool
        Whether the convergence test was met; whether the user stopped the fit.
    n_devices : int
        Devices that shared the rows.
    fused : bool
        Whether a GPU kernel of our own computed the large sums, in float64.
    kinds : dict of str by view
        The kind of data that each view was taken for and, where that was left open, why.
    """

    bound_trace: Float[np.ndarray, " T"] = field(default_factory=lambda: np.empty(0))
    signal_trace: Float[np.ndarray, "_ _"] = field(default_factory=lambda: np.empty((0, 0)))
    gradient_norm: float = float("nan")
    jitter: Float[np.ndarray, " _"] = field(default_factory=lambda: np.empty(0))
    signal_to_noise: Float[np.ndarray, " _"] = field(default_factory=lambda: np.empty(0))
    n_active: int = 0
    bound_noise: float = 0.0
    expectation_error: float = 0.0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    n_evaluations: int = 0
    restart_bounds: list[float] = field(default_factory=list)
    restart_relevance: list[np.ndarray] = field(default_factory=list)
    restart_finished: list[bool] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False
    n_devices: int = 1
    fused: bool = False
    kinds: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_trace(
        cls,
        trace: Sequence[float],
        seconds: float,
        converged: bool,
        restart_bounds: Sequence[float] | None = None,
    ) -> Self:
        """The record of iterations that need no gradient: EM, coordinate ascent, a closed form."""
        bounds = [float(b) for b in restart_bounds or trace[-1:]]
        return cls(
            bound_trace=np.array(trace, dtype=float),
            seconds=seconds,
            converged=converged,
            n_evaluations=len(trace),
            restart_bounds=bounds,
            restart_finished=[True] * len(bounds),
        )

    def finished_bounds(self) -> Float[np.ndarray, " R"]:
        """The bounds of the restarts that were optimised to the end: these can be compared."""
        pairs = zip(self.restart_bounds, self.restart_finished, strict=True)
        return np.array([bound for bound, finished in pairs if finished])


def settled(gains: Sequence[float] | np.ndarray, least: float, patience: int = 1) -> bool:
    """Whether each of the last iterations, ``patience`` of them, gained less than ``least``."""
    return len(gains) >= patience and all(gain < least for gain in gains[-patience:])


def check_signal(ratios: dict[str, float], action: str) -> None:
    """Say which views the model explains mostly as noise.

    ``action`` is ``"warn"``, ``"error"`` or ``"off"``. Many real tables have ratios below two, so
    this is no failure by itself; in clean recordings it is the sign of a fit that lost its way.
    """
    if action == "off":
        return
    for name, ratio in ratios.items():
        if not ratio < LOW_SIGNAL:  # NaN: a view without a noise variance, such as counts
            continue
        message = (
            f"view {name!r} has a signal-to-noise ratio of {ratio:.3g}: the model takes "
            f"{1.0 / ratio:.0%} of its variance for noise. That is common in noisy tables. If you "
            "expect more structure, try more restarts (Search.n_restarts), another init, more "
            "n_components or n_inducing, or another kernel; signal_check='off' silences this."
        )
        if action == "error":
            raise LowSignalError(message)
        warnings.warn(message, LowSignalWarning, stacklevel=3)

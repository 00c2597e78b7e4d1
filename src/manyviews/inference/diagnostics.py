"""What happened during a fit, and whether the result can be trusted."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from jaxtyping import Float

from ..data.patterns import mean_filled
from ..errors import LowSignalError, LowSignalWarning

WARN_BELOW, REFUSE_BELOW = 10.0, 2.0


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
        Wall-clock time of the whole fit, and of its first evaluation.
    n_evaluations : int
        Evaluations of the bound with its gradient, over all restarts.
    restart_bounds : list of float
        The final bound of every restart.
    converged, interrupted : bool
        Whether the convergence test was met; whether the user stopped the fit.
    """

    bound_trace: Float[np.ndarray, " T"] = field(default_factory=lambda: np.empty(0))
    signal_trace: Float[np.ndarray, "T K"] = field(default_factory=lambda: np.empty((0, 0)))
    gradient_norm: float = float("nan")
    jitter: Float[np.ndarray, " K"] = field(default_factory=lambda: np.empty(0))
    signal_to_noise: Float[np.ndarray, " K"] = field(default_factory=lambda: np.empty(0))
    n_active: int = 0
    bound_noise: float = 0.0
    expectation_error: float = 0.0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    n_evaluations: int = 0
    restart_bounds: list[float] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False

    @classmethod
    def of_trace(
        cls,
        trace: Sequence[float],
        seconds: float,
        converged: bool,
        restart_bounds: Sequence[float] | None = None,
    ) -> Self:
        """The record of iterations that need no gradient: EM, coordinate ascent, a closed form."""
        return cls(
            bound_trace=np.array(trace, dtype=float),
            seconds=seconds,
            converged=converged,
            n_evaluations=len(trace),
            restart_bounds=[float(b) for b in restart_bounds or trace[-1:]],
        )


def settled(gains: Sequence[float] | np.ndarray, least: float, patience: int = 1) -> bool:
    """Whether each of the last iterations, ``patience`` of them, gained less than ``least``."""
    return len(gains) >= patience and all(gain < least for gain in gains[-patience:])


def check_signal(
    ratios: dict[str, float], data: Sequence[Float[np.ndarray, "N _"]], action: str
) -> None:
    """Warn below 10, refuse below 2 (the vargplvm rule).

    With ``action="auto"`` a view is refused only if a linear model does find structure in
    it: then the fit has lost a signal that is there. Where there is none, noise is the right
    answer, and only a warning says so.
    """
    if action == "off":
        return
    for (name, ratio), Y in zip(ratios.items(), data, strict=True):
        message = (
            f"view {name!r} has a signal-to-noise ratio of {ratio:.3g}: the model explains "
            f"{'most' if ratio < REFUSE_BELOW else 'much'} of it as noise. Try more restarts "
            "(Search.n_restarts), another init, more n_components or n_inducing, or a different "
            "kernel; "
            "if the data really are this noisy, set signal_check='off'."
        )
        refuse = action == "error" or (action == "auto" and linear_dimensions(Y) > 0)
        if ratio < REFUSE_BELOW and refuse:
            raise LowSignalError(message)
        if ratio < WARN_BELOW:
            warnings.warn(message, LowSignalWarning, stacklevel=3)


def linear_dimensions(Y: Float[np.ndarray, "N D"]) -> int:
    """Number of dimensions that probabilistic PCA keeps by BIC (missing values at the mean)."""
    filled = mean_filled(Y)
    n_rows = filled.shape[0]
    values = np.linalg.svd(filled - filled.mean(axis=0), compute_uv=False) ** 2 / n_rows
    values = values[values > 1e-12 * values[0]]
    size = values.size
    costs = []
    for q in range(size):
        noise = values[q:].mean()
        log_likelihood = -0.5 * n_rows * (np.log(values[:q]).sum() + (size - q) * np.log(noise))
        n_parameters = size * q - q * (q - 1) / 2
        costs.append(0.5 * n_parameters * np.log(n_rows) - log_likelihood)
    return int(np.argmin(costs))

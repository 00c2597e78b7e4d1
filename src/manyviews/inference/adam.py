"""Adam (Kingma & Ba 2015) on a NumPy vector."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, " P"]
Function = Callable[[Vector], tuple[float, Vector]]


def stochastic_adam(function: Function, start: Vector, iterations: int, step_size: float) -> Vector:
    """Minimise an expectation from unbiased estimates, with a step that falls to zero."""
    x = start
    first, second = np.zeros_like(x), np.zeros_like(x)
    for t in range(1, iterations + 1):
        value, gradient = function(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            step_size *= 0.5
            continue
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        step = first / (1.0 - 0.9**t) / (np.sqrt(second / (1.0 - 0.999**t)) + 1e-12)
        x = x - step_size * (1.0 - t / (iterations + 1)) * step
    return x


def adam(
    function: Function,
    start: Vector,
    iterations: int,
    step_size: float,
    report: Callable[[float, Vector], bool],
) -> Vector:
    """Minimise; return the best point seen. ``report(value, gradient)`` may stop the run."""
    x, best, best_value = start, start, np.inf
    first, second = np.zeros_like(x), np.zeros_like(x)
    for t in range(1, iterations + 1):
        value, gradient = function(x)
        if not np.isfinite(value):  # walked off a cliff: go back and take smaller steps
            x, step_size = best, 0.5 * step_size
            first[:] = 0.0
            continue
        if value < best_value:
            best, best_value = x, value
        if report(value, gradient):
            break
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        step = first / (1.0 - 0.9**t) / (np.sqrt(second / (1.0 - 0.999**t)) + 1e-12)
        x = x - step_size * step
    return best

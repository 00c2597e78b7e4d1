"""Adam (Kingma & Ba 2015), by optax, on a NumPy vector whose function lives on the host."""

from collections.abc import Callable

import jax
import numpy as np
import optax
from jaxtyping import Float

Vector = Float[np.ndarray, " P"]
Function = Callable[[Vector], tuple[float, Vector]]

RULE = optax.scale_by_adam(eps=1e-12)
UPDATE = jax.jit(RULE.update)


def stochastic_adam(function: Function, start: Vector, iterations: int, step_size: float) -> Vector:
    """Minimise an expectation from unbiased estimates, with a step that falls to zero."""
    x, state = start, RULE.init(start)
    falling = optax.linear_schedule(1.0, 0.0, iterations + 1)
    for t in range(1, iterations + 1):
        value, gradient = function(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            step_size *= 0.5
            continue
        step, state = UPDATE(gradient, state)
        x = x - step_size * float(falling(t)) * np.asarray(step)
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
    state = RULE.init(start)
    for _ in range(iterations):
        value, gradient = function(x)
        if not np.isfinite(value):  # walked off a cliff: go back and take smaller steps
            x, step_size = best, 0.5 * step_size
            state = state._replace(mu=np.zeros_like(start))
            continue
        if value < best_value:
            best, best_value = x, value
        if report(value, gradient):
            break
        step, state = UPDATE(gradient, state)
        x = x - step_size * np.asarray(step)
    return best

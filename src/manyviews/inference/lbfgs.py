"""L-BFGS that tolerates rounding noise in the function value.

The bound is the small difference of large numbers, so far into a fit its value carries
noise of about 1e-8 of those numbers, and a line search that insists on decrease gives up
long before the optimum. Here the noise is measured first and a step is accepted unless it
increases the function by more than that (Xie, Byrd & Nocedal 2020).
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .adam import Function, Vector

MEMORY = 30
WINDOW = 30  # iterations over which a run must gain something
MAX_BACKTRACKS = 20
MAX_COORDINATE_STEP = 2.0  # on the log scale of most parameters: a factor of e²


class Outcome(NamedTuple):
    """Where a run ended, whether it converged, and the iterations it took."""

    x: Vector
    converged: bool
    iterations: int


def lbfgs(
    function: Function,
    start: Vector,
    iterations: int,
    report: Callable[[float, Vector], bool],
) -> Outcome:
    """Minimise until the gradient vanishes or ``report(value, gradient)``, called after
    every step, says stop; or until no step along the gradient is any good (stuck).
    """
    x = start
    value, gradient = function(x)
    noise = value_noise(function, x, value)
    pairs: deque[tuple[Vector, Vector]] = deque(maxlen=MEMORY)
    for done in range(iterations):
        if np.linalg.norm(gradient) <= 1e-9 * max(1.0, abs(value)):
            return Outcome(x, True, done)
        direction = _two_loop(gradient, pairs)
        slope = gradient @ direction
        step, trial = _backtrack(function, x, value, slope, direction, noise)
        if trial is None:
            if not pairs:
                return Outcome(x, False, done)
            pairs.clear()
            continue
        new_value, new_gradient = trial
        s, y = step * direction, new_gradient - gradient
        if s @ y > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            pairs.append((s, y))
        x, value, gradient = x + s, new_value, new_gradient
        if report(value, gradient):
            return Outcome(x, True, done + 1)
    return Outcome(x, False, iterations)


def descend(function: Function, start: Vector, iterations: int, tolerance: float) -> Vector:
    """Minimise until thirty iterations together gain less than ``tolerance``.

    Where the function or its gradient is not finite, it counts as infinite.
    """
    values: list[float] = []

    def finite(x: Vector) -> tuple[float, Vector]:
        value, slope = function(x)
        if np.isfinite(value) and np.isfinite(slope).all():
            return value, slope
        return np.inf, np.zeros_like(slope)

    def settled(value: float, _: Vector) -> bool:
        values.append(value)
        before = min(values[:-WINDOW], default=np.inf)
        return len(values) > WINDOW and before - min(values) < tolerance

    return lbfgs(finite, start, iterations, settled).x


def value_noise(function: Function, x: Vector, value: float) -> float:
    """Twice the spread of the function over perturbations too small to matter."""
    rng = np.random.default_rng(0)
    nearby = [function(x + 1e-10 * rng.standard_normal(x.size))[0] for _ in range(3)]
    spread = float(np.std([value, *nearby])) if np.isfinite([value, *nearby]).all() else 0.0
    return 2.0 * spread + 1e-13 * abs(value)


def _two_loop(gradient: Vector, pairs: deque[tuple[Vector, Vector]]) -> Vector:
    """The quasi-Newton direction (Nocedal & Wright 2006, algorithm 7.4)."""
    if not pairs:
        return -gradient * min(1.0, 1.0 / max(float(np.linalg.norm(gradient)), 1e-300))
    q, coefficients = gradient.copy(), []
    for s, y in reversed(pairs):
        a = (s @ q) / (s @ y)
        coefficients.append(a)
        q -= a * y
    s, y = pairs[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), a in zip(pairs, reversed(coefficients), strict=True):
        q += s * (a - (y @ q) / (s @ y))
    return -q


def _backtrack(
    function: Function, x: Vector, value: float, slope: float, direction: Vector, noise: float
) -> tuple[float, tuple[float, Vector] | None]:
    """Shorten the step until it no longer increases the function beyond its noise."""
    step = min(1.0, MAX_COORDINATE_STEP / max(float(np.abs(direction).max()), 1e-300))
    for _ in range(MAX_BACKTRACKS):
        new_value, new_gradient = function(x + step * direction)
        if new_value <= value + 1e-4 * step * slope + noise:
            return step, (new_value, new_gradient)
        if not np.isfinite(new_value):
            step *= 0.25
            continue
        curvature = 2.0 * (new_value - value - slope * step)
        step *= float(np.clip(-slope * step / max(curvature, 1e-300), 0.1, 0.5))
    return step, None

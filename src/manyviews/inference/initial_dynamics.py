"""Where the prior over time starts: its kernel, read off the time stamps and the means."""

from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from ..errors import OptionError
from ..kernels import Kernel, Periodic, Product, Sum, kernel_from_name
from ..latent.temporal import LONG
from ..parameters import Parameter, fix, map_parameters

TimeKernel = str | Kernel | Sequence[str | Kernel]

DENSE_LIMIT = 2.0e9  # sum of cubes of sequence lengths up to which any kernel is affordable
GRID = 16
PEAKS = 5
PARSIMONY = 10.0  # nats that a longer period must gain: every multiple of a period is one
MOST_FREQUENCIES = 4000
MOST_ROWS = 200  # of a sequence, for the choice of a lengthscale
NOISE = (0.001, 0.01, 0.1, 0.5, 0.999)  # shares of a dimension's variance that may be noise


def default_time_kernel(inputs: Float[np.ndarray, "N P"], code: Int[np.ndarray, " N"]) -> str:
    """RBF where sequences are short enough for it, else Matérn-5/2, whose cost is linear."""
    lengths = np.bincount(np.unique(code, return_inverse=True)[1])
    cheap = float(np.sum(lengths.astype(float) ** 3)) <= DENSE_LIMIT
    return "rbf" if cheap or inputs.shape[1] > 1 or lengths.max() < LONG else "matern52"


def initial_time_kernels(
    kernel: TimeKernel,
    means: Float[np.ndarray, "N Q"],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> tuple[Kernel, ...]:
    """One kernel for all dimensions, or one each; named ones start at values from the data.

    The lengthscale is, of a grid between the steps and the span of the inputs, the one under
    which the starting means are likeliest; so is the period, among peaks of the periodogram. The
    variance of a kernel that is no sum stays at one: the mappings' own lengthscales already
    carry the scale of the latent points.
    """
    if not isinstance(kernel, str | Kernel):
        if len(kernel) != means.shape[1]:
            raise OptionError(
                f"time_kernel lists {len(kernel)} kernels, there are {means.shape[1]} dimensions"
            )
        return tuple(
            initial_time_kernels(one, means[:, [q]], inputs, code)[0]
            for q, one in enumerate(kernel)
        )
    n_inputs = inputs.shape[1]
    if isinstance(kernel, Kernel):
        return (kernel.with_dimensions(n_inputs),)
    if kernel == "auto":
        kernel = default_time_kernel(inputs, code)
    named = kernel_from_name(kernel).with_dimensions(n_inputs)
    spans = np.maximum(np.ptp(inputs, axis=0), 1e-12)
    steps = _typical_steps(inputs, code, spans)
    lengths = [steps * (spans / steps) ** share for share in np.linspace(0.0, 1.0, GRID)]
    waves = [(1.0, 1.0)]
    if _is_periodic(named):
        periods = _likely_periods(means, inputs[:, 0], code, steps[0])
        waves = [(period, share) for period in periods for share in (0.3, 1.0, 3.0)]

    def evidence(choices: list[Kernel]) -> Float[np.ndarray, " C"]:
        return np.array([_log_evidence(one, means, inputs, code) for one in choices])

    found = evidence([_started(named, spans, wave, spans) for wave in waves])
    wave = min(w for w, e in zip(waves, found, strict=True) if e > found.max() - PARSIMONY)
    grid = [_started(named, length, wave, spans) for length in lengths]
    best = grid[int(np.argmax(evidence(grid)))]
    return (_anchored(best),)


def _anchored(kernel: Kernel, alone: bool = True) -> Kernel:
    """Fix the variances that others already express: of factors, and of a kernel that is alone."""
    if isinstance(kernel, Sum):
        return Sum(tuple(_anchored(part, alone=False) for part in kernel.parts))
    if isinstance(kernel, Product):
        first, *others = kernel.parts
        return Product((_anchored(first, alone), *(_anchored(part) for part in others)))
    return fix(kernel, "variance") if alone and hasattr(kernel, "variance") else kernel


def _is_periodic(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum | Product):
        return any(_is_periodic(part) for part in kernel.parts)
    return isinstance(kernel, Periodic)


def _likely_periods(
    means: Float[np.ndarray, "N Q"],
    times: Float[np.ndarray, " N"],
    code: Int[np.ndarray, " N"],
    step: float,
) -> Float[np.ndarray, " C"]:
    """Periods at the peaks of the Lomb-Scargle periodogram, and twice as long.

    A wave that is not a sine has its power in harmonics, of which the second may be strongest.
    """
    from scipy.signal import lombscargle  # slow to import

    stretches = [np.flatnonzero(code == place) for place in np.unique(code)[:20]]
    span = max(float(np.ptp(times[rows])) for rows in stretches)
    lowest, highest = 1.5 / span, 0.25 / step
    count = int(np.clip(8.0 * span * highest, 20, MOST_FREQUENCIES))
    frequencies = np.linspace(min(lowest, highest), highest, count)
    power = np.zeros(count)
    for rows in stretches:
        for column in means[rows].T:
            if np.std(column) > 0:
                centred = column - column.mean()
                power += lombscargle(times[rows], centred, 2.0 * np.pi * frequencies)
    padded = np.concatenate([[-np.inf], power, [-np.inf]])
    peaks = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
    periods = 1.0 / frequencies[peaks[np.argsort(-power[peaks])][:PEAKS]]
    doubled = 2.0 * periods
    return np.concatenate([periods, doubled[doubled <= span / 1.5]])


def _started(
    kernel: Kernel,
    lengthscale: Float[np.ndarray, " P"],
    wave: tuple[float, float],
    spans: Float[np.ndarray, " P"],
) -> Kernel:
    """The kernel at given scales; a wave has a period and a lengthscale, a share of that."""
    if isinstance(kernel, Sum | Product):
        return type(kernel)(
            tuple(_started(part, lengthscale, wave, spans) for part in kernel.parts)
        )
    values = {"lengthscale": lengthscale, "variances": 1.0 / spans**2}
    if isinstance(kernel, Periodic):
        values = {"lengthscale": np.array(wave[1]), "period": np.array(wave[0])}

    def start(name: str, p: Parameter) -> Parameter:
        value = values.get(name)
        return p if value is None else p.with_value(np.broadcast_to(value, p.raw.shape))

    return map_parameters(start, kernel)


@eqx.filter_jit
def _gram(kernel: Kernel, X: Float[Array, "N P"]) -> Float[Array, "N N"]:
    return kernel.gram(X)


def _typical_steps(
    inputs: Float[np.ndarray, "N P"], code: Int[np.ndarray, " N"], spans: Float[np.ndarray, " P"]
) -> Float[np.ndarray, " P"]:
    """Median distance between neighbouring values in a sequence, per input."""
    steps = []
    for column, span in zip(inputs.T, spans, strict=True):
        order = np.lexsort((column, code))
        gaps = np.diff(column[order])[np.diff(code[order]) == 0]
        gaps = gaps[gaps > 1e-9 * span]
        steps.append(np.median(gaps) if gaps.size else 0.1 * span)
    return np.minimum(np.array(steps), 0.5 * spans)


def _log_evidence(
    kernel: Kernel,
    means: Float[np.ndarray, "N Q"],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> float:
    """Sum over dimensions of max_ν Σ log N(means; 0, (1 - ν) K + ν I), over stretches of rows.

    Every dimension has a share ν of noise of its own, so that those without structure in
    time have no say.
    """
    shares = np.array(NOISE)[:, None]
    totals = np.zeros((len(NOISE), means.shape[1]))
    values = means / np.maximum(means.std(axis=0), 1e-12)
    for place in np.unique(code)[:20]:
        rows = np.flatnonzero(code == place)
        rows = rows[np.argsort(inputs[rows, 0], kind="stable")][:MOST_ROWS]
        heights, directions = np.linalg.eigh(
            np.asarray(_gram(kernel, jax.device_put(inputs[rows])))
        )
        spread = (1.0 - shares) * np.maximum(heights, 0.0) + shares  # noise levels x rows
        squares = (directions.T @ values[rows]) ** 2
        totals -= 0.5 * ((1.0 / spread) @ squares + np.log(spread).sum(axis=1, keepdims=True))
    return float(totals.max(axis=0).sum())

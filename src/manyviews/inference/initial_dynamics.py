"""Where the prior over time starts: its kernel, read off the time stamps and the means."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve, cholesky

from ..kernels import Kernel, kernel_from_name
from ..latent.temporal import LONG
from ..parameters import Parameter, fix, map_parameters

TimeKernel = str | Kernel | Sequence[str | Kernel]

DENSE_LIMIT = 2.0e9  # sum of cubes of sequence lengths up to which any kernel is affordable
GRID = 16
MOST_ROWS = 200  # of a sequence, for the choice of a lengthscale
NOISE = 0.1  # share of the starting means' variance that the choice takes as noise


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
    which the starting means are likeliest. Of a single named kernel the variance stays at one:
    the mappings' own lengthscales already carry the scale of the latent points.
    """
    if not isinstance(kernel, str | Kernel):
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
    middle = {"period": spans[0] / 4.0, "variances": 1.0 / spans**2}

    def at(share: float) -> Kernel:
        lengthscale = steps * (spans / steps) ** share

        def start(name: str, p: Parameter) -> Parameter:
            last = name.split(".")[-1]
            if last == "lengthscale":
                return p.with_value(np.broadcast_to(lengthscale, p.raw.shape))
            return p.with_value(np.broadcast_to(middle[last], p.raw.shape)) if last in middle else p

        return map_parameters(start, named)

    grid = [at(share) for share in np.linspace(0.0, 1.0, GRID)]
    best = grid[int(np.argmax([_log_evidence(one, means, inputs, code) for one in grid]))]
    alone = "+" not in kernel and "*" not in kernel and hasattr(best, "variance")
    return (fix(best, "variance") if alone else best,)


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
    """Sum of log N(means; 0, (1 - NOISE) K + NOISE I), over stretches of the sequences."""
    total = 0.0
    values = means / np.maximum(means.std(axis=0), 1e-12)
    for place in np.unique(code)[:20]:
        rows = np.flatnonzero(code == place)
        rows = rows[np.argsort(inputs[rows, 0], kind="stable")][:MOST_ROWS]
        K = np.asarray(kernel.gram(jnp.asarray(inputs[rows])))
        C = (1.0 - NOISE) * K + NOISE * np.eye(len(rows))
        L = cholesky(C, lower=True)
        total -= 0.5 * float(np.sum(values[rows] * cho_solve((L, True), values[rows])))
        total -= means.shape[1] * float(np.sum(np.log(np.diagonal(L))))
    return total

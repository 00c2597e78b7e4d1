"""Which code computes the sum that costs: the plain one, or one GPU kernel for all of it.

The kernel serves NVIDIA GPUs of compute capability 8.0 or more. Before its first use, it is run on
a small problem and compared with NumPy; where it fails or disagrees the plain code serves, and a
warning says why. The environment variable ``MANYVIEWS_FUSED`` decides otherwise:

=============  ==========================================================================
``auto``       the kernel where it can be used (the default)
``on``         the kernel; an error where it cannot be used
``off``        the plain code
``interpret``  the kernel, step by step on any processor; slow, for tests
=============  ==========================================================================

`fused_report()` tells what has been decided.
"""

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import NamedTuple

import jax
import numpy as np

from ..errors import OptionError

VARIABLE = "MANYVIEWS_FUSED"
MODES = ("auto", "on", "off", "interpret")
FEWEST_EXPONENTS = 1_000_000  # below, the plain code takes no longer
LARGEST_SIDE = 128  # columns of the second matrix product, which live in registers
TOLERANCE = {"float64": 1e-11, "float32": 1e-4}


class Tile(NamedTuple):
    """How the kernel cuts its work: powers of two that decide about speed only.

    Attributes
    ----------
    owned, walked : int
        Rows that a program of the grid keeps, and rows in each of its steps over the others.
    n_warps, n_stages : int
        Groups of 32 threads per program; steps whose data are fetched ahead.
    precision : str
        Of the matrix products: ``"highest"``, or ``"tf32x3"``, which makes up float32 from three
        products of tensor cores.
    interpret : bool
        Run step by step, without a GPU.
    """

    owned: int
    walked: int
    n_warps: int
    n_stages: int
    precision: str = "highest"
    interpret: bool = False


# the fastest on an H200 (benchmarks/results/gpu_h200.json)
TILES = {"float64": Tile(128, 32, 8, 2), "float32": Tile(128, 64, 4, 2, "tf32x3")}


class Choice(NamedTuple):
    """A decision and its reason."""

    fused: bool
    reason: str


_noted: ContextVar[list[bool] | None] = ContextVar("noted", default=None)


def chosen_tile(
    n_rows: int, n_features: int, n_pairs: int, n_groups: int, dtype: str
) -> Tile | None:
    """How the kernel is to compute a sum of this shape; None for the plain code."""
    tile = _chosen_tile(n_rows, n_features, n_pairs, n_groups, dtype)
    noted = _noted.get()
    if noted is not None:
        noted.append(tile is not None)
    return tile


def _chosen_tile(
    n_rows: int, n_features: int, n_pairs: int, n_groups: int, dtype: str
) -> Tile | None:
    if not may_be_fused():
        return None
    mode = fused_mode()
    if n_groups * (n_features + 1) > LARGEST_SIDE or dtype not in TILES:
        return None
    if mode == "interpret":
        return TILES[dtype]._replace(precision="highest", interpret=True)
    if mode == "auto" and n_rows * n_pairs < FEWEST_EXPONENTS:
        return None
    choice = _decided(dtype)
    if mode == "on" and not choice.fused:
        raise OptionError(
            f"{VARIABLE}=on, but the GPU kernel cannot be used: {choice.reason}. "
            f"Unset {VARIABLE}, or set it to 'auto' or 'off'."
        )
    return TILES[dtype] if choice.fused else None


@contextmanager
def noting_fused() -> Iterator[list[bool]]:
    """What is chosen for each sum that is traced in here: the kernel, or the plain code."""
    noted: list[bool] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def may_be_fused() -> bool:
    """Whether the kernel can be used at all, as far as is known without trying it."""
    mode = fused_mode()
    return mode in {"on", "interpret"} or (mode == "auto" and jax.default_backend() == "gpu")


def fused_mode() -> str:
    """What the environment asks for."""
    mode = os.environ.get(VARIABLE, "auto").lower() or "auto"
    if mode not in MODES:
        raise OptionError(f"{VARIABLE} must be one of {', '.join(MODES)}; got {mode!r}")
    return mode


def fused_report() -> dict[str, Choice]:
    """For float64 and float32, whether the kernel computes large sums here, and why (not)."""
    mode = fused_mode()
    if mode in {"off", "interpret"}:
        return dict.fromkeys(TILES, Choice(mode != "off", f"{VARIABLE}={mode}"))
    return {dtype: _decided(dtype) for dtype in TILES}


@cache
def _decided(dtype: str) -> Choice:
    device = jax.devices()[0]
    capability = str(getattr(device, "compute_capability", ""))
    try:
        capable = jax.default_backend() == "gpu" and float(capability) >= 8.0
    except ValueError:  # AMD names its devices otherwise
        capable = False
    if not capable:
        return Choice(False, f"{device.device_kind} is not an NVIDIA GPU of capability 8.0 or more")
    try:
        error = self_test(TILES[dtype], dtype)
    except Exception as failure:  # whatever a compiler may raise: the plain code remains
        choice = Choice(False, f"it does not run here ({type(failure).__name__}: {failure})")
    else:
        if error <= TOLERANCE[dtype]:
            return Choice(True, f"on {device.device_kind}; it agrees with NumPy to {error:.0e}")
        choice = Choice(False, f"it differs from NumPy by {error:.1e} here")
    warnings.warn(
        f"the fused GPU kernel is not used for {dtype}: {choice.reason}. Fits are slower and "
        f"otherwise the same; {VARIABLE}=off silences this.",
        RuntimeWarning,
        stacklevel=2,
    )
    return choice


def self_test(tile: Tile, dtype: str) -> float:
    """Largest relative error of the sum and its gradients on a small problem."""
    from .fused import fused_exp_sum

    rng = np.random.default_rng(0)
    A, B, g = (rng.standard_normal(s) for s in ((500, 9), (9, 300), (2, 300)))
    W = rng.uniform(0.5, 1.5, (2, 500))
    E = np.exp(A @ B)
    D = E * (W.T @ g)
    wanted = (W @ E, D @ B.T, A.T @ D)
    inputs = [np.asarray(a, dtype) for a in (A, B, W)]

    def sum_and_gradients(A: jax.Array, B: jax.Array, W: jax.Array) -> tuple[jax.Array, ...]:
        value, pull = jax.vjp(lambda a, b: fused_exp_sum(tile, a, b, W), A, B)
        return value, *pull(jax.numpy.asarray(g, dtype))

    # The question may come up while something is traced; another thread knows nothing of that.
    with ThreadPoolExecutor(1) as aside:
        found = aside.submit(lambda: jax.device_get(jax.jit(sum_and_gradients)(*inputs))).result()
    errors = [np.max(np.abs(f - w)) / np.max(np.abs(w)) for f, w in zip(found, wanted, strict=True)]
    return float(np.max(errors))

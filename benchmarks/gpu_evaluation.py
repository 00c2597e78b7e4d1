"""One bound with its gradient, alone and inside the optimiser."""

import os
import time
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from manyviews.expectations.fused_choice import VARIABLE
from manyviews.inference import descent
from manyviews.inference.bound import Model
from manyviews.inference.objective import Objective, negative_bound
from manyviews.kernels import RBF
from manyviews.latent import StandardNormal
from manyviews.mappings import CollapsedGP, make_outputs

from .gpu import Row
from .gpu_sum import seconds_of
from .problems import random_problem

TURNS = 24  # of the optimiser, timed


def evaluation(quick: bool) -> Iterator[Row]:
    """Every size and precision, with and without the kernel, and then inside the optimiser."""
    sizes = (300,) if quick else (1_000_000, 100_000, 10_000)
    M, Q, D = (10, 3, 4) if quick else (100, 10, 20)
    for N in sizes:
        objective = _objective(N, M, Q, D)
        for dtype in ("float64", "float32"):
            which: Row = {"dtype": dtype, "N": N}
            free, context = _cast((objective.free, objective.context), dtype)
            yield which | _bare(free, context, "auto")
            if dtype == "float64":
                yield which | _inside(free, context)
            yield which | _bare(free, context, "off")


def _objective(N: int, M: int, Q: int, D: int) -> Objective:
    problem = random_problem(N, M, Q, D)
    kernel = RBF(problem["variance"], problem["lengthscale"])
    view = CollapsedGP(kernel, problem["Z"], problem["noise"], 1e-6)
    model = Model(StandardNormal(problem["mu"], problem["S"]), (view,))
    return Objective(model, (make_outputs(problem["Y"]),))


def _bare(free: Any, context: Any, mode: str) -> Row:
    """The evaluation that a user would write: compiled, nothing around it."""
    os.environ[VARIABLE] = mode
    row: Row = {"what": "bare", "fused": mode}
    evaluate = eqx.filter_jit(jax.value_and_grad(negative_bound, has_aux=True))
    try:
        began = time.perf_counter()
        (value, _), gradient = jax.block_until_ready(evaluate(free, context))
        row["compile_s"] = time.perf_counter() - began
        row["ms"] = 1e3 * seconds_of(evaluate, free, context)
        row["bound"] = -float(value)
        row["gradient"] = float(jnp.sqrt(sum(jnp.sum(g**2) for g in gradient)))
    except Exception as failure:
        row["failure"] = f"{type(failure).__name__}: {failure}"[:500]
    os.environ[VARIABLE] = "auto"
    return row | _memory()


def _inside(free: Any, context: Any) -> Row:
    """Turns of L-BFGS, each of them one evaluation."""
    dtype = free[0].dtype
    method = descent.method_of(False, jax.tree.map(lambda _: 1.0, free), 10**6, -1.0)
    method = _cast(method, dtype)
    row: Row = {"what": "L-BFGS"}
    try:
        state = descent.begin(negative_bound, free, context)
        began = time.perf_counter()
        state, seen = descent.run((negative_bound, context, method, jnp.asarray(TURNS)), state)
        jax.block_until_ready(state)
        row["compile_s"] = time.perf_counter() - began
        began = time.perf_counter()
        state, seen = descent.run((negative_bound, context, method, jnp.asarray(TURNS)), state)
        jax.block_until_ready(state)
        taken = time.perf_counter() - began
        row |= {"ms": 1e3 * taken / max(1, int(seen.evaluations)), "bound": -float(state.value)}
        row["iterations"] = int(state.iterations)
    except Exception as failure:
        row["failure"] = f"{type(failure).__name__}: {failure}"[:500]
    return row | _memory()


def _cast(tree: Any, dtype: Any) -> Any:
    """Every array of floating-point numbers in this precision."""
    return jax.tree.map(
        lambda a: (
            a.astype(dtype) if eqx.is_array(a) and jnp.issubdtype(a.dtype, jnp.floating) else a
        ),
        tree,
    )


def _memory() -> Row:
    """Peak of the process so far."""
    found = jax.devices()[0].memory_stats() or {}
    return {"peak_gb": found.get("peak_bytes_in_use", 0) / 1e9}

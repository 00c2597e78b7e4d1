"""What a prior over time costs: by length and path, and against one naive N x N matrix.

One evaluation is the whole bound of a model (M = 30 unless said otherwise) and its gradient.
The naive rival factorises one covariance of all rows per latent dimension and leaves the
gradient to automatic differentiation, as published code does.
"""

import resource
import time

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from manyviews._runtime import single_threaded_blas
from manyviews.expectations import Gaussian
from manyviews.inference.bound import Model
from manyviews.inference.objective import Objective
from manyviews.kernels import RBF, Kernel, Matern32
from manyviews.latent import Inferred, LatentSpace, StandardNormal, Temporal, make_sequences
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.parameters import Parameter, parameter, positive

from .report import Report, Row
from .timing import Times

WALKS = (*[103] * 22, *[39] * 9)  # the lengths of cmu35's sequences, nearly


class Naive(LatentSpace):
    """The same posterior from one N x N matrix per dimension."""

    inputs: Array
    same: Array
    kernel: Kernel
    target: Parameter
    precision: Parameter

    def infer(self) -> Inferred:
        K = self.kernel.gram(self.inputs) * self.same

        def one(m: Array, lam: Array) -> tuple[Array, Array, Array]:
            root = jnp.sqrt(lam)
            L = jnp.linalg.cholesky(jnp.eye(len(K)) + root[:, None] * K * root)
            W = jax.scipy.linalg.solve_triangular(L, root[:, None] * K, lower=True)
            mean = W.T @ jax.scipy.linalg.solve_triangular(L, root * m, lower=True)
            v = jnp.diagonal(K) - jnp.sum(W**2, axis=0)
            kl = jnp.sum(jnp.log(jnp.diagonal(L))) + 0.5 * jnp.sum(lam * ((m - mean) * mean - v))
            return mean, v, kl

        columns = (self.target.value.T, self.precision.value.T)
        mean, variance, kl = jax.lax.map(lambda c: one(*c), columns)
        return Inferred(Gaussian(mean.T, variance.T), jnp.sum(kl))

    def prior(self, n_points: int) -> Gaussian:
        raise NotImplementedError


def run(quick: bool) -> list[Report]:
    return [by_length(quick), walks(quick)]


def objective(latent: LatentSpace, D: int, M: int, seed: int = 0) -> Objective:
    rng = np.random.default_rng(seed)
    N, Q = latent.target.raw.shape  # type: ignore[attr-defined]
    kernel = RBF(1.0, np.ones(Q))
    view = CollapsedGP(kernel, rng.standard_normal((M, Q)), 0.1)
    return Objective(Model(latent, (view,)), (make_outputs(rng.standard_normal((N, D))),))


def by_length(quick: bool) -> Report:
    """One series of N rows, Q = 5, D = 10."""
    report = Report(
        "One series of N time points, M=30 Q=5 D=10: seconds of bound and gradient",
        note="peak memory is that of the process so far; 'static' has no prior over time",
    )
    for N in (200, 500) if quick else (200, 500, 1000, 2000, 10_000, 100_000):
        rng = np.random.default_rng(0)
        sequences = make_sequences(np.arange(float(N))[:, None], np.zeros(N, int))
        target = rng.standard_normal((N, 5))
        kernel = (Matern32(1.0, 20.0),)
        paths = {"state-space": Temporal(sequences, kernel, target, 1.0, "state-space")}
        if N <= 2000:
            paths["dense"] = Temporal(sequences, kernel, target, 1.0, "dense")
        objectives = {name: objective(latent, 10, 30) for name, latent in paths.items()}
        static = StandardNormal(target)
        objectives["static"] = Objective(
            Model(static, objectives["state-space"].model_at(
                objectives["state-space"].start).views),
            objectives["state-space"].outputs,
        )  # fmt: skip
        times, first = interleaved(objectives, 3 if N > 2000 or quick else 5)
        row: Row = {"N": N}
        for name in ("static", "state-space", "dense"):
            row[f"{name} s"] = times[name].median() if name in times else None
        row["first s, state-space"] = first["state-space"]
        row["peak GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        report.rows.append(row)
    return report


def walks(quick: bool) -> Report:
    """31 sequences of 2617 rows in all, as in cmu35: M = 100, Q = 9, D = 59."""
    lengths = WALKS[::8] if quick else WALKS
    code = np.repeat(np.arange(len(lengths)), lengths)
    inputs = np.concatenate([0.05 * np.arange(n) for n in lengths])[:, None]
    target = np.random.default_rng(0).standard_normal((len(code), 9))
    sequences = make_sequences(inputs, code)
    kernel, markov = RBF(1.0, np.array([0.2])), Matern32(1.0, np.array([0.2]))
    same = jnp.asarray(code[:, None] == code[None], jnp.float64)
    M, D = (20, 59) if quick else (100, 59)
    objectives = {
        "by sequence (RBF)": objective(Temporal(sequences, (kernel,), target, 1.0), D, M),
        "state-space (Matérn-3/2)": objective(
            Temporal(sequences, (markov,), target, 1.0, "state-space"), D, M
        ),
        "naive N x N (RBF)": objective(
            Naive(jnp.asarray(inputs), same, kernel, parameter(target), positive(
                jnp.ones(target.shape))), D, M
        ),
    }  # fmt: skip
    values = [float(objectives[n](objectives[n].start)[0]) for n in objectives if "RBF" in n]
    assert abs(values[0] - values[1]) < 1e-6 * abs(values[0]), "the rivals disagree"
    times, _ = interleaved(objectives, 3)
    naive = times["naive N x N (RBF)"].median()
    report = Report(f"{len(lengths)} sequences, N={len(code)} M={M} Q=9 D={D}: bound and gradient")
    for name, taken in times.items():
        report.rows.append(
            {"path": name, "s": taken.median(), "naive / this": naive / taken.median()}
        )
    return report


def interleaved(
    objectives: dict[str, Objective], rounds: int
) -> tuple[dict[str, Times], dict[str, float]]:
    """Evaluate in turn; the first round compiles and is reported apart."""
    times = {name: Times() for name in objectives}
    first: dict[str, float] = {}
    with single_threaded_blas():
        for round_ in range(rounds + 1):
            for name, one in objectives.items():
                began = time.perf_counter()
                one(one.start)
                taken = time.perf_counter() - began
                if round_:
                    times[name].wall.append(taken)
                else:
                    first[name] = taken
    return times, first

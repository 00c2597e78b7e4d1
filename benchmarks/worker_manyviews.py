"""Our library behind the line protocol, on the path that ``fit`` takes."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from .protocol import Arrays, claim_stdout, read, serve

if __name__ == "__main__":  # before the imports, which may print
    answers = claim_stdout()

import jax
import jax.numpy as jnp
import numpy as np

from manyviews import BayesianGPLVM, Search, UncertainGPRegressor
from manyviews._runtime import single_threaded_blas
from manyviews.expectations import Gaussian
from manyviews.inference.bound import Model
from manyviews.inference.driver import Plan
from manyviews.inference.objective import Objective
from manyviews.inference.optimise import optimise
from manyviews.inference.search import Stage
from manyviews.kernels import RBF
from manyviews.latent import Points, StandardNormal
from manyviews.mappings import CollapsedGP, ExactGP, Outputs, SparseGP, make_outputs
from manyviews.mappings.rows import row_evidence
from manyviews.parameters import named_parameters
from manyviews.variational.fit import FitOptions, default_plans, starting_model

RESTARTS = 5
TOLERANCE = 1e-6  # a tenth of the default: GPy's L-BFGS is as strict, and so finds better optima
GPY_JITTER = 1e-8  # on the diagonal of its exact GP, besides the noise
NAMES = {
    "mean": "mu",
    "position": "mu",
    "inducing": "Z",
    "lengthscale": "lengthscale",
    "noise": "noise",
    "latent.variance": "S",
    "kernel.variance": "variance",
}


def make_model(problem: Arrays, jitter_factor: float = 1.0) -> Model:
    """The model at the parameters of a problem."""
    kernel = RBF(problem["variance"], problem["lengthscale"])
    jitter = jitter_factor * float(problem["jitter"] / problem["variance"])
    view = CollapsedGP(kernel, problem["Z"], problem["noise"], jitter)
    return Model(StandardNormal(problem["mu"], problem["S"]), (view,))


class ManyviewsLibrary:
    """The library under test."""

    problem: Arrays
    outputs: tuple[Outputs, ...]
    objective: Objective
    estimator: BayesianGPLVM

    def load(self, problem: Arrays) -> None:
        self.problem = problem
        self.outputs = (make_outputs(problem["Y"]),)
        self.objective = Objective(make_model(problem), self.outputs)

    def evaluate(self, scale: float) -> float:
        value, _ = self.objective(scale * self.objective.start)
        return -value

    def gradients(self) -> Arrays:
        found = slopes(self.objective)
        found["variance"] = found["variance"] - through_jitter(
            lambda factor: make_model(self.problem, factor),
            float(self.problem["variance"]),
            self.outputs,
        )
        return found

    def bound_at(self, path: str) -> float:
        """Our bound, with the jitter of our fit, at parameters found by somebody else."""
        found = read(path)
        jitter = self.problem["jitter"] / self.problem["variance"] * found["variance"]
        objective = Objective(make_model({**found, "jitter": jitter}), self.outputs)
        return -objective(objective.start)[0]

    def optimise(self, target: float, limit: float, max_iter: int) -> dict[str, Any]:
        """L-BFGS, and if that was not enough the library's stages and restarts.

        Until the bound exceeds the target or time is up.
        """
        watch = Watch(target, limit)
        Y, mu = self.problem["Y"], self.problem["mu"]
        plans = default_plans(max_iter, [Y], mu.shape[1])
        plan = Plan(Search(tol=TOLERANCE), plans, RESTARTS, seed=0)
        options = FitOptions(
            n_components=mu.shape[1], n_inducing=(len(self.problem["Z"]),), kernels=("rbf",),
            noise_floors=(0.0,), init=mu, missing="auto", plan=plan,
        )  # fmt: skip
        _, info = optimise(
            lambda _: make_model(self.problem),
            self.outputs,
            lambda _: (Stage("lbfgs", max_iter),),
            tolerance=TOLERANCE,
            progress=watch,
        )
        evaluations, stage = info.n_evaluations, "L-BFGS alone"
        if not watch.over():
            _, more = optimise(
                lambda restart: starting_model([Y], options, restart),
                self.outputs,
                plan.stages,
                n_restarts=plan.n_restarts,
                tolerance=plan.search.tol,
                progress=watch,
            )
            evaluations, stage = evaluations + more.n_evaluations, "restarts"
        return {
            "reached": watch.bound > target,
            "bound": watch.bound,
            "seconds": watch.seconds,
            "cpu": watch.cpu,
            "compile_seconds": info.compile_seconds,
            "evaluations": evaluations,
            "stage": stage,
        }

    def fit(self, path: str, max_iter: int, result: str) -> float:
        """Fit the estimator to rows; write its parameters and its scaled rows as a problem."""
        arrays = read(path)
        began = time.perf_counter()
        self.estimator = BayesianGPLVM(
            n_components=10,
            n_inducing=50,
            search=Search(max_iter=max_iter),
            random_state=0,
            signal_check="off",
        ).fit(arrays["Y"])
        seconds = time.perf_counter() - began
        engine = self.estimator.engine_
        q, view = engine.marginals, engine.model.views[0]
        variance = np.asarray(view.kernel.variance.value)
        np.savez(
            result,
            Y=engine.data[0],
            new=self.estimator.scaling_.apply(arrays["new"]),
            mu=q.mean,
            S=q.variance,
            Z=view.inducing.value,
            variance=variance,
            lengthscale=view.kernel.lengthscale.value,
            noise=view.noise.value,
            jitter=view.jitter * variance,
        )
        return seconds

    def transform(self, path: str, result: str) -> float:
        """Seconds that ``transform`` takes; q(x*) is written to the result."""
        new = read(path)["new"]
        began = time.perf_counter()
        mean, std = self.estimator.transform(new, return_std=True)
        seconds = time.perf_counter() - began
        np.savez(result, mean=mean, variance=std**2)
        return seconds

    def row_bounds(self, path: str, result: str) -> list[float]:
        """The bound of scaled rows ``Y`` under any q(x*): higher is better, whoever found it."""
        rows, q = read(path)["Y"], read(result)
        points = Gaussian(jnp.asarray(q["mean"]), jnp.asarray(q["variance"]))
        rows = rows[: len(points.mean)]
        engine = self.estimator.engine_
        evidence = row_evidence(engine.posteriors[0], rows, ~np.isnan(rows))
        prior = engine.model.latent.prior(len(rows))
        return np.asarray(evidence(points) - points.kl(prior)).tolist()


def slopes(objective: Objective) -> Arrays:
    """The bound at the start and its gradients in the parameters themselves."""
    value, vector = objective(objective.start)
    found: Arrays = {"bound": np.array(-value)}
    position = 0
    for name, p in named_parameters(objective.model_at(objective.start)):
        size = p.raw.size
        gradient = -vector[position : position + size].reshape(p.raw.shape)
        position += size
        if p.constraint == "positive":  # value = exp(raw)
            gradient = gradient / np.asarray(p.value)
        found[next(NAMES[end] for end in NAMES if name.endswith(end))] = gradient
    return found


def through_jitter(
    make: Callable[[float], Model], scale: float, outputs: tuple[Outputs, ...]
) -> float:
    """What our jitter, proportional to the diagonal's mean ``scale``, adds to its gradient.

    The peers' jitter is absolute, so this part has to be taken off to compare. ∂F/∂log j / scale
    by central differences of two steps, extrapolated.
    """

    def slope(step: float) -> float:
        sides = [Objective(make(factor), outputs) for factor in (1 - step, 1 + step)]
        low, high = (-side(side.start)[0] for side in sides)
        return (high - low) / (2.0 * step)

    return (4.0 * slope(0.01) - slope(0.02)) / 3.0 / scale


def points(path: str, kind: str) -> None:
    """Log p(Y | X) of a GP-LVM and its gradients at the parameters of a problem, to its file."""
    problem = read(path)
    outputs = (make_outputs(problem["Y"]),)
    X, noise = problem["mu"], problem["noise"]
    sparse = kind == "sparse"
    scale = float(problem["variance"] if sparse else problem["variance"] + noise)
    jitter = float(problem["jitter"] if sparse else GPY_JITTER) / scale

    def make(factor: float) -> Model:
        kernel = RBF(problem["variance"], problem["lengthscale"])
        if sparse:
            return Model(Points(X), (SparseGP(kernel, problem["Z"], noise, factor * jitter),))
        return Model(Points(X), (ExactGP(kernel, X.shape[1], noise, factor * jitter),))

    found = slopes(Objective(make(1.0), outputs))
    found["bound"] = found["bound"] + 0.5 * (np.sum(X**2) + X.size * np.log(2.0 * np.pi))
    found["mu"] = found["mu"] + X
    for name in ("variance",) if sparse else ("variance", "noise"):
        found[name] = found[name] - through_jitter(make, scale, outputs)
    np.savez(path, **found)


class Watch:
    """A progress display that only looks at the clock and the bound."""

    def __init__(self, target: float, limit: float):
        self.target, self.limit = target, limit
        self.began, self.cpu_began = time.perf_counter(), time.process_time()
        self.bound, self.seconds, self.cpu = -np.inf, 0.0, 0.0

    def update(self, restart: int, stage: int, bound: float, *_: Any) -> None:
        """Record, and stop the run when the target or the deadline is reached."""
        self.bound = max(self.bound, bound)
        self.seconds = time.perf_counter() - self.began
        self.cpu = time.process_time() - self.cpu_began
        if self.over():
            raise KeyboardInterrupt

    def over(self) -> bool:
        """Whether the target or the deadline has been reached."""
        return self.bound > self.target or self.seconds > self.limit


def exp_throughput(entries: int = 2**14, rounds: int = 1000, repeats: int = 3) -> dict[str, float]:
    """Float64 exponentials per second of all cores, and per second of CPU time.

    XLA's ``exp`` on arrays in cache, one thread per core: XLA by itself may leave cores idle
    on one elementwise operation, and the limit would come out too low.
    """
    n_cores = os.cpu_count() or 1
    x = jnp.linspace(0.0, 1.0, entries)
    _many_exp(x, rounds).block_until_ready()
    wall, cpu = [], []
    with ThreadPoolExecutor(n_cores) as pool:
        for _ in range(repeats):
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            list(pool.map(lambda _: _many_exp(x, rounds).block_until_ready(), range(n_cores)))
            cpu.append(time.process_time() - cpu_start)
            wall.append(time.perf_counter() - wall_start)
    total = n_cores * entries * rounds
    return {"wall": total / float(np.median(wall)), "cpu": total / float(np.median(cpu))}


def uncertain_bound(path: str) -> float:
    """The bound of a regression on Gaussian inputs at the parameters of a problem."""
    problem = read(path)
    q = Gaussian(jnp.asarray(problem["mu"]), jnp.asarray(problem["S"]))
    view, outputs = make_model(problem).views[0], make_outputs(problem["Y"])
    return float(jax.jit(lambda: view.expected_log_likelihood(q, outputs).value)())


def uncertain_fit(path: str) -> dict[str, float]:
    """Fit to inputs of known variance and predict."""
    data = read(path)
    began = time.perf_counter()
    model = UncertainGPRegressor(int(data["n_inducing"]), random_state=int(data["seed"]))
    model.fit(data["X"], data["Y"], X_std=float(data["std"]))
    mean = model.predict(data["new"])
    seconds = time.perf_counter() - began
    return {"rmse": float(np.sqrt(np.mean((mean - data["truth"]) ** 2))), "seconds": seconds}


@partial(jax.jit, static_argnums=1)
def _many_exp(x: jax.Array, rounds: int) -> jax.Array:
    return jax.lax.fori_loop(0, rounds, lambda _, y: jnp.exp(-y), x)


if __name__ == "__main__":
    library = ManyviewsLibrary()
    with single_threaded_blas():  # as optimise() does around a whole fit
        serve(
            library,
            answers,
            bound_at=library.bound_at,
            optimise=library.optimise,
            fit=library.fit,
            transform=library.transform,
            row_bounds=library.row_bounds,
            exp_throughput=exp_throughput,
            uncertain_bound=uncertain_bound,
            uncertain_fit=uncertain_fit,
            points=points,
        )

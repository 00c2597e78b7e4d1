"""GPy's BayesianGPLVM behind the line protocol; run by an interpreter that has GPy."""

import time
from typing import Any

from .protocol import Arrays, claim_stdout, read, serve

answers = claim_stdout()

import GPy  # noqa: E402
import numpy as np  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402


class OutOfTime(BaseException):
    """Ends an optimisation at its deadline; paramz swallows ordinary exceptions."""


class GPyLibrary:
    """The library under test."""

    model: Any
    start: np.ndarray

    def load(self, problem: Arrays) -> None:
        Q = problem["mu"].shape[1]
        kernel = GPy.kern.RBF(
            Q, variance=float(problem["variance"]), lengthscale=problem["lengthscale"], ARD=True
        )
        inference = GPy.inference.latent_function_inference.VarDTC(limit=3)  # as it is by default
        inference.const_jitter = float(problem["jitter"])
        self.model = GPy.models.BayesianGPLVM(
            problem["Y"],
            Q,
            X=problem["mu"],
            X_variance=problem["S"],
            Z=problem["Z"],
            kernel=kernel,
            likelihood=GPy.likelihoods.Gaussian(variance=float(problem["noise"])),
            inference_method=inference,
        )
        self.start = np.array(self.model.optimizer_array)

    def evaluate(self, scale: float) -> float:
        value, _ = self.model._objective_grads(scale * self.start)
        return -float(value)

    def gradients(self) -> Arrays:
        m = self.model
        m._objective_grads(self.start)
        return {
            "bound": np.array(m.log_likelihood()).squeeze(),
            "mu": np.array(m.X.mean.gradient),
            "S": np.array(m.X.variance.gradient),
            "Z": np.array(m.Z.gradient),
            "variance": np.array(m.kern.variance.gradient).squeeze(),
            "lengthscale": np.array(m.kern.lengthscale.gradient),
            "noise": np.array(m.likelihood.variance.gradient).squeeze(),
        }

    def optimise(self, max_iters: int, limit: float, result: str) -> dict[str, Any]:
        """L-BFGS until it ends or the seconds are spent; the best bound and when it was met.

        The parameters there are written to the result.
        """
        original = self.model._objective_grads
        best, met, met_cpu, count, status = -np.inf, 0.0, 0.0, 0, "out of time"
        solution = self.start
        began, cpu = time.perf_counter(), time.process_time()

        def watched(x: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best, met, met_cpu, count, solution
            if time.perf_counter() - began > limit:
                raise OutOfTime
            value, gradient = original(x)
            count += 1
            if -value > best:
                best, met = -float(value), time.perf_counter() - began
                met_cpu, solution = time.process_time() - cpu, np.array(x)
            return value, gradient

        self.model._objective_grads = watched
        try:
            status = str(self.model.optimize("lbfgs", max_iters=max_iters).status)
        except OutOfTime:
            pass
        finally:
            self.model._objective_grads = original
        found = {
            "bound": best,
            "best_at": met,
            "seconds": time.perf_counter() - began,
            "best_at_cpu": met_cpu,
            "evaluations": count,
            "status": status,
        }
        self.model.optimizer_array = solution
        np.savez(result, **self.parameters())
        return found

    def parameters(self) -> Arrays:
        """Where the model stands, by the names of a problem."""
        m = self.model
        return {
            "mu": np.array(m.X.mean),
            "S": np.array(m.X.variance),
            "Z": np.array(m.Z),
            "variance": np.array(m.kern.variance).squeeze(),
            "lengthscale": np.array(m.kern.lengthscale),
            "noise": np.array(m.likelihood.variance).squeeze(),
        }

    def infer(self, path: str, limit: float, together: bool, result: str) -> dict[str, Any]:
        """``infer_newX`` for new rows, all in one call or one by one until time is up."""
        rows = read(path)["Y"]
        batches = [rows] if together else [row[None] for row in rows]
        means, variances = [], []
        began = time.perf_counter()
        for batch in batches:
            found, _ = self.model.infer_newX(batch)
            means.append(np.array(found.mean))
            variances.append(np.array(found.variance))
            if time.perf_counter() - began > limit:
                break
        seconds = time.perf_counter() - began
        done = np.concatenate(means)
        np.savez(result, mean=done, variance=np.concatenate(variances))
        return {"rows": len(done), "seconds": seconds}


def uncertain_bound(path: str) -> float:
    """The bound of a regression on Gaussian inputs at the parameters of a problem."""
    problem = read(path)
    kernel = GPy.kern.RBF(
        problem["mu"].shape[1], variance=float(problem["variance"]),
        lengthscale=problem["lengthscale"], ARD=True,
    )  # fmt: skip
    model = GPy.models.SparseGPRegression(
        problem["mu"], problem["Y"], kernel=kernel, Z=problem["Z"], X_variance=problem["S"]
    )
    model.inference_method.const_jitter = float(problem["jitter"])
    model.likelihood.variance = float(problem["noise"])
    model.parameters_changed()
    return float(np.squeeze(model.log_likelihood()))


def uncertain_fit(path: str) -> dict[str, float]:
    """Fit to inputs of known variance and predict; standardised inputs, GPy's own optimiser."""
    data = read(path)
    began = time.perf_counter()
    X, rng = data["X"], np.random.default_rng(int(data["seed"]))
    Z = X[rng.choice(len(X), int(data["n_inducing"]), replace=False)]
    model = GPy.models.SparseGPRegression(
        X, data["Y"], kernel=GPy.kern.RBF(X.shape[1], ARD=True), Z=Z,
        X_variance=np.full_like(X, float(data["std"]) ** 2),
    )  # fmt: skip
    model.optimize("lbfgs", max_iters=1000)
    mean = model.predict(data["new"])[0]
    seconds = time.perf_counter() - began
    return {"rmse": float(np.sqrt(np.mean((mean - data["truth"]) ** 2))), "seconds": seconds}


def points(path: str, kind: str) -> None:
    """Log p(Y | X) of a GP-LVM and its gradients at the parameters of a problem, to its file."""
    problem = read(path)
    Q = problem["mu"].shape[1]
    kernel = GPy.kern.RBF(
        Q, variance=float(problem["variance"]), lengthscale=problem["lengthscale"], ARD=True
    )
    options = {"X": problem["mu"], "kernel": kernel}
    if kind == "exact":
        model = GPy.models.GPLVM(problem["Y"], Q, **options)
        model.likelihood.variance = float(problem["noise"])
    else:
        model = GPy.models.SparseGPLVM(problem["Y"], Q, num_inducing=len(problem["Z"]), **options)
        model.inference_method.const_jitter = float(problem["jitter"])
        model.Z[:] = problem["Z"]
        model.likelihood.variance = float(problem["noise"])
    model.parameters_changed()
    found = {
        "bound": np.array(model.log_likelihood()).squeeze(),
        "mu": np.array(model.X.gradient),
        "variance": np.array(model.kern.variance.gradient).squeeze(),
        "lengthscale": np.array(model.kern.lengthscale.gradient),
        "noise": np.array(model.likelihood.variance.gradient).squeeze(),
    }
    if kind == "sparse":
        found["Z"] = np.array(model.Z.gradient)
    np.savez(path, **found)


def set_threads(count: int) -> None:
    """Let BLAS use this many threads from now on."""
    threadpool_limits(limits=count, user_api="blas")


if __name__ == "__main__":
    library = GPyLibrary()
    serve(
        library, answers, optimise=library.optimise, infer=library.infer, set_threads=set_threads,
        uncertain_bound=uncertain_bound, uncertain_fit=uncertain_fit, points=points,
    )  # fmt: skip

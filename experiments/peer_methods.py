"""The methods of the peer comparison: ours, regressions of scikit-learn, other libraries.

A method answers a problem with a mean and a standard deviation for every direction. Where it
has no standard deviation of its own, it is given one per column: the root mean square of its
residuals in 5-fold cross-validation on the training rows (whole sequences for the pose).
"""

import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers import ROOT, PeerError, interpreter
from sklearn.dummy import DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from manyviews import MRD
from manyviews.linear import GroupFactorAnalysis, ProbabilisticCCA

from .peer_problems import Problem

N_COMPONENTS = 10
N_INDUCING = 100
WORKER_LIMIT = 1200.0  # seconds, fit and prediction together


@dataclass
class Answer:
    """One method's prediction of one direction; ``seconds`` are those of the fit."""

    mean: np.ndarray
    std: np.ndarray
    seconds: float
    note: str = ""


Answers = dict[str, Answer]
"""By direction."""


# ---------------------------------------------------------------------------------- ours


def mrd(problem: Problem, quick: bool) -> dict[str, Answers]:
    """One fit at default settings, two treatments of the private dimensions."""
    hurry = {"n_inducing": 20, "max_iter": 15} if quick else {}
    options = {"n_inducing": min(N_INDUCING, problem.n_train)} | hurry
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MRD(N_COMPONENTS, random_state=problem.seed, signal_check="off", **options)
        model.fit(list(problem.train))
        seconds = time.perf_counter() - began
        found: dict[str, Answers] = {"MRD": {}, 'MRD, private="conditional"': {}}
        for direction, (source, target) in problem.directions.items():
            known: list[np.ndarray | None] = [None, None]
            known[source] = problem.test[source]
            name = model.view_names_[target]
            for label, private in zip(found, ("posterior", "conditional"), strict=True):
                mean, std = model.predict(known, name, private=private, return_std=True)
                found[label][direction] = Answer(mean, std, seconds)
    return found


def linear(make: Callable[[int], Any]) -> Callable[[Problem], Answers]:
    """A linear model of ours."""

    def answer(problem: Problem) -> Answers:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(problem.seed).fit(list(problem.train))
        seconds = time.perf_counter() - began
        found = {}
        for direction, (source, target) in problem.directions.items():
            known: list[np.ndarray | None] = [None, None]
            known[source] = problem.test[source]
            mean, std = model.predict(known, model.view_names_[target], return_std=True)
            found[direction] = Answer(mean, std, seconds)
        return found

    return answer


LINEAR: dict[str, Callable[[Problem], Answers]] = {
    "GFA": linear(lambda seed: GroupFactorAnalysis(N_COMPONENTS, random_state=seed)),
    'GFA, evidence_power="auto"': linear(
        lambda seed: GroupFactorAnalysis(N_COMPONENTS, evidence_power="auto", random_state=seed)
    ),
    'GFA, noise="column"': linear(
        lambda seed: GroupFactorAnalysis(N_COMPONENTS, noise="column", random_state=seed)
    ),
    'PCCA, regularisation="auto"': linear(
        lambda seed: ProbabilisticCCA(N_COMPONENTS, regularisation="auto")
    ),
}


# ---------------------------------------------------------------------------------- baselines


def regression(make: Callable[[], Any]) -> Callable[[Problem], Answers]:
    """A regressor of scikit-learn with the cross-validated residuals as its std."""

    def answer(problem: Problem) -> Answers:
        found = {}
        for direction, (source, target) in problem.directions.items():
            X, Y = problem.train[source], problem.train[target]
            began = time.perf_counter()
            model = make().fit(X, Y)
            seconds = time.perf_counter() - began
            folds = KFold(5, shuffle=True, random_state=0)
            if problem.groups is not None:
                folds = GroupKFold(min(5, len(np.unique(problem.groups))))
            guessed = cross_val_predict(make(), X, Y, cv=folds, groups=problem.groups)
            std = np.sqrt(np.mean((guessed - Y) ** 2, axis=0))
            mean = model.predict(problem.test[source])
            found[direction] = Answer(mean, np.broadcast_to(std, mean.shape), seconds)
        return found

    return answer


def gp_regression(problem: Problem) -> Answers:
    """An exact Gaussian process from source to target, one kernel for all columns."""
    found = {}
    for direction, (source, target) in problem.directions.items():
        X, Y = problem.train[source], problem.train[target]
        kernel = ConstantKernel(1.0) * RBF(np.sqrt(X.shape[1])) + WhiteKernel(0.1)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianProcessRegressor(kernel).fit(X, Y)
        seconds = time.perf_counter() - began
        mean, std = model.predict(problem.test[source], return_std=True)
        found[direction] = Answer(mean, std, seconds)
    return found


BASELINES: dict[str, Callable[[Problem], Answers]] = {
    "GP regression": gp_regression,
    "ridge regression": regression(lambda: RidgeCV(np.logspace(-3, 5, 33))),
    "1-NN": regression(lambda: KNeighborsRegressor(1)),
    "training mean": regression(lambda: DummyRegressor()),
}


# ---------------------------------------------------------------------------------- peers


@dataclass(frozen=True)
class Peer:
    """Another library: its environment, its worker, and how much of it a run can afford."""

    environment: str
    worker: str
    arguments: tuple[str, ...] = ()
    seeds: dict[str, int] = field(default_factory=dict)
    """Fewer seeds than asked for, by data set, where a fit takes minutes."""

    def __call__(self, problem: Problem, limit: float) -> Answers:
        """Ask the worker in the library's own interpreter; GPy keeps to ``limit`` in a fit."""
        python = interpreter(self.environment)
        with tempfile.TemporaryDirectory(prefix="manyviews-peers-") as folder:
            given, answered = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
            np.savez(
                given,
                **{f"train_{k}": view for k, view in enumerate(problem.train)},
                **{f"test_{k}": view for k, view in enumerate(problem.test)},
                directions=np.array(list(problem.directions.values())),
                n_components=N_COMPONENTS,
                n_inducing=min(N_INDUCING, problem.n_train),
                seed=problem.seed,
                limit=limit,
            )
            module = f"experiments.workers.{self.worker}"
            command = [python, "-m", module, str(given), str(answered), *self.arguments]
            try:
                done = subprocess.run(
                    command, cwd=ROOT, capture_output=True, text=True, timeout=WORKER_LIMIT
                )
            except subprocess.TimeoutExpired:
                raise PeerError(f"took more than {WORKER_LIMIT:.0f} s") from None
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["no message"]
                raise PeerError(f"failed: {lines[-1][:120]}")
            with np.load(answered) as file:
                note = str(file["note"])
                return {
                    direction: Answer(
                        file[f"mean_{k}"], file[f"std_{k}"], float(file["seconds"]), note
                    )
                    for k, direction in enumerate(problem.directions)
                }


PEERS = {
    "GPy MRD": Peer("gpy", "gpy_mrd", seeds={"pose": 2}),
    "cca_zoo GFA": Peer("cca_zoo", "cca_zoo", ("GFA",)),
    "cca_zoo VariationalBayesCCA": Peer(
        "cca_zoo", "cca_zoo", ("VariationalBayesCCA",), {"pose": 1, "nutrimouse": 2}
    ),
    "MOFA": Peer("mofa", "mofa"),
}

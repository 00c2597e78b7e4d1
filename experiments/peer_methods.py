"""The methods of the peer comparison: ours, regressions of scikit-learn, other libraries.

A method answers a problem with a mean and a standard deviation for every direction. Where it
has no standard deviation of its own, it is given one per column: the root mean square of its
residuals in 5-fold cross-validation on the training rows (whole sequences for the pose).
"""

import itertools
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
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

from manyviews import MRD, Search
from manyviews.linear import GroupFactorAnalysis, ProbabilisticCCA

from .paper_model import paper_mrd
from .peer_problems import Problem

N_COMPONENTS = 10
N_INDUCING = 100
KERNELS, POWERS = ("rbf", "linear"), (1.0, "auto")
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
    """At default settings, with two treatments of the private dimensions; and chosen in folds."""
    plain, seconds = fitted(problem.train, problem.seed, quick, "rbf")
    found = {
        "MRD, defaults": answers(plain, problem, seconds, private="posterior"),
        'MRD, private="conditional"': answers(plain, problem, seconds, private="conditional"),
    }
    if not quick:
        found["MRD, chosen on training rows"] = chosen_mrd(problem, plain, seconds)
    return found


def fitted(
    views: tuple[np.ndarray, ...],
    seed: int,
    quick: bool,
    kernel: str,
    n_restarts: int | None = None,
) -> tuple[MRD, float]:
    """A model and the seconds of its fit."""
    n_inducing, search = min(N_INDUCING, len(views[0])), Search(n_restarts=n_restarts)
    if quick:
        n_inducing, search = 20, replace(search, max_iter=15)
    began = time.perf_counter()
    model = paper_mrd(
        N_COMPONENTS, n_inducing, kernel=kernel, search=search, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(list(views))
    return model, time.perf_counter() - began


def chosen_mrd(problem: Problem, plain: MRD, seconds: float) -> Answers:
    """Kernel and power of the evidence by the density of training rows left out, three folds.

    Private dimensions come from their conditional prior; seconds are of all fits together.
    """
    scores: dict[tuple[str, str, float | str], list[float]] = {}
    for kept, out in folds(problem, 3):
        inner = replace(
            problem,
            train=tuple(view[kept] for view in problem.train),
            test=tuple(view[out] for view in problem.train),
        )
        for kernel in KERNELS:
            model, took = fitted(inner.train, problem.seed, False, kernel, n_restarts=1)
            seconds += took
            for power in POWERS:
                model.set_params(evidence_power=power)
                for direction, answer in answers(model, inner, 0.0, private="conditional").items():
                    found = inner.measures(direction, answer.mean, answer.std)
                    density = found[f"{direction}-NLPD"]
                    scores.setdefault((direction, kernel, power), []).append(density)
    straight, took = fitted(problem.train, problem.seed, False, "linear")
    models, chosen = {"rbf": plain, "linear": straight}, {}
    for direction, pair in problem.directions.items():
        kernel, power = min(
            itertools.product(KERNELS, POWERS), key=lambda way: np.mean(scores[direction, *way])
        )
        model = models[kernel].set_params(evidence_power=power)
        one = replace(problem, directions={direction: pair})
        note = f"{kernel}, power {power}"
        chosen |= answers(model, one, seconds + took, note, private="conditional")
        model.set_params(evidence_power=1.0)
    return chosen


def folds(problem: Problem, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training rows kept and left out; sequences stay whole."""
    X = problem.train[0]
    if problem.groups is None:
        return KFold(most, shuffle=True, random_state=0).split(X)
    groups = problem.groups
    return GroupKFold(min(most, len(np.unique(groups)))).split(X, groups=groups)


def answers(
    model: Any, problem: Problem, seconds: float, note: str = "", **options: Any
) -> Answers:
    """Every direction by one fit."""
    found = {}
    for direction, (source, target) in problem.directions.items():
        known: list[np.ndarray | None] = [None, None]
        known[source] = problem.test[source]
        name = model.view_names_[target]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mean, std = model.predict(known, name, return_std=True, **options)
        found[direction] = Answer(mean, std, seconds, note)
    return found


def linear(make: Callable[[int], Any]) -> Callable[[Problem], Answers]:
    """A linear model of ours."""

    def answer(problem: Problem) -> Answers:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(problem.seed).fit(list(problem.train))
        seconds = time.perf_counter() - began
        return answers(model, problem, seconds)

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
            guessed = cross_val_predict(make(), X, Y, cv=list(folds(problem, 5)))
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
                n_components=components(problem),
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


def components(problem: Problem) -> int:
    """Ten, or as many as the tables have dimensions."""
    n_columns = sum(view.shape[1] for view in problem.train)
    return min(N_COMPONENTS, problem.n_train - 1, n_columns)


PEERS = {
    "GPy MRD": Peer("gpy", "gpy_mrd", seeds={"pose": 2}),
    "cca_zoo GFA": Peer("cca_zoo", "cca_zoo", ("GFA",)),
    "cca_zoo VariationalBayesCCA": Peer(
        "cca_zoo", "cca_zoo", ("VariationalBayesCCA",), {"pose": 1, "nutrimouse": 2}
    ),
    "MOFA": Peer("mofa", "mofa"),
}

"""Run by the tests in a process that sees four devices: bounds, gradients, fits on one and on all."""

import json
import os
import sys

import jax
import numpy as np

from manyviews import BayesianGPLVM, Search
from manyviews.inference.bound import Model
from manyviews.inference.objective import Objective
from manyviews.inference.optimise import optimise
from manyviews.inference.search import Stage
from manyviews.kernels import RBF
from manyviews.latent import StandardNormal
from manyviews.mappings import CollapsedGP, make_outputs

N, M, Q = 42, 5, 2  # 42 rows are no multiple of four


def problem(missing):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, Q))
    tables = [np.sin(X @ rng.standard_normal((Q, D))) for D in (3, 4)]
    if missing:
        tables[0][rng.random(tables[0].shape) < 0.2] = np.nan
        tables[1][:5] = np.nan
    views = tuple(CollapsedGP(RBF(1.0, np.full(Q, 1.5)), X[:M] + 0.1, 0.1, 1e-6) for _ in tables)
    treatments = ("shared", "exact") if missing else ("exact", "exact")
    outputs = tuple(make_outputs(Y, how) for Y, how in zip(tables, treatments, strict=True))
    return Model(StandardNormal(X + 0.1, np.full((N, Q), 0.3)), views), outputs


def on(devices, function):
    os.environ["MANYVIEWS_DEVICES"] = str(devices)
    return function()


def bound_and_gradient(missing):
    objective = Objective(*problem(missing))
    value, gradient = objective(objective.start)
    mesh = objective.layout.mesh
    where = [len(part.sharding.device_set) for part in objective.free]
    return [value, gradient.tolist(), 1 if mesh is None else mesh.size, max(where)]


def fit():
    model, outputs = problem(False)
    stages = (Stage("adam", 3), Stage("lbfgs", 12))
    end, info = optimise(lambda _: model, outputs, stages)
    return [float(info.bound_trace[-1]), np.asarray(end.latent.mean.value).tolist()]


def estimator():
    Y = np.random.default_rng(0).standard_normal((30, 3))
    search = Search(max_iter=3, n_restarts=1)
    model = BayesianGPLVM(2, n_inducing=4, search=search, random_state=0, signal_check="off")
    return [model.fit(Y).lower_bound_, np.asarray(model.transform(Y[:2])).tolist()]


def main():
    assert len(jax.devices()) == 4
    tasks = {
        "complete": lambda: bound_and_gradient(False),
        "missing": lambda: bound_and_gradient(True),
        "fit": fit,
        "estimator": estimator,
    }
    chosen = sys.argv[1:] or list(tasks)
    print(json.dumps({name: [on(k, tasks[name]) for k in (1, "all")] for name in chosen}))


if __name__ == "__main__":
    main()

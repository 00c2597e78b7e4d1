"""Run by the tests where four devices are seen: bounds, gradients and a fit on one and on all."""

import json
import os
import sys
from functools import partial

import jax
import numpy as np

from manyviews.inference.bound import Model
from manyviews.inference.new_points import infer_new_points
from manyviews.inference.objective import Objective
from manyviews.inference.optimise import optimise
from manyviews.inference.search import Stage
from manyviews.kernels import RBF
from manyviews.latent import StandardNormal, Temporal, make_sequences
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.mappings.base import condition

N, M, Q = 42, 5, 2  # 42 rows are no multiple of four


def problem(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, Q))
    Y = np.sin(X @ rng.standard_normal((Q, 4)))
    if kind == "shared":
        Y[rng.random(Y.shape) < 0.2] = np.nan
    elif kind == "exact":
        Y[:5, 2:] = np.nan
    view = CollapsedGP(RBF(1.0, np.full(Q, 1.5)), X[:M] + 0.1, 0.1, 1e-6)
    if kind == "paths":
        times = np.linspace(0.0, 5.0, N)[:, None]
        latent = Temporal(make_sequences(times, np.zeros(N, int)), (RBF(1.0, 1.0),) * Q, X, 10.0)
    else:
        latent = StandardNormal(X + 0.1, np.full((N, Q), 0.3))
    treatment = "shared" if kind == "shared" else "exact"
    return Model(latent, (view,)), (make_outputs(Y, treatment),)


def on(devices, function):
    os.environ["MANYVIEWS_DEVICES"] = str(devices)
    return function()


def bound_and_gradient(kind):
    objective = Objective(*problem(kind))
    value, gradient = objective(objective.start)
    return [value, gradient.tolist(), len(objective.free[0].sharding.device_set)]


def fit():
    model, outputs = problem("complete")
    end, info = optimise(lambda _: model, outputs, (Stage("adam", 3), Stage("lbfgs", 8)))
    return [float(info.bound_trace[-1]), np.asarray(end.latent.mean.value).tolist()]


def new_rows():
    model, outputs = problem("exact")
    q = model.latent.infer().marginals
    posterior = condition(model.views[0], q, outputs[0])
    Y = np.asarray(outputs[0].filled[:6]) + 0.1
    Y[0, 1] = np.nan
    starts = np.tile(np.arange(3), (6, 1))
    found = infer_new_points(model.latent.prior(6), q, (posterior,), (Y,), starts, tolerance=1e-9)
    return [found.bound.tolist(), np.asarray(found.q.mean).tolist()]


def main():
    assert len(jax.devices()) == 4
    tasks = {kind: partial(bound_and_gradient, kind) for kind in ("exact", "shared", "paths")}
    tasks |= {"fit": fit, "new_rows": new_rows}
    chosen = sys.argv[1:] or list(tasks)
    print(json.dumps({name: [on(k, tasks[name]) for k in (1, "all")] for name in chosen}))


if __name__ == "__main__":
    main()

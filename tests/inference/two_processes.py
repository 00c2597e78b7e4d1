"""Run by the tests, as one of two processes: a fit, and what it is with all rows in one process."""

import json
import sys

import numpy as np

from manyviews.processes import gather_rows, join_processes

place = join_processes(*sys.argv[1:2], *map(int, sys.argv[2:4]))

import jax  # noqa: E402

from manyviews.inference.bound import Model  # noqa: E402
from manyviews.inference.objective import Objective  # noqa: E402
from manyviews.inference.optimise import optimise  # noqa: E402
from manyviews.inference.search import Stage  # noqa: E402
from manyviews.kernels import RBF  # noqa: E402
from manyviews.latent import StandardNormal  # noqa: E402
from manyviews.mappings import CollapsedGP, make_outputs  # noqa: E402

N, M, Q = 21, 4, 2


def main():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, Q))
    Y = np.sin(X @ rng.standard_normal((Q, 3)))
    count = jax.process_count()
    own = np.array_split(Y, [12])[place] if count > 1 else Y
    Y = gather_rows(own)
    view = CollapsedGP(RBF(1.0, np.full(Q, 1.5)), X[:M] + 0.1, 0.1, 1e-6)
    model, outputs = Model(StandardNormal(X, np.full((N, Q), 0.3)), (view,)), (make_outputs(Y),)
    iterations = int(sys.argv[4]) if len(sys.argv) > 4 else 6
    print("ready", flush=True)
    value, gradient = Objective(model, outputs)(Objective(model, outputs).start)
    end, info = optimise(lambda _: model, outputs, (Stage("adam", iterations),))
    means = np.asarray(end.latent.mean.value).tolist()
    print(json.dumps([count, value, gradient.tolist(), float(info.bound_trace[-1]), means]))


if __name__ == "__main__":
    main()

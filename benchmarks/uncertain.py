"""Regression on noisy inputs: GPy's ``SparseGPRegression(X_variance=...)`` and ours.

The bound is compared at equal parameters; it has no KL, since GPy's inputs have no prior. Then
both fit the same data, inputs with noise of known variance, and predict the noise-free function.
Ours is the posterior of the inputs; GPy keeps them where they were seen, with their variance.
"""

import numpy as np

from .peers import OURS, PeerError, workers
from .problems import random_problem
from .protocol import Arrays
from .report import Report, Row

TOLERANCE = 1e-6
PEER = "gpy"


def run(quick: bool) -> list[Report]:
    agreement = Report(
        "Bound of a regression on Gaussian inputs, at identical parameters",
        target=f"target: a relative difference of at most {TOLERANCE:g}",
    )
    fits = Report("Fits to inputs with known noise: RMSE of the noise-free function, seconds")
    sizes = [(60, 15, 3, 5), (200, 30, 5, 2)]
    seeds = range(1 if quick else 4)
    with workers(OURS, PEER) as (alive, absent):
        for seed, size in enumerate(sizes):
            problem = random_problem(*size, seed=seed)
            bounds = {
                name: worker.ask("uncertain_bound", path=worker.write(problem))
                for name, worker in alive.items()
            }
            row: Row = {"N, M, Q, D": ", ".join(map(str, size)), **bounds}
            if PEER in bounds:
                difference = abs(bounds[OURS] / bounds[PEER] - 1.0)
                row |= {"difference": difference, "met": difference <= TOLERANCE}
            agreement.rows.append(row)
        for name, worker in alive.items():
            found = []
            for seed in seeds:
                try:
                    path = worker.write(noisy_inputs(seed, 60 if quick else 300))
                    found.append(worker.ask("uncertain_fit", path=path))
                except PeerError as error:
                    fits.rows.append({"library": name, "seed": seed, "remark": str(error)})
            errors = [one["rmse"] for one in found]
            if found:
                fits.rows.append(
                    {
                        "library": name,
                        "RMSE": float(np.mean(errors)),
                        "by seed": ", ".join(f"{e:.3f}" for e in errors),
                        "seconds, first": found[0]["seconds"],
                        "seconds, later": float(
                            np.mean([f["seconds"] for f in found[1:] or found])
                        ),
                    }
                )
        fits.rows += [{"library": name, "remark": reason} for name, reason in absent.items()]
    return [agreement, fits]


def noisy_inputs(seed: int, N: int) -> Arrays:
    """Two inputs seen with noise (sd 0.3), three smooth outputs, and where to predict them."""
    rng = np.random.default_rng(seed)
    x, new = rng.uniform(-3, 3, (N, 2)), rng.uniform(-2.7, 2.7, (500, 2))

    def outputs(x: np.ndarray) -> np.ndarray:
        waves = [np.sin(2 * x[:, 0]), np.cos(1.5 * x[:, 1]), np.sin(x[:, 0] + x[:, 1])]
        return np.stack(waves, axis=1)

    return {
        "X": x + 0.3 * rng.standard_normal(x.shape),
        "Y": outputs(x) + 0.05 * rng.standard_normal((N, 3)),
        "new": new,
        "truth": outputs(new),
        "std": np.array(0.3),
        "n_inducing": np.array(40),
        "seed": np.array(seed),
    }

"""cca_zoo's GFA where whole views are missing: fitted to the samples that have all of them.

``python -m experiments.workers.cca_zoo_imputation IN OUT``; scattered holes it cannot have.
"""

import sys
import time
import warnings

import numpy as np
from cca_zoo.probabilistic import GFA

from .cca_zoo import conditional


def main() -> None:
    """One fit; for every sample, what it lacks given what it has."""
    with np.load(sys.argv[1]) as file:
        views = [file[f"view_{k}"] for k in range(sum(n.startswith("view_") for n in file.files))]
        n_components, seed = int(file["n_components"]), int(file["seed"])
    lacking = np.stack([np.isnan(view).all(axis=1) for view in views])
    scattered = any(np.isnan(v[~lost]).any() for v, lost in zip(views, lacking, strict=True))
    if scattered or len(views) != 2:
        raise SystemExit("takes no missing values")
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    complete = ~lacking.any(axis=0)
    model = GFA(n_components=n_components, random_state=seed).fit([v[complete] for v in views])
    answers = {}
    for target in range(2):
        mean, variance = np.zeros(views[target].shape), np.ones(views[target].shape)
        rows = np.flatnonzero(lacking[target])
        mean[rows], variance[rows] = conditional(model, 1 - target, target, views[1 - target][rows])
        answers |= {f"mean_{target}": mean, f"std_{target}": np.sqrt(variance)}
    np.savez(sys.argv[2], seconds=time.perf_counter() - began, **answers)


if __name__ == "__main__":
    main()

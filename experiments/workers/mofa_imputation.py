"""MOFA+ on incomplete tables: ``python -m experiments.workers.mofa_imputation IN OUT``."""

import sys
import time

import numpy as np

from .mofa import completed


def main() -> None:
    """One fit, all holes filled."""
    with np.load(sys.argv[1]) as file:
        views = [file[f"view_{k}"] for k in range(sum(n.startswith("view_") for n in file.files))]
        n_components, seed = int(file["n_components"]), int(file["seed"])
    began = time.perf_counter()
    means, variances = completed(views, n_components, seed)
    answers = {f"mean_{k}": mean for k, mean in enumerate(means)}
    answers |= {f"std_{k}": np.sqrt(variance) for k, variance in enumerate(variances)}
    np.savez(sys.argv[2], seconds=time.perf_counter() - began, **answers)


if __name__ == "__main__":
    main()

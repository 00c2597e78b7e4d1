"""MOFA+: all samples in one fit, the target missing for the test rows, then ``impute``.

So the factors also see the source view of the test rows. Its variance is the variational one
of the factors and loadings plus the noise.
"""

import time

import numpy as np
from mofapy2.run.entry_point import entry_point

from .exchange import request


def main() -> None:
    """One fit for every direction."""
    task = request()
    seconds = []
    for direction, (_, target) in enumerate(task.directions):
        views = [np.concatenate([task.train[k], task.test[k]]) for k in range(2)]
        n_train = len(task.train[0])
        views[target][n_train:] = np.nan
        began = time.perf_counter()
        model = entry_point()
        model.set_data_options(scale_views=False, scale_groups=False)  # they come scaled
        model.set_data_matrix([[view] for view in views], likelihoods=["gaussian"] * 2)
        model.set_model_options(factors=task.n_components, ard_weights=True)
        model.set_train_options(iter=1000, seed=task.seed, quiet=True)
        model.build()
        model.run()
        seconds.append(time.perf_counter() - began)
        model.impute(mask_outliers=False)
        mean = model.imputed_data["mean"][target][n_train:]
        variance = model.imputed_data["variance"][target][n_train:]
        task.answer(direction, mean, variance)
    task.finish(float(np.mean(seconds)), "sees the test rows' source view")


if __name__ == "__main__":
    main()

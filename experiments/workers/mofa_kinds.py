"""MOFA+ on views of several kinds: ``python -m experiments.workers.mofa_kinds IN OUT``.

The problem holds ``view_0, view_1, …`` (NaN: missing; of unit variance if Gaussian),
``likelihoods`` in MOFA's words, the place of the ``target``, ``n_components`` and ``seed``. The
answer holds, for every entry of the target, ``mean`` and ``variance`` of its function ZWᵀ under the
variational posterior, and the ``noise`` variance that a Gaussian view has besides; ``seconds`` are
those of the fit.
"""

import sys
import time

import numpy as np
from mofapy2.run.entry_point import entry_point


def main() -> None:
    """One fit, and what it says about the target."""
    with np.load(sys.argv[1]) as file:
        likelihoods = file["likelihoods"].tolist()
        views = [[file[f"view_{k}"]] for k in range(len(likelihoods))]
        target = int(file["target"])
        n_components, seed = int(file["n_components"]), int(file["seed"])
    began = time.perf_counter()
    model = entry_point()
    model.set_data_options(scale_views=False, scale_groups=False)
    model.set_data_matrix(views, likelihoods=likelihoods)
    model.set_model_options(factors=n_components, ard_weights=True)
    model.set_train_options(iter=1000, seed=seed, quiet=True)
    model.build()
    model.run()
    seconds = time.perf_counter() - began
    nodes = model.model.nodes
    W, Z = nodes["W"].getExpectations()[target], nodes["Z"].getExpectations()
    mean = Z["E"] @ W["E"].T
    variance = Z["E2"] @ W["E2"].T - Z["E"] ** 2 @ (W["E"] ** 2).T
    noise = 1.0 / nodes["Tau"].getExpectations()[target]["E"]
    np.savez(
        sys.argv[2], mean=mean, variance=np.maximum(variance, 0.0),
        noise=np.broadcast_to(noise, mean.shape), seconds=seconds,
    )  # fmt: skip


if __name__ == "__main__":
    main()

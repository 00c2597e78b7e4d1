"""cca_zoo's Bayesian linear models: ``python -m experiments.workers.cca_zoo IN OUT CLASS``.

``predict`` of these classes gives a mean by a least-squares map and no variance, so the
Gaussian conditional of the fitted model is formed here from its loadings and noise:
z | x_a ~ N(m, V), x_b ~ N(W_b m, W_b V W_bᵀ + Ψ_b), parameters at their posterior mean.
"""

import sys
import time
import warnings

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)  # with fewer digits covariances cease to be positive

from cca_zoo import probabilistic  # noqa: E402

from .exchange import request  # noqa: E402


def main() -> None:
    """Fit the class named third on the command line, predict."""
    task = request()
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    kind = getattr(probabilistic, sys.argv[3])
    model = kind(n_components=task.n_components, random_state=task.seed).fit(list(task.train))
    seconds = time.perf_counter() - began
    for direction, (source, target) in enumerate(task.directions):
        task.answer(direction, *conditional(model, source, target, task.test[source]))
    task.finish(seconds)


def conditional(
    model: probabilistic.GFA, source: int, target: int, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of one view given another."""
    noise = [as_covariance(model, view) for view in range(2)]
    W, V_b = model.weights_[source], model.weights_[target]
    precision = np.eye(W.shape[1]) + W.T @ np.linalg.solve(noise[source], W)
    known: list[np.ndarray | None] = [None, None]
    known[source] = rows
    mean = model.posterior_mean(known) @ V_b.T + model.means_[target]
    variance = np.einsum("dq,qd->d", V_b, np.linalg.solve(precision, V_b.T))
    return mean, variance + np.diag(noise[target])


def as_covariance(model: probabilistic.GFA, view: int) -> np.ndarray:
    """Posterior mean of a view's noise covariance, from the posterior draws."""
    sd = np.asarray(model.posterior_samples_[f"noise_sd_{view}"])
    if f"noise_corr_{view}" not in model.posterior_samples_:
        return np.diag(np.mean(sd**2, axis=0))
    root = sd[:, :, None] * np.asarray(model.posterior_samples_[f"noise_corr_{view}"])
    return np.mean(root @ root.transpose(0, 2, 1), axis=0)


if __name__ == "__main__":
    main()

"""Time to our error on hidden values, beside GPyTorch's stochastic Bayesian GP-LVM.

One row in ten lacks half of its columns. Both models have ten latent dimensions and a hundred
inducing inputs, start at the same principal components, and tell the hidden values at the mean of
q(x). GPyTorch (minibatches of 1024, Adam at 0.01, float32, the loss of its tutorial with hidden
values left out) goes on until its error is at most ours or time is up: 130
seconds, unless the environment variable ``GPYTORCH_SECONDS`` says otherwise.
"""

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from manyviews import BayesianGPLVM, Search

from .gpu import Row
from .gpu_fit import stopped_after

LIMIT = float(os.environ.get("GPYTORCH_SECONDS", "130"))
OUR_LIMIT = 60.0
BATCH, RATE, EVERY = 1024, 0.01, 200
SEEDS = (0, 1, 2)


def gpytorch(quick: bool) -> Iterator[Row]:
    """Ours, and then theirs."""
    N, M, Q = (400, 10, 3) if quick else (100_000, 100, 10)
    Y, hidden = smooth_table(N)
    holes = np.where(hidden, np.nan, Y)
    model, row = _ours(Y, hidden, holes, M, Q, quick)
    yield row
    start = model.latent_mean_ if quick else _principal(holes, Q)
    limit = 5.0 if quick else LIMIT
    yield from _gpytorch_until(holes, Y, hidden, start, M, row["error"], limit)


def gpytorch_again(quick: bool) -> Iterator[Row]:
    """Ours alone, with several seeds: do all end as well?"""
    N, M, Q = (400, 10, 3) if quick else (100_000, 100, 10)
    Y, hidden = smooth_table(N)
    for seed in SEEDS:
        yield _ours(Y, hidden, np.where(hidden, np.nan, Y), M, Q, quick, seed)[1]


def _ours(
    Y: np.ndarray, hidden: np.ndarray, holes: np.ndarray, M: int, Q: int, quick: bool, seed: int = 0
) -> tuple[BayesianGPLVM, Row]:
    began = time.perf_counter()
    search = Search(max_iter=20, n_restarts=1) if quick else None
    model = BayesianGPLVM(Q, n_inducing=M, random_state=seed, signal_check="off", search=search)
    with stopped_after(OUR_LIMIT):
        model.fit(holes)
    seconds = time.perf_counter() - began
    base = _error(np.where(hidden, np.nanmean(holes, axis=0), Y), Y, hidden)
    return model, {
        "library": "manyviews",
        "N": len(Y),
        "seed": seed,
        "seconds": seconds,
        "compile_s": float(model.fit_info_.compile_seconds),
        "bound": float(model.lower_bound_),
        "evaluations": int(model.fit_info_.n_evaluations),
        "converged": bool(model.fit_info_.converged),
        "error": _error(model.impute(), Y, hidden),
        "of_means": base,
    }


def smooth_table(N: int, D: int = 20, n_latent: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Smooth functions of a few variables with noise, and which values are hidden."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, n_latent))
    waves = np.sin(X @ rng.standard_normal((n_latent, 12)) + rng.uniform(0, 6, 12))
    Y = waves @ rng.standard_normal((12, D)) / np.sqrt(6) + 0.1 * rng.standard_normal((N, D))
    hidden = np.zeros((N, D), bool)
    hidden[: N // 10, D // 2 :] = True
    return Y, hidden


def _principal(holes: np.ndarray, Q: int) -> np.ndarray:
    from manyviews.inference.initialise import initial_means

    return initial_means(holes - np.nanmean(holes, axis=0), Q, "ppca", np.random.default_rng(0))


def _error(found: Any, Y: np.ndarray, hidden: np.ndarray) -> float:
    return float(np.sqrt(np.mean((np.asarray(found) - Y)[hidden] ** 2)))


def _gpytorch_until(
    holes: np.ndarray,
    Y: np.ndarray,
    hidden: np.ndarray,
    start: np.ndarray,
    M: int,
    target: float,
    limit: float,
) -> Iterator[Row]:
    try:
        import gpytorch as gp
        import torch
        from gpytorch.models.gplvm.bayesian_gplvm import BayesianGPLVM as Base
        from gpytorch.models.gplvm.latent_variable import VariationalLatentVariable
        from gpytorch.priors import NormalPrior
        from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy
    except ImportError as missing:
        yield {"library": "GPyTorch", "failure": str(missing)}
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    (N, D), Q = Y.shape, start.shape[1]
    centre, scale = np.nanmean(holes, axis=0), float(np.nanstd(holes))

    def tensor(a: np.ndarray) -> Any:
        return torch.tensor(a, dtype=torch.float32, device=device)

    class Model(Base):  # type: ignore[misc]
        def __init__(self) -> None:
            batch = torch.Size([D])
            prior = NormalPrior(torch.zeros(N, Q, device=device), torch.ones(N, Q, device=device))
            X = VariationalLatentVariable(N, D, Q, torch.nn.Parameter(tensor(start)), prior)
            seeds = tensor(start[np.random.default_rng(0).choice(N, M, replace=False)])
            q_u = CholeskyVariationalDistribution(M, batch_shape=batch)
            strategy = VariationalStrategy(
                self, seeds.repeat(D, 1, 1), q_u, learn_inducing_locations=True
            )
            super().__init__(X, strategy)
            self.mean_module = gp.means.ZeroMean(ard_num_dims=Q)
            self.covar_module = gp.kernels.ScaleKernel(gp.kernels.RBFKernel(ard_num_dims=Q))

        def forward(self, X: Any) -> Any:
            return gp.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))

    began = time.perf_counter()
    torch.manual_seed(0)
    model, likelihood = Model().to(device), gp.likelihoods.GaussianLikelihood().to(device)
    likelihood.noise = 0.1
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=RATE)
    values = tensor(np.where(hidden, 0.0, (Y - centre) / scale))
    seen = tensor(~hidden)
    rows = np.flatnonzero(hidden.any(axis=1))
    step, error, row = 0, np.inf, {}
    while error > target and time.perf_counter() - began < limit:
        for _ in range(EVERY):
            batch = torch.randint(0, N, (min(BATCH, N),), device=device)
            optimiser.zero_grad()
            f = model(model.sample_latent_variable()[batch])
            evidence = likelihood.expected_log_prob(values[batch].T, f) * seen[batch].T
            loss = -evidence.sum(-1) / len(batch) + model.variational_strategy.kl_divergence() / N
            for term in model.added_loss_terms():
                loss = loss + term.loss()
            loss.sum().backward()
            optimiser.step()
            step += 1
        with torch.no_grad():
            model.eval()
            parts = [
                model(model.X.q_mu[torch.tensor(some, device=device)]).mean.T.cpu().numpy()
                for some in np.array_split(rows, max(1, len(rows) // 5000))
            ]
            model.train()
        told = Y.copy()
        told[rows] = np.concatenate(parts) * scale + centre
        error = _error(told, Y, hidden)
        row = {
            "library": "GPyTorch",
            "N": N,
            "seconds": time.perf_counter() - began,
            "error": error,
            "steps": step,
        }
        if step % (10 * EVERY) == 0:
            yield row
    yield row | {"reached": error <= target}

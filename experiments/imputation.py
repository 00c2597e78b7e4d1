"""Holes in several tables filled by linear factor models, ours beside MOFA and cca_zoo.

Nutrimouse (40 mice; 120 genes, 21 lipids) and single-cell methylation (87 cells; 5000 genes and
three methylation views of 5000 sites each, 76 to 87 % of which are missing to begin with).
Two tasks: ``values``, where a fifth of the observed values of every view is hidden, and
``views``, where a fifth of the samples lose one side altogether (genes, or all that is not
genes, in turn), so that it has to be predicted from the other. All methods see the same
incomplete tables, centred and scaled by what is observed (column by column for nutrimouse, view
by view for the cells), and have at most ten factors and default settings. RMSE and NLPD are over
the hidden values in scaled units; seconds are those of one fit with its imputation.

cca_zoo's GFA takes no missing values: for ``views`` of nutrimouse it is fitted to the mice that
have everything, the rest is not possible.
"""

import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.peers import ROOT, PeerError, interpreter

from manyviews.errors import OptionError
from manyviews.linear import BayesianPCA, GroupFactorAnalysis, ProbabilisticCCA

from .scores import nlpd, rmse
from .setting import Setting
from .table import Row, summarise

N_COMPONENTS = 10
HIDDEN = 0.2
CELL_SEEDS = 2  # of the methylation data, where a fit takes minutes
WORKER_LIMIT = 1500.0  # seconds
CELL_VIEWS = ("RNA_expression", "Met_Enhancers", "Met_CpG_Islands", "Met_Promoters")
QUICK_COLUMNS = 200
MOST_COLUMNS = 150  # of a view, for PCCA: its EM factorises a covariance for every sample's holes

Tables = list[np.ndarray]


@dataclass(frozen=True)
class Holes:
    """Incomplete tables, and what stood in the holes."""

    name: str
    seed: int
    tables: Tables
    truth: Tables
    """NaN where nothing was hidden."""

    def measures(self, means: Tables, stds: Tables) -> dict[str, float]:
        """Errors over all hidden values."""
        hidden = [~np.isnan(part) for part in self.truth]
        truth, mean, std = (
            np.concatenate([part[mask] for part, mask in zip(parts, hidden, strict=True)])
            for parts in (self.truth, means, stds)
        )
        return {f"{self.name}-RMSE": rmse(truth, mean), f"{self.name}-NLPD": nlpd(truth, mean, std)}


# ---------------------------------------------------------------------------------- problems


def views_of(setting: Setting, name: str) -> Tables:
    """The views of a data set, their rows aligned, NaN where a value is missing."""
    if name == "nutrimouse":
        data = setting.load("nutrimouse")
        return [data["gene"], data["lipid"]]
    data = setting.load("scmt_mofa")
    cells = sorted(set().union(*(data[f"{view}_cells"].tolist() for view in CELL_VIEWS)))
    tables = []
    for view in CELL_VIEWS:
        values = data[view][:, :QUICK_COLUMNS] if setting.quick else data[view]
        table = np.full((len(cells), values.shape[1]), np.nan)
        table[[cells.index(cell) for cell in data[f"{view}_cells"].tolist()]] = values
        tables.append(np.where(np.isnan(table), np.nan, table))  # R's NA is a NaN of its own
    return tables


def problems(setting: Setting, name: str) -> Iterator[Holes]:
    """Both tasks for every seed."""
    full = views_of(setting, name)
    for seed in range(1 if setting.quick else setting.seeds):
        rng = np.random.default_rng(seed)
        for task, hide in (("values", hidden_values), ("views", hidden_views)):
            masks = hide(full, rng)
            seen = [np.where(mask, np.nan, Y) for Y, mask in zip(full, masks, strict=True)]
            kept = [(~np.isnan(Y)).sum(axis=0) > 2 for Y in seen]
            tables, truth = [], []
            for Y, known, mask, keep in zip(full, seen, masks, kept, strict=True):
                centre = np.nanmean(known[:, keep], axis=0)
                unit = np.nanstd(known[:, keep], axis=0 if name == "nutrimouse" else None)
                unit = np.maximum(unit, 1e-9)
                tables.append((known[:, keep] - centre) / unit)
                truth.append(np.where(mask, Y, np.nan)[:, keep] / unit - centre / unit)
            yield Holes(f"{name}-{task}", seed, tables, truth)


def hidden_values(full: Tables, rng: np.random.Generator) -> Tables:
    """A fifth of the observed values of every view."""
    return [~np.isnan(Y) & (rng.random(Y.shape) < HIDDEN) for Y in full]


def hidden_views(full: Tables, rng: np.random.Generator) -> Tables:
    """A fifth of the samples that have both sides lose the first view, or all others."""
    first = ~np.isnan(full[0]).all(axis=1)
    others = np.any([~np.isnan(Y).all(axis=1) for Y in full[1:]], axis=0)
    both = rng.permutation(np.flatnonzero(first & others))
    chosen = both[: max(2, round(HIDDEN * len(both)))]
    masks = [np.zeros(Y.shape, bool) for Y in full]
    for place, row in enumerate(chosen):
        for view in [0] if place % 2 == 0 else range(1, len(full)):
            masks[view][row] = ~np.isnan(full[view][row])
    return masks


# ---------------------------------------------------------------------------------- methods

Answer = tuple[Tables, Tables, float]
"""Means and standard deviations of every view, and seconds."""


def gfa(**options: object) -> Callable[[Holes], Answer]:
    """Group factor analysis, ours."""

    def answer(problem: Holes) -> Answer:
        began = time.perf_counter()
        model = GroupFactorAnalysis(N_COMPONENTS, random_state=problem.seed, **options)
        filled, stds = model.fit(problem.tables).impute(return_std=True)
        seconds = time.perf_counter() - began
        return list(filled.values()), list(stds.values()), seconds

    return answer


def bayesian_pca(problem: Holes) -> Answer:
    """All views side by side as one table."""
    began = time.perf_counter()
    model = BayesianPCA(N_COMPONENTS, random_state=problem.seed).fit(np.hstack(problem.tables))
    filled, stds = model.impute(return_std=True)
    seconds = time.perf_counter() - began
    edges = np.cumsum([Y.shape[1] for Y in problem.tables])[:-1]
    return np.split(filled, edges, axis=1), np.split(stds, edges, axis=1), seconds


def pcca(problem: Holes) -> Answer:
    """Probabilistic CCA by EM, where covariances of whole views can be had."""
    if max(Y.shape[1] for Y in problem.tables) > MOST_COLUMNS:
        raise OptionError("the views are too wide for full covariances")
    began = time.perf_counter()
    filled, stds = (
        ProbabilisticCCA(N_COMPONENTS, regularisation="auto")
        .fit(problem.tables)
        .impute(return_std=True)
    )
    return list(filled.values()), list(stds.values()), time.perf_counter() - began


def column_mean(problem: Holes) -> Answer:
    """Mean and standard deviation of every column."""
    means = [np.broadcast_to(np.nanmean(Y, axis=0), Y.shape) for Y in problem.tables]
    stds = [np.maximum(np.nanstd(Y, axis=0), 1e-3) for Y in problem.tables]
    stds = [np.broadcast_to(s, Y.shape) for s, Y in zip(stds, problem.tables, strict=True)]
    return means, stds, 0.0


def peer(environment: str, worker: str) -> Callable[[Holes], Answer]:
    """Another library, in its own interpreter."""

    def answer(problem: Holes) -> Answer:
        python = interpreter(environment)
        with tempfile.TemporaryDirectory(prefix="manyviews-peers-") as folder:
            given, answered = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
            views = {f"view_{k}": Y for k, Y in enumerate(problem.tables)}
            np.savez(given, n_components=N_COMPONENTS, seed=problem.seed, **views)
            command = [python, "-m", f"experiments.workers.{worker}", str(given), str(answered)]
            try:
                done = subprocess.run(
                    command, cwd=ROOT, capture_output=True, text=True, timeout=WORKER_LIMIT
                )
            except subprocess.TimeoutExpired:
                raise PeerError(f"took more than {WORKER_LIMIT:.0f} s") from None
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["no message"]
                raise PeerError(f"failed: {lines[-1][:120]}")
            with np.load(answered) as file:
                places = range(len(problem.tables))
                means, stds = ([file[f"{part}_{k}"] for k in places] for part in ("mean", "std"))
                return means, stds, float(file["seconds"])

    return answer


OURS = {
    "GFA": gfa(),
    'GFA, noise="column"': gfa(noise="column"),
    "Bayesian PCA, side by side": bayesian_pca,
    'PCCA, regularisation="auto"': pcca,
}
PEERS = {
    "MOFA": peer("mofa", "mofa_imputation"),
    "cca_zoo GFA": peer("cca_zoo", "cca_zoo_imputation"),
}


def run(setting: Setting) -> list[Row]:
    """All methods on all problems."""
    rows = []
    for name in ("nutrimouse", "scmt"):
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        failed: dict[tuple[str, str], str] = {}
        methods = OURS | ({} if setting.quick else PEERS) | {"column mean": column_mean}
        for problem in problems(setting, name):
            if name == "scmt" and problem.seed >= CELL_SEEDS:
                break
            for method, answer in methods.items():
                if (method, problem.name) in failed:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        means, stds, spent = answer(problem)
                    except (PeerError, OptionError) as error:
                        failed[method, problem.name] = str(error)[:120]
                        say(problem, method, str(error))
                        continue
                measured = problem.measures(means, stds)
                said = ", ".join(f"{k} {v:.4f}" for k, v in measured.items())
                say(problem, method, f"{said}, {spent:.1f} s")
                for measure, value in measured.items():
                    found[method, measure].append(value)
                    seconds[method, measure].append(spent)
        rows += [
            summarise(method, measure, values, ours=method in OURS,
                      seconds=float(np.mean(seconds[method, measure])))
            for (method, measure), values in found.items()
        ]  # fmt: skip
        rows += [
            Row(method, f"{problem_name}-RMSE", float("nan"), seeds=0, note=reason)
            for (method, problem_name), reason in failed.items()
        ]
    return rows


def say(problem: Holes, method: str, result: str) -> None:
    """Progress on stderr."""
    print(f"seed {problem.seed}, {method}: {result}", file=sys.stderr, flush=True)

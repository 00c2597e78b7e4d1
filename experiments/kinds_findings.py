"""Whether findings are true: shared and private signals of simulated views of every kind.

    python -m experiments kinds-findings --seeds 20 --jobs 16

Two views with one shared signal and one signal each (:mod:`.kinds_simulations`), fitted with the
defaults of :class:`~manyviews.MRD` and the likelihood they were drawn from. A pattern is right if
one dimension is shared and each view has one of its own, and these follow the signals they stand
for (rank correlation above 0.7). Every fit stands in a file of its own, so that a run goes on where
it stopped; ``--sets`` names kinds, ``--methods`` other ways to fit.
"""

import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from manyviews import MRD, Search

from .kinds_simulations import KINDS, VIEWS, simulate
from .pieces import finished
from .setting import DataFolderError, Setting
from .table import Row, summarise

TRUE, GAUSSIAN, AUTO = "right likelihood", "as Gaussian", "auto"
METHODS = (TRUE, GAUSSIAN, AUTO)
LEAST = 0.7  # rank correlation of a dimension with the signal that it stands for
QUICK: dict[str, Any] = {"sets": ("poisson",)}
SMALL = {"n_rows": 60, "n_columns": 6}


def run(setting: Setting) -> list[Row]:
    """The share of right patterns of every kind."""
    sets = setting.sets or (QUICK["sets"] if setting.quick else tuple(KINDS))
    chosen = setting.methods or ((TRUE, GAUSSIAN) if setting.quick else (TRUE,))
    for given, known in ((sets, tuple(KINDS)), (chosen, METHODS)):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise DataFolderError(f"there is no {unknown[0]!r}: there are {', '.join(known)}")
    seeds = 1 if setting.quick else setting.seeds
    pieces = [(m, kind, seed) for seed in range(seeds) for kind in sets for m in chosen]
    found = finished(setting, one_fit, pieces, _said, all_of_them=False)
    rows = []
    for method, kind in dict.fromkeys((m, kind) for m, kind, _ in pieces):
        answers = [answer for piece, answer in found.items() if piece[:2] == (method, kind)]
        if answers:
            rows += _rows(method, kind, answers)
    return rows


def _said(answer: dict[str, Any]) -> str:
    return "right" if answer["right"] else f"wrong: {answer['counts']}"


def _rows(method: str, kind: str, answers: list[dict[str, Any]]) -> list[Row]:
    seconds = float(np.mean([answer["seconds"] for answer in answers]))
    wrong = " ".join("-".join(map(str, a["counts"])) for a in answers if not a["right"])
    return [
        summarise(
            method, f"{kind} | {measure}", [float(answer[key]) for answer in answers],
            seconds=seconds, ours=method != GAUSSIAN, note=note,
        )
        for measure, key, note in (
            ("right-pattern", "right", f"wrong: {wrong}" if wrong else ""),
            ("correlation", "correlation", ""),
        )
    ]  # fmt: skip


def one_fit(setting: Setting, method: str, kind: str, seed: int) -> dict[str, Any]:
    """Fit one simulation and compare its pattern with the truth."""
    quick = setting.quick
    drawn = simulate(kind, seed, **(SMALL if quick else {}))
    likelihood: Any = {TRUE: drawn.likelihood, GAUSSIAN: None, AUTO: "auto"}[method]
    tables = drawn.tables if method == TRUE else {name: drawn.tables[name] for name in VIEWS}
    search = Search(n_restarts=1, max_iter=20) if quick else None
    model = MRD(likelihood=likelihood, search=search, random_state=seed, signal_check="off")
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(tables)
    return compared(model, drawn.signals) | {"seconds": time.perf_counter() - began}


def compared(model: MRD, signals: np.ndarray) -> dict[str, Any]:
    """How many dimensions are shared and private, and whether they follow the signals."""
    groups = [model.shared(*VIEWS), *(model.private(name) for name in VIEWS)]
    counts = [len(group) for group in groups]
    follow = [
        max((abs(spearmanr(model.latent_mean_[:, d], s).statistic) for d in group), default=0.0)
        for group, s in zip(groups, signals, strict=True)
    ]
    return {
        "counts": counts,
        "counted": counts == [1, 1, 1],
        "right": bool(counts == [1, 1, 1] and min(follow) > LEAST),
        "correlation": float(min(follow)),
        "relevance": model.relevance_.to_numpy().round(5).tolist(),
        "bound": model.lower_bound_,
        "bounds": model.fit_info_.restart_bounds,
        "evaluations": model.fit_info_.n_evaluations,
    }

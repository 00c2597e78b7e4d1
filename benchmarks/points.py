"""The MAP GP-LVM, exact and sparse, and GPy's: log p(Y | X) and gradients at equal parameters.

GPy's models have no prior on the points, so ours is taken off. Differences as in ``agreement``:
the largest of a block of the gradient, relative to its largest entry.
"""

import numpy as np

from .agreement import TOLERANCE
from .peers import OURS, PeerError, workers
from .problems import random_problem
from .protocol import read
from .report import Report, Row

PEER = "gpy"
PROBLEMS = {
    "N=60 M=15 Q=3 D=5": (60, 15, 3, 5),
    "N=100 M=20 Q=5 D=200, wide": (100, 20, 5, 200),
    "N=400 M=40 Q=2 D=12": (400, 40, 2, 12),
}


def run(quick: bool) -> list[Report]:
    report = Report(
        "GP-LVM of latent points at identical parameters: largest relative differences",
        target=f"target: at most {TOLERANCE:g} in every column",
    )
    with workers(OURS, PEER) as (alive, absent):
        for seed, (label, sizes) in enumerate(PROBLEMS.items()):
            problem = random_problem(*sizes, seed=seed)
            for kind in ("exact", "sparse"):
                row: Row = {"problem": label, "mapping": kind, "peer": PEER}
                found = {}
                for name, worker in alive.items():
                    path = worker.write(problem)
                    try:
                        worker.ask("points", path=path, kind=kind)
                        found[name] = read(path)
                    except PeerError as error:
                        row["remark"] = str(error)
                if len(found) == 2:
                    ours, theirs = found[OURS], found[PEER]
                    row["log p(Y | X)"] = float(ours["bound"])
                    gaps = {
                        block: float(
                            np.max(np.abs(ours[block] - theirs[block]))
                            / np.max(np.abs(theirs[block]))
                        )
                        for block in theirs
                    }
                    row |= {**gaps, "met": max(gaps.values()) <= TOLERANCE}
                report.rows.append(row)
        report.rows += [{"peer": name, "remark": reason} for name, reason in absent.items()]
    return [report]

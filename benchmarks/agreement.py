"""Do the three libraries compute the same thing? Bound and gradients at equal parameters.

Every number is the largest difference to a peer over a block of the gradient (means,
variances, inducing inputs, …), relative to the largest entry of that block. The jitter is
the same absolute number in all libraries; the part of our gradient that goes through its
being relative to the kernel's variance is taken off (see the worker).
"""

import numpy as np

from .peers import OURS, PEERS, PeerError, workers
from .problems import random_problem
from .protocol import Arrays
from .report import Report, Row

PROBLEMS = {
    "N=60 M=15 Q=3 D=5": (60, 15, 3, 5),
    "N=100 M=20 Q=5 D=200, wide": (100, 20, 5, 200),
    "N=40 M=40 Q=3 D=5, full": (40, 40, 3, 5),
}
TOLERANCE = 1e-6


def run(quick: bool) -> list[Report]:
    report = Report(
        "Agreement at identical parameters: largest relative differences",
        target=f"target: at most {TOLERANCE:g} in every column",
    )
    with workers(OURS, *PEERS) as (alive, absent):
        ours = alive.pop(OURS)
        for seed, (label, sizes) in enumerate(PROBLEMS.items()):
            problem = random_problem(*sizes, seed=seed)
            ours.load(problem)
            reference = ours.gradients()
            for name, peer in alive.items():
                row: Row = {"problem": label, "peer": name}
                try:
                    peer.load(problem)
                    row |= differences(reference, peer.gradients())
                except PeerError as error:
                    row["remark"] = str(error)
                report.rows.append(row)
        report.rows += [{"peer": name, "remark": reason} for name, reason in absent.items()]
    return [report]


def differences(ours: Arrays, theirs: Arrays) -> Row:
    """Relative difference per block, and whether all are within tolerance."""
    found = {
        name: float(np.max(np.abs(ours[name] - theirs[name])) / np.max(np.abs(theirs[name])))
        for name in ("bound", "mu", "S", "Z", "variance", "lengthscale", "noise")
    }
    return {**found, "met": max(found.values()) <= TOLERANCE}

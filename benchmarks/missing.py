"""What scattered missing values cost: one bound and gradient with NaN against one without.

Dense and incomplete data are evaluated in turn in one process; the ratio compares medians.
"""

import time

import numpy as np

from manyviews._runtime import single_threaded_blas
from manyviews.inference.objective import Objective
from manyviews.mappings import ScatteredOutputs, make_outputs

from .problems import random_problem
from .report import Report, Row
from .timing import Times
from .worker_manyviews import make_model

TARGET = 2.0
SHARES = (0.0, 0.1, 0.3, 0.6)


def run(quick: bool) -> list[Report]:
    N, M, Q, D = (200, 20, 5, 200) if quick else (500, 50, 10, 1000)
    report = Report(
        f"Scattered missing values, N={N} M={M} Q={Q} D={D}",
        target=f"target: 10 % missing at most {TARGET:g} times dense",
    )
    problem = random_problem(N, M, Q, D)
    rng = np.random.default_rng(1)
    objectives = {}
    for share in SHARES:
        Y = np.where(rng.random(problem["Y"].shape) < share, np.nan, problem["Y"])
        outputs = make_outputs(Y)
        assert isinstance(outputs, ScatteredOutputs) == (share > 0)
        objectives[share] = Objective(make_model(problem), (outputs,))
    times = _interleaved(objectives, rounds=10 if quick else 25)
    for share in SHARES:
        row: Row = {
            "missing": f"{share:.0%}",
            "ms": 1e3 * times[share].median(),
            "ratio": times[share].median() / times[0.0].median(),
            "CPU ms": 1e3 * times[share].median_cpu(),
            "CPU ratio": times[share].median_cpu() / times[0.0].median_cpu(),
        }
        if share == 0.1:
            row["met"] = row["ratio"] <= TARGET
        report.rows.append(row)
    return [report]


def _interleaved(objectives: dict[float, Objective], rounds: int) -> dict[float, Times]:
    times = {share: Times() for share in objectives}
    with single_threaded_blas():
        for round_ in range(rounds + 1):
            for share, objective in objectives.items():
                wall, cpu = time.perf_counter(), time.process_time()
                objective(objective.start)
                if round_:  # the first compiles
                    times[share].wall.append(time.perf_counter() - wall)
                    times[share].cpu.append(time.process_time() - cpu)
    return times

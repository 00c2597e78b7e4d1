"""One fit by several processes, each on a core of its own, against one process on one core.

Two fits from the same start, a short one and a longer one: the seconds are what the additional
evaluations take each, so that the start, the compiler and the end of a fit have no part in them.
All process numbers run in turn, several times.

Cores share memory, and some of them are two halves of one. What the machine allows is what as many
fits gain that run at the same time and have nothing to do with each other ("apart").
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from .report import Report, Row

REPEATS = 3
LONGER = 4  # times as many iterations in the second fit


def run(quick: bool) -> list[Report]:
    report = Report(
        "Seconds of an evaluation in a fit on as many processes as cores",
        target="target: two processes on two cores at least 1.7 times as fast as one on one",
        note="gain: seconds of one process over these; the best of the repeats",
    )
    N, iterations = (2_000, 5) if quick else (20_000, 25)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0, 1]
    counts = [n for n in (1, 2, 4, 8) if n <= len(cores)]
    best: dict[tuple[int, str], Row] = {}
    for _ in range(1 if quick else REPEATS):
        for count in counts:
            for how in ("one fit", "apart")[: 1 if count == 1 else 2]:
                found = side_by_side(N, iterations, cores[:count], how == "one fit")
                known = best.get((count, how))
                if known is None or found["seconds"] < known["seconds"]:
                    best[count, how] = found
    alone = best[counts[0], "one fit"]["seconds"]
    for (count, how), found in best.items():
        gain = alone / found["seconds"] * (1 if how == "one fit" else count)
        report.rows.append({"processes": count, "fits": how, "N": N, **found, "gain": gain})
    return [report]


def side_by_side(N: int, iterations: int, cores: list[int], joined: bool) -> Row:
    """A fit by one process on each of these cores, or one by each; what the first of them says."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
        free.close()
        answer = Path(folder) / "answer.json"
        started = []
        for place, core in enumerate(cores):
            environment = os.environ | {
                "JAX_PLATFORMS": "cpu",
                "NPROC": "1",
                "OMP_NUM_THREADS": "1",
            }
            if joined and len(cores) > 1:
                environment |= {
                    "MANYVIEWS_COORDINATOR": address,
                    "MANYVIEWS_PROCESSES": str(len(cores)),
                    "MANYVIEWS_PROCESS": str(place),
                }
            own = [str(N), str(iterations), str(core), str(answer) if place == 0 else ""]
            command = [sys.executable, "-m", "benchmarks.processes", *own]
            started.append(subprocess.Popen(command, env=environment))
        for process in started:
            if process.wait():
                raise RuntimeError(f"a process ended with exit status {process.returncode}")
        return json.loads(answer.read_text())  # type: ignore[no-any-return]


def main(n: str, iterations: str, core: str, answer: str) -> None:
    """One of the processes."""
    import warnings

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    from manyviews import BayesianGPLVM, Search
    from manyviews.inference.search import Stage
    from manyviews.processes import join_processes

    from .problems import random_problem

    join_processes()
    Y = random_problem(int(n), 10, 10, 20)["Y"]

    def fitted(iterations: int) -> BayesianGPLVM:
        search = Search(stages=(Stage("lbfgs", iterations),), tol=0.0)
        model = BayesianGPLVM(10, n_inducing=50, search=search, signal_check="off", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(Y)

    fitted(1)  # the compiler's
    short, long = (fitted(count * int(iterations)).fit_info_ for count in (1, LONGER))
    if answer:
        evaluations = long.n_evaluations - short.n_evaluations
        found = {
            "evaluations": evaluations,
            "seconds": (long.seconds - short.seconds) / evaluations,
            "devices": long.n_devices,
            "bound": long.bound_trace[-1],
        }
        Path(answer).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

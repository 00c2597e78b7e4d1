"""Seconds to place 1000 new rows in the latent space, M=50, Q=10, 12 columns.

Ours is ``BayesianGPLVM.transform`` after its first call has compiled. GPy gets the very
parameters of our fit and infers 20 of the rows with ``infer_newX``, one by one and in one
call; its time is scaled up to all rows. The mean bound of those rows under q(x*), computed
by the same code for all, says how good the places are.
"""

from pathlib import Path

import numpy as np

from .peers import OURS, PeerError, Worker, workers
from .problems import oil_like
from .protocol import read
from .report import Report, Row
from .timing import choose_threads

N_GPY = 20
LIMIT = 60.0


def run(quick: bool) -> list[Report]:
    n_train, n_new, max_iter = (200, 100, 30) if quick else (1000, 1000, 300)
    train, new, data = oil_like(n_train, n_new)
    report = Report(f"{n_new} new rows, {data} data, N={n_train} D=12 M=50 Q=10")
    with workers(OURS, "gpy") as (alive, absent):
        ours = alive[OURS]
        folder = Path(ours.folder.name)
        fitted, placed = str(folder / "fitted.npz"), str(folder / "placed.npz")
        ours.ask("fit", path=ours.write({"Y": train, "new": new}), max_iter=max_iter, result=fitted)
        raw = ours.write({"new": new})
        first = ours.ask("transform", path=raw, result=placed)
        seconds = float(
            np.median([ours.ask("transform", path=raw, result=placed) for _ in range(3)])
        )
        few = ours.write({"Y": read(fitted)["new"][:N_GPY]})
        q = read(placed)
        np.savez(placed, mean=q["mean"][:N_GPY], variance=q["variance"][:N_GPY])
        report.rows.append(
            {
                "who": "manyviews, transform",
                "rows timed": n_new,
                "s": seconds,
                "s for all": seconds,
                "ratio": 1.0,
                "bound per row": float(np.mean(ours.ask("row_bounds", path=few, result=placed))),
                "remark": f"first call, with compilation: {first:.1f} s",
            }
        )
        if "gpy" in alive:
            report.rows += _gpy(alive["gpy"], ours, fitted, few, n_new, seconds)
    report.rows += [{"who": name, "remark": reason} for name, reason in absent.items()]
    return [report]


def _gpy(
    gpy: Worker, ours: Worker, fitted: str, few: str, n_new: int, our_seconds: float
) -> list[Row]:
    rows = []
    result = str(Path(gpy.folder.name) / "placed.npz")
    try:
        gpy.ask("load", path=fitted)
        threads = choose_threads(gpy)
        for together, label in ((False, "one by one"), (True, "in one call")):
            done = gpy.ask("infer", path=few, limit=LIMIT, together=together, result=result)
            scaled = done["seconds"] * n_new / done["rows"]
            bounds = ours.ask("row_bounds", path=few, result=result)
            rows.append(
                {
                    "who": f"GPy, infer_newX {label}",
                    "rows timed": done["rows"],
                    "s": done["seconds"],
                    "s for all": scaled,
                    "ratio": scaled / our_seconds,
                    "bound per row": float(np.mean(bounds)),
                    "remark": f"{threads} BLAS thread(s), scaled up",
                }
            )
    except PeerError as error:
        rows.append({"who": "gpy", "remark": str(error)})
    return rows

"""Rows that stay on disk: held-out density, time and peak memory of fits of more and more of them.

Two views, 200 counts and 50 real columns, of two shared and two private signals, from Zarr (or
NumPy files, where Zarr is not there). Every fit is a process of its own:
``python -m benchmarks.scale ROWS PASSES FOLDER``. Tables and answers stay in ``results/scale``, the
answers for as long as the library's code is the same: a run that is cut goes on with the same
command. ``MANYVIEWS_SCALE_ROWS`` and ``MANYVIEWS_SCALE_PASSES`` name other sizes.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from experiments.code import library

from manyviews import MRD, Search, StoredViews
from manyviews.stacking.cells import Cells

from .peers import ROOT
from .report import Report, Row

KEPT = ROOT / "results" / "scale"

SIZES = (10_000, 100_000, 1_000_000)
PASSES = (1.0, 3.0, 10.0)
MOST_READ = 10_000_000  # rows times passes
QUICK_SIZES, QUICK_PASSES = (4_000,), (1.0,)
BLOCK, HELD_OUT = 10_000, 2_000
LIMIT = 3600.0


class World:
    """Functions of four signals; rows of any number are drawn from their number alone."""

    def __init__(self, n_counts: int = 200, n_real: int = 50):
        rng = np.random.default_rng(0)
        self.A, self.B = rng.normal(size=(4, n_counts)), rng.normal(size=(4, n_real))
        self.A[3], self.B[2] = 0.0, 0.0  # what is private to the other view

    def block(self, number: int, n_rows: int) -> dict[str, np.ndarray]:
        """Rows of both views."""
        rng = np.random.default_rng([1, number])
        x = rng.normal(size=(n_rows, 4))
        bent = np.tanh(x) * 1.3
        rate = np.exp(0.5 * bent @ self.A)
        counts = rng.poisson(rate * rng.gamma(4.0, 0.25, size=rate.shape))
        real = bent @ self.B + 0.5 * rng.normal(size=(n_rows, self.B.shape[1]))
        return {"counts": counts.astype(np.float64), "real": real}


def written(folder: Path, n_rows: int) -> dict[str, Path]:
    """Both views on disk, block by block."""
    world, paths, arrays = World(), {}, {}
    for name, width in (("counts", 200), ("real", 50)):
        if find_spec("zarr"):
            import zarr

            paths[name] = folder / f"{name}.zarr"
            arrays[name] = zarr.open(
                str(paths[name]), mode="w", shape=(n_rows, width), chunks=(1000, width),
                dtype="f4",
            )  # fmt: skip
        else:
            paths[name] = folder / f"{name}.npy"
            arrays[name] = np.lib.format.open_memmap(
                paths[name], mode="w+", shape=(n_rows, width), dtype=np.float32
            )
    for number, first in enumerate(range(0, n_rows, BLOCK)):
        last = min(first + BLOCK, n_rows)
        for name, table in world.block(number, last - first).items():
            arrays[name][first:last] = table.astype(np.float32)
    return paths


def one_fit(n_rows: int, passes: float, folder: Path) -> dict[str, Any]:
    """Fit what is on disk, and predict rows that never were there."""
    paths = {path.stem: path for path in folder.iterdir()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = MRD(
        10, 50, likelihood={"counts": "negative_binomial"}, search=Search(passes=passes),
        random_state=0, signal_check="off",
    )  # fmt: skip
    began, spent = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(StoredViews(paths))
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    held_out = World().block(10**6, HELD_OUT)
    began = time.perf_counter()
    model.transform(held_out)
    encoding = time.perf_counter() - began
    density = {name: np.nanmean(model.predict_log_density(held_out, name)) for name in held_out}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "rows": n_rows,
        "passes": passes,
        "seconds": seconds,
        "CPU s": spent,
        "counts from real": float(density["counts"]),
        "real from counts": float(density["real"]),
        "shared": len(model.shared()),
        "of counts": len(model.private("counts")),
        "of real": len(model.private("real")),
        "peak MB": peak / 1024,
        "before MB": before / 1024,
        "s to place 2000 rows": encoding,
    }


def sizes(name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """Numbers that a variable of the environment names, or the default."""
    told = os.environ.get(f"MANYVIEWS_SCALE_{name}")
    return default if told is None else tuple(float(word) for word in told.split())


def run(quick: bool) -> list[Report]:
    report = Report(
        "Rows on disk: log density per held-out value, time and peak memory",
        target="a million rows: within 1 % of the last density in three minutes on one H200; "
        "100,000 on two cores in ten minutes and 4 GB; memory does not grow with rows",
    )
    for size in sizes("ROWS", QUICK_SIZES if quick else SIZES):
        n_rows = int(size)
        for passes in sizes("PASSES", QUICK_PASSES if quick else PASSES):
            if n_rows * passes <= MOST_READ:
                report.rows.append(_kept(n_rows, passes))
    return [report]


def _kept(n_rows: int, passes: float) -> Row:
    """The answer of an earlier run of the same code, or a new one."""
    path = KEPT / library()[:16] / f"{n_rows}-{passes:g}.json"
    found = Cells.read(path)
    if found is None:
        found = _asked(n_rows, passes, _tables(n_rows))
        if "remark" not in found:
            Cells.write(path, found)
    return found


def _tables(n_rows: int) -> Path:
    """The folder of tables of so many rows, written if need be."""
    folder = KEPT / f"{n_rows}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        written(part, n_rows)
        part.rename(folder)
    return folder


def _asked(n_rows: int, passes: float, folder: Path) -> Row:
    command = [sys.executable, "-m", "benchmarks.scale", str(n_rows), str(passes), str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"rows": n_rows, "passes": passes, "remark": f"took more than {LIMIT:.0f} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        return {"rows": n_rows, "passes": passes, "remark": lines[-1][:150]}
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(one_fit(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))))

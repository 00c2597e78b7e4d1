"""What waiting costs on a laptop: fits, predictions and the command, each in a fresh process.

Every row is a process of its own; CPU seconds are those of all its threads (user and system),
which other users of the machine disturb less than wall time. "Cold" starts with an empty
compilation cache, "warm" with what the cold run left there.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from .report import Report, Row

SMALL, LARGE = (200, 20, 15), (1000, 100, 80)
IMPORTS = {
    "import jax, sklearn.base": "import jax, sklearn.base",
    "import manyviews; manyviews.MRD": "import manyviews; manyviews.MRD",
    "import manyviews": "import manyviews",
    "import manyviews.linear": "import manyviews.linear",
    "manyviews --help": "from manyviews.cli import main; main(['--help'])",
}
REPEATS = 3


def run(quick: bool) -> list[Report]:
    return [starts(1 if quick else REPEATS), fits((SMALL,) if quick else (SMALL, LARGE))]


def starts(repeats: int) -> Report:
    """Imports and the command, in turn; the best of some repeats."""
    report = Report("Seconds to start", note="relative: CPU seconds over those of the first row")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in IMPORTS}
    for _ in range(repeats):
        for name, code in IMPORTS.items():
            found[name].append(process(["-c", code]))
    first = min(cpu for _, cpu in next(iter(found.values())))
    for name, times in found.items():
        wall, cpu = (min(values) for values in zip(*times, strict=True))
        report.rows.append({"what": name, "wall": wall, "CPU": cpu, "relative": cpu / first})
    return report


def fits(sizes: tuple[tuple[int, int, int], ...]) -> Report:
    """A default MRD of two views, saved; then five rows predicted in another process."""
    report = Report(
        "Default MRD and five new rows, seconds",
        target="target (wall, quiet machine): fit of 200 rows 7 cold and 3 warm, of 1000 rows 20 "
        "cold; predict 5 warm",
    )
    for size in sizes:
        label = f"{size[0]} x ({size[1]} + {size[2]})"
        with tempfile.TemporaryDirectory() as folder:
            for cache in ("cold", "warm"):
                for step in ("fit", "predict"):
                    row: Row = {"size": label, "step": step, "cache": cache}
                    report.rows.append(row | _step(step, size, Path(folder)))
    return report


def _step(step: str, size: tuple[int, int, int], folder: Path) -> Row:
    answer = folder / "answer.json"
    arguments = ["-m", "benchmarks.laptop", step, *map(str, size), str(folder), str(answer)]
    wall, cpu = process(arguments, {"MANYVIEWS_COMPILE_CACHE": str(folder / "cache")})
    return {"process, wall": wall, "process, CPU": cpu, **json.loads(answer.read_text())}


def process(arguments: list[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Wall and CPU seconds of a Python process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | (environment or {}), check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def simulated(n_samples: int, first: int, second: int) -> dict[str, np.ndarray]:
    """Two views, each a noisy smooth function of three of four latent variables."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, 4))

    def view(X: np.ndarray, n_columns: int) -> np.ndarray:
        waves = np.sin(X @ rng.standard_normal((3, 8)) + rng.uniform(0, 6, 8))
        return waves @ rng.standard_normal((8, n_columns)) / 2 + 0.3 * rng.standard_normal(
            (n_samples, n_columns)
        )

    return {"a": view(X[:, :3], first), "b": view(X[:, 1:], second)}


def main(step: str, n: str, first: str, second: str, folder: str, answer: str) -> None:
    """One step, in a process of its own."""
    import warnings

    from manyviews import MRD, load

    views, model_file = simulated(int(n), int(first), int(second)), Path(folder) / "m.safetensors"
    wall, cpu = time.perf_counter(), time.process_time()
    found: Row = {}
    if step == "fit":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MRD(random_state=0).fit(views)
        info = model.fit_info_
        found = {
            "evaluations": info.n_evaluations,
            "bound per value": model.lower_bound_ / sum(Y.size for Y in views.values()),
            "starts finished": f"{sum(info.restart_finished)} of {len(info.restart_finished)}",
        }
    else:
        load(model_file).predict({"a": views["a"][:5]}, "b", return_std=True)
    taken = {"wall": time.perf_counter() - wall, "CPU": time.process_time() - cpu}
    if step == "fit":
        model.save(model_file)
    Path(answer).write_text(json.dumps(taken | found))


if __name__ == "__main__":
    main(*sys.argv[1:])

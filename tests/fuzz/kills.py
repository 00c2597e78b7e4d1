"""``manyviews fit``, killed at random moments and resumed: nothing that was shown is lost.

Some runs cannot write files beyond a few kilobytes, as on a disk that is all but full
(``RLIMIT_FSIZE``: the system refuses what is too much, in the middle of a file).
"""

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import manyviews

from .case import Part, Result
from .contents import content, difference

GP = ["--inducing", "6", "--max-iter", "40", "--set", "signal_check=off"]
POINTS = ["--max-iter", "60"]
TWO, ONE = ["--components", "2"], ["--components", "1"]
MODELS = {
    "mrd": [*GP, *TWO, "--restarts", "2"],
    "gplvm": [*GP, *TWO, "--restarts", "3"],
    "map-gplvm": [*POINTS, *TWO],
    "shared-gplvm": [*POINTS, *TWO],
    "gfa": TWO,
    "classifier": [*GP, *TWO, "--restarts", "1"],
    "mcgpds": [*GP, *TWO, "--restarts", "1"],
    "cgpds": [*GP, *ONE, "--restarts", "1", "--set", "n_local=1"],
    "subspace-gplvm": POINTS,
    "shared-private-gplvm": ["--max-iter", "20"],
    "gplvm-cca": [*POINTS, *ONE],
    "uncertain-gp": ["--inducing", "6", "--max-iter", "40"],
}
ONE_TABLE = {"gplvm", "map-gplvm", "cgpds"}
TIMED = {"mcgpds", "cgpds"}
COMPILED = 0.6  # share of the first run that later ones take, which find their programs
FAST_TO_COMPILE = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
LONGEST = 240.0  # seconds of one run
FULL_DISKS = 0.25  # share of the runs
FULL = 4  # exit code: something cannot be written


def start(folder: Path) -> Any:
    """Write the tables, and keep what uninterrupted runs come to."""
    data, common = _tables(folder), folder.parent / "references"
    common.mkdir(exist_ok=True)
    known: dict[str, list[Any]] = {}

    def case(rng: np.random.Generator, number: int) -> Result:
        name = list(MODELS)[number % len(MODELS)]
        if name not in known:
            with open(common / f"{name}.lock", "w") as lock:  # one process fits it for all
                fcntl.flock(lock, fcntl.LOCK_EX)
                said = _uninterrupted(name, data, common / name)
            if said:
                return Result("wrong", f"{name} without a kill {said}")
            took = float((common / name / "took").read_text())
            known[name] = [COMPILED * took, content(common / name / "model.safetensors")]
        return _killed(name, data, folder / f"run-{number}", known[name], rng)

    return case


def _uninterrupted(name: str, data: Path, run: Path) -> str:
    """Fit a model as it is to come out, unless that is done; what is wrong, if anything is."""
    if (run / "took").exists():
        return ""
    shutil.rmtree(run, ignore_errors=True)
    began = time.monotonic()
    code, _, said = _run([*_fit(name, data), "-o", str(run)], None)
    if code:
        return f"ended with {code}\n{said[-1500:]}"
    (run / "took").write_text(str(time.monotonic() - began))
    return ""


def _tables(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((24, 2))
    names = [f"s{i}" for i in range(24)]
    first = np.tanh(x) @ rng.standard_normal((2, 3)) + 0.1 * rng.standard_normal((24, 3))
    second = x @ rng.standard_normal((2, 2)) + 0.1 * rng.standard_normal((24, 2))
    pd.DataFrame(first, names, list("pqr")).to_csv(folder / "first.csv")
    pd.DataFrame(second, names, list("uv")).to_csv(folder / "second.csv")
    about = {"batch": ["x", "y"] * 12, "t": np.arange(24)}
    pd.DataFrame(about, names).to_csv(folder / "about.csv")
    return folder


def _fit(name: str, data: Path) -> list[str]:
    views = ["first.csv"] if name in ONE_TABLE else ["first.csv", "second.csv"]
    more = ["--labels", f"{data / 'about.csv'}:batch"] if name == "classifier" else []
    more += ["--times", f"{data / 'about.csv'}:t"] if name in TIMED else []
    return ["fit", *(str(data / view) for view in views), "--model", name,
            "--no-report", "--hold-out", "0", *MODELS[name], *more]  # fmt: skip


def _run(
    arguments: list[str], kill_after: float | None, largest: int | None = None
) -> tuple[int, str, str]:
    """The exit code of the command (−9 if killed), and what it printed.

    No file can be larger than ``largest`` bytes.
    """

    def limit() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    command = [sys.executable, "-m", "manyviews", *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | FAST_TO_COMPILE,
        preexec_fn=limit,
    )
    try:
        out, said = process.communicate(timeout=LONGEST if kill_after is None else kill_after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, said = process.communicate()
        if kill_after is None:
            return -1, out, f"no end after {LONGEST:.0f} s"
    return process.returncode, out, said


def _killed(
    name: str, data: Path, run: Path, reference: list[Any], rng: np.random.Generator
) -> Result:
    took, wanted = reference
    file, kills, full_disks, state = run / "model.safetensors", 0, 0, ""
    for _ in range(rng.integers(1, 6)):
        resume = (run / "options.toml").exists()
        again = ["fit", "--resume", str(run)] if resume else [*_fit(name, data), "-o", str(run)]
        again += ["--no-report"] if resume else []
        done = file.exists()
        if done:
            break
        began = time.monotonic()
        largest = int(10.0 ** rng.uniform(1.0, 5.0)) if rng.random() < FULL_DISKS else None
        code, out, said = _run(again, took * rng.uniform(0.1, 1.0), largest)
        if code == FULL and largest is not None:
            full_disks += 1
            if "cannot be written" not in said:
                return Result("wrong", f"{name}: a full disk is not told\n{said[-1500:]}")
            if left := [path.name for path in run.rglob("*.part") if kills == 0]:
                return Result("wrong", f"{name}: a full disk leaves {left}")
            continue
        if code == 0:  # faster than the first time, when programs were compiled
            reference[0] = min(took, time.monotonic() - began)
        if code not in {0, -9}:
            return Result("wrong", f"{name}: ended with {code} after {kills} kills\n{said[-1500:]}")
        kills += code == -9
        shown = "model   " in said + out
        if (code == 0 or shown) and not file.exists():
            return Result("wrong", f"{name}: the model was shown as written, and is not there")
        state = "fitted before the kill" if file.exists() else "resumed after the kill"
    if not file.exists():
        resume = (run / "options.toml").exists()
        again = ["fit", "--resume", str(run)] if resume else [*_fit(name, data), "-o", str(run)]
        code, _, said = _run([*again, *(["--no-report"] if resume else [])], None)
        if code:
            return Result(
                "wrong", f"{name}: not resumed after {kills} kills: {code}\n{said[-1500:]}"
            )
    try:
        manyviews.load(file)
    except Exception as error:
        return Result("wrong", f"{name}: what was written cannot be read: {error}")
    off = difference(content(file), wanted)
    if off:
        return Result("wrong", f"{name}: {kills} kills changed the result: {off}")
    left = [path.name for path in run.rglob("*.part")]
    shutil.rmtree(run)
    numbers = {"kills": kills, "full disks": full_disks, "parts": len(left)}
    return Result(state if kills else "not killed", numbers=numbers)


PART = Part(
    f"kill -9 of manyviews fit over {len(MODELS)} models: the resumed result equal to the bit",
    limit=900.0, share=3.0, start=start, counted="kills",
)  # fmt: skip

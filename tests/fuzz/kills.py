"""``manyviews fit``, killed at random moments and resumed: nothing that was shown is lost.

Some runs cannot write files beyond a few kilobytes, as on a disk that is all but full
(``RLIMIT_FSIZE``: the system refuses what is too much, in the middle of a file).
"""

import json
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
from safetensors.numpy import load as tensors_of

import manyviews

from .case import Part, Result
from .mutate import header_of

GP = ["--inducing", "6", "--max-iter", "40", "--set", "signal_check=off"]
MODELS = {
    "mrd": [*GP, "--restarts", "2"],
    "gplvm": [*GP, "--restarts", "3"],
    "map-gplvm": ["--max-iter", "60"],
    "shared-gplvm": ["--max-iter", "60"],
    "gfa": [],
    "classifier": [*GP, "--restarts", "1"],
}
ONE_TABLE = {"gplvm", "map-gplvm"}
NOT_KEPT = {"seconds", "compile_seconds", "n_evaluations"}  # of the last process that fitted
FAST_TO_COMPILE = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
LONGEST = 150.0  # seconds of one run
FULL_DISKS = 0.25  # share of the runs
FULL = 4  # exit code: something cannot be written


def start(folder: Path) -> Any:
    """Write the tables, and keep what uninterrupted runs come to."""
    data = _tables(folder)
    known: dict[str, list[Any]] = {}

    def case(rng: np.random.Generator, number: int) -> Result:
        name = list(MODELS)[number % len(MODELS)]
        if name not in known:
            reference = folder / f"reference-{name}"
            began = time.monotonic()
            code, _, said = _run([*_fit(name, data), "-o", str(reference)], None)
            if code:
                return Result("wrong", f"{name} without a kill ended with {code}\n{said}")
            known[name] = [time.monotonic() - began, _content(reference / "model.safetensors")]
        return _killed(name, data, folder / f"run-{number}", known[name], rng)

    return case


def _tables(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((24, 2))
    names = [f"s{i}" for i in range(24)]
    first = np.tanh(x) @ rng.standard_normal((2, 3)) + 0.1 * rng.standard_normal((24, 3))
    second = x @ rng.standard_normal((2, 2)) + 0.1 * rng.standard_normal((24, 2))
    pd.DataFrame(first, names, list("pqr")).to_csv(folder / "first.csv")
    pd.DataFrame(second, names, list("uv")).to_csv(folder / "second.csv")
    pd.DataFrame({"batch": ["x", "y"] * 12}, names).to_csv(folder / "about.csv")
    return folder


def _fit(name: str, data: Path) -> list[str]:
    views = ["first.csv"] if name in ONE_TABLE else ["first.csv", "second.csv"]
    more = ["--labels", f"{data / 'about.csv'}:batch"] if name == "classifier" else []
    return ["fit", *(str(data / view) for view in views), "--model", name, "--components", "2",
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
    off = _difference(_content(file), wanted)
    if off:
        return Result("wrong", f"{name}: {kills} kills changed the result: {off}")
    left = [path.name for path in run.rglob("*.part")]
    shutil.rmtree(run)
    numbers = {"kills": kills, "full disks": full_disks, "parts": len(left)}
    return Result(state if kills else "not killed", numbers=numbers)


def _content(path: Path) -> Any:
    raw = path.read_bytes()
    return json.loads(header_of(raw)["content"]), tensors_of(raw)


def _difference(a: Any, b: Any) -> str:
    """Where two models differ, but for the time that they took; empty if nowhere."""
    trees = [_plain(tree) for tree, _ in (a, b)]
    if trees[0] != trees[1]:
        pairs = zip(_leaves(trees[0]), _leaves(trees[1]), strict=False)
        return next((f"{x} for {y}" for x, y in pairs if x != y), "shapes of the records")
    if set(a[1]) != set(b[1]):
        return f"tensors {sorted(set(a[1]) ^ set(b[1]))[:5]}"
    off = {
        name: float(np.max(np.abs(x - b[1][name]))) if x.shape == b[1][name].shape else x.shape
        for name, x in a[1].items()
        if x.tobytes() != b[1][name].tobytes()
    }
    return ", ".join(f"{name} by {size}" for name, size in list(off.items())[:4])


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {k: _plain(v) for k, v in node.items() if k not in NOT_KEPT}
    return [_plain(v) for v in node] if isinstance(node, list) else node


def _leaves(node: Any, place: str = "") -> list[str]:
    if isinstance(node, dict | list):
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        return [leaf for k, v in pairs for leaf in _leaves(v, f"{place}.{k}")]
    return [f"{place}={node!r}"]


PART = Part(
    f"kill -9 of manyviews fit over {len(MODELS)} models: the resumed result equal to the bit",
    limit=900.0, share=3.0, start=start, counted="kills",
)  # fmt: skip

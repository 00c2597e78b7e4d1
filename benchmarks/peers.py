"""The libraries we compare with: their environments, and worker processes in all of them.

Every peer lives in a virtual environment of its own (``.venv-gpy``, ``.venv-gpflow`` and so
on), made on first use; ``MANYVIEWS_BENCH_GPY``, ``MANYVIEWS_BENCH_GPFLOW`` … may name a Python
executable that has it already. All workers are processes, ours too.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from .protocol import Arrays, read

ROOT = Path(__file__).resolve().parent.parent
OURS = "manyviews"
REQUIREMENTS = {
    "gpy": ("gpy==1.15.0", "paramz==0.10.0", "numpy==2.4.*", "scipy==1.17.*", "threadpoolctl==3.*"),
    "gpflow": (
        "gpflow==2.11.2",
        "tensorflow-cpu==2.21.0",
        "tensorflow-probability==0.25.0",
        "tf-keras==2.21.0",
        "numpy==1.26.4",
        "scipy==1.17.*",
        "setuptools<81",  # check-shapes and TensorFlow Probability still import pkg_resources
    ),
    "cca_zoo": ("cca-zoo[probabilistic]==4.0.1",),
    "mofa": ("mofapy2==0.7.5",),
    "mofaflex": ("mofaflex==0.1.2", "torch==2.13.0"),
}
PEERS = ("gpy", "gpflow")  # those the benchmarks time; experiments compare with more
FAILED: dict[str, str] = {}  # peers that could not be installed: not to be tried again


class PeerError(RuntimeError):
    """A peer cannot be installed, started or has failed."""


@cache
def interpreter(name: str) -> str:
    """The Python executable that has a library; installs it where necessary."""
    if name == OURS:
        return sys.executable
    named = os.environ.get(f"MANYVIEWS_BENCH_{name.upper()}")
    if named:
        return named
    if name in FAILED:
        raise PeerError(FAILED[name])
    folder = ROOT / f".venv-{name}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    complete = folder / "complete"
    if not complete.exists():
        print(f"installing {name} into {folder.name} …", file=sys.stderr)
        _check([sys.executable, "-m", "venv", "--clear", str(folder)], name)
        install = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        _check([*install, *REQUIREMENTS[name]], name)
        complete.touch()
    return str(python)


def _check(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        reason = next((line for line in lines if line.startswith("ERROR")), lines[-1])
        FAILED[name] = f"{name} cannot be installed: {reason}"
        raise PeerError(FAILED[name])


class Worker:
    """A worker process; ``ask`` sends a command and waits for its answer."""

    def __init__(self, name: str, **environment: str):
        self.name = name
        self.folder = tempfile.TemporaryDirectory(prefix="manyviews-bench-")
        self.log = open(Path(self.folder.name) / "log", "w+")  # noqa: SIM115 - closed in stop
        self.process = subprocess.Popen(
            [interpreter(name), "-m", f"benchmarks.worker_{name}"],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def ask(self, command: str, timeout: float = 600.0, **arguments: Any) -> Any:
        """Send one command and return its result."""
        assert self.process.stdin is not None
        try:
            request = {"command": command, "arguments": arguments}
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.answers.get(timeout=timeout)
        except queue.Empty:
            self.process.kill()
            raise PeerError(f"{self.name} took more than {timeout:.0f} s to {command}") from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(f"{self.name} ended during {command}: {self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{self.name} failed to {command}: {answer['error']}")
        return answer["result"]

    def load(self, problem: Arrays) -> None:
        """Hand a problem over."""
        self.ask("load", path=self.write(problem))

    def gradients(self) -> Arrays:
        """Fetch bound and gradients."""
        path = str(Path(self.folder.name) / "gradients.npz")
        self.ask("gradients", path=path)
        return read(path)

    def write(self, arrays: Arrays) -> str:
        """Put arrays into a file that the worker can read; return its path."""
        path = Path(self.folder.name) / "arrays.npz"
        np.savez(path, **arrays)
        return str(path)

    def stop(self) -> None:
        """End the process and forget its files."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def _last_words(self) -> str:
        self.log.seek(0)
        lines = self.log.read().strip().splitlines()
        return lines[-1] if lines else "no message"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextmanager
def workers(*names: str, **environment: str) -> Iterator[tuple[dict[str, Worker], dict[str, str]]]:
    """Start workers; yield those that live, and for the others why they do not."""
    with ExitStack() as stack:
        alive: dict[str, Worker] = {}
        absent: dict[str, str] = {}
        for name in names:
            try:
                worker = stack.enter_context(Worker(name, **environment))
                worker.ask("memory", timeout=180.0)
                alive[name] = worker
            except (PeerError, OSError) as error:
                if name == OURS:  # nothing to compare with: not a row in a table
                    raise
                absent[name] = str(error)
        yield alive, absent

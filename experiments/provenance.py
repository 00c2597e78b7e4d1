"""Where and with what a result was measured."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .code import ROOT

LIBRARIES = ("jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "scikit-learn", "pandas")
NO_CODE = (":!docs", ":!experiments/results", ":!*.md")


def provenance() -> dict[str, Any]:
    """Version, commit, machine and libraries."""
    return {
        "version": version("manyviews"),
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--", ".", *NO_CODE)),
        "machine": machine(),
        "libraries": {"python": platform.python_version(), **installed()},
    }


def git(*arguments: str) -> str | None:
    """What git says of this folder; nothing where there is no repository."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    """Cores, memory, processor and accelerator."""
    import jax

    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    gpus = [device.device_kind for device in jax.devices() if device.platform != "cpu"]
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 2**30),
        "processor": processor(),
        "gpu": gpus[0] if gpus else None,
        "system": platform.system(),
    }


def processor() -> str:
    """The name of the processor."""
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def installed() -> dict[str, str]:
    """Versions of the libraries that compute."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

"""Changed model files: refused by name, or read as exactly what they hold."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors.numpy import load as tensors_of

import manyviews
from manyviews import catalogue  # noqa: F401  (files of all models can be read)
from manyviews.encoding import encode
from manyviews.errors import FileFormatError

from .case import Part, Result
from .generate import ROWS
from .models import MODELS, training
from .mutate import bytes_changed, forged, header_of

KINDS = (
    "PPCA", "GroupFactorAnalysis", "KernelCCA", "CCA", "GenerativeClassifier", "BayesianGPLVM",
    "MRD", "GPLVM", "MixturePCCA",
)  # fmt: skip


def start(folder: Path) -> Any:
    """Fit a few models, and change their files."""
    jax.config.update("jax_disable_most_optimizations", True)  # for fits that take no time
    saved = [_saved(name, folder / f"{name}.safetensors") for name in KINDS]
    path = folder / "changed.safetensors"

    def case(rng: np.random.Generator, number: int) -> Result:
        raw = saved[rng.integers(len(saved))]
        if rng.random() < 0.4:
            path.write_bytes(changed := bytes_changed(raw, rng))
        else:
            path.write_bytes(changed := forged(raw, "content", rng))
        try:
            model = manyviews.load(path)
        except FileFormatError as error:
            return Result("refused" if len(str(error)) > 15 else "wrong")
        return _compared(model, changed)

    return case


def _saved(name: str, path: Path) -> bytes:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, 2))
    table = np.tanh(x) @ rng.standard_normal((2, 4)) + 0.1 * rng.standard_normal((ROWS, 4))
    other = x @ rng.standard_normal((2, 3)) + 0.1 * rng.standard_normal((ROWS, 3))
    arguments, when = training(name, table, other, rng)
    MODELS[name]().fit(*arguments, **when).save(path)
    return path.read_bytes()


def _compared(model: Any, raw: bytes) -> Result:
    """Whether a model that was read holds all that is in the file, and nothing else."""
    header, tensors = header_of(raw), tensors_of(raw)
    found: dict[str, np.ndarray] = {}
    tree = json.loads(json.dumps(encode(model, "model", found)))
    held = json.loads(header["content"])
    if difference := _difference(tree, held, found, tensors):
        return Result("wrong", f"read otherwise than it is in the file: {difference}")
    return Result("read as it is")


def _difference(tree: Any, held: Any, found: Any, tensors: Any) -> str:
    """Where two trees differ, tensors by their values; empty if nowhere."""
    rest = [(tree, held, "model")]
    while rest:
        a, b, place = rest.pop()
        if place.endswith(".random_state") and a is None:  # only whole numbers are kept
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            tensor = str(a.get("tensor")) in found and str(b.get("tensor")) in tensors
            if tensor and a.get("kind") == b.get("kind"):
                x, y = found[a["tensor"]], tensors[b["tensor"]]
                alike = x.dtype == y.dtype and x.shape == y.shape
                if not (alike and x.tobytes() == y.tobytes()):
                    return place
            elif set(a) != set(b):
                return f"{place}: {sorted(set(a) ^ set(b))}"
            else:
                rest += [(a[key], b[key], f"{place[-200:]}.{key}") for key in a]
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            pairs = enumerate(zip(a, b, strict=True))
            rest += [(x, y, f"{place[-200:]}.{i}") for i, (x, y) in pairs]
        elif type(a) is not type(b) or not (a == b or (a != a and b != b)):
            return f"{place}: {str(a)[:80]!r} for {str(b)[:80]!r}"
    return ""


PART = Part(
    f"changed files of {len(KINDS)} models, under old or new checksums: refused or read exactly",
    limit=60.0, share=2.0, start=start,
)  # fmt: skip

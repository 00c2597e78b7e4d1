"""What model files hold, and where two of them differ."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as tensors_of

from .mutate import header_of

NOT_KEPT = {"seconds", "compile_seconds", "n_evaluations"}  # of the last process that fitted


def content(path: Path) -> Any:
    raw = path.read_bytes()
    return json.loads(header_of(raw)["content"]), tensors_of(raw)


def difference(a: Any, b: Any) -> str:
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

"""Labels of samples as colours: classes, or numbers on a scale."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from ..plot.style import COLOURS, days

STEPS = 64  # of a colour scale
NOTHING = "#8a8f98"  # no label


@dataclass(frozen=True)
class Labels:
    """A colour per sample, as a place in a palette, and what the colours mean."""

    codes: Int[np.ndarray, " N"]
    palette: list[str]
    names: list[str]
    scale: tuple[float | str, ...] | None
    texts: list[str]
    title: str = ""

    def describe(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {
            "codes": self.codes.tolist(),
            "palette": self.palette,
            "names": self.names,
            "scale": self.scale,
            "texts": self.texts,
            "title": self.title,
        }


def colour_labels(values: np.ndarray) -> Labels:
    """Floats and dates get a colour scale, all else a colour per class."""
    missing = pd.isna(values)
    if values.dtype.kind == "M":
        return _dates(values, missing)
    if values.dtype.kind == "f":
        return _on_a_scale(values, ~np.isfinite(values))
    names, codes = np.unique(values[~missing].astype(str), return_inverse=True)
    if values.dtype.kind in "iu" and not missing.any():  # in the order of numbers
        ordered, codes = np.unique(values, return_inverse=True)
        names = ordered.astype(str)
    palette = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
    places = np.full(len(values), len(names))
    places[~missing] = codes
    if missing.any():
        names, palette = np.append(names, "no label"), [*palette, NOTHING]
    return Labels(places, palette, names.tolist(), None, [])


def _dates(values: np.ndarray, missing: np.ndarray) -> Labels:
    """A scale of days whose ends, and whose samples, are named by dates."""
    found = _on_a_scale(days(values), missing)
    texts = pd.Series(values).astype(str).tolist()
    known = np.sort(values[~missing])
    ends = pd.Series(known[[0, -1]]).dt.strftime("%Y-%m-%d") if len(known) else ["", ""]
    return replace(found, texts=texts, scale=tuple(ends))


def _on_a_scale(values: np.ndarray, missing: np.ndarray) -> Labels:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    known = values[~missing]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    share = (np.where(missing, low, values) - low) / max(high - low, 1e-300)
    codes = np.clip((share * STEPS).astype(int), 0, STEPS - 1)
    codes[missing] = STEPS
    palette = [to_hex(colormaps["viridis"](k / (STEPS - 1))) for k in range(STEPS)] + [NOTHING]
    texts = [f"{value:.4g}" for value in values]
    return Labels(codes, palette, [], (low, high), texts)

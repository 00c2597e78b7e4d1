"""What all pictures share: colours that colour-blind readers can tell apart, and layout."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito (2008), then Tol's muted set
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
    "#56B4E9", "#332288", "#882255", "#999933", "#666666",
)  # fmt: skip


def days(dates: np.ndarray) -> np.ndarray:
    """Dates as days since 1970, as matplotlib counts them; NaN where there is none."""
    whole = dates.astype("datetime64[us]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 86400e6)


def axes_or_new(ax: Any) -> "Axes":
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(5, 4.5), layout="constrained")[1]


def two_panels() -> "tuple[Figure, list[Axes]]":
    """A figure with two axes side by side, for use without a screen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), layout="constrained")
    return figure, list(figure.subplots(1, 2))

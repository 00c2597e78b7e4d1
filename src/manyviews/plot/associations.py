"""Latent dimensions against what is known of the samples."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..escaping import in_picture
from .style import axes_or_new
from .subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.05  # of adjusted p-values that are marked


def association_map(
    model: Any, metadata: Any, ax: Any = None, method: str = "pearson", active: bool = True
) -> "Axes":
    """Correlations of metadata with latent dimensions as a heat map.

    Blue is negative, red positive; a variable of several categories has no sign. A star marks an
    adjusted p-value below 0.05; see `MRD.associations`.

    Parameters
    ----------
    model : fitted estimator
        With one latent space for all samples.
    metadata : DataFrame, Series or dict of sequences
        What is known of the training samples.
    ax : Axes, optional
        Where to draw. Default: a new figure.
    method : {"pearson", "spearman"}
        Of values, or of ranks.
    active : bool, default=True
        Leave out dimensions that are switched off.
    """
    subject = Subject.of(model)
    ax = axes_or_new(ax)
    table = subject.model.associations(metadata, method)
    values = table.pivot(index="variable", columns="dimension", values="association")
    chances = table.pivot(index="variable", columns="dimension", values="adjusted_p_value")
    order = table["variable"].drop_duplicates()
    kept = sorted(subject.active()) if active and subject.active() else list(values.columns)
    values, chances = values.loc[order, kept], chances.loc[order, kept]
    numbers = values.to_numpy(float)
    names = [in_picture(subject.labels[d]) for d in kept]
    image = ax.imshow(numbers, cmap="RdBu_r", vmin=-1.0, vmax=1.0, aspect="auto")
    turned = {"rotation": 35, "ha": "right"} if max(map(len, names)) > 6 else {}
    ax.set_xticks(range(len(kept)), names, **turned)
    ax.set_yticks(range(len(values)), [in_picture(name) for name in values.index])
    ax.set_xlabel("latent dimension")
    if numbers.size <= 300:
        for (i, j), value in np.ndenumerate(numbers):
            if np.isfinite(value):
                star = "*" if chances.iloc[i, j] < LEVEL else ""
                ink = "white" if abs(value) > 0.6 else "black"
                text = {"ha": "center", "va": "center", "color": ink, "fontsize": 8}
                ax.text(j, i, f"{value:.2f}{star}", **text)
    ax.figure.colorbar(image, ax=ax, label="correlation")
    return ax

"""Who is missing where: the first picture to look at."""

from typing import TYPE_CHECKING, Any

from matplotlib.colors import LinearSegmentedColormap, to_rgb

from ..escaping import in_picture
from .style import COLOURS, axes_or_new
from .subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ABSENT = "#B8B8B8"


def data_overview(model: Any, ax: Any = None) -> "Axes":
    """One band per view, one stripe per sample: full colour where all its values are known.

    Grey is missing altogether, in between the share of the columns that is there.
    """
    subject = Subject.of(model)
    ax = axes_or_new(ax)
    labels = []
    for k, (name, table) in enumerate(subject.tables.items()):
        known = table.notna().to_numpy()
        shades = LinearSegmentedColormap.from_list("known", [ABSENT, COLOURS[k % len(COLOURS)]])
        band = shades(known.mean(axis=1))[None, :, :3]
        extent = (0, len(table), k + 0.38, k - 0.38)
        ax.imshow(band, extent=extent, aspect="auto", interpolation="nearest")
        missing = 1.0 - known.mean()
        lacking = f", {missing:.1%} missing" if missing else ""
        labels.append(f"{in_picture(name)}\n{table.shape[1]} columns{lacking}")
    ax.set_xlim(0, len(table))
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "top"]].set_visible(False)
    ax.set_xlabel(f"{len(table)} samples")
    if any(table.isna().to_numpy().any() for table in subject.tables.values()):
        ax.plot([], [], "s", color=to_rgb(ABSENT), label="missing")
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    return ax

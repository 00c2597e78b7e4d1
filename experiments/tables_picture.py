"""A picture of all tasks: how much every method gains on ridge."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from .table import Row

PANELS = {"RMSE": "error / ridge's", "log-density": "log density per value - ridge's"}


def draw(rows: list[Row], path: Path) -> None:
    """One line of points per task, a colour for every method."""
    tasks = list(dict.fromkeys(row.measure.rpartition(" | ")[0] for row in rows))
    names = [n for n in dict.fromkeys(row.method for row in rows) if n not in {"ridge", "mean"}]
    values = {(row.method, row.measure): row.value for row in rows}
    figure = Figure(figsize=(14, 2.0 + 0.3 * len(tasks)), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (measure, label) in zip(axes, PANELS.items(), strict=True):
        for place, name in enumerate(names):
            own = np.array([values.get((name, f"{t} | {measure}"), np.nan) for t in tasks], float)
            base = np.array(
                [values.get(("ridge", f"{t} | {measure}"), np.nan) for t in tasks], float
            )
            x = own / base if measure == "RMSE" else own - base
            ax.plot(x, np.arange(len(tasks)), "o", markersize=4, color=f"C{place}", label=name)
        ax.axvline(1.0 if measure == "RMSE" else 0.0, color="0.6", linewidth=1)
        ax.set_xlabel(label)
    axes[0].set_yticks(np.arange(len(tasks)), tasks, fontsize="small")
    axes[0].invert_yaxis()
    axes[1].set_xlim(left=max(axes[1].get_xlim()[0], -1.0))
    axes[1].legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)

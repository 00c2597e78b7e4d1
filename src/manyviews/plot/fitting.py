"""How a fit went: the bound and the signal-to-noise ratio by iteration."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..escaping import in_picture
from .style import COLOURS, axes_or_new
from .subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bound_trace(model: Any, ax: Any = None) -> "Axes":
    """Nats below the final bound, by iteration of the best start, on a log scale."""
    trace = np.asarray(_info(Subject.of(model).model).bound_trace)
    ax = axes_or_new(ax)
    gap = np.maximum.accumulate(trace).max() - trace
    ax.semilogy(np.arange(1, len(trace) + 1), np.maximum(gap, 1e-2), color=COLOURS[0])
    ax.set(xlabel="iteration", ylabel="nats below the best bound", title="the bound")
    return ax


def signal_trace(model: Any, ax: Any = None) -> "Axes":
    """Signal-to-noise ratio of every view by iteration, with the limit of concern (10)."""
    trace = np.asarray(_info(Subject.of(model).model).signal_trace)
    ax = axes_or_new(ax)
    names = Subject.of(model).names
    for k, values in enumerate(trace.T[: len(COLOURS)]):
        ax.semilogy(
            np.arange(1, len(trace) + 1), values, color=COLOURS[k], label=in_picture(names[k])
        )
    ax.axhline(10.0, color="0.5", linestyle=":", linewidth=1)
    if len(names) > 1:
        more = f" (first {len(COLOURS)} views)" if len(names) > len(COLOURS) else ""
        ax.legend(fontsize="small", frameon=False, title=more or None)
    ax.set(xlabel="iteration", ylabel="variance of the data / noise", title="signal-to-noise")
    return ax


def _info(model: Any) -> Any:
    info = getattr(model, "fit_info_", None)
    if info is None or not len(info.bound_trace):
        raise OptionError(f"{type(model).__name__} has no record of its fit to draw")
    return info

"""Moving pictures: along a latent dimension, or through the times of a sequence."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from ..escaping import in_picture
from .drawing import draw_images, draw_skeletons, picture_of
from .style import COLOURS
from .subject import Subject
from .traversal import grey_limits

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation


def animate_traversal(
    model: Any, dimension: int, view: str | None = None, shape: Any = None, steps: int = 40
) -> "FuncAnimation":
    """A view moving along a latent dimension and back; save it with ``.save("walk.gif")``."""
    subject = Subject.of(model)
    view = subject.check_view(view)
    there = subject.walk(dimension, steps)
    X = np.concatenate([there, there[-2:0:-1]])
    titles = [f"dimension {dimension} = {value:.2f}" for value in X[:, dimension]]
    return _film(subject, view, shape, *subject.generate(X, view), titles)


def animate_sequence(
    model: Any,
    times: Any = None,
    sequence: Any = None,
    view: str | None = None,
    shape: Any = None,
) -> "FuncAnimation":
    """A view through the times of a training sequence, or at other times of it (a forecast)."""
    subject = Subject.of(model)
    view = subject.check_view(view)
    when = getattr(subject.model, "when_", None)
    if when is None:
        raise OptionError("the model was fitted without time stamps: there is nothing to play")
    if times is None:
        first = when.labels[0] if sequence is None else sequence
        if first not in when.labels:
            raise OptionError(f"there is no training sequence {first!r}")
        times = np.sort(when.inputs[when.code == when.labels.index(first), 0])
    which = () if subject.single else (view,)
    mean, std = subject.model.forecast(times, *which, sequence=sequence, return_std=True)
    return _film(subject, view, shape, mean, std, [f"time {t}" for t in np.asarray(times)])


def _film(
    subject: Subject,
    view: str,
    shape: Any,
    mean: Float[np.ndarray, "n D"],
    std: Float[np.ndarray, "n D"],
    titles: list[str],
) -> "FuncAnimation":
    from matplotlib import pyplot as plt
    from matplotlib.animation import FuncAnimation

    picture = picture_of(subject, view, shape)
    figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
    plt.close(figure)
    shown = picture.arrange(np.stack([mean - 2 * std, mean + 2 * std]))
    limits = (float(np.nanmin(shown)), float(np.nanmax(shown)))

    def frame(i: int) -> list[Any]:
        ax.clear()
        row = mean[i : i + 1]
        if picture.kind == "image":
            draw_images(row, picture, grey_limits(subject, view), ax)
        elif picture.kind == "skeleton":
            draw_skeletons(row, picture, ax)
        else:
            places = np.arange(picture.shape[0])
            y, spread = picture.arrange(row)[0], picture.arrange(std[i : i + 1])[0]
            if picture.kind == "curve":
                ax.plot(places, y, color=COLOURS[0])
                ax.fill_between(places, y - 2 * spread, y + 2 * spread, alpha=0.2)
            else:
                ax.bar(places, y, yerr=2 * spread, color=COLOURS[0], ecolor="0.4")
                ax.set_xticks(
                    places, [*map(in_picture, picture.names)], rotation=90 if len(places) > 8 else 0
                )
            ax.set_ylim(*limits)
        ax.set_title(titles[i])
        return []

    return FuncAnimation(figure, frame, frames=len(mean), interval=60)

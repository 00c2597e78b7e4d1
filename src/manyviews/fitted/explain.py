"""What latent dimensions do to a view, in numbers that compare across models."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..errors import OptionError
from .engine import Engine


def variance_explained(
    engine: Engine, view: int, kind: str
) -> tuple[Float[np.ndarray, " Q"], float]:
    """Share of a view's variance that each dimension explains, and that all of them do.

    Let f_S(x) = ⟨f(x)⟩ with the dimensions outside S unknown, i.e. drawn from their overall
    distribution N(mean, variance) over the samples, and R²(S) = 1 - ‖Y - f_S‖²/‖Y‖² over the
    observed values; for data of other kinds the deviance takes the place of the squared error (see
    `Engine.explained`). ``"lost"`` is R²(all) - R²(all but q): what is
    lost when q is not known. ``"alone"`` is R²({q}): what q tells by itself. For an
    additive map the two agree and add up to the total; where dimensions interact, "lost" counts
    the interaction for each of them and "alone" for none.
    """
    if kind not in {"lost", "alone"}:
        raise OptionError(f"kind must be 'lost' or 'alone', got {kind!r}")
    q = engine.positions
    total = engine.explained(view, q)
    shares = []
    for dimension in range(q.mean.shape[1]):
        alone = np.arange(q.mean.shape[1]) == dimension
        part = engine.explained(view, q.without(~alone if kind == "lost" else alone))
        shares.append(total - part if kind == "lost" else part)
    return np.array(shares), total


def variance_explained_by(engine: Engine, view: int, dimensions: Sequence[int]) -> float:
    """R²(S) of a set of dimensions, the others being unknown."""
    q = engine.positions
    known = np.isin(np.arange(q.mean.shape[1]), dimensions)
    return engine.explained(view, q.without(known))

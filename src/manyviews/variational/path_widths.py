"""Calibrated intervals of predictions along new sequences.

Kernels and noise are point estimates, and evidence of correlated columns counts too often, so a
model is too sure of the path that it infers. How much so shows in training sequences that it is
made to forget.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import When
from ..fitted import Positions, Tables
from ..fitted.adjustment import Adjustment
from ..fitted.cross_view import known_places
from ..mappings import StochasticPosterior
from .engine import VariationalEngine
from .left_out_sequences import any_value, found_again, paths_of
from .widths import Widths, memory

LEAST_ROWS = 10
FEW = 2.0  # squares are too small by 1 + 2/N for another sequence than the N that they come from
SEARCH = ("n_starts", "n_modes", "coupled", "flow_weight", "augmented")
"""Options for new rows that the search for them takes."""


def widened(
    engine: VariationalEngine,
    view: int,
    rows: Tables,
    when: When,
    q: Positions,
    wanted: Sequence[int],
    how: Mapping[str, Any],
) -> Adjustment | None:
    """The correction of a view's spread at the positions of new rows, learnt when it is needed.

    Rows that continue training sequences keep theirs; None where any value of the view is known.
    """
    known = tuple(known_places(rows))
    if view in known or not known or isinstance(engine.posteriors[view], StochasticPosterior):
        return None
    mean = q.mix(engine.moments(view, q)[0])[0]
    new = ~np.isin(when.code, np.asarray(paths_of(engine).sequences.code))

    def stretch() -> Float[np.ndarray, "N D"]:
        asked = {name: value for name, value in how.items() if name != "losses"}
        question = ("widths", known, tuple(wanted), repr(sorted(asked.items())))
        if question not in engine.links:
            engine.links[question] = path_widths(engine, known, tuple(wanted), how)
        widths = engine.links[question].get(view)
        if widths is None:
            return np.ones_like(mean)
        _, variance = q.mix(*engine.moments(view, q, "variance"))
        assert variance is not None
        return np.where(new[:, None], np.sqrt(widths(variance) / variance), 1.0)

    return Adjustment(mean, mean, stretch)


def path_widths(
    engine: VariationalEngine,
    known: tuple[int, ...],
    wanted: tuple[int, ...],
    how: Mapping[str, Any],
) -> dict[int, Widths]:
    """By view, how variances of predictions along new sequences are to be corrected.

    Training sequences are left out in at most four parts (the only one in four stretches) and
    found again from the known views, at the kernels, noise and inducing inputs of the fit
    (`found_again()`). Widths come from the errors of these predictions (`Widths`). Their squares
    are multiplied by 1 + 10/n for n rows, as kernels and noise have known them, and by 1 + 2/N for
    N sequences, as another one may be harder.
    """
    powers = engine.powers(how.get("evidence_power", ()), timed=True)
    search = {name: how[name] for name in SEARCH if name in how}
    private, n_modes = engine.treatment(known, wanted, how), how.get("n_modes", 1)
    parts: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {view: [] for view in wanted}
    sequences: set[int] = set()
    for fold, given, points in found_again(engine, known, powers=powers, **search):
        q = fold.engine.placed(given, wanted, points, n_modes, private)
        told = any_value(fold.rows, known)
        for view in wanted:
            mean, variance = q.mix(*fold.engine.moments(view, q, "variance"))
            assert variance is not None
            there = told & any_value(fold.rows, (view,))
            parts[view].append(((fold.rows[view] - mean)[there], variance[there]))
            sequences |= set(fold.when.code[there].tolist())
    others = 1.0 + FEW / max(len(sequences), 1)
    found = {}
    for view, several in parts.items():
        if not several:
            continue
        errors, variance = (np.concatenate(values) for values in zip(*several, strict=True))
        if len(errors) >= LEAST_ROWS:
            found[view] = Widths.fit(errors, variance, others * memory(1.0, len(errors)))
    return found

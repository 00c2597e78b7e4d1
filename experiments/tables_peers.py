"""Other libraries on the tables: MOFA, GPy's MRD, cca_zoo's GFA, in environments of their own.

They get the known views side by side, and the target, both standardised by column on the training
rows, ten components at most, and their default settings. Missing values are left to MOFA and are at
their means for the others. Their intervals are their own.
"""

from typing import Any

import numpy as np
from benchmarks.peers import PeerError
from jaxtyping import Float

from manyviews import Views
from manyviews.stacking import Mixture, Question
from manyviews.stacking.scores import Scores

from .peer_methods import PEERS
from .peer_problems import Problem

METHODS = ("MOFA", "GPy MRD", "cca_zoo GFA")
TAKES_HOLES = ("MOFA",)
LIMIT = 30.0  # seconds of a fit of GPy's


def peer_fold(
    name: str, data: Views, fold: np.ndarray, number: int, question: Question, seed: int
) -> dict[str, Any]:
    """One library and one fold, in the form of `scored_fold`."""
    out = fold == number
    x, _, _ = standardised(np.hstack([data.array(view) for view in question.known]), out)
    truth = data.array(question.target)
    y, centre, scale = standardised(truth, out, constant=True)
    if name not in TAKES_HOLES:
        x, y = np.nan_to_num(x), np.nan_to_num(y)
    problem = Problem(
        question.target, seed, (x[~out], y[~out]), (x[out], y[out]), {"target": (0, 1)}
    )
    cell = {"method": name, "fold": number, "failure": "", "notes": [], "seconds": 0.0}
    try:
        answer = PEERS[name](problem, LIMIT)["target"]
    except PeerError as wrong:
        return {**cell, "failure": str(wrong), "scores": {}}
    said = Mixture.gaussian(centre + scale * answer.mean, scale * answer.std)
    scores = Scores.of(said, truth[out], scale).as_dict()
    return {
        **cell, "seconds": answer.seconds, "notes": [answer.note] if answer.note else [],
        "scores": {question.target: {**scores, "seconds": answer.seconds}},
    }  # fmt: skip


def standardised(
    table: Float[np.ndarray, "N P"], out: np.ndarray, constant: bool = False
) -> tuple[Float[np.ndarray, "N _"], Float[np.ndarray, " _"], Float[np.ndarray, " _"]]:
    """Columns by means and standard deviations of training rows, and these; without columns that
    do not vary there, unless these are wanted.
    """
    train = table[~out]
    known = ~np.isnan(train)
    counts = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, train, 0.0).sum(axis=0) / counts
    spread = np.sqrt(np.where(known, (train - centre) ** 2, 0.0).sum(axis=0) / counts)
    varies = spread > 1e-12 * np.maximum(np.abs(centre), 1e-300)
    kept = varies | constant
    scale = np.where(varies, spread, 1.0)
    return ((table - centre) / scale)[:, kept], centre[kept], scale[kept]

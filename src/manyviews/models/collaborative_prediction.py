"""Some views from others through a collaborative latent space (003 §5)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import norm

from ..expectations import Gaussian
from ..inference.bound import Model
from ..inference.new_sequences import infer_sequences
from ..latent import Collaborative, make_sequences, marginals
from ..mappings import make_outputs
from .core import FittedCore, condition
from .cross_view import Mixture, neighbours
from .prediction import moments

TREATMENTS = ("conditional", "nearest", "nearest-own")
MOST_FOLDS = 4


class Question(NamedTuple):
    """Which views are known and which are wanted, by place."""

    known: tuple[int, ...]
    wanted: tuple[int, ...]


def private_paths(known: Mixture, core: FittedCore, question: Question, treatment: str) -> Mixture:
    """Give the wanted views that are not known their latent points.

    ``"conditional"`` leaves them as the joint posterior has them: their prior given what is known
    of the shared path. ``"nearest"`` takes those of the training sample nearest in the shared path
    (003 Algorithm 1), ``"nearest-own"`` of the one nearest in the known views' own paths.
    """
    if treatment == "conditional":
        return known
    latent = core.model.latent
    assert isinstance(latent, Collaborative)
    columns = np.arange(core.marginals().mean.shape[1])
    searched = [latent.shared_dimensions()]
    if treatment == "nearest-own":
        searched = [latent.dimensions(view) for view in question.known]
    dimensions = np.concatenate([columns[part] for part in searched]).tolist()
    q, train = known.flat(), core.marginals()
    near = train[jnp.asarray(neighbours(q, train, dimensions, 1)[0][:, 0])]
    mean, variance = np.array(q.mean), np.array(q.variance)
    for view in set(question.wanted) - set(question.known):
        part = latent.dimensions(view)
        mean[:, part], variance[:, part] = near.mean[:, part], near.variance[:, part]
    return known.with_parts(Gaussian(jnp.asarray(mean), jnp.asarray(variance)))


def compare_treatments(
    core: FittedCore,
    question: Question,
    powers: list[float],
    n_neighbours: int,
    flow_weight: float = 0.0,
) -> dict[str, float]:
    """Mean negative log density of the wanted views under each treatment, cross-validated.

    The training sequences are left out in turn (stretches of it, if there is but one): the others'
    paths and inducing variables are conditioned without them, at the parameters of the fit, and
    the left-out ones are predicted as new sequences.
    """
    losses: dict[str, list[float]] = {name: [] for name in TREATMENTS}
    for out in _folds(core):
        if not _observed(core, question, out).any():
            continue
        rest, rows = without(core, out), [Y[out] for Y in core.data]
        given = [
            Y if view in question.known else np.full_like(Y, np.nan) for view, Y in enumerate(rows)
        ]
        latent = rest.model.latent
        assert isinstance(latent, Collaborative)
        sequences = core.model.latent.sequences  # type: ignore[attr-defined]
        code = np.asarray(sequences.code)[out] + int(sequences.code.max()) + 1
        found = infer_sequences(
            latent, rest.posteriors, rest.data, tuple(given), np.asarray(sequences.inputs)[out],
            code, powers=powers, n_neighbours=n_neighbours, flow_weight=flow_weight,
        )  # fmt: skip
        alone = Mixture(np.ones((len(code), 1)), found.q[:, None])
        for name in TREATMENTS:
            q = private_paths(alone, rest, question, name).flat()
            losses[name] += [_loss(rest, view, q, rows[view]) for view in question.wanted]
    return {name: float(np.mean(values)) for name, values in losses.items() if values}


def _loss(core: FittedCore, view: int, q: Gaussian, Y: Float[np.ndarray, "N D"]) -> float:
    found = moments(core.posteriors[view], core.seen(view, q), want_std=True, want_covariance=False)
    return float(np.nanmean(-norm.logpdf(Y, found.mean, found.std)))


def _observed(core: FittedCore, question: Question, out: Bool[np.ndarray, " N"]) -> Any:
    """Which of the rows have something known and something wanted."""
    sides = [
        np.stack([~np.isnan(core.data[view][out]).all(axis=1) for view in side]).any(axis=0)
        for side in question
    ]
    return sides[0] & sides[1]


def _folds(core: FittedCore) -> list[Bool[np.ndarray, " N"]]:
    sequences = core.model.latent.sequences  # type: ignore[attr-defined]
    code, order = np.asarray(sequences.code), np.asarray(sequences.order)
    names = np.unique(code)
    if len(names) > 1:
        count = min(MOST_FOLDS, len(names))
        return [np.isin(code, names[fold::count]) for fold in range(count)]
    folds = []
    for stretch in np.array_split(order, MOST_FOLDS):
        out = np.zeros(len(code), bool)
        out[stretch] = True
        folds.append(out)
    return folds


def without(core: FittedCore, out: Bool[np.ndarray, " N"]) -> FittedCore:
    """The model conditioned on the other rows alone, its parameters as they are."""
    latent, kept = core.model.latent, ~out
    assert isinstance(latent, Collaborative)
    sequences = latent.sequences
    rest = latent.with_rows(
        make_sequences(np.asarray(sequences.inputs)[kept], np.asarray(sequences.code)[kept]),
        np.asarray(latent.target.value)[kept],
        np.asarray(latent.precision.value)[kept],
    )
    q, data = marginals(rest), tuple(Y[kept] for Y in core.data)
    posteriors = tuple(
        condition(view, q[..., rest.dimensions(place)], make_outputs(data[place], "exact"))
        for place, view in enumerate(core.model.views)
    )
    return FittedCore(Model(rest, core.model.views), posteriors, data)

"""New rows that teach q(U): their q(X*) from the bound of training and new rows together.

The bound F(Y, Y*) is maximised over q(X*) of all new rows at once, with q(X) of the training rows
held and q(U) at its optimum throughout [BGPLVM16, §4.1; MRD21, App. B]. The ascent begins where
the rows are with q(U) held, so it ends at no lower a bound.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._runtime import single_threaded_blas
from ..expectations import Gaussian
from ..mappings import GPPosterior, Posterior
from ..mappings.augmented import AugmentedRows, augmented_rows
from .descent import descend, evaluate
from .new_points import LARGEST, ROW_BUCKETS, NewPoints
from .path_bound import PathBound, with_sites

ITERATIONS = 500
TOLERANCE = 1e-6  # nats per row that thirty iterations must gain together

Tables = tuple[Float[np.ndarray, "_ _"], ...]
Views = dict[int, AugmentedRows]


def teach_rows(
    found: NewPoints,
    prior: Gaussian,
    train: Gaussian,
    posteriors: tuple[Posterior, ...],
    data: Tables,
    rows: Tables,
    powers: Sequence[float] | None = None,
) -> NewPoints:
    """Go on from where new rows are with q(U) held.

    Parameters
    ----------
    found
        The answer with q(U) held.
    prior, train
        p(x*) of every new row, q(x) of the training rows.
    posteriors
        Of every view; those of views that new rows have are `GPPosterior`.
    data, rows
        Training rows and new rows of every view; NaN is missing, also throughout.
    powers
        Exponent of each view's evidence.
    """
    n = len(rows[0])
    padded = next((size for size in ROW_BUCKETS if size >= n), -(-n // LARGEST) * LARGEST)
    place = np.resize(np.arange(n), padded)
    views = {}
    for k in _present(rows):
        below = np.full((padded - n, rows[k].shape[1]), np.nan)
        counts = np.full(padded, 1.0 if powers is None else powers[k])
        new = np.concatenate([rows[k], below])
        views[k] = augmented_rows(_collapsed(posteriors[k]), train, data[k], new, counts)
    if not views:
        return found
    start = found.q.rows(place)
    context = (start, prior.rows(place), jnp.arange(padded) < n, tuple(views.values()))
    unmoved = (jnp.zeros_like(start.mean), jnp.zeros_like(start.mean))
    with single_threaded_blas():
        end = descend(_negative_rows, unmoved, context, ITERATIONS, TOLERANCE * n)
        q = _moved(start, end.best)
        alone = sum(float(_value(view.first(0), q)) for view in views.values())
        taught = _revised(posteriors, views, dict.fromkeys(views, q))
    return _shared_out(q.rows(np.arange(n)), -float(end.best_value) - alone, taught)


def teach_paths(
    bound: PathBound,
    x: Float[np.ndarray, " V"],
    train: Gaussian,
    old: Int[np.ndarray, " C"],
    posteriors: tuple[Posterior, ...],
    data: Tables,
    rows: Tables,
    powers: Sequence[float],
) -> NewPoints:
    """Go on from the best paths with q(U) held; training rows of their sequences move, too.

    Parameters
    ----------
    bound, x
        The bound of the joint rows with q(U) held, and the sites where it is largest.
    train
        q(x) of the training rows, which is held for all but ``old``, the first of the joint rows.
    """
    n, rest, latent = len(rows[0]), np.setdiff1d(np.arange(len(data[0])), old), bound.latent
    held, views = train.rows(rest), {}
    for k, place in zip(_present(rows), bound.views, strict=True):
        new = np.concatenate([data[k][old], rows[k]])
        counts = np.concatenate([np.ones(len(old)), np.full(n, powers[k])])
        own = held[..., latent.dimensions(place)]
        views[k] = augmented_rows(_collapsed(posteriors[k]), own, data[k][rest], new, counts)
    everyone = (latent, tuple(views.values()), bound.views, bound.flow)
    trained = (latent, tuple(view.first(len(old)) for view in views.values()), *everyone[2:])
    with single_threaded_blas():
        gain = TOLERANCE * len(bound.place)
        end = descend(_negative_paths, jnp.asarray(x), everyone, ITERATIONS, gain)
        before = evaluate(_negative_paths, jnp.asarray(bound.given()), trained)
        q = bound.marginals(np.asarray(end.best))
        seen = {k: q[..., bound.whole.dimensions(k)] for k in views}
        taught = _revised(posteriors, views, seen)
    new_rows = q.rows(np.arange(len(old), len(old) + n))
    return _shared_out(new_rows, float(before.value) - float(end.best_value), taught)


def _present(rows: Tables) -> list[int]:
    return [k for k, Y in enumerate(rows) if not np.isnan(Y).all()]


def _collapsed(posterior: Posterior) -> GPPosterior:
    assert isinstance(posterior, GPPosterior)
    return posterior


def _shared_out(q: Gaussian, gain: float, taught: tuple[Posterior, ...]) -> NewPoints:
    """The answer, F(Y, Y*) - F(Y) in equal shares."""
    n = len(q.mean)
    shares = np.full(n, gain / n)
    return NewPoints(q, shares, q[:, None], shares[:, None], taught)


def _moved(start: Gaussian, x: tuple[Array, Array]) -> Gaussian:
    """Means moved by standard deviations, variances by factors e^x."""
    log_variance = jnp.clip(jnp.log(start.variance) + x[1], -40.0, 40.0)
    return Gaussian(start.mean + jnp.sqrt(start.variance) * x[0], jnp.exp(log_variance))


def _negative_rows(x: tuple[Array, Array], context: Any) -> tuple[Array, Array]:
    start, prior, counted, views = context
    q = _moved(start, x)
    kl = jnp.sum(jnp.where(counted, q.kl(prior), 0.0))
    return kl - sum(view(q) for view in views), kl


def _negative_paths(x: Float[Array, " V"], context: Any) -> tuple[Array, Array]:
    latent, views, places, flow = context
    found = with_sites(latent, x).smooth()
    q, kl = Gaussian(found.mean, found.variance), jnp.sum(found.kl)
    value = sum(
        view(q[..., latent.dimensions(place)]) for view, place in zip(views, places, strict=True)
    )
    return kl - value - (0.0 if flow is None else jnp.sum(flow(q.mean))), kl


def _revised(
    posteriors: tuple[Posterior, ...], views: Views, q: dict[int, Gaussian]
) -> tuple[Posterior, ...]:
    """The posteriors, those of the views that new rows have given these rows as well."""
    return tuple(
        _posterior(views[k], q[k]) if k in views else posterior
        for k, posterior in enumerate(posteriors)
    )


@eqx.filter_jit
def _value(view: AugmentedRows, q: Gaussian) -> Float[Array, ""]:
    return view(q)


@eqx.filter_jit
def _posterior(view: AugmentedRows, q: Gaussian) -> Posterior:
    return view.posterior(q)

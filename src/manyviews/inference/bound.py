"""The evidence bound: a sum over views minus one KL."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..expectations import Gaussian
from ..latent import LatentSpace
from ..mappings import Mapping, Outputs
from ..mappings.base import Evidence
from ..parameters import log_prior
from .batching import map_alike


class Model(eqx.Module):
    """A latent space and one mapping per view: the whole of a model."""

    latent: LatentSpace
    views: tuple[Mapping, ...]

    def whole(self) -> "Model":
        """The model with all that its views have in common in its places."""
        return self


class Bound(NamedTuple):
    """F = Σ_k ⟨log p(Y_k | X)⟩ - KL(q(X) ‖ p(X)), with its parts [BGPLVM16, eq. 18].

    Where parameters θ have priors, log p(θ) is added: its maximum is the most probable θ.
    """

    total: Float[Array, ""]
    views: Float[Array, " K"]
    kl: Float[Array, ""]
    jitter: Float[Array, " K"]
    noise: Float[Array, " K"]
    prior: Float[Array, ""]


def evidence_bound(model: Model, outputs: tuple[Outputs, ...]) -> Bound:
    """Evaluate the bound of a model on the outputs of its views."""
    model = model.whole()
    q, kl = model.latent.infer()
    evidence = view_evidence(model, outputs, q)
    views = jnp.stack([e.value for e in evidence])
    jitter = jnp.stack([e.jitter for e in evidence])
    noise = jnp.stack([v.noise_variance() for v in model.views])
    prior = log_prior(model)
    return Bound(views.sum() - kl + prior, views, kl, jitter, noise, prior)


def view_evidence(model: Model, outputs: tuple[Outputs, ...], q: Gaussian) -> list[Evidence]:
    """Each view's ⟨log p(Y_k | X)⟩ under marginals q(x_n) of the latent space."""
    parts = [model.latent.dimensions(k) for k in range(len(model.views))]
    seen = [None if part == slice(None) else q[..., part] for part in parts]
    return map_alike(
        lambda view, y, x: view.expected_log_likelihood(q if x is None else x, y),
        model.views,
        outputs,
        seen,
        entries=max(view.size(q.mean.shape[0]) for view in model.views),
    )


def dimension_weights(model: Model) -> Float[np.ndarray, "K Q"]:
    """How strongly each latent dimension moves each view; zero where a view does not see it."""
    model = model.whole()
    own = [np.array(weights) for weights in relevances(model.views)]
    parts = [model.latent.dimensions(k) for k in range(len(own))]
    n_dimensions = max(part.stop or len(w) for part, w in zip(parts, own, strict=True))
    weights = np.zeros((len(own), n_dimensions))
    for row, part, values in zip(weights, parts, own, strict=True):
        row[part] = values
    return weights


@eqx.filter_jit
def relevances(views: tuple[Mapping, ...]) -> tuple[Float[Array, " Q"], ...]:
    """How strongly the dimensions that each view sees move it, compiled."""
    return tuple(view.relevance() for view in views)


@eqx.filter_jit
def noise_variances(views: tuple[Mapping, ...]) -> tuple[Float[Array, ""], ...]:
    """The noise variance of each view, compiled."""
    return tuple(view.noise_variance() for view in views)

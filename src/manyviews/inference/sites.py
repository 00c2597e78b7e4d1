"""The posterior over paths by fixed point [BGPLVM16, §3.3.2], after Opper & Archambeau (2009).

With F̂(μ, v) the evidence of the views under the marginals of q(X) = N(Kμ̄, (K⁻¹ + Λ)⁻¹), the bound
F̂ - KL is stationary in q(X) where

    Λ = -2 ∂F̂/∂v,   μ̄ = ∂F̂/∂μ.

A step sets the sites to what the views say of them now. Damped, it is a natural-gradient step: with
a step short enough, the bound rises.
"""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import OptionError
from ..expectations import Gaussian
from ..latent import Collaborative, Paths
from ..mappings import Outputs
from .bound import Model, view_evidence
from .compiling import LongRunning

SITES = ("latent.target", "latent.precision")
LEAST = 1e-8  # precision of a site
LONGER, SHORTER, SHORTEST = 1.5, 0.5, 1e-3  # changes of the step, and where the search ends
ITERATIONS = 30  # that must gain enough together


class Natural(NamedTuple):
    """Sites by their natural parameters, λ and λm."""

    precision: Float[Array, "N Q"]
    weighted: Float[Array, "N Q"]


class Point(NamedTuple):
    """A model, its bound, and the sites that its views ask for."""

    model: Model
    bound: Float[Array, ""]
    asked: Natural


def fixed_point(
    model: Model, outputs: tuple[Outputs, ...], iterations: int, step: float, gain: float
) -> Iterator[tuple[Model, float]]:
    """Raise the bound by the sites alone; every model on the way, with its bound.

    A step that lowers the bound is taken back and halved. Thirty steps that gain less than
    ``gain`` nats together are the end.
    """
    if not isinstance(model.latent, Paths) or _factorised(model.latent):
        raise OptionError(
            "Stage('sites') is for fits with times, and joint posteriors: leave it out"
        )
    now = _moved(model, None, jnp.asarray(0.0), outputs)
    bounds = [float(now.bound)]
    for _ in range(iterations):
        trial = _moved(now.model, now.asked, jnp.asarray(step), outputs)
        if not float(trial.bound) >= bounds[-1]:
            step *= SHORTER
            if step < SHORTEST:
                return
            continue
        now, step = trial, min(1.0, LONGER * step)
        bounds.append(float(now.bound))
        yield now.model, bounds[-1]
        if len(bounds) > ITERATIONS and bounds[-1] - bounds[-1 - ITERATIONS] < gain:
            return


@LongRunning
def _moved(
    model: Model, asked: Natural | None, step: Float[Array, ""], outputs: tuple[Outputs, ...]
) -> Point:
    """A part of the way to the sites asked for, and what the views say there."""
    latent = model.latent
    assert isinstance(latent, Paths)
    if asked is not None:
        latent = _towards(latent, asked, step)
        model = eqx.tree_at(lambda m: m.latent, model, latent)
    whole = model.whole()
    q, kl = latent.infer()

    def evidence(q: Gaussian) -> Float[Array, ""]:
        return jnp.sum(jnp.stack([each.value for each in view_evidence(whole, outputs, q)]))

    value, slope = jax.value_and_grad(evidence)(q)
    weight = _weight(latent)
    precision = jnp.maximum(-2.0 * slope.variance / weight, LEAST)
    return Point(model, value - kl, Natural(precision, slope.mean / weight + precision * q.mean))


def _towards(latent: Paths, asked: Natural, step: Float[Array, ""]) -> Paths:
    """Sites between those of a space and others, by their natural parameters."""
    old = latent.precision.value
    precision = (1.0 - step) * old + step * asked.precision
    weighted = (1.0 - step) * old * latent.target.value + step * asked.weighted
    return eqx.tree_at(
        lambda space: (space.target, space.precision),
        latent,
        (latent.target.with_value(weighted / precision), latent.precision.with_value(precision)),
    )


def _weight(latent: Paths) -> Float[Array, ""]:
    """Factor on the KL divergence in the bound."""
    return latent.kl_weight if isinstance(latent, Collaborative) else jnp.ones(())


def _factorised(latent: Paths) -> bool:
    return isinstance(latent, Collaborative) and latent.factorised

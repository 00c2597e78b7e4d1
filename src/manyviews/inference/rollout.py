"""Iterating a model of one step into the future, in one compiled loop [BGPLVM16, §6.1].

The input of a step is the window of the last values, oldest first, followed by exogenous
inputs. A step predicts the values of one time, or of several at once, side by side. Every
step's prediction enters the next window.
"""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float, PRNGKeyArray

from ..expectations import Gaussian, psi0, psi1, psi2
from ..latent.uncertain import PINNED
from ..linalg import whiten
from ..mappings import GPPosterior

Propagation = Literal["augmented", "girard", "naive"]


class Frame(eqx.Module):
    """How windows of the scaled series become inputs of the model, and outputs come back.

    Inputs are (value - centre) / scale, outputs value * scale + centre.
    """

    input_centre: Float[Array, " Q"]
    input_scale: Float[Array, " Q"]
    output_centre: Float[Array, " D"]
    output_scale: Float[Array, " D"]

    def inputs(self, values: Float[Array, "... Q"]) -> Float[Array, "... Q"]:
        """Windows and exogenous inputs in the model's scale."""
        return (values - self.input_centre) / self.input_scale

    def outputs(self, values: Float[Array, "... D"]) -> Float[Array, "... D"]:
        """Predictions in the scale of the series."""
        return values * self.output_scale + self.output_centre


class Knowledge(NamedTuple):
    """q(U) in whitened coordinates: I + βA for every group of outputs, and L⁻¹Ψ1ᵀY."""

    gram: Float[Array, "G M M"]
    projected: Float[Array, "M D"]


class Step(NamedTuple):
    """Moments of the outputs at one Gaussian input, in the model's scale, noise included."""

    mean: Float[Array, " D"]
    variance: Float[Array, " D"]
    learnt: Knowledge
    """What would be known if the mean had been observed there."""


@eqx.filter_jit
def propagate(
    posterior: GPPosterior,
    frame: Frame,
    window: Gaussian,
    exogenous: Float[Array, "T E"],
    propagation: Propagation,
) -> Gaussian:
    """Moments of the next T steps' values, in order of time.

    Parameters
    ----------
    window
        The last values, lags x columns, with their variances.
    propagation
        ``"naive"``: predictions are taken for certain. ``"girard"``: each enters the next inputs
        with its variance (Girard et al. 2003). ``"augmented"``: moreover, every predicted pair
        joins the training set, its input as uncertain as it is [BGPLVM16, §6.1].
    """
    start = knowledge(posterior)

    def advance(
        state: tuple[Gaussian, Knowledge], extra: Float[Array, " E"]
    ) -> tuple[tuple[Gaussian, Knowledge], Gaussian]:
        window, known = state
        spread = jnp.zeros_like(window.variance) if propagation == "naive" else window.variance
        none = jnp.zeros_like(extra)
        variance = jnp.concatenate([spread.ravel(), none]) / frame.input_scale**2
        point = Gaussian(
            frame.inputs(jnp.concatenate([window.mean.ravel(), extra])),
            jnp.maximum(variance, PINNED),
        )
        step = predict_step(posterior, known, point)
        W, D = window.mean.shape
        mean = frame.outputs(step.mean).reshape(-1, D)
        variance = (step.variance * frame.output_scale**2).reshape(-1, D)
        window = Gaussian(
            jnp.concatenate([window.mean, mean])[-W:],
            jnp.concatenate([window.variance, variance])[-W:],
        )
        known = step.learnt if propagation == "augmented" else known
        return (window, known), Gaussian(mean, variance)

    steps = jax.lax.scan(advance, (window, start), exogenous)[1]
    return jax.tree.map(lambda values: values.reshape(-1, values.shape[-1]), steps)


def knowledge(posterior: GPPosterior) -> Knowledge:
    """What the training data say, in the form that new rows are added to."""
    gram = jax.lax.map(lambda c: c @ c.T, posterior.inner)
    means = posterior.L.T @ posterior.weights
    group = posterior.group_of_column
    return Knowledge(gram, jnp.einsum("dml,ld->md", gram[group], means) * posterior.noise)


def predict_step(posterior: GPPosterior, known: Knowledge, point: Gaussian) -> Step:
    """[BGPLVM16, eq. 40-41] at one input, with q(U) as it is known now."""
    one = Gaussian(point.mean[None], point.variance[None])
    L, beta, group = posterior.L, 1.0 / posterior.noise, posterior.group_of_column
    zero = psi0(posterior.kernel, one)[0]
    first = solve_triangular(L, psi1(posterior.kernel, posterior.Z, one)[0], lower=True)
    second = whiten(L, psi2(posterior.kernel, posterior.Z, one, jnp.ones((1, 1)))[0])

    def by_group(gram: Float[Array, "M M"]) -> tuple[Array, Array]:
        factor = (jnp.linalg.cholesky(gram), True)
        left = jnp.trace(second) - jnp.trace(cho_solve(factor, second))
        return beta * cho_solve(factor, known.projected), zero - left

    solved, own = jax.lax.map(by_group, known.gram)  # groups x M x D, groups
    means = solved[group, :, jnp.arange(group.size)].T
    spread = second - jnp.outer(first, first)
    moved = jnp.maximum(jnp.sum(means * (spread @ means), axis=0), 0.0)
    mean = first @ means
    variance = jnp.maximum(own[group], 0.0) + moved + posterior.noise
    learnt = Knowledge(known.gram + beta * second, known.projected + jnp.outer(first, mean))
    return Step(mean, variance, learnt)


@eqx.filter_jit
def simulate(
    posterior: GPPosterior,
    frame: Frame,
    window: Gaussian,
    exogenous: Float[Array, "T E"],
    n_paths: int,
    key: PRNGKeyArray,
) -> Float[Array, "S _ D"]:
    """Trajectories: each follows one draw of U, so that its function is the same at all steps."""
    start_key, function_key, step_key = jax.random.split(key, 3)
    M, D = posterior.weights.shape
    group = posterior.group_of_column
    noise = jax.random.normal(function_key, (posterior.inner.shape[0], M, n_paths * D))
    scattered = jax.lax.map(
        lambda pair: solve_triangular(pair[0], pair[1], lower=True, trans="T"),
        (posterior.inner, noise),
    ).reshape(-1, M, n_paths, D)
    functions = posterior.L.T @ posterior.weights  # M x D, whitened
    functions = functions[:, None, :] + scattered[group, :, :, jnp.arange(D)].transpose(1, 2, 0)
    shape = (n_paths, *window.mean.shape)
    draw = jax.random.normal(start_key, shape, window.mean.dtype)
    windows = window.mean + jnp.sqrt(window.variance) * draw

    def advance(
        windows: Float[Array, "S W D"], now: tuple[Float[Array, " E"], PRNGKeyArray]
    ) -> tuple[Float[Array, "S W D"], Float[Array, "S B D"]]:
        extra, key = now
        known = jnp.broadcast_to(extra, (n_paths, extra.size))
        x = frame.inputs(jnp.concatenate([windows.reshape(n_paths, -1), known], axis=1))
        k = solve_triangular(posterior.L, posterior.kernel.cross(posterior.Z, x), lower=True)
        rest = jnp.maximum(posterior.kernel.diagonal(x) - jnp.sum(k**2, axis=0), 0.0)
        mean = jnp.einsum("ms,msd->sd", k, functions)
        std = jnp.sqrt(rest + posterior.noise)[:, None]
        y = frame.outputs(mean + std * jax.random.normal(key, mean.shape, mean.dtype))
        y = y.reshape(n_paths, -1, windows.shape[2])
        return jnp.concatenate([windows, y], axis=1)[:, -windows.shape[1] :], y

    keys = jax.random.split(step_key, exogenous.shape[0])
    steps = jax.lax.scan(advance, windows, (exogenous, keys))[1]
    return jnp.swapaxes(steps, 0, 1).reshape(n_paths, -1, windows.shape[2])

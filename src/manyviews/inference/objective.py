"""The bound as a function to be minimised, of a tree of free parameters or of one flat vector."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..mappings import Outputs
from ..parameters import matches, named_parameters, split_free
from .bound import Bound, Model, evidence_bound

Vector = Float[np.ndarray, " P"]
Context = tuple[Model, tuple[Outputs, ...]]
"""The parameters that are held, and the data."""


def negative_bound(free: Model, context: Context) -> tuple[Float[Array, ""], Bound]:
    """Minus the bound of the free parameters, and its parts."""
    fixed, outputs = context
    bound = evidence_bound(eqx.combine(free, fixed), outputs)
    return -bound.total, bound


def sampled_negative_bound(
    free: Model, context: Context, key: PRNGKeyArray, n_outputs: int
) -> Float[Array, ""]:
    """An unbiased estimate of the same from random outputs of the views that can be divided.

    Each view's evidence comes from ``n_outputs`` of its D outputs, times D over their number.
    """
    fixed, outputs = context
    model = eqx.combine(free, fixed)
    views, data, scales = list(model.views), list(outputs), [1.0] * len(outputs)
    for place, view in enumerate(model.views):
        if view.n_samplable() > n_outputs:
            scales[place] = view.n_samplable() / n_outputs
            own = jax.random.fold_in(key, place)
            chosen = jax.random.choice(own, view.n_samplable(), (n_outputs,), replace=False)
            views[place], data[place] = view.some_outputs(outputs[place], chosen)
    bound = evidence_bound(Model(model.latent, tuple(views)), tuple(data))
    return bound.kl - jnp.sum(jnp.asarray(scales) * bound.views)


class Objective:
    """A model and its data: the tree of what is free, and the same as a flat vector."""

    def __init__(self, model: Model, outputs: tuple[Outputs, ...]):
        self.free, self.fixed = split_free(model)
        self.outputs = outputs
        leaves, self.structure = jax.tree_util.tree_flatten(self.free)
        self.shapes = tuple(leaf.shape for leaf in leaves)
        self.start = self.flat(self.free)

    @property
    def context(self) -> Context:
        """What :func:`negative_bound` needs besides the free parameters."""
        return self.fixed, self.outputs

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """Minus the bound and its gradient at a flat vector."""
        (value, _), gradient = _value_and_gradient(self.tree(vector), self.context)
        return float(value), self.flat(gradient)

    def flat(self, free: Any) -> Vector:
        """All free parameters in one vector on the host."""
        leaves = jax.tree_util.tree_leaves(free)
        return np.concatenate([np.ravel(leaf) for leaf in leaves]).astype(np.float64)

    def tree(self, vector: Vector) -> Any:
        """The free parameters of a flat vector."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        pieces = [
            jnp.asarray(vector[end - int(np.prod(shape)) : end].reshape(shape))
            for end, shape in zip(ends, self.shapes, strict=True)
        ]
        return jax.tree_util.tree_unflatten(self.structure, pieces)

    def model(self, free: Any) -> Model:
        """The model whose free parameters these are."""
        return eqx.combine(free, self.fixed)

    def model_at(self, vector: Vector) -> Model:
        """The model whose free parameters are this vector."""
        return self.model(self.tree(vector))

    def mask(self, *held: str) -> Any:
        """A tree of ones, with zeros for the parameters whose names match a pattern."""
        flags = iter(
            [
                0.0 if any(matches(name, pattern) for pattern in held) else 1.0
                for name, p in named_parameters(self.model(self.free))
                if p.free
            ]
        )
        return jax.tree_util.tree_map(lambda _: jnp.asarray(next(flags)), self.free)


@eqx.filter_jit
def _value_and_gradient(free: Model, context: Context) -> tuple[tuple[Array, Bound], Any]:
    return jax.value_and_grad(negative_bound, has_aux=True)(free, context)

"""The bound as a function of one flat vector, compiled once per shape."""

import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..mappings import Outputs
from ..parameters import matches, named_parameters, split_free
from .bound import Bound, Model, evidence_bound

Vector = Float[np.ndarray, " P"]
Columns = tuple[Int[Array, " n"] | None, ...]
"""For every view the outputs chosen at random; None is all of them."""


class Objective:
    """Minus the bound and its gradient over the free parameters, on plain NumPy vectors.

    It remembers the best point seen, so that an interrupted or a failed optimiser never
    loses it, and counts what a user would like to know afterwards.
    """

    def __init__(self, model: Model, outputs: tuple[Outputs, ...]):
        self.template, self.fixed = split_free(model)
        self.outputs = outputs
        leaves, self.structure = jax.tree_util.tree_flatten(self.template)
        self.shapes = tuple(leaf.shape for leaf in leaves)
        self.start = np.concatenate([np.ravel(leaf) for leaf in leaves]).astype(np.float64)
        self.n_evaluations = 0
        self.compile_seconds = 0.0
        self.best_value = np.inf
        self.best_vector = self.start
        self.last: Bound | None = None

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """Return minus the bound and its gradient; +inf (and zeros) where it is not finite."""
        began = time.perf_counter()
        (value, self.last), gradient = _value_and_gradient(
            jnp.asarray(vector), self.fixed, self.outputs, self.structure, self.shapes
        )
        result, slope = float(value), np.asarray(gradient)
        if self.n_evaluations == 0:
            self.compile_seconds = time.perf_counter() - began
        self.n_evaluations += 1
        if not (np.isfinite(result) and np.isfinite(slope).all()):
            return np.inf, np.zeros_like(slope)
        if result < self.best_value:
            self.best_value, self.best_vector = result, np.array(vector)
        return result, slope

    def sampled(self, vector: Vector, columns: Columns) -> tuple[float, Vector]:
        """An unbiased estimate of the same from some outputs; it counts for no best point."""
        value, gradient = _sampled_value_and_gradient(
            jnp.asarray(vector), self.fixed, self.outputs, columns, self.structure, self.shapes
        )
        return float(value), np.asarray(gradient)

    def model_at(self, vector: Vector) -> Model:
        """The model whose free parameters are this vector."""
        free = _unflatten(jnp.asarray(vector), self.structure, self.shapes)
        return eqx.combine(free, self.fixed)

    def holding(self, *patterns: str) -> Vector:
        """A vector of ones with zeros at the parameters whose names match a pattern."""
        sizes, held = [], []
        for name, p in named_parameters(self.model_at(self.start)):
            if p.free:
                sizes.append(p.raw.size)
                held.append(any(matches(name, pattern) for pattern in patterns))
        return np.concatenate(
            [np.full(n, 0.0 if h else 1.0) for n, h in zip(sizes, held, strict=True)]
        )


@eqx.filter_jit
def _value_and_gradient(
    vector: Array, fixed: Model, outputs: tuple[Outputs, ...], structure: Any, shapes: Any
) -> tuple[tuple[Array, Bound], Array]:
    def negative_bound(vector: Array) -> tuple[Array, Bound]:
        bound = evidence_bound(eqx.combine(_unflatten(vector, structure, shapes), fixed), outputs)
        return -bound.total, bound

    return jax.value_and_grad(negative_bound, has_aux=True)(vector)


@eqx.filter_jit
def _sampled_value_and_gradient(
    vector: Array,
    fixed: Model,
    outputs: tuple[Outputs, ...],
    columns: Columns,
    structure: Any,
    shapes: Any,
) -> tuple[Array, Array]:
    """Each view's evidence from some of its D outputs, times D over their number."""

    def negative_bound(vector: Array) -> Array:
        model = eqx.combine(_unflatten(vector, structure, shapes), fixed)
        views, data, scales = list(model.views), list(outputs), [1.0] * len(outputs)
        for place, chosen in enumerate(columns):
            if chosen is not None:
                scales[place] = views[place].n_samplable() / chosen.shape[0]
                views[place], data[place] = views[place].some_outputs(data[place], chosen)
        bound = evidence_bound(Model(model.latent, tuple(views)), tuple(data))
        return bound.kl - jnp.sum(jnp.asarray(scales) * bound.views)

    return jax.value_and_grad(negative_bound)(vector)


def _unflatten(vector: Array, structure: Any, shapes: tuple[tuple[int, ...], ...]) -> Any:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    pieces = [
        vector[end - int(np.prod(shape)) : end].reshape(shape)
        for end, shape in zip(ends, shapes, strict=True)
    ]
    return jax.tree_util.tree_unflatten(structure, pieces)

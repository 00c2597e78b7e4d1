"""The bound as a function to be minimised, of a tree of free parameters or of one flat vector."""

import math
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..mappings import Outputs
from ..parameters import matches, named_parameters, split_free
from .bound import Bound, Model, evidence_bound

Vector = Float[np.ndarray, " P"]
Packed = tuple[Float[Array, "..."], ...]
"""Free parameters for an optimiser: the small ones in one vector, large ones as they are."""

LARGE_LEAF = 100_000  # numbers


class Packing(NamedTuple):
    """How a tree of parameters is packed: fewer arrays make smaller programs."""

    structure: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tree: Any) -> Self:
        """That of a tree."""
        leaves, structure = jax.tree_util.tree_flatten(tree)
        return cls(structure, tuple(leaf.shape for leaf in leaves))

    def pack(self, tree: Any) -> Packed:
        """The small arrays of a tree as one vector, and then the large ones."""
        pairs = list(zip(jax.tree_util.tree_leaves(tree), map(math.prod, self.shapes), strict=True))
        small = [jnp.ravel(leaf) for leaf, size in pairs if size <= LARGE_LEAF]
        large = [leaf for leaf, size in pairs if size > LARGE_LEAF]
        return jnp.concatenate(small) if small else jnp.zeros(0), *large

    def unpack(self, packed: Packed) -> Any:
        """The tree again."""
        vector, large, begin, leaves = packed[0], iter(packed[1:]), 0, []
        for shape in self.shapes:
            size = math.prod(shape)
            if size > LARGE_LEAF:
                leaves.append(next(large))
                continue
            leaves.append(vector[begin : begin + size].reshape(shape))
            begin += size
        return jax.tree_util.tree_unflatten(self.structure, leaves)


class Context(NamedTuple):
    """What the bound depends on besides the free parameters: what is held, and the data."""

    packing: Packing
    fixed: Model
    outputs: tuple[Outputs, ...]

    def model(self, free: Packed) -> Model:
        """The whole model."""
        return eqx.combine(self.packing.unpack(free), self.fixed)


def negative_bound(free: Packed, context: Context) -> tuple[Float[Array, ""], Bound]:
    """Minus the bound of the free parameters, and its parts."""
    bound = evidence_bound(context.model(free), context.outputs)
    return -bound.total, bound


def sampled_negative_bound(
    free: Packed, context: Context, key: PRNGKeyArray, n_outputs: int
) -> Float[Array, ""]:
    """An unbiased estimate of the same from random outputs of the views that can be divided.

    Each view's evidence comes from ``n_outputs`` of its D outputs, times D over their number.
    """
    model, outputs = context.model(free), context.outputs
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
    """A model and its data: what is free, packed for an optimiser or as one flat vector."""

    def __init__(self, model: Model, outputs: tuple[Outputs, ...]):
        named = named_parameters(model)
        self.shapes = {name: p.raw.shape for name, p in named if p.free}
        free, fixed = split_free(model)
        self.context = Context(Packing.of(free), fixed, outputs)
        self.free = _packed(self.context.packing, free)
        self.start = self.flat(self.free)

    @property
    def outputs(self) -> tuple[Outputs, ...]:
        """The data."""
        return self.context.outputs

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """Minus the bound and its gradient at a flat vector."""
        (value, _), gradient = _value_and_gradient(self.packed(vector), self.context)
        return float(value), self.flat(gradient)

    def flat(self, free: Packed) -> Vector:
        """All free parameters in one vector on the host."""
        return np.concatenate([np.ravel(part) for part in free]).astype(np.float64)

    def packed(self, vector: Vector) -> Packed:
        """The free parameters of a flat vector."""
        ends = np.cumsum([part.size for part in self.free])
        pieces = np.split(vector, ends[:-1])
        return tuple(
            jnp.asarray(piece.reshape(part.shape))
            for piece, part in zip(pieces, self.free, strict=True)
        )

    def model(self, free: Packed) -> Model:
        """The model whose free parameters these are."""
        return _model(self.context, free)

    def model_at(self, vector: Vector) -> Model:
        """The model whose free parameters are this vector."""
        return self.model(self.packed(vector))

    def mask(self, *held: str) -> Packed:
        """Ones, with zeros for the parameters whose names match a pattern."""
        flags = [
            np.full(shape, 0.0 if any(matches(name, h) for h in held) else 1.0)
            for name, shape in self.shapes.items()
        ]
        packing = self.context.packing
        return _packed(packing, jax.tree_util.tree_unflatten(packing.structure, flags))


# Compiled as wholes: one small program each in the place of one for every array.


@eqx.filter_jit
def _packed(packing: Packing, tree: Any) -> Packed:
    return packing.pack(tree)


@eqx.filter_jit
def _model(context: Context, free: Packed) -> Model:
    return context.model(free)


@eqx.filter_jit
def _value_and_gradient(free: Packed, context: Context) -> tuple[tuple[Array, Bound], Packed]:
    return jax.value_and_grad(negative_bound, has_aux=True)(free, context)

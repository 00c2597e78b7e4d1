"""The bound as a function to be minimised, of a tree of free parameters or of one flat vector."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from ..devices import fetched, rows_on
from ..expectations.fused_choice import may_be_fused, noting_fused
from ..mappings import Outputs
from ..parameters import matches, named_parameters, split_free
from .bound import Bound, Model, evidence_bound
from .compiling import LongRunning
from .layout import Layout

Vector = Float[np.ndarray, " P"]
Packed = tuple[Float[Array, "..."], ...]
"""Free parameters for an optimiser: the small ones in one vector, large ones as they are."""

LARGE_LEAF = 100_000  # numbers
MANY_ROWS = 500  # above, parameters that all rows share have a scale of their own
ROWS_ALIKE = 10.0  # whose curvature along these is like that of one along its q(x)


class Packing(NamedTuple):
    """How a tree of parameters is packed: fewer arrays make smaller programs."""

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    apart: tuple[bool, ...]

    @classmethod
    def of(cls, tree: Any, apart: Sequence[bool] = ()) -> Self:
        """That of a tree; some of its arrays stay as they are, however small."""
        leaves, structure = jax.tree_util.tree_flatten(tree)
        shapes = tuple(leaf.shape for leaf in leaves)
        large = [math.prod(shape) > LARGE_LEAF for shape in shapes]
        kept = apart or (False,) * len(large)
        return cls(structure, shapes, tuple(a or b for a, b in zip(large, kept, strict=True)))

    def pack(self, tree: Any) -> Packed:
        """The small arrays of a tree as one vector, and then the large ones.

        That is done on the host, where it takes no program.
        """
        pairs = list(zip(jax.tree_util.tree_leaves(tree), self.apart, strict=True))
        small = [np.ravel(fetched(leaf)) for leaf, apart in pairs if not apart]
        large = [leaf for leaf, apart in pairs if apart]
        vector = np.concatenate(small) if small else np.zeros(0)
        return tuple(_as_jax(part) for part in (vector, *large))

    def unpack(self, packed: tuple[Any, ...]) -> Any:
        """The tree again."""
        vector, large, begin, leaves = packed[0], iter(packed[1:]), 0, []
        for shape, apart in zip(self.shapes, self.apart, strict=True):
            if apart:
                leaves.append(next(large))
                continue
            size = math.prod(shape)
            leaves.append(vector[begin : begin + size].reshape(shape))
            begin += size
        return jax.tree_util.tree_unflatten(self.structure, leaves)


class Context(NamedTuple):
    """What the bound depends on besides the free parameters: what is held, and the data."""

    packing: Packing
    fixed: Model
    outputs: tuple[Outputs, ...]
    mesh: Mesh | None = None
    """The devices that share the rows, if there are several."""

    def model(self, free: Packed) -> Model:
        """The whole model."""
        return eqx.combine(self.packing.unpack(free), self.fixed)


def negative_bound(free: Packed, context: Context) -> tuple[Float[Array, ""], Bound]:
    """Minus the bound of the free parameters, and its parts."""
    with rows_on(context.mesh):
        bound = evidence_bound(context.model(free), context.outputs)
    return -bound.total, bound


def sampled_negative_bound(
    free: Packed, context: Context, key: PRNGKeyArray, n_outputs: int
) -> Float[Array, ""]:
    """An unbiased estimate of the same from random outputs of the views that can be divided.

    Each view's evidence comes from ``n_outputs`` of its D outputs, times D over their number.
    """
    model, outputs = context.model(free).whole(), context.outputs
    views, data, scales = list(model.views), list(outputs), [1.0] * len(outputs)
    for place, view in enumerate(model.views):
        if view.n_samplable() > n_outputs:
            scales[place] = view.n_samplable() / n_outputs
            own = jax.random.fold_in(key, place)
            chosen = jax.random.choice(own, view.n_samplable(), (n_outputs,), replace=False)
            views[place], data[place] = view.some_outputs(outputs[place], chosen)
    with rows_on(context.mesh):
        bound = evidence_bound(Model(model.latent, tuple(views)), tuple(data))
    return bound.kl - bound.prior - jnp.sum(jnp.asarray(scales) * bound.views)


class Objective:
    """A model and its data: what is free, packed for an optimiser or as one flat vector."""

    def __init__(self, model: Model, outputs: tuple[Outputs, ...]):
        self.n_observed = sum(o.n_observed() for o in outputs)
        self.variances = np.array([o.variance() for o in outputs])
        self.layout = Layout.of(model, outputs)
        self.whole = Packing.of(split_free(model)[0])
        padded = self.layout.padded(model)
        self.shapes = {name: p.raw.shape for name, p in named_parameters(padded) if p.free}
        free, fixed = split_free(padded)
        packing = Packing.of(free, self.layout.apart(free))
        held, data = self.layout.placed((fixed, self.layout.with_rows(outputs)))
        self.context = Context(packing, held, data, self.layout.mesh)
        self.free = self.packed_model(model)

    @property
    def start(self) -> Vector:
        """The free parameters of the model that this was made from."""
        return self.flat(self.free)

    @property
    def outputs(self) -> tuple[Outputs, ...]:
        """The data."""
        return self.context.outputs

    @property
    def n_devices(self) -> int:
        """Devices that share the rows."""
        return 1 if self.layout.mesh is None else self.layout.mesh.size

    def fused(self) -> bool:
        """Whether the kernel for GPUs computes any of the sums."""
        if not may_be_fused():
            return False
        with noting_fused() as noted:
            jax.eval_shape(lambda: negative_bound(self.free, self.context)[0])
        return any(noted)

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """Minus the bound and its gradient at a flat vector."""
        (value, _), gradient = _value_and_gradient(self.packed(vector), self.context)
        return float(value), self.flat(gradient)

    def flat(self, free: Packed) -> Vector:
        """All free parameters in one vector on the host."""
        if not self.layout.as_given:
            free = self.whole.pack(self.layout.gathered(self.context.packing.unpack(free)))
        return np.concatenate([np.ravel(part) for part in free]).astype(np.float64)

    def packed(self, vector: Vector) -> Packed:
        """The free parameters of a flat vector."""
        large = [
            shape for shape, apart in zip(self.whole.shapes, self.whole.apart, strict=True) if apart
        ]
        sizes = [math.prod(shape) for shape in large]
        shapes = [(len(vector) - sum(sizes),), *large]
        pieces = np.split(vector, np.cumsum([shapes[0][0], *sizes])[:-1])
        parts = tuple(
            jnp.asarray(piece.reshape(shape)) for piece, shape in zip(pieces, shapes, strict=True)
        )
        if self.layout.as_given:
            return parts
        tree = self.layout.padded(self.whole.unpack(parts))
        return self.layout.placed(self.context.packing.pack(tree))  # type: ignore[no-any-return]

    def model(self, free: Packed) -> Model:
        """The model whose free parameters these are."""
        small = np.array(fetched(free[0]))  # taken apart on the host, which takes no program
        tree = self.context.packing.unpack((small, *free[1:]))
        whole = eqx.combine(jax.tree.map(_as_jax, tree), self.context.fixed)
        return self.layout.gathered(whole)

    def packed_model(self, model: Model) -> Packed:
        """The free parameters of a model of this kind."""
        free, _ = split_free(self.layout.padded(model))
        return self.layout.placed(self.context.packing.pack(free))  # type: ignore[no-any-return]

    def model_at(self, vector: Vector) -> Model:
        """The model whose free parameters are this vector."""
        return self.model(self.packed(vector))

    def mask(self, *held: str) -> Packed:
        """Ones, with zeros for the parameters whose names match a pattern."""
        return self._by_name(lambda name: 0.0 if any(matches(name, h) for h in held) else 1.0)

    def scales(self, *held: str) -> Packed:
        """Units in which a quasi-Newton method is to see the parameters; zeros for held ones.

        All N rows bend the bound along what they share, only one along its own q(x). L-BFGS begins
        with one curvature for all parameters, and where those of two kinds are far apart it takes
        hundreds of steps to learn of it; so shared ones count in units of √(10/N).
        """
        n_rows = self.layout.n_rows
        shared = math.sqrt(ROWS_ALIKE / n_rows) if n_rows > MANY_ROWS else 1.0

        def scale(name: str) -> float:
            if any(matches(name, h) for h in held):
                return 0.0
            return 1.0 if matches(name, "latent.*") else shared

        return self._by_name(scale)

    def _by_name(self, value: Callable[[str], float]) -> Packed:
        """One number for each name, for all numbers of the parameters of that name."""
        full = [np.full(shape, value(name)) for name, shape in self.shapes.items()]
        packing = self.context.packing
        packed = packing.pack(jax.tree_util.tree_unflatten(packing.structure, full))
        return self.layout.placed(packed)  # type: ignore[no-any-return]


def _as_jax(array: Array | np.ndarray) -> Array:
    """An array of the host as one of JAX; others, which may lie on many devices, as they are."""
    return array if isinstance(array, jax.Array) else jax.device_put(array)


@LongRunning
def _value_and_gradient(free: Packed, context: Context) -> tuple[tuple[Array, Bound], Packed]:
    return jax.value_and_grad(negative_bound, has_aux=True)(free, context)

"""How the rows of a fit lie on devices, and how many there are for the compiler."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from ..devices import fetched, place, row_mesh
from ..latent import StandardNormal
from ..mappings import Outputs
from ..mappings.outputs import PatternedOutputs, ScatteredOutputs
from ..parameters import CONSTRAINTS
from .bound import Model
from .row_programs import rows_to_compile


class Layout(NamedTuple):
    """Which devices have which rows.

    Where samples are independent and views Gaussian, q(x) and the data are cut into equal parts;
    rows are added up to the next multiple of the number of devices, and up to the number that fits
    to parts of the data share (`rows_to_compile`). The views have not seen those,
    so with q(x) = p(x) they have no share in the bound and no gradient. Other models are whole on
    every device, and share the work of their sums of exponentials only.

    Attributes
    ----------
    mesh : Mesh or None
        None with one device.
    n_rows, n_padded : int
        Without and with the rows that were added.
    cut : bool
        Whether q(x) and the data are.
    """

    mesh: Mesh | None
    n_rows: int
    n_padded: int
    cut: bool

    @classmethod
    def of(cls, model: Model, outputs: tuple[Outputs, ...]) -> Self:
        """The layout for a model and its data."""
        latent = model.latent
        if type(latent) is not StandardNormal:
            mesh = row_mesh(max(len(leaf) for leaf in _row_arrays(outputs)))
            return cls(mesh, 0, 0, False)
        n_rows = latent.mean.raw.shape[0]
        mesh = row_mesh(n_rows)
        gaussian = all(isinstance(o, PatternedOutputs | ScatteredOutputs) for o in outputs)
        if not gaussian:
            return cls(mesh, n_rows, n_rows, False)
        size = 1 if mesh is None else mesh.size
        return cls(mesh, n_rows, -(-rows_to_compile(n_rows) // size) * size, mesh is not None)

    @property
    def as_given(self) -> bool:
        """Whether arrays are what they are without a layout."""
        return self.mesh is None and self.n_padded == self.n_rows

    def with_rows(self, outputs: tuple[Outputs, ...]) -> tuple[Outputs, ...]:
        """The data with the rows that are added."""
        added = self.n_padded - self.n_rows
        if not added:
            return outputs
        return tuple(o.with_empty_rows(added) for o in outputs)  # type: ignore[union-attr]

    def placed(self, tree: Any) -> Any:
        """Every array of a tree on the devices: cut where an axis is as long as there are rows.

        How an array is cut decides about speed only.
        """
        mesh = self.mesh
        if mesh is None:
            return tree

        def put(leaf: Any) -> Any:
            if not eqx.is_array(leaf):
                return leaf
            rows = self.cut and self.n_padded in leaf.shape
            return place(leaf, mesh, leaf.shape.index(self.n_padded) if rows else None)

        return jax.tree.map(put, tree)

    def padded(self, model: Model) -> Model:
        """A model, or its tree of parameters, with the rows that are added."""
        added = self.n_padded - self.n_rows
        if not added:
            return model
        return self._with_latent(
            model,
            lambda raw, fill: jnp.concatenate(
                [jnp.asarray(fetched(raw)), jnp.full((added, raw.shape[1]), fill, raw.dtype)]
            ),
        )

    def gathered(self, model: Model) -> Model:
        """The same, back on one device and without them."""
        if self.as_given:
            return model
        if self.mesh is not None:
            model = jax.tree.map(lambda a: jnp.asarray(fetched(a)) if eqx.is_array(a) else a, model)
        if self.n_padded == self.n_rows:
            return model
        return self._with_latent(model, lambda raw, _: raw[: self.n_rows])

    def apart(self, tree: Model) -> tuple[bool, ...]:
        """Which arrays of a tree of parameters are cut."""
        flags = jax.tree.map(lambda _: False, tree)
        if self.cut:
            flags = self._with_latent(flags, lambda *_: True)
        return tuple(jax.tree.leaves(flags))

    def _with_latent(self, model: Model, change: Callable[[Any, float], Any]) -> Model:
        """A tree with q(x) changed, where it has one; told are also the numbers of q = p."""
        latent = model.latent
        assert isinstance(latent, StandardNormal)
        one = float(CONSTRAINTS[latent.variance.constraint].inverse(jnp.ones(())))
        raws = [(latent.mean.raw, 0.0), (latent.variance.raw, one)]
        return eqx.tree_at(
            lambda m: (m.latent.mean.raw, m.latent.variance.raw),
            model,
            tuple(None if raw is None else change(raw, fill) for raw, fill in raws),
            is_leaf=lambda node: node is None,
        )


def _row_arrays(outputs: tuple[Outputs, ...]) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(outputs) if np.ndim(leaf) == 2]

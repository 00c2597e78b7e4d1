"""One set of inducing inputs for all views [MRD21, §4.2]."""

from typing import Any

import equinox as eqx
import numpy as np

from ..parameters import Parameter
from .bound import Model


class SharedInducing(Model):
    """A model whose views have their inducing inputs in common.

    Z stands once in the tree, so that its gradient is the sum over views; the views have none
    until `whole()` puts it in its places.
    """

    inducing: Parameter

    def whole(self) -> Model:
        return Model(self.latent, tuple(_with_inducing(v, self.inducing) for v in self.views))


def with_shared_inducing(model: Model) -> SharedInducing:
    """A model whose views have equal inducing inputs, with these taken out of them."""
    own = [_inducing(view) for view in model.views]
    assert all(np.array_equal(Z.raw, own[0].raw) for Z in own)
    return SharedInducing(
        model.latent, tuple(_with_inducing(view, None) for view in model.views), own[0]
    )


def _inducing(view: Any) -> Any:
    return view.inducing


def _with_inducing(view: Any, Z: Parameter | None) -> Any:
    return eqx.tree_at(_inducing, view, Z, is_leaf=lambda node: node is None)

"""A mapping given its training data, compiled."""

from typing import Any

import equinox as eqx

from ..expectations import Gaussian
from .base import Mapping
from .outputs import Outputs


@eqx.filter_jit
def condition(view: Mapping, q: Gaussian, outputs: Outputs) -> Any:
    """What prediction needs of a view's training data."""
    return view.posterior(q, outputs)

"""Prefix sums of an associative operation, in blocks."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def blocked_scan(
    combine: Callable[[Any, Any], Any], elements: Any, identity: Any, reverse: bool = False
) -> Any:
    """All prefixes of e_1 ∘ e_2 ∘ … ∘ e_N for an associative operation on pytrees.

    N elements are laid out as √N blocks of √N: the blocks advance side by side, element by
    element; then their totals are chained and folded back in. This is 2N operations, vectorised
    over √N at a time, and a program whose size does not grow with N (a tree-shaped scan
    compiles its operation 2 log N times over).

    Parameters
    ----------
    combine
        Joins earlier and later elements; broadcasts over leading axes.
    identity
        The neutral element, without a leading axis.
    reverse
        Start from the end: e_N ∘ … ∘ e_n for every n.
    """
    tree = jax.tree_util.tree_map
    if reverse:
        flipped = blocked_scan(combine, tree(lambda x: x[::-1], elements), identity)
        return tree(lambda x: x[::-1], flipped)
    n = jax.tree_util.tree_leaves(elements)[0].shape[0]
    n_blocks = int(np.ceil(np.sqrt(n)))
    length = -(-n // n_blocks)

    def lay_out(x: jax.Array, neutral: jax.Array) -> jax.Array:
        filling = jnp.broadcast_to(neutral, (n_blocks * length - n, *neutral.shape))
        return jnp.swapaxes(
            jnp.concatenate([x, filling]).reshape(n_blocks, length, *x.shape[1:]), 0, 1
        )

    joined = jax.checkpoint(combine)

    def advance(total: Any, element: Any) -> tuple[Any, Any]:
        total = joined(total, element)
        return total, total

    start = tree(lambda x: jnp.broadcast_to(x, (n_blocks, *x.shape)), identity)
    totals, within = jax.lax.scan(advance, start, tree(lay_out, elements, identity))
    _, before = jax.lax.scan(lambda c, e: (joined(c, e), c), identity, totals)
    prefixes = joined(tree(lambda x: x[None], before), within)
    return tree(lambda x: jnp.swapaxes(x, 0, 1).reshape(-1, *x.shape[2:])[:n], prefixes)

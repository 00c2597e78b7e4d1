"""Views that look alike are computed together: one compilation for dozens of them."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..linalg import map_factorising

FEWEST = 3  # fewer of a kind are simply written out
BATCH_ENTRIES = 4_000_000  # numbers alive at once that a batch of views may ask for


def map_alike(
    function: Callable[..., Any], *arguments: Sequence[Any], entries: int = 1
) -> list[Any]:
    """Apply a function to each position of the argument lists.

    Positions whose arguments have the same structure and shapes are stacked and mapped over,
    so the compiled program does not grow with their number. Results must be pytrees of arrays.

    Parameters
    ----------
    entries
        Size of the largest intermediate array of one call; it limits the batches on a GPU.
    """
    places: dict[Any, list[int]] = {}
    for place, items in enumerate(zip(*arguments, strict=True)):
        places.setdefault(_signature(items), []).append(place)
    results: list[Any] = [None] * len(arguments[0])
    for group in places.values():
        members = [tuple(argument[place] for argument in arguments) for place in group]
        if len(group) < FEWEST:
            for place, items in zip(group, members, strict=True):
                results[place] = function(*items)
            continue
        arrays = [eqx.partition(items, eqx.is_array) for items in members]
        static = arrays[0][1]
        stacked = jax.tree_util.tree_map(lambda *x: jnp.stack(x), *[a for a, _ in arrays])
        batch = max(1, min(len(group), BATCH_ENTRIES // max(entries, 1)))
        together = map_factorising(
            lambda a, static=static: function(*eqx.combine(a, static)), stacked, batch
        )
        for i, place in enumerate(group):
            results[place] = jax.tree_util.tree_map(lambda x, i=i: x[i], together)
    return results


def _signature(items: tuple[Any, ...]) -> Any:
    arrays, static = eqx.partition(items, eqx.is_array)
    leaves, structure = jax.tree_util.tree_flatten(arrays)
    others, shape = jax.tree_util.tree_flatten(static)
    return structure, tuple((x.shape, str(x.dtype)) for x in leaves), shape, tuple(others)

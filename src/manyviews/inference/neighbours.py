"""Which training rows look like new ones, over the columns that both have."""

import numpy as np
from jaxtyping import Float, Int

AT_ONCE = 1024


def row_distances(
    new: tuple[Float[np.ndarray, "N _"], ...], train: tuple[Float[np.ndarray, "T _"], ...]
) -> Float[np.ndarray, "N T"]:
    """Mean squared differences over the columns both rows have; infinite if there is none.

    Every view that both have counts alike, however many columns it has.
    """
    distance = np.zeros((new[0].shape[0], train[0].shape[0]))
    shared = np.zeros_like(distance)
    for Y, T in zip(new, train, strict=True):
        wy, wt = (~np.isnan(Y)).astype(float), (~np.isnan(T)).astype(float)
        y, t = np.nan_to_num(Y), np.nan_to_num(T)
        columns = wy @ wt.T
        squares = (y**2) @ wt.T - 2.0 * y @ t.T + wy @ (t**2).T
        distance += np.maximum(squares, 0.0) / np.maximum(columns, 1.0)
        shared += columns > 0
    return np.where(shared > 0, distance / np.maximum(shared, 1.0), np.inf)


def nearest_rows(
    new: tuple[Float[np.ndarray, "N _"], ...],
    train: tuple[Float[np.ndarray, "T _"], ...],
    n_neighbours: int,
) -> Int[np.ndarray, "N S"]:
    """The nearest training rows of every new one, by `row_distances()`."""
    n_neighbours = min(n_neighbours, train[0].shape[0])
    found = []
    for begin in range(0, new[0].shape[0], AT_ONCE):
        distance = row_distances(tuple(Y[begin : begin + AT_ONCE] for Y in new), train)
        found.append(np.argsort(distance, axis=1, kind="stable")[:, :n_neighbours])
    return np.concatenate(found)

"""Data drawn from models: what is true is known."""

import numpy as np

TRAIN, TEST = 60, 60
Views = dict[str, np.ndarray]


def processes(rng: np.random.Generator, x: np.ndarray, columns: int, noise: float) -> np.ndarray:
    """Columns drawn from Gaussian processes of unit variance and lengthscale, with noise."""
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=-1)
    root = np.linalg.cholesky(np.exp(-0.5 * squared) + 1e-9 * np.eye(len(x)))
    clean = root @ rng.standard_normal((len(x), columns))
    return clean + np.sqrt(noise) * rng.standard_normal(clean.shape)


def curved_table(rng: np.random.Generator) -> np.ndarray:
    """Ten functions of two latent variables."""
    return processes(rng, rng.standard_normal((TRAIN, 2)), 10, 0.1)


def curved_views(rng: np.random.Generator) -> Views:
    """Functions of a shared latent variable and a private one each."""
    x = rng.standard_normal((TRAIN + TEST, 3))
    return _of_three(rng, x)


def paths(rng: np.random.Generator) -> Views:
    """The same where the latent variables are paths over the row numbers."""
    return _of_three(rng, smooth(rng, np.arange(TRAIN + TEST), 3))


def smooth(rng: np.random.Generator, times: np.ndarray, columns: int) -> np.ndarray:
    """Paths from a Gaussian process with a lengthscale of ten steps."""
    squared = ((times[:, None] - times[None]) / 10.0) ** 2
    root = np.linalg.cholesky(np.exp(-0.5 * squared) + 1e-8 * np.eye(len(times)))
    return root @ rng.standard_normal((len(times), columns))


def _of_three(rng: np.random.Generator, x: np.ndarray) -> Views:
    return {"a": processes(rng, x[:, :2], 10, 0.1), "b": processes(rng, x[:, 1:], 8, 0.1)}


def straight_table(rng: np.random.Generator) -> np.ndarray:
    """Ten linear functions of two factors."""
    table = rng.standard_normal((TRAIN, 2)) @ rng.standard_normal((2, 10))
    return table + 0.5 * rng.standard_normal(table.shape)


def factors(rng: np.random.Generator) -> Views:
    """Two shared factors and a private one each, with independent noise."""
    shared, views = rng.standard_normal((TRAIN + TEST, 2)), {}
    for name, width in (("a", 10), ("b", 8)):
        table = shared @ rng.standard_normal((2, width))
        table += rng.standard_normal((TRAIN + TEST, 1)) @ rng.standard_normal((1, width))
        views[name] = table + 0.5 * rng.standard_normal(table.shape)
    return views


def correlated(rng: np.random.Generator) -> Views:
    """Two shared factors, with noise that is correlated within views."""
    return _correlated(rng, rng.standard_normal((TRAIN + TEST, 2)))


def _correlated(rng: np.random.Generator, shared: np.ndarray) -> Views:
    views = {}
    for name, width in (("a", 5), ("b", 4)):
        mixing = np.eye(width) + 0.3 * rng.standard_normal((width, width))
        table = shared @ rng.standard_normal((shared.shape[1], width))
        views[name] = table + 0.5 * rng.standard_normal(table.shape) @ mixing
    return views


def clusters(rng: np.random.Generator) -> Views:
    """Two clusters, each with a factor that the views share and noise of its own."""
    which = rng.random(TRAIN + TEST) < 0.5
    first, second = (_correlated(rng, rng.standard_normal((TRAIN + TEST, 1))) for _ in range(2))
    apart = {name: 3.0 * rng.standard_normal(table.shape[1]) for name, table in first.items()}
    return {
        name: np.where(which[:, None], first[name], second[name] + apart[name]) for name in first
    }


def clustered_table(rng: np.random.Generator) -> np.ndarray:
    """Two clusters of linear functions of a factor."""
    which, apart = rng.random(TRAIN) < 0.5, 3.0 * rng.standard_normal(6)
    tables = [rng.standard_normal((TRAIN, 1)) @ rng.standard_normal((1, 6)) for _ in range(2)]
    table = np.where(which[:, None], tables[0], tables[1] + apart)
    return table + 0.5 * rng.standard_normal(table.shape)

"""Regressions of one table on another: records of arrays, settings chosen on rows held out."""

from .base import Averaged, Learnt, Path, Recipe, Regression, Separate, Turned, learn
from .foreign import ByRegressor, Foreign
from .forest import Forest
from .linear import Mean, PartialLeastSquares, Ridge
from .neighbours import Neighbours
from .process import GaussianProcess

RECIPES: dict[str, type[Recipe]] = {
    "mean": Mean,
    "ridge": Ridge,
    "pls": PartialLeastSquares,
    "knn": Neighbours,
    "gp": GaussianProcess,
    "forest": Forest,
}

__all__ = [
    "RECIPES",
    "Averaged",
    "ByRegressor",
    "Foreign",
    "Forest",
    "GaussianProcess",
    "Learnt",
    "Mean",
    "Neighbours",
    "PartialLeastSquares",
    "Path",
    "Recipe",
    "Regression",
    "Ridge",
    "Separate",
    "Turned",
    "learn",
]

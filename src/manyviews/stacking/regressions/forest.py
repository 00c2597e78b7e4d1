"""Random forests, kept as arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.ensemble import RandomForestRegressor

from .base import Path, Recipe, Regression


@dataclass(frozen=True)
class Trees(Regression):
    """The mean of decision trees, whose nodes stand one after the other.

    At node i a row goes to ``left[i]`` if its input ``feature[i]`` is at most ``threshold[i]``,
    else to ``right[i]``; a leaf points to itself. ``roots`` are the first nodes of the trees.
    """

    roots: Int[np.ndarray, " T"]
    feature: Int[np.ndarray, " I"]
    threshold: Float[np.ndarray, " I"]
    left: Int[np.ndarray, " I"]
    right: Int[np.ndarray, " I"]
    value: Float[np.ndarray, "I D"]

    @classmethod
    def of(cls, trees: list[Any]) -> "Trees":
        """From fitted decision trees of scikit-learn."""
        parts: dict[str, list[np.ndarray]] = {}
        roots, first = [], 0
        for tree in (fitted.tree_ for fitted in trees):
            own = np.arange(tree.node_count)
            leaf = tree.children_left < 0
            for name, values in (
                ("feature", np.where(leaf, 0, tree.feature)),
                ("threshold", tree.threshold),
                ("left", np.where(leaf, own, tree.children_left) + first),
                ("right", np.where(leaf, own, tree.children_right) + first),
                ("value", tree.value[:, :, 0]),
            ):
                parts.setdefault(name, []).append(np.asarray(values))
            roots.append(first)
            first += tree.node_count
        return cls(np.array(roots), **{k: np.concatenate(v) for k, v in parts.items()})

    def predict(self, X: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n D"]:
        rows = np.arange(len(X))
        X = X.astype(np.float32)  # as the trees were grown
        total = np.zeros((len(X), self.value.shape[1]))
        for root in self.roots:
            node = np.full(len(X), root)
            while True:
                left = X[rows, self.feature[node]] <= self.threshold[node]
                then = np.where(left, self.left[node], self.right[node])
                if (then == node).all():
                    break
                node = then
            total += self.value[node]
        return total / len(self.roots)


@dataclass(frozen=True)
class Forest(Recipe):
    """A random forest for all columns together; half the trees say how large errors are."""

    n_trees: int = 100
    least_leaf: int = 3
    share: float = 0.33

    def path(self, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> Path:
        return Path(self._grown(X, Y, max(self.n_trees // 2, 1)).predict(new)[None])

    def fit(self, X: np.ndarray, Y: np.ndarray, chosen: np.ndarray) -> Trees:
        return self._grown(X, Y, self.n_trees)

    def _grown(self, X: np.ndarray, Y: np.ndarray, n_trees: int) -> Trees:
        forest = RandomForestRegressor(
            n_trees, min_samples_leaf=self.least_leaf, max_features=self.share, random_state=0
        )
        return Trees.of(forest.fit(X, Y if Y.shape[1] > 1 else Y[:, 0]).estimators_)

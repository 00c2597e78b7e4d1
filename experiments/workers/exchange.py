"""What passes between the experiment and a worker: two ``.npz`` files.

The problem holds ``train_0, train_1, test_0, test_1`` (two views, centred and scaled on the
training rows), ``directions`` (rows of source and target), ``n_components``, ``n_inducing``,
``seed`` and ``limit`` (seconds for a fit). The answer holds for direction i ``mean_i`` and
``std_i`` of the target's test rows, ``seconds`` of a fit and a ``note``.
This file runs in every interpreter, so it needs nothing but NumPy.
"""

import sys
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Request:
    """A problem as a worker reads it, and the answers it collects."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    directions: list[tuple[int, int]]
    n_components: int
    n_inducing: int
    seed: int
    limit: float
    answers: dict[str, np.ndarray] = field(default_factory=dict)

    def answer(self, direction: int, mean: np.ndarray, variance: np.ndarray) -> None:
        """Keep the prediction of one direction."""
        self.answers[f"mean_{direction}"] = np.asarray(mean)
        self.answers[f"std_{direction}"] = np.sqrt(np.broadcast_to(variance, np.shape(mean)))

    def finish(self, seconds: float, note: str = "") -> None:
        """Write the answers to the file named on the command line."""
        np.savez(sys.argv[2], seconds=seconds, note=note, **self.answers)


def request() -> Request:
    """The problem named on the command line."""
    with np.load(sys.argv[1]) as file:
        return Request(
            train=(file["train_0"], file["train_1"]),
            test=(file["test_0"], file["test_1"]),
            directions=[(int(a), int(b)) for a, b in file["directions"]],
            n_components=int(file["n_components"]),
            n_inducing=int(file["n_inducing"]),
            seed=int(file["seed"]),
            limit=float(file["limit"]),
        )

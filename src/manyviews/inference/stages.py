"""The plan of an optimisation: which optimiser, for how long, with what held fixed."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Stage:
    """One stretch of an optimisation.

    Attributes
    ----------
    method : {"lbfgs", "adam"}
    iterations : int
        The most iterations this stage may take.
    hold : tuple of str
        Parameters (names or patterns) that stay at their values during the stage.
    step_size : float
        Adam's step on the unconstrained parameters.
    """

    method: Literal["lbfgs", "adam"]
    iterations: int
    hold: tuple[str, ...] = ()
    step_size: float = 0.05


def default_stages(max_iter: int) -> tuple[Stage, ...]:
    """Let q(X) settle under a held signal-to-noise ratio, roam with Adam, then converge.

    Holding noise and signal variance first keeps the model from explaining the data as
    noise; Adam's large steps leave poor optima that L-BFGS alone stops in.
    """
    return (
        Stage("lbfgs", min(100, max_iter), hold=("noise", "kernel.*variance")),
        Stage("adam", min(500, max_iter)),
        Stage("lbfgs", max_iter),
    )

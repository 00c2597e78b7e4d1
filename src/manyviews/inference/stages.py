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
    n_outputs : int, optional
        With Adam, draw so many outputs of every collaborative view anew for each step (003 §4.1)
        in the place of all of them; the step size then falls to zero over the stage.
    """

    method: Literal["lbfgs", "adam"]
    iterations: int
    hold: tuple[str, ...] = ()
    step_size: float = 0.05
    n_outputs: int | None = None


def default_stages(max_iter: int, hold: bool = True) -> tuple[Stage, ...]:
    """Let q(X) settle, roam with Adam, then converge.

    Holding noise and signal variance at first keeps the model from explaining clean data as
    noise; on noisy data it forces q(X) to fit the noise, so it should be held only at a
    plausible ratio. Adam's large steps leave poor optima that L-BFGS alone stops in.
    """
    settle = (
        Stage("lbfgs", min(100, max_iter), hold=("noise", "kernel.*variance"))
        if hold
        else Stage("lbfgs", min(300, max_iter))
    )
    return (settle, Stage("adam", min(500, max_iter)), Stage("lbfgs", max_iter))

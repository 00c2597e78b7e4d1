"""What a mapping is: a distribution over functions from the latent space to one view."""

import dataclasses
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import equinox as eqx
from jaxtyping import Array, Float, Int

from ..expectations import Gaussian


class Evidence(NamedTuple):
    """One view's share of the bound, and the jitter it took to compute it."""

    value: Float[Array, ""]
    jitter: Float[Array, ""]


class Mapping(eqx.Module):
    """Owner of p(Y | X) for one view. A new mapping is one subclass.

    It says which kind of `Outputs` it is trained on.
    """

    @abstractmethod
    def expected_log_likelihood(self, q: Gaussian, outputs: Any) -> Evidence:
        """A lower bound on ⟨log p(Y | X)⟩ under q(X)."""

    @abstractmethod
    def posterior(self, q: Gaussian, outputs: Any) -> Any:
        """What prediction needs of the training data."""

    @abstractmethod
    def noise_variance(self) -> Float[Array, ""]:
        """Variance of the observation noise."""

    @abstractmethod
    def relevance(self) -> Float[Array, " Q"]:
        """How strongly each latent dimension moves this view."""

    @abstractmethod
    def size(self, n_rows: int) -> int:
        """Entries of the largest array that evaluating this view needs at once."""

    def n_samplable(self) -> int:
        """How many outputs a random choice of them can be taken from; zero if there can be none."""
        return 0

    def some_outputs(self, outputs: Any, columns: Int[Array, " n"]) -> "tuple[Mapping, Any]":
        """The mapping to some of the outputs, and these; for mappings that can be so divided."""
        raise NotImplementedError

    def with_jitter(self, jitter: float) -> Self:
        """The same mapping with another jitter on the diagonal of its covariance."""
        same = object.__new__(type(self))
        for field in dataclasses.fields(self):
            value = jitter if field.name == "jitter" else getattr(self, field.name)
            object.__setattr__(same, field.name, value)
        return same

    def expectation_error(self, q: Gaussian) -> float:
        """Relative error of the psi statistics under q(X); zero where they are in closed form."""
        return 0.0


@eqx.filter_jit
def condition(view: Mapping, q: Gaussian, outputs: Any) -> Any:
    """What prediction needs of a view's training data, compiled."""
    return view.posterior(q, outputs)

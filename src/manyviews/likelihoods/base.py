"""What a likelihood is: the distribution of one view's values given function values."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..errors import OptionError
from ..parameters import Parameter
from .quadrature import NODES, cubature, gauss_hermite, root, standard_nodes

Names = Sequence[Any] | None
Given = Float[Array, "*#B D"] | None


class Start(NamedTuple):
    """Where a fit of one view starts: parameters, mean functions, and how far functions move."""

    likelihood: "Likelihood"
    offset: Parameter
    """Constant mean of every function, D x C."""
    variance: float
    """Prior variance of the functions."""


class Likelihood(eqx.Module):
    """p(y | f) of a view with D columns; every kind of data is one subclass.

    Values y have the shape (…, D) and are in the data's own terms. Function values f, and the
    means and variances of Gaussian ones, have the shape (…, D, C): C functions per column.
    ``given`` is what is known beside the values, one number each: trials, the logarithm of an
    exposure, which values are censored; None where a kind needs nothing.

    A subclass says what its distribution is given f. What follows under f ~ N(m, v) is here, by
    quadrature, and in closed form where a subclass has one.
    """

    continuous: ClassVar[bool] = True
    """Whether values have a density (or are whole numbers or levels)."""
    n_nodes: ClassVar[int] = NODES
    """Hermite nodes of the expected log density."""

    @property
    def n_functions(self) -> int:
        """C."""
        return 1

    @property
    def beside(self) -> str | None:
        """Name of the table that has to come with the data (of trials, exposures, events)."""
        return None

    def used(self, n_columns: int) -> Bool[np.ndarray, "D C"]:
        """Which functions columns depend on: all, unless columns differ in their levels."""
        return np.ones((n_columns, self.n_functions), bool)

    def groups(self, n_columns: int) -> Int[np.ndarray, " D"]:
        """Which columns are of one kind: all, unless kinds are mixed."""
        return np.zeros(n_columns, int)

    def scalable(self, n_columns: int) -> Bool[np.ndarray, " D"]:
        """Which columns may be centred and scaled before the fit."""
        return np.zeros(n_columns, bool)

    def noise_variance(self) -> Float[Array, ""]:
        """Variance of additive noise; NaN for kinds that have none."""
        return jnp.asarray(jnp.nan)

    # ------------------------------------------------------------------ data

    @abstractmethod
    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        """Refuse values of another kind, with the first of them named."""

    @abstractmethod
    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        """Parameters, mean functions and their variance, read off the data."""

    @abstractmethod
    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N D"]:
        """The values on roughly the scale of the functions, for linear starts and distances."""

    def given(
        self, Y: Float[np.ndarray, "N D"], beside: Float[np.ndarray, "N D"] | None = None
    ) -> Float[np.ndarray, "N D"] | None:
        """What is known beside the values, from the values and the table that came with them."""
        return None

    def typical_given(self, n_columns: int) -> Float[Array, " D"] | None:
        """What is given where nothing is known: one trial, a typical exposure, no limit."""
        return None

    # ------------------------------------------------------------------ given f

    @abstractmethod
    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        """The logarithm of p(y | f)."""

    @abstractmethod
    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        """Mean and variance of y given f: the inverse link, and the noise."""

    @abstractmethod
    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        """P(value ≤ y | f)."""

    @abstractmethod
    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        """One value for every f."""

    @abstractmethod
    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        """max_f log p(y | f)."""

    def level_values(self) -> Float[Array, "D L"] | None:
        """The values that columns can take, NaN where a column has fewer; None if they are many."""
        return None

    def level_probabilities(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        """P(y = level | f) for kinds with few levels."""
        raise OptionError(f"{type(self).__name__} has no levels: ask for quantiles or draws")

    def some_value(self) -> Float[np.ndarray, "..."]:
        """A value that there can be, to stand where one is missing; of each column, or of all."""
        levels = self.level_values()
        return np.ones(()) if levels is None else np.asarray(levels)[:, 0]

    def deviance(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        """2 [max_f log p(y | f) - log p(y | f)]; the squared error over the noise, if Gaussian."""
        return 2.0 * (self.saturated(y, given) - self.log_density(y, f, given))

    # ------------------------------------------------------------------ under f ~ N(m, v)

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        """⟨log p(y | f)⟩, by Gauss-Hermite quadrature unless a kind knows better."""
        if self.n_functions == 1:
            return gauss_hermite(
                lambda f: self.log_density(jnp.broadcast_to(y, f.shape), f[..., None], given),
                mean[..., 0],
                variance[..., 0],
                self.n_nodes,
            )
        return cubature(
            lambda f: self.log_density(jnp.broadcast_to(y, f.shape[:-1]), f, given),
            mean,
            variance,
            standard_nodes(self.n_functions),
        )

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        """Mean and variance of y: ⟨E[y|f]⟩ and ⟨V[y|f]⟩ + V⟨E[y|f]⟩."""
        points, weights = standard_nodes(self.n_functions)

        def add(sums: tuple[Array, Array], node: tuple[Array, Array]) -> tuple[Any, None]:
            centre, spread = self.conditional(mean + root(variance) * node[0], given)
            return (sums[0] + node[1] * centre, sums[1] + node[1] * (spread + centre**2)), None

        nothing = jnp.zeros(mean.shape[:-1])
        nodes = (jnp.asarray(points), jnp.asarray(weights))
        (first, second), _ = jax.lax.scan(add, (nothing, nothing), nodes)
        return first, jnp.maximum(second - first**2, 0.0)

    def central(
        self, mean: Float[Array, "K *B D C"], variance: Float[Array, "K *B D C"]
    ) -> Float[Array, "*B D C"]:
        """Function values that stand for a mixture of Gaussian ones, for the deviance.

        Their mean, unless a kind has values with the predicted rate or probability.
        """
        return jnp.mean(mean, axis=0)

    def probabilities(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        """P(y = level) for kinds with few levels."""
        return cubature(
            lambda f: self.level_probabilities(f, given),
            mean,
            variance,
            standard_nodes(self.n_functions),
        )

    def with_start(self, **parameters: Parameter) -> Self:
        """The same kind with other parameters."""
        names = list(parameters)
        return eqx.tree_at(
            lambda kind: [getattr(kind, name) for name in names], self, list(parameters.values())
        )

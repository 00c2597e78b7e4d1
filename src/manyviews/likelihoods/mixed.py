"""Columns of several kinds in one view: a survey, a clinical table."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..errors import DataError, OptionError
from ..parameters import parameter
from .base import Given, Likelihood, Names, Start
from .gaussian import GaussianNoise
from .student_t import StudentT

Columns = tuple[int, ...]


class Mixed(Likelihood):
    """p(y | f) = Π_g p_g(y_g | f_g): a likelihood for every group g of columns.

    All columns depend on the same latent dimensions through one kernel; every group has a posterior
    covariance of its own. A column has as many functions as the kind that needs the most, and its
    own kind uses the first of them.

    Parameters
    ----------
    parts : sequence of Likelihood
        The kind of each group.
    columns : sequence of sequences of int
        The columns of each group; together all columns of the view, each once.
    """

    continuous: ClassVar[bool] = False
    parts: tuple[Likelihood, ...]
    columns: tuple[Columns, ...] = eqx.field(static=True)

    def __init__(self, parts: Sequence[Likelihood], columns: Sequence[Sequence[int]]):
        for part in parts:
            if part.beside is not None:
                raise OptionError(
                    f"{type(part).__name__} needs the table {part.beside!r} beside its values: "
                    "make its columns a view of their own"
                )
        self.parts = tuple(parts)
        self.columns = tuple(tuple(int(d) for d in own) for own in columns)
        if sorted(d for own in self.columns for d in own) != list(range(self.n_columns)):
            raise OptionError(f"every column must be of one group, got the groups {self.columns}")

    @property
    def n_columns(self) -> int:
        """D."""
        return sum(map(len, self.columns))

    @property
    def n_functions(self) -> int:
        return max(part.n_functions for part in self.parts)

    def used(self, n_columns: int) -> Bool[np.ndarray, "D C"]:
        found = np.zeros((n_columns, self.n_functions), bool)
        for part, own in self.by_group():
            found[own, : part.n_functions] = part.used(len(own))  # of a kind that was started
        return found

    def groups(self, n_columns: int) -> Int[np.ndarray, " D"]:
        found = np.zeros(n_columns, int)
        for number, own in enumerate(self.columns):
            found[list(own)] = number
        return found

    def scalable(self, n_columns: int) -> Bool[np.ndarray, " D"]:
        """Real values, so that one kernel suits columns in units of any size."""
        found = np.zeros(n_columns, bool)
        for part, own in self.by_group():
            found[own] = isinstance(part, GaussianNoise | StudentT)
        return found

    # ------------------------------------------------------------------ data

    def check_data(
        self, Y: Float[np.ndarray, "N D"], view: str, columns: Names = None, rows: Names = None
    ) -> None:
        if Y.shape[1] != self.n_columns:
            raise DataError(
                f"view {view!r} has {Y.shape[1]} columns, and its likelihood is that of "
                f"{self.n_columns}"
            )
        names = range(Y.shape[1]) if columns is None else columns
        for part, own in self.by_group():
            part.check_data(Y[:, own], view, [names[d] for d in own], rows)

    def given(
        self, Y: Float[np.ndarray, "N D"], beside: Float[np.ndarray, "N D"] | None = None
    ) -> Float[np.ndarray, "N D"] | None:
        found, any_given = np.zeros(Y.shape), False
        for part, own in self.by_group():
            known = part.given(Y[:, own])
            if known is not None:
                found[:, own], any_given = known, True
        return found if any_given else None

    def typical_given(self, n_columns: int) -> Float[Array, " D"] | None:
        found, any_given = jnp.zeros(n_columns), False
        for part, own in self.by_group():
            typical = part.typical_given(len(own))
            if typical is not None:
                found, any_given = found.at[own].set(typical), True
        return found if any_given else None

    def start(self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None) -> Start:
        """Of every group; the kernel's variance is their average, by columns."""
        found = [part.start(Y[:, own], given_to(part, given, own)) for part, own in self.by_group()]
        begun = Mixed([each.likelihood for each in found], self.columns)
        offset, variance = np.zeros((Y.shape[1], begun.n_functions)), 0.0
        for each, (part, own) in zip(found, begun.by_group(), strict=True):
            offset[own, : part.n_functions] = each.offset.value
            variance += len(own) / Y.shape[1] * each.variance
        return Start(begun, parameter(offset), variance)

    def relative_to(self, Y: Float[np.ndarray, "N D"]) -> "Mixed":
        """The same with the typical exposures of these data."""
        parts = [
            part.relative_to(Y[:, own]) if hasattr(part, "relative_to") else part
            for part, own in self.by_group()
        ]
        return Mixed(parts, self.columns)

    def working(
        self, Y: Float[np.ndarray, "N D"], given: Float[np.ndarray, "N D"] | None
    ) -> Float[np.ndarray, "N E"]:
        """Those of the groups, one after the other."""
        return np.concatenate(
            [part.working(Y[:, own], given_to(part, given, own)) for part, own in self.by_group()],
            axis=1,
        )

    def some_value(self) -> Float[np.ndarray, "..."]:
        found = np.empty(self.n_columns)
        for part, own in self.by_group():
            found[own] = part.some_value()
        return found

    # ------------------------------------------------------------------ answers

    def side_by_side(
        self, ask: Callable[[Likelihood, np.ndarray], Array], axis: int = -1
    ) -> Float[Array, "..."]:
        """What is said of every group, given its kind and its columns, in the view's order."""
        found = [ask(part, own) for part, own in self.by_group()]
        order = np.argsort(np.concatenate(self.columns))
        return jnp.take(jnp.concatenate(found, axis=axis), order, axis=axis)

    def of_groups(
        self,
        predict: Callable[..., Array],
        mean: Float[Array, "K *B D C"],
        variance: Float[Array, "K *B D C"],
        given: Given = None,
        *first: Any,
        values: Float[Array, "*B D"] | None = None,
    ) -> Float[Array, "*B D"]:
        """A prediction of every group from its functions alone."""
        return self.side_by_side(
            lambda part, own: predict(
                part, *first, *([] if values is None else [values[..., own]]),
                of(mean, part, own), of(variance, part, own), given_to(part, given, own),
            )
        )  # fmt: skip

    def log_density(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        return self.side_by_side(
            lambda part, own: part.log_density(y[..., own], of(f, part, own),
                                               given_to(part, given, own))
        )  # fmt: skip

    def expected_log_density(
        self,
        y: Float[Array, "*B D"],
        mean: Float[Array, "*B D C"],
        variance: Float[Array, "*B D C"],
        given: Given = None,
    ) -> Float[Array, "*B D"]:
        return self.side_by_side(
            lambda part, own: part.expected_log_density(
                y[..., own], of(mean, part, own), of(variance, part, own),
                given_to(part, given, own),
            )
        )  # fmt: skip

    def conditional(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        return self._pair(lambda part, own: part.conditional(
            of(f, part, own), given_to(part, given, own)
        ))  # fmt: skip

    def moments(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
        return self._pair(lambda part, own: part.moments(
            of(mean, part, own), of(variance, part, own), given_to(part, given, own)
        ))  # fmt: skip

    def cdf(
        self, y: Float[Array, "*B D"], f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        return self.side_by_side(
            lambda part, own: part.cdf(y[..., own], of(f, part, own), given_to(part, given, own))
        )

    def draw(
        self, key: PRNGKeyArray, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D"]:
        keys = iter(jax.random.split(key, len(self.parts)))
        return self.side_by_side(
            lambda part, own: part.draw(next(keys), of(f, part, own), given_to(part, given, own))
        )

    def saturated(self, y: Float[Array, "*B D"], given: Given = None) -> Float[Array, "*B D"]:
        return self.side_by_side(
            lambda part, own: part.saturated(y[..., own], given_to(part, given, own))
        )

    def central(
        self, mean: Float[Array, "K *B D C"], variance: Float[Array, "K *B D C"]
    ) -> Float[Array, "*B D C"]:
        def one(part: Likelihood, own: np.ndarray) -> Array:
            found = part.central(of(mean, part, own), of(variance, part, own))
            more = self.n_functions - part.n_functions
            return jnp.pad(found, [(0, 0)] * (found.ndim - 1) + [(0, more)])

        return self.side_by_side(one, axis=-2)

    # ------------------------------------------------------------------ levels

    def level_values(self) -> Float[Array, "D L"] | None:
        """NaN throughout for columns that have no levels; None if none has."""
        known = [part.level_values() for part, _ in self.by_group()]
        most = max((levels.shape[1] for levels in known if levels is not None), default=0)
        if not most:
            return None
        found = jnp.full((self.n_columns, most), jnp.nan)
        for levels, own in zip(known, self.columns, strict=True):
            if levels is not None:
                wide = jnp.broadcast_to(levels, (len(own), levels.shape[1]))
                found = found.at[np.array(own), : levels.shape[1]].set(wide)
        return found

    def level_probabilities(
        self, f: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        return self._chances(
            lambda part, own: part.level_probabilities(
                of(f, part, own), given_to(part, given, own)
            ),
            f.shape[:-2],
        )

    def probabilities(
        self, mean: Float[Array, "*B D C"], variance: Float[Array, "*B D C"], given: Given = None
    ) -> Float[Array, "*B D L"]:
        return self._chances(
            lambda part, own: part.probabilities(
                of(mean, part, own), of(variance, part, own), given_to(part, given, own)
            ),
            mean.shape[:-2],
        )

    def _chances(
        self, ask: Callable[[Likelihood, np.ndarray], Array], shape: tuple[int, ...]
    ) -> Float[Array, "*B D L"]:
        """Probabilities of levels, NaN where a column has none or fewer."""
        levels = self.level_values()
        if levels is None:
            raise OptionError("no column of this view has levels: ask for quantiles or draws")
        most = levels.shape[1]

        def one(part: Likelihood, own: np.ndarray) -> Array:
            if part.level_values() is None:
                return jnp.full((*shape, len(own), most), jnp.nan)
            found = ask(part, own)
            pads = [(0, 0)] * (found.ndim - 1) + [(0, most - found.shape[-1])]
            return jnp.pad(found, pads, constant_values=jnp.nan)

        return self.side_by_side(one, axis=-2)

    def _pair(self, ask: Callable[[Likelihood, np.ndarray], tuple[Array, Array]]) -> Any:
        found = [ask(part, own) for part, own in self.by_group()]
        order = np.argsort(np.concatenate(self.columns))
        return tuple(
            jnp.concatenate(side, axis=-1)[..., order] for side in zip(*found, strict=True)
        )

    def by_group(self) -> list[tuple[Likelihood, np.ndarray]]:
        """Every group's kind and columns."""
        return [(part, np.array(own)) for part, own in zip(self.parts, self.columns, strict=True)]


def of(f: Float[Array, "*B D C"], part: Likelihood, own: np.ndarray) -> Float[Array, "*B E F"]:
    """The functions of a group that its kind uses."""
    return f[..., own, : part.n_functions]


def given_to(part: Likelihood, given: Any, own: np.ndarray) -> Any:
    """What is known beside a group's values, if its kind wants to know anything."""
    if given is None or part.typical_given(len(own)) is None:
        return None
    return given[..., own]

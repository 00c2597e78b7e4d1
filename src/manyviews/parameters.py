"""Parameters that carry their constraint, and the two verbs fix and free.

A `Parameter` stores an unconstrained array ``raw``; ``value`` applies the
constraint. This is the only place where constraints are applied.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from . import _runtime  # noqa: F401
from .errors import OptionError

T = TypeVar("T")


class Constraint(NamedTuple):
    """A smooth increasing map from the real line onto the allowed set, and its inverse."""

    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    allowed: Callable[[np.ndarray], np.ndarray]
    words: str


# Beyond e^±40 a positive number is zero or infinite for every purpose here; the clip
# keeps an over-long line-search step from turning into inf - inf. Beyond 36 a sigmoid is one,
# and no value strictly between 0 and 1.
CONSTRAINTS: dict[str, Constraint] = {
    "real": Constraint(lambda r: r, lambda v: v, np.isfinite, "finite"),
    "positive": Constraint(
        lambda r: jnp.exp(jnp.clip(r, -40.0, 40.0)),
        lambda v: jnp.clip(jnp.log(v), -40.0, 40.0),
        lambda v: np.isfinite(v) & (v > 0),
        "positive",
    ),
    "softplus": Constraint(
        jax.nn.softplus,
        lambda v: v + jnp.log(-jnp.expm1(-v)),
        lambda v: np.isfinite(v) & (v > 0),
        "positive",
    ),
    "unit": Constraint(
        lambda r: jax.nn.sigmoid(jnp.clip(r, -30.0, 30.0)),
        lambda v: jnp.log(v) - jnp.log1p(-v),
        lambda v: (v > 0) & (v < 1),
        "strictly between 0 and 1",
    ),
}


@dataclass(frozen=True)
class LogNormal:
    """A prior on positive numbers: log v ~ N(log median, spread²), a density of log v.

    So the median is the mode, on whatever scale v is optimised.
    """

    median: float
    spread: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(x) and x > 0 for x in (self.median, self.spread)):
            raise OptionError(f"median and spread of a prior must be positive, got {self}")

    def log_density(self, value: Float[Array, "..."]) -> Float[Array, ""]:
        """The sum over all entries."""
        z = (jnp.log(value) - math.log(self.median)) / self.spread
        return jnp.sum(-0.5 * z**2 - math.log(self.spread) - 0.5 * math.log(2.0 * math.pi))


class Parameter(eqx.Module):
    """An array with its constraint, whether fitting may change it, and its prior if it has one."""

    raw: Float[Array, "..."]
    constraint: str = eqx.field(static=True)
    free: bool = eqx.field(static=True)
    prior: LogNormal | None = eqx.field(static=True, default=None)

    @property
    def value(self) -> Float[Array, "..."]:
        """The constrained array."""
        return CONSTRAINTS[self.constraint].forward(self.raw)

    def with_value(self, value: ArrayLike) -> "Parameter":
        """Return the same parameter (constraint, flag, prior) at another value."""
        return replace(parameter(value, self.constraint, self.free), prior=self.prior)


def parameter(value: ArrayLike, constraint: str = "real", free: bool = True) -> Parameter:
    """Make a parameter from its constrained value."""
    if constraint not in CONSTRAINTS:
        raise OptionError(f"constraint must be one of {sorted(CONSTRAINTS)}, got {constraint!r}")
    rule = CONSTRAINTS[constraint]
    array = on_device(value, _float_type(value))
    if isinstance(array, jax.core.Tracer):
        return Parameter(rule.inverse(array), constraint, free)
    if not np.all(rule.allowed(np.asarray(array))):
        raise OptionError(f"the value of this parameter must be {rule.words}, got {value!r}")
    raw = array if constraint == "real" else _compiled(rule.inverse)(array)
    return Parameter(raw, constraint, free)


@cache
def _compiled(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return jax.jit(function)


def on_device(value: ArrayLike, dtype: Any) -> Array:
    """An array for JAX. Numbers of the host are converted there, which takes no program."""
    if isinstance(value, np.ndarray | np.generic | float | int):
        return jax.device_put(np.array(value, dtype))
    return jnp.asarray(value, dtype)


def _float_type(value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    return dtype if dtype is not None and jnp.issubdtype(dtype, jnp.floating) else jnp.float64


def positive(value: ArrayLike) -> Parameter:
    """Shorthand for a positive parameter on the log scale."""
    return parameter(value, "positive")


def is_parameter(node: Any) -> bool:
    """Tell whether a node of a pytree is a `Parameter`."""
    return isinstance(node, Parameter)


def named_parameters(tree: Any) -> Iterator[tuple[str, Parameter]]:
    """Yield every parameter of a module with its dotted name, in tree order."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_parameter)
    for path, leaf in leaves:
        if is_parameter(leaf):
            yield _dotted(path), leaf


def fix(tree: T, *names: str) -> T:
    """Hold the named parameters (``"variance"``, ``"kernel.*"``) at their values.

    A name matches a whole dotted path, the end of one, or a shell-style pattern.
    Without names everything is fixed.
    """
    return _set_free(tree, names, False)


def free(tree: T, *names: str) -> T:
    """Let fitting change the named parameters again; without names, all of them."""
    return _set_free(tree, names, True)


def map_parameters(function: Callable[[str, Parameter], Parameter], tree: T) -> T:
    """Replace every parameter by ``function(name, parameter)``."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: function(_dotted(path), leaf) if is_parameter(leaf) else leaf,
        tree,
        is_leaf=is_parameter,
    )


def with_positive_transform(tree: T, transform: str) -> T:
    """Express all positive parameters through ``"log"`` or ``"softplus"``."""
    target = {"log": "positive", "softplus": "softplus"}[transform]
    others = {"positive", "softplus"} - {target}

    def convert(_: str, p: Parameter) -> Parameter:
        if p.constraint not in others:
            return p
        return replace(parameter(p.value, target, p.free), prior=p.prior)

    return map_parameters(convert, tree)


def split_free(tree: T) -> tuple[T, T]:
    """Split a module into its free raw arrays and everything else (see ``eqx.combine``)."""
    spec = jax.tree_util.tree_map(
        lambda leaf: jax.tree_util.tree_map(lambda _: is_parameter(leaf) and leaf.free, leaf),
        tree,
        is_leaf=is_parameter,
    )
    return eqx.partition(tree, spec)


def matches(name: str, pattern: str) -> bool:
    """Tell whether a dotted parameter name is meant by a pattern."""
    return fnmatch(name, pattern) or fnmatch(name, f"*.{pattern}")


def with_prior(tree: T, *names: str, median: float, spread: float) -> T:
    """Give the named positive parameters a log-normal prior, each of their entries."""
    _check_names(tree, names)
    prior = LogNormal(float(median), float(spread))

    def change(name: str, p: Parameter) -> Parameter:
        if not any(matches(name, pattern) for pattern in names):
            return p
        if p.constraint not in {"positive", "softplus"}:
            raise OptionError(f"a log-normal prior is for positive parameters, {name!r} is none")
        return replace(p, prior=prior)

    return map_parameters(change, tree)


def log_prior(tree: Any) -> Float[Array, ""]:
    """Σ log p(θ) over the parameters that have a prior; zero if none has."""
    terms = [p.prior.log_density(p.value) for _, p in named_parameters(tree) if p.prior]
    return jnp.sum(jnp.stack(terms)) if terms else jnp.zeros(())


def _check_names(tree: Any, names: tuple[str, ...]) -> None:
    known = [name for name, _ in named_parameters(tree)]
    for pattern in names:
        if not any(matches(name, pattern) for name in known):
            raise OptionError(f"no parameter is called {pattern!r}; there are {known}")


def _set_free(tree: T, names: tuple[str, ...], flag: bool) -> T:
    _check_names(tree, names)

    def change(name: str, p: Parameter) -> Parameter:
        chosen = not names or any(matches(name, pattern) for pattern in names)
        return replace(p, free=flag) if chosen else p

    return map_parameters(change, tree)


def _dotted(path: tuple[Any, ...]) -> str:
    return ".".join(
        str(getattr(key, "name", getattr(key, "idx", getattr(key, "key", key)))) for key in path
    )

"""How the compiler is asked to make the programs that run long."""

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import equinox as eqx
import jax

WIDE = {"xla_cpu_prefer_vector_width": 512}  # bits; processors with less take what they have
UNTUNED = {"xla_gpu_autotune_level": 0}


class LongRunning:
    """A function of arrays, compiled for what it runs on when it is first called.

    On a CPU it uses vectors as wide as the processor has: XLA's own choice of 256 bits halves the
    speed of exponentials where there are 512. On a GPU it can do without the search for the
    fastest matrix products, which takes the compiler seconds.

    Parameters
    ----------
    function
        What `equinox.filter_jit` is given.
    tuned : bool, default=True
        Whether a GPU's matrix products are to be searched for.
    how
        Further arguments of `equinox.filter_jit`.
    """

    def __init__(self, function: Callable[..., Any], tuned: bool = True, **how: Any):
        self._function, self._tuned, self._how = function, tuned, how

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""
        return self._program(*arguments)

    def lower(self, *arguments: Any) -> Any:
        """The program before it is compiled, as `jax.jit` gives it."""
        return self._program.lower(*arguments)

    @cached_property
    def _program(self) -> Any:
        options = _options(jax.default_backend(), self._tuned)
        return eqx.filter_jit(  # type: ignore[call-overload]
            self._function, compiler_options=options or None, **self._how
        )


@cache
def _options(backend: str, tuned: bool) -> dict[str, Any]:
    asked: dict[str, int] = {"cpu": WIDE, "gpu": {} if tuned else UNTUNED}.get(backend, {})
    return dict(asked) if asked and _known(asked) else {}


def _known(options: dict[str, Any]) -> bool:
    """Whether this version of the compiler has such options."""
    try:
        jax.jit(lambda: 0.0, compiler_options=options).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True

"""Where the collaborative latent space starts: paths of the views, turned towards each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..errors import OptionError
from ..kernels import Kernel, White
from ..latent.path_kernels import PathKernel
from ..parameters import fix
from .initial_dynamics import TimeKernel, initial_time_kernels
from .initialise import canonical_scores, compact_view, initial_means, joint_means

STARTS = ("concatenated", "canonical", "separate", "random")
TIED = ("concatenated",)  # starts in which all views have the same path


def starting_paths(
    data: Sequence[Float[np.ndarray, "N _"]],
    n_components: int,
    init: Any,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "N Q"], list[Float[np.ndarray, "N Q"]]]:
    """Means of the shared path and of every view's own, dimension tied to dimension.

    ``"concatenated"`` takes the PPCA scores of all views side by side as everybody's path.
    ``"canonical"`` takes the generalised canonical variates of the views as the shared path, and
    for every view its whitened PPCA scores, rotated to lie as near to those as they can
    (orthogonal Procrustes). ``"separate"`` takes the scores as they are and their mean; an array
    (samples x components) is everybody's path.
    """
    if not isinstance(init, str):
        given = initial_means(data[0], n_components, init, rng)
        return given, [given.copy() for _ in data]
    if init == "random":
        shared = rng.standard_normal((len(data[0]), n_components))
        return shared, [shared + rng.standard_normal(shared.shape) for _ in data]
    if init == "concatenated":
        given = joint_means(data, n_components, init, rng)
        return given, [given.copy() for _ in data]
    compact = [compact_view(Y) for Y in data]
    paths = [_scores(Y, n_components, rng) for Y in compact]
    if init == "separate" or len(data) == 1:
        shared = np.mean(paths, axis=0)
        return shared / np.maximum(shared.std(axis=0), 1e-12), paths
    shared = canonical_scores(compact, n_components)
    missing = n_components - shared.shape[1]
    shared = np.concatenate([shared, rng.standard_normal((len(shared), missing))], axis=1)
    return shared, [path @ _rotation(path, shared) for path in paths]


def _scores(
    Y: Float[np.ndarray, "N D"], n_components: int, rng: np.random.Generator
) -> Float[np.ndarray, "N Q"]:
    """Whitened PPCA scores; random dimensions after them where a view has too few columns."""
    usable = min(n_components, *Y.shape)
    scores = initial_means(Y, usable, "ppca", rng)
    extra = rng.standard_normal((len(Y), n_components - usable))
    return np.concatenate([scores, 0.1 * extra], axis=1)


def _rotation(
    path: Float[np.ndarray, "N Q"], shared: Float[np.ndarray, "N Q"]
) -> Float[np.ndarray, "Q Q"]:
    """The orthogonal R for which path · R is nearest to the shared path (Schönemann 1966)."""
    U, _, Vt = np.linalg.svd(path.T @ shared)
    return U @ Vt


def path_kernel(
    kernel: TimeKernel,
    means: Float[np.ndarray, "N Q"],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> PathKernel:
    """The prior kernel of one path, or of each of its dimensions.

    ``"white"`` is the standard normal prior of a GP-LVM.
    """
    if isinstance(kernel, str | Kernel):
        return _one_kernel(kernel, means, inputs, code)
    if len(kernel) != means.shape[1]:
        raise OptionError(
            f"a list of kernels has one for each of the {means.shape[1]} dimensions of a path, got "
            f"{len(kernel)}"
        )
    return tuple(_one_kernel(one, means[:, [q]], inputs, code) for q, one in enumerate(kernel))


def _one_kernel(
    kernel: str | Kernel,
    means: Float[np.ndarray, "N Q"],
    inputs: Float[np.ndarray, "N P"],
    code: Int[np.ndarray, " N"],
) -> Kernel:
    alone = len(np.unique(code)) == len(code)
    if (isinstance(kernel, str) and kernel == "white") or (
        alone and not isinstance(kernel, Kernel)
    ):
        return fix(White(1.0))
    return initial_time_kernels(kernel, means, inputs, code)[0]


def is_tied(init: Any) -> bool:
    """Whether all views start from the same path."""
    return not isinstance(init, str) or init in TIED

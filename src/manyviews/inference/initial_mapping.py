"""Where a mapping starts: kernels, inducing inputs, noise, and local processes if asked for."""

import numpy as np
from jaxtyping import Float

from ..kernels import Kernel
from ..mappings import CollaborativeGP, CollapsedGP, Mapping
from ..parameters import fix, map_parameters, named_parameters
from .initialise import inducing_inputs, starting_kernel

INITIAL_SIGNAL_TO_NOISE = 100.0
MIXING_SPREAD = 0.1  # standard deviation of the first mixing weights [McGPDS23, §6]
NEARNESS = 0.5  # local processes start with shorter lengthscales than the global one


def initial_mapping(
    Y: Float[np.ndarray, "N D"],
    means: Float[np.ndarray, "N Q"],
    kernel: str | Kernel,
    n_inducing: int,
    inducing: str,
    jitter: float,
    noise_floor: float,
    n_local: int,
    rng: np.random.Generator,
    shares: Float[np.ndarray, " Q"] | None = None,
    noise_share: float = 1.0 / INITIAL_SIGNAL_TO_NOISE,
) -> Mapping:
    """A collapsed GP from the latent means, or a collaborative one with ``n_local`` processes.

    ``shares`` are relevances of the dimensions to start from, ``noise_share`` is that of the
    variance which begins as noise.
    """
    variance = float(np.nanvar(Y))
    Z = inducing_inputs(means, n_inducing, inducing, rng)  # type: ignore[arg-type]
    whole = starting_kernel(kernel, means, variance, shares)
    noise, floor = noise_share * variance, noise_floor * variance
    if not n_local:
        return CollapsedGP(whole, Z, noise, jitter, floor)
    return CollaborativeGP(
        whole,
        Z,
        [_local(whole, NEARNESS ** (j + 1)) for j in range(n_local)],
        [inducing_inputs(means, n_inducing, inducing, rng) for _ in range(n_local)],  # type: ignore[arg-type]
        MIXING_SPREAD * rng.standard_normal((Y.shape[1], n_local)),
        noise,
        jitter,
        floor,
    )


def _local(kernel: Kernel, nearness: float) -> Kernel:
    """The same kernel with shorter lengthscales; the weights carry its variance."""
    shorter = map_parameters(
        lambda name, p: p.with_value(nearness * p.value) if name.endswith("lengthscale") else p,
        kernel,
    )
    names = [name for name, _ in named_parameters(shorter) if name.split(".")[-1] == "variance"]
    return fix(shorter, *names) if names else shorter

"""Latent points that move along sequences: a GP prior over time [BGPLVM16, §3.3.2; MRD21, §4.3]."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..errors import OptionError
from ..expectations import Gaussian
from ..kernels import Kernel
from ..linalg import map_factorising, safe_cholesky
from ..parameters import Parameter, parameter, positive
from .dense import Smoothed, smooth_dense
from .kalman import smooth_states
from .paths import Paths
from .sequences import Sequences
from .state_space import has_state_space, simulate, state_space

LONG = 100
"""Rows of a sequence from which the state-space path is the faster one."""

LONGEST_DENSE = 20_000
"""Rows of a sequence whose covariance still fits into memory (3.2 GB)."""

Path = Literal["auto", "dense", "state-space"]


class Temporal(Paths):
    """p(x_q) = GP(0, k_q(t, t')) within every sequence, sequences independent.

    The posterior is the prior times one Gaussian site per row and dimension,

        q(x_q) ∝ p(x_q) Π_n N(m_nq | x_nq, 1/λ_nq) = N(Kμ̄, (K⁻¹ + Λ)⁻¹),  μ̄ = Λ(m - μ),

    which is the family of [BGPLVM16, eq. 33] with free (m, λ) in the place of (μ̄, λ): the means
    stay near the targets m while the kernel is learnt. Rows added with λ = 0 are predictions.

    Parameters
    ----------
    sequences
        Rows with their inputs; see `make_sequences()`.
    kernels
        One for all dimensions, or one each.
    target, precision
        m and λ.
    path : {"auto", "dense", "state-space"}
        Cholesky by sequence, or filter and smoother in linear time, which Matérn kernels,
        bias, white and their sums allow over one input. ``"auto"`` takes the latter, where
        it can, for sequences of ``LONG`` rows or more.
    """

    sequences: Sequences
    kernels: tuple[Kernel, ...]
    target: Parameter
    precision: Parameter
    path: str = eqx.field(static=True)

    def __init__(
        self,
        sequences: Sequences,
        kernels: tuple[Kernel, ...],
        target: ArrayLike,
        precision: ArrayLike = 1.0,
        path: Path = "auto",
    ):
        n_columns = sequences.inputs.shape[1]
        able = n_columns == 1 and all(has_state_space(kernel) for kernel in kernels)
        if path == "state-space" and not able:
            raise OptionError(
                "the state-space path needs one input and Matérn kernels, bias, white or sums"
            )
        if len(kernels) not in {1, np.shape(target)[1]}:
            raise OptionError(
                f"one kernel for all {np.shape(target)[1]} dimensions, or one for each, is "
                f"needed; got {len(kernels)}"
            )
        if path == "auto":
            path = "state-space" if able and sequences.longest() >= LONG else "dense"
        if path == "dense" and sequences.longest() > LONGEST_DENSE:
            raise OptionError(
                f"a sequence of {sequences.longest()} rows is too long for this prior over time, "
                "whose cost is its cube: use Matérn kernels (time_kernel='matern52')"
            )
        self.sequences = sequences
        self.kernels = tuple(kernel.with_dimensions(n_columns) for kernel in kernels)
        self.target = parameter(target)
        broadcast = jnp if isinstance(precision, jax.Array) else np
        self.precision = positive(broadcast.broadcast_to(precision, np.shape(target)))
        self.path = path

    def prior(self, n_points: int) -> Gaussian:
        """N(0, k(t, t)), averaged over the training inputs where the prior is not stationary."""
        variances = self.prior_variances().mean(axis=0)
        variance = jnp.broadcast_to(variances, (n_points, variances.size))
        return Gaussian(jnp.zeros_like(variance), variance)

    def prior_variances(self) -> Float[Array, "N Q"]:
        """k_q(t_n, t_n)."""
        columns = [kernel.diagonal(self.sequences.inputs) for kernel in self.kernels]
        N, Q = self.target.raw.shape
        return jnp.broadcast_to(jnp.stack(columns, axis=1), (N, Q))

    def with_rows(
        self, sequences: Sequences, target: ArrayLike, precision: ArrayLike
    ) -> "Temporal":
        return Temporal(sequences, self.kernels, target, precision)

    def _smooth(self, target: Float[Array, "N Q"]) -> Smoothed:
        precision = self.precision.value
        if self.path == "dense":
            return smooth_dense(self.kernels, self.sequences, target, precision)
        order = self.sequences.order
        columns = (target[order].T, precision[order].T)
        models = [state_space(k, self.sequences.step, self.sequences.first) for k in self.kernels]
        if len(models) == 1:
            run = jax.checkpoint(lambda column: smooth_states(models[0], *column))
            mean, variance, kl = jax.lax.map(run, columns)
        else:
            found = [
                jax.checkpoint(smooth_states)(model, m, lam)
                for model, m, lam in zip(models, *columns, strict=True)
            ]
            mean, variance, kl = (jnp.stack(part) for part in zip(*found, strict=True))
        back = jnp.argsort(order)
        return Smoothed(mean.T[back], variance.T[back], kl.T[back])

    def _prior_paths(self, key: PRNGKeyArray, n_paths: int) -> Float[Array, "S N Q"]:
        N, Q = self.target.raw.shape
        sequences = self.sequences
        if self.path == "state-space":
            models = [state_space(k, sequences.step, sequences.first) for k in self.kernels]
            each = n_paths * Q // len(models)  # one model draws for all dimensions
            keys = jax.random.split(key, len(models))
            drawn = [simulate(model, k, each) for model, k in zip(models, keys, strict=True)]
            paths = jnp.stack(drawn).reshape(Q, n_paths, N)
            return jnp.moveaxis(paths, 0, 2)[:, jnp.argsort(sequences.order)]
        kernels = self.kernels if len(self.kernels) > 1 else self.kernels * Q
        inputs = jnp.pad(sequences.inputs, ((0, 1), (0, 0)))
        draws = jax.random.normal(key, (Q, n_paths, N + 1))
        columns = []
        for q, kernel in enumerate(kernels):
            parts = []
            for batch in sequences.batches:

                def one_sequence(rows: Array, kernel: Kernel = kernel, q: int = q) -> Array:
                    L, _ = safe_cholesky(kernel.gram(inputs[rows]), 1e-10)
                    return L @ draws[q][:, rows].T

                paths = map_factorising(one_sequence, batch, 1)
                parts.append(paths.reshape(-1, n_paths))
            columns.append(jnp.concatenate(parts)[sequences.place].T)
        return jnp.stack(columns, axis=2)

"""A path for every view around a path they share [McGPDS23, §3], for any number of views."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..errors import OptionError
from ..expectations import Gaussian
from ..linalg import map_factorising, safe_cholesky
from ..parameters import Parameter, parameter, positive
from .base import Inferred
from .dense import Smoothed, smooth_path
from .factorised import factorised_path, factorised_shared
from .path_kernels import PathKernel, diagonals, grams, map_dimensions, over_inputs
from .paths import Paths
from .sequences import Sequences
from .singletons import smooth_singletons

LONGEST = 20_000
"""Rows of a sequence times views whose joint covariance still fits into memory."""


class Collaborative(Paths):
    """x^s ~ GP(0, κ_s),  x^k | x^s ~ GP((1-α_k) x^s, A_k),  A_k = α_k² κ_k + (1-α_k)² ε_k δ.

    Every view k = 1 … K sees a path x^k of its own, Q dimensions each; the paths have x^s in
    common, the less the larger α_k. With x^s integrated out the views' paths are jointly Gaussian,

        Cov(x^k, x^l) = (1-α_k)(1-α_l) κ_s + δ_kl A_k,

    and the posterior is this prior times one Gaussian site per row, view and dimension, the family
    of `Temporal`. q(x^s) is then known in closed form: a block of rows without sites.
    ``factorised`` takes the smaller family q(X^s) Π_k q(X^k) of [McGPDS23] instead; its means are
    the same, its variances smaller and its bound never higher at the optimum.

    Parameters
    ----------
    shared_kernel, private_kernels
        κ_s, and κ_k for every view; a tuple has one for every dimension of a path.
    target, precision
        The sites, rows x (views x dimensions), the dimensions of a view side by side.
    alpha
        One weight per view, or one per view and dimension.
    spread
        ε, one per view.
    kl_weight
        Factor on the KL divergence in the bound of a fit; see `McGPDS` (``fit_power``). Spaces of
        other rows or fewer views do not take it over.
    """

    sequences: Sequences
    shared_kernel: PathKernel
    private_kernels: tuple[PathKernel, ...]
    alpha: Parameter
    spread: Parameter
    target: Parameter
    precision: Parameter
    factorised: bool = eqx.field(static=True)
    kl_weight: Float[Array, ""]

    def __init__(
        self,
        sequences: Sequences,
        shared_kernel: PathKernel,
        private_kernels: tuple[PathKernel, ...],
        target: ArrayLike,
        precision: ArrayLike = 1.0,
        alpha: ArrayLike = 0.5,
        spread: ArrayLike = 0.01,
        factorised: bool = False,
        kl_weight: ArrayLike = 1.0,
    ):
        K, n_columns = len(private_kernels), np.shape(target)[1]
        if n_columns % K:
            raise OptionError(
                f"the sites have {n_columns} columns, which {K} views cannot share evenly"
            )
        if sequences.longest() * K > LONGEST:
            raise OptionError(
                f"a sequence of {sequences.longest()} rows and {K} views is too long for a "
                "collaborative prior, whose cost is the cube of their product: cut it into several"
            )
        alpha = jnp.asarray(alpha, jnp.float64)
        if alpha.ndim < 2:
            alpha = jnp.broadcast_to(alpha, (K,))[:, None]
        if alpha.shape not in {(K, 1), (K, n_columns // K)}:
            raise OptionError(f"alpha must be given by view, or by view and dimension; got {alpha}")
        size = (sequences.inputs.shape[1], n_columns // K)
        self.sequences = sequences
        self.shared_kernel = over_inputs(shared_kernel, *size)
        self.private_kernels = tuple(over_inputs(kernel, *size) for kernel in private_kernels)
        self.alpha = parameter(alpha, "unit")
        self.spread = positive(jnp.broadcast_to(jnp.asarray(spread, jnp.float64), (K,)))
        self.target = parameter(target)
        self.precision = positive(jnp.broadcast_to(jnp.asarray(precision), jnp.shape(target)))
        self.factorised = factorised
        self.kl_weight = jnp.asarray(kl_weight, jnp.float64)

    @property
    def n_views(self) -> int:
        """K."""
        return len(self.private_kernels)

    @property
    def n_dimensions(self) -> int:
        """Q, of every view's path and of the shared one."""
        return self.target.raw.shape[1] // self.n_views

    def dimensions(self, view: int) -> slice:
        Q = self.n_dimensions
        return slice(view * Q, (view + 1) * Q)

    def shared_dimensions(self) -> slice:
        """Where x^s stands in `everything()`: last."""
        Q = self.n_dimensions
        return slice(self.n_views * Q, (self.n_views + 1) * Q)

    def with_rows(
        self, sequences: Sequences, target: ArrayLike, precision: ArrayLike
    ) -> "Collaborative":
        return Collaborative(
            sequences, self.shared_kernel, self.private_kernels, target, precision,
            self.alpha.value, self.spread.value, self.factorised,
        )  # fmt: skip

    def only(self, views: tuple[int, ...]) -> "Collaborative":
        """The prior of some views' paths, which is the same whether or not there are others."""
        columns = jnp.asarray(self.columns(views))
        kept = jnp.asarray(views)
        return Collaborative(
            self.sequences, self.shared_kernel, tuple(self.private_kernels[k] for k in views),
            self.target.value[:, columns], self.precision.value[:, columns],
            self.alpha.value[kept], self.spread.value[kept], self.factorised,
        )  # fmt: skip

    def infer(self) -> Inferred:
        marginals, kl = super().infer()
        return Inferred(marginals, self.kl_weight * kl)

    def prior(self, n_points: int) -> Gaussian:
        """Marginal variances of the views' points, averaged over the training inputs."""
        shared, own = self.prior_variances()
        total = (self._sharing() ** 2) * shared + self._private(own)  # views x dimensions
        variance = jnp.broadcast_to(total.ravel(), (n_points, total.size))
        return Gaussian(jnp.zeros_like(variance), variance)

    def prior_variances(self) -> tuple[Float[Array, " Q"], Float[Array, "K Q"]]:
        """Those of κ_s and of every κ_k by dimension, averaged over the training inputs."""
        shared, *own = [
            jnp.broadcast_to(
                diagonals(kernel, self.sequences.inputs).mean(axis=0), self.n_dimensions
            )
            for kernel in (self.shared_kernel, *self.private_kernels)
        ]
        return shared, jnp.stack(own)

    def everything(self) -> Gaussian:
        """Q of all views' paths, and of the shared one after them."""
        found = self._smooth_all(self.target.value, shared=True)
        return Gaussian(found.mean, found.variance)

    def _smooth(self, target: Float[Array, "N C"]) -> Smoothed:
        return self._smooth_all(target, shared=False)

    def _sharing(self) -> Float[Array, "K Q"]:
        """1 - α by view and dimension."""
        return jnp.broadcast_to(1.0 - self.alpha.value, (self.n_views, self.n_dimensions))

    def _private(self, own: Float[Array, "*n K L"]) -> Float[Array, "*n K Q"]:
        """Variances of A_k, given those of κ_k."""
        b = self._sharing()
        return (1.0 - b) ** 2 * own + b**2 * self.spread.value[:, None]

    def _grams(
        self, x: Float[Array, "T P"]
    ) -> tuple[Float[Array, "L T T"], Float[Array, "L K T T"]]:
        """κ_s and all κ_k at the inputs of a sequence, by dimension if any of them is."""
        shared, *own = (grams(kernel, x) for kernel in (self.shared_kernel, *self.private_kernels))
        shape = (max(map(len, (shared, *own))), len(x), len(x))
        each = [jnp.broadcast_to(gram, shape) for gram in own]
        return jnp.broadcast_to(shared, shape), jnp.stack(each, axis=1)

    def _smooth_all(self, target: Float[Array, "N C"], shared: bool) -> Smoothed:
        """Sequence by sequence; with ``shared`` x^s follows the views as one that has no sites."""
        K, Q = self.n_views, self.n_dimensions
        blocks = K + 1 if shared else K
        precision = self.precision.value
        extra = ((0, 1), (0, (blocks - K) * Q))
        padded = [
            jnp.pad(a, width)
            for a, width in (
                (self.sequences.inputs, ((0, 1), (0, 0))), (target, extra), (precision, extra),
            )
        ]  # fmt: skip
        parts = []
        for batch in self.sequences.batches:
            if batch.shape[1] == 1 and not self.factorised:
                inputs, m, lam = (a[batch[:, 0]] for a in padded)
                parts.append(self._singletons(inputs, m, lam, blocks))
                continue

            def one_sequence(rows: Array) -> tuple[Array, Array, Array]:
                inputs, m, lam = (a[rows] for a in padded)
                T = len(rows)

                def one_dimension(
                    gram: Array, own: Array, b: Array, m: Array, lam: Array
                ) -> tuple[Array, ...]:
                    A = private_covariances(own, b, self.spread.value)
                    if self.factorised:
                        if shared:
                            return factorised_shared(gram, A, b, m, lam)
                        return factorised_path(gram, A, b, m, lam)
                    return smooth_path(joint_covariance(gram, A, b, shared), m, lam)

                stacked = [a.reshape(T, blocks, Q).transpose(2, 1, 0).reshape(Q, -1)
                           for a in (m, lam)]  # fmt: skip
                columns = (self._sharing().T, *stacked)
                found = map_dimensions(one_dimension, *self._grams(inputs), columns)
                back = [
                    a.reshape(Q, blocks, T).transpose(2, 1, 0).reshape(T, blocks * Q) for a in found
                ]
                return back[0], back[1], back[2]

            found = map_factorising(one_sequence, batch, 1)
            parts.append([a.reshape(-1, blocks * Q) for a in found])
        whole = [jnp.concatenate(p)[self.sequences.place] for p in zip(*parts, strict=True)]
        return Smoothed(*whole)

    def _singletons(self, inputs: Array, m: Array, lam: Array, blocks: int) -> list[Array]:
        """Sequences of one row: every dimension is a number per view."""
        K, Q = self.n_views, self.n_dimensions
        shape = (len(inputs), Q)
        own = [jnp.broadcast_to(diagonals(k, inputs), shape) for k in self.private_kernels]
        A = self._private(jnp.stack(own, axis=1))
        sites = [a.reshape(-1, blocks, Q)[:, :K] for a in (m, lam)]
        shared = diagonals(self.shared_kernel, inputs)
        found = smooth_singletons(shared, A, self._sharing(), *sites)
        return [a[:, :blocks].reshape(-1, blocks * Q) for a in found]

    def sample(self, key: PRNGKeyArray, n_paths: int) -> Float[Array, "S N C"]:
        """Joint draws of all views' rows and of the shared path, as `Paths.sample`."""
        prior_key, site_key = jax.random.split(key)
        f = self._prior_paths(prior_key, n_paths)
        seen = f[..., : self.target.raw.shape[1]]
        root = jnp.sqrt(self.precision.value)
        noise = jax.random.normal(site_key, seen.shape, f.dtype) / root
        correct = lambda m: self._smooth_all(m, shared=True).mean  # noqa: E731
        return f + jax.lax.map(correct, self.target.value - seen - noise)

    def _prior_paths(self, key: PRNGKeyArray, n_paths: int) -> Float[Array, "S N C"]:
        """Draws of all views' paths, and of the shared one they follow."""
        K, Q, N = self.n_views, self.n_dimensions, self.target.raw.shape[0]
        inputs = jnp.pad(self.sequences.inputs, ((0, 1), (0, 0)))
        draws = jax.random.normal(key, (n_paths, N + 1, K + 1, Q))
        parts = []
        for batch in self.sequences.batches:

            def one_sequence(rows: Array) -> Array:
                x, z = inputs[rows], draws[:, rows]
                gram, own = self._grams(x)
                root = jax.lax.map(lambda k: safe_cholesky(k, 1e-10)[0], gram)

                def one_dimension(root: Array, own: Array, b: Array, z: Array) -> Array:
                    path = z[:, :, K] @ root.T  # paths x rows
                    A = private_covariances(own, b, self.spread.value)
                    roots = jax.lax.map(lambda a: safe_cholesky(a, 1e-10)[0], A)
                    views = b * path[:, :, None] + jnp.einsum("ktu,suk->stk", roots, z[:, :, :K])
                    return jnp.concatenate([views, path[:, :, None]], axis=2)

                columns = (self._sharing().T, jnp.moveaxis(z, 3, 0))
                found = map_dimensions(one_dimension, root, own, columns)  # Q x paths x rows x K+1
                return jnp.transpose(found, (2, 1, 3, 0)).reshape(len(rows), n_paths, (K + 1) * Q)

            paths = map_factorising(one_sequence, batch, 1)
            parts.append(paths.reshape(-1, n_paths, (K + 1) * Q))
        return jnp.swapaxes(jnp.concatenate(parts)[self.sequences.place], 0, 1)


def private_covariances(
    own: Float[Array, "K T T"], b: Float[Array, " K"], spread: Float[Array, " K"]
) -> Float[Array, "K T T"]:
    """A_k = α²κ_k + (1-α)²ε_k I, with b = 1 - α."""
    identity = jnp.eye(own.shape[1], dtype=own.dtype)
    alone = ((1.0 - b) ** 2)[:, None, None] * own
    return alone + (b**2 * spread)[:, None, None] * identity


def joint_covariance(
    gram: Float[Array, "T T"], A: Float[Array, "K T T"], b: Float[Array, " K"], shared: bool
) -> Float[Array, "C C"]:
    """Covariance of all views' paths, one after the other, and of x^s after them if asked for."""
    K, T = A.shape[0], gram.shape[0]
    if shared:
        b = jnp.append(b, 1.0)
        A = jnp.pad(A, ((0, 1), (0, 0), (0, 0)))
        K += 1
    C = jnp.einsum("k,l,tu->ktlu", b, b, gram)
    places = jnp.arange(K)
    return C.at[places, :, places, :].add(A).reshape(K * T, K * T)

"""The engine of the variational models: q(X), q(U) of every view, and new rows given these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from scipy.special import logsumexp

from ..data import When
from ..errors import OptionError
from ..expectations import Gaussian
from ..fitted import Engine, Positions, Tables
from ..fitted.cross_view import as_positions, check_treatment, cross_view, unfilled
from ..fitted.engine import Spread, normalised
from ..inference.augmented import teach_rows
from ..inference.bound import Model, relevances
from ..inference.independence import independent_share
from ..inference.neighbours import nearest_rows
from ..inference.new_points import NewPoints, infer_new_points
from ..inference.new_sequences import infer_sequences
from ..io import register_record
from ..latent import Paths, StandardNormal, everything
from ..mappings import GPPosterior, Posterior, StochasticPosterior
from ..mappings.observations import split_table, working_table
from ..mappings.rows import augmented_evidence
from ..mappings.sensitivity import sensitivity
from .importance import importance_density
from .kind_answers import (
    fill_kind,
    level_probabilities,
    share_of_deviance,
    value_densities,
    value_quantiles,
)
from .prediction import draw, moments
from .taught import Taught, check_augmented


@register_record
@dataclass(frozen=True)
class VariationalEngine(Engine):
    """A fitted model with what prediction needs of the training data (scaled, NaN missing)."""

    model: Model
    posteriors: tuple[Posterior, ...]
    data: tuple[np.ndarray, ...]

    @cached_property
    def marginals(self) -> Gaussian:
        """q(X) of the training rows, all that the latent space holds."""
        return everything(self.model.latent)

    @cached_property
    def positions(self) -> Positions:
        return Positions.independent(self.marginals.mean, self.marginals.variance)

    @cached_property
    def links(self) -> dict[Any, Any]:
        """What was learnt of questions asked so far; see `residual_link`."""
        return {}

    @cached_property
    def imputed_widths(self) -> dict[Any, Any]:
        """What was learnt of the widths of imputed values; see `forgetting`."""
        return {}

    @cached_property
    def relevance(self) -> Float[np.ndarray, "K Q"]:
        found = relevances(self.model.views)
        own = [self._spread_out(k, np.array(weights)) for k, weights in enumerate(found)]
        return normalised(np.stack(own))

    # ------------------------------------------------------------------ new rows

    def infer(
        self,
        rows: Tables,
        when: When | None = None,
        wanted: Sequence[int] = (),
        *,
        private: str = "posterior",
        n_modes: int = 1,
        coupled: bool = True,
        evidence_power: Sequence[float | str] = (),
        n_starts: int = 10,
        flow_weight: float = 0.0,
        augmented: bool = False,
    ) -> Positions:
        """q(x*) of rows [BGPLVM16, §4], and of what is private to the wanted views
        [MRD21, Algorithm 1].

        Parameters
        ----------
        private
            Where the dimensions come from that the known views do not inform; see
            `fill_private()`.
        n_modes
            With more than one, the mixture of up to so many optima of the search.
        coupled
            Whether rows of a sequence are inferred jointly.
        evidence_power
            Exponent of each view's evidence, or ``"auto"``.
        augmented
            Whether q(U) is at its optimum for training rows and these together, and not held.
        """
        if rows is self.data:
            return self.positions
        check_treatment(private)
        powers = self.powers(evidence_power, when is not None)
        if augmented:
            check_augmented(self.posteriors, rows, n_modes, coupled)
        found = self.search(rows, when, n_modes, powers, n_starts, coupled, flow_weight, augmented)
        return self.placed(rows, wanted, found, n_modes, private)

    def placed(
        self, rows: Tables, wanted: Sequence[int], found: NewPoints, n_modes: int, private: str
    ) -> Positions:
        """What the ends of a search are as positions, and what is private to the wanted views."""
        if wanted:
            q = cross_view(self, rows, wanted, as_positions(found, n_modes), private)
        else:
            q = unfilled(found, n_modes)
        return q if found.taught is None else Taught.by(q, found.taught)

    def treatment(
        self, known: tuple[int, ...], wanted: tuple[int, ...], how: Mapping[str, Any]
    ) -> str:
        """Where what is private to the wanted views comes from, by the options of `infer()`."""
        return str(how.get("private", "posterior"))

    def search(
        self,
        rows: Tables,
        when: When | None,
        n_modes: int = 1,
        powers: Sequence[float] | None = None,
        n_starts: int = 10,
        coupled: bool = True,
        flow_weight: float = 0.0,
        augmented: bool = False,
    ) -> NewPoints:
        """The optima of the bound over q(x*), q(U) held; or the joint one of all rows."""
        if n_modes < 1:
            raise OptionError(f"n_modes must be at least 1, got {n_modes}")
        rows, latent = tuple(rows), self.model.latent
        n_optimised, n_starts = n_modes if n_modes > 1 else None, max(n_starts, n_modes)
        if when is None:
            prior = latent.prior(len(rows[0]))
            found = infer_new_points(
                prior, self.marginals, self.posteriors, rows,
                nearest_rows(*self.looks(rows), n_starts), powers=powers, n_optimised=n_optimised,
            )  # fmt: skip
            if not augmented:
                return found
            return teach_rows(
                found, prior, self.marginals, self.posteriors, self.data, rows, powers
            )
        assert isinstance(latent, Paths)
        if flow_weight < 0.0:
            raise OptionError(f"flow_weight must be at least 0, got {flow_weight}")
        if flow_weight and when.inputs.shape[1] > 1:
            raise OptionError("flow_weight needs times: there are several inputs in their place")
        return infer_sequences(
            latent, self.posteriors, self.data, rows, when.inputs, when.code,
            powers=powers, n_optimised=n_optimised, coupled=coupled, n_neighbours=n_starts,
            flow_weight=flow_weight, looks=self.looks(rows), augmented=augmented,
        )  # fmt: skip

    def looks(self, rows: Tables) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """New rows and training rows on scales on which they can be compared."""
        new, old = [], []
        for posterior, mine, theirs in zip(self.posteriors, self.data, rows, strict=True):
            kind = posterior.likelihood if isinstance(posterior, StochasticPosterior) else None
            if kind is not None:
                both = working_table(np.concatenate([mine, theirs]), kind)
                mine, theirs = both[: len(mine)], both[len(mine) :]
            old.append(mine)
            new.append(theirs)
        return tuple(new), tuple(old)

    def powers(self, asked: Sequence[float | str], timed: bool) -> list[float] | None:
        """The exponent of each view's evidence; ``"auto"`` reads it off the training residuals."""
        latent = self.model.latent
        sequences = latent.sequences if timed and isinstance(latent, Paths) else None
        powers = []
        for view, power in enumerate(asked):
            if power == "auto":
                if isinstance(self.posteriors[view], StochasticPosterior):
                    raise OptionError(
                        "evidence_power='auto' is for Gaussian views: give a number for others"
                    )
                fitted = self.moments(view, self.positions)[0]
                power = independent_share(self.data[view] - fitted, sequences)
            elif isinstance(power, str) or not 0.0 < power <= 1.0:
                raise OptionError(f"evidence_power must be 'auto' or lie in (0, 1], got {power!r}")
            powers.append(float(power))
        return powers or None

    def log_density(
        self, rows: Tables, when: When | None = None, *, method: str = "auto", n_starts: int = 10
    ) -> Float[np.ndarray, " N"]:
        """F(Y, y*) - F(Y) of every row [BGPLVM16, eq. 36], or an estimate by importance sampling.

        The latter is the default where a view is not Gaussian: see `sampled_density()`. Rows
        with time stamps each get an equal share of their sequence's.
        """
        if method not in {"auto", "augmented", "fixed", "importance"}:
            raise OptionError(
                f"method must be 'auto', 'augmented', 'fixed' or 'importance', got {method!r}"
            )
        kinds = any(isinstance(p, StochasticPosterior) for p in self.posteriors)
        if when is None and (method == "importance" or (method == "auto" and kinds)):
            return self.sampled_density(rows, n_starts=n_starts)[0]
        found = self.search(rows, when, n_starts=n_starts)
        if when is not None:
            if method == "augmented":
                raise OptionError("with time stamps only method='fixed' is there")
            return found.bound
        if method == "fixed" or (method == "auto" and not all(p.exact for p in self.posteriors)):
            return found.bound
        if not all(isinstance(posterior, GPPosterior) for posterior in self.posteriors):
            raise OptionError("with collaborative mappings only method='fixed' is there")
        bound = -np.array(found.q.kl(self.model.latent.prior(len(rows[0]))))
        for posterior, table in zip(self.posteriors, rows, strict=True):
            if np.isnan(table).all():
                continue
            filled = jnp.asarray(np.nan_to_num(table))
            observed = jnp.asarray(~np.isnan(table), jnp.float64)
            assert isinstance(posterior, GPPosterior)
            bound = bound + np.array(augmented_evidence(posterior, found.q, filled, observed))
        return bound

    def sampled_density(
        self, rows: Tables, *, n_samples: int = 500, seed: int = 0, n_starts: int = 10
    ) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Log density of every row by importance sampling from q(x*), and its standard error."""
        found = self.search(rows, None, n_starts=n_starts)
        prior = self.model.latent.prior(len(rows[0]))
        return importance_density(self.posteriors, rows, found.q, prior, n_samples, seed)

    # ------------------------------------------------------------------ outputs

    def moments(
        self, view: int, q: Positions, spread: Spread = None
    ) -> tuple[Float[np.ndarray, "R D"], np.ndarray | None]:
        """Exact for Gaussian positions with independent dimensions [BGPLVM16, eq. 40-41]."""
        return moments(self._posterior(view, q), self.seen(view, q), spread)

    def draw(
        self, views: Sequence[int], q: Positions, n_samples: int, rng: np.random.RandomState
    ) -> list[Float[np.ndarray, "S N D"]]:
        if len(views) > 1 or q.weights is not None:
            return super().draw(views, q, n_samples, rng)
        return [self._draw(views[0], q, n_samples, rng)]

    def draw_at(
        self, view: int, at: Positions, rng: np.random.RandomState
    ) -> Float[np.ndarray, "R D"]:
        return self._draw(view, at, 1, rng)[0]

    def _draw(self, view: int, q: Positions, n_samples: int, rng: np.random.RandomState) -> Any:
        key = jax.random.key(rng.randint(2**31 - 1))
        return draw(self._posterior(view, q), self.seen(view, q), n_samples, key)

    def fill(
        self, view: int, rows: Tables, q: Positions
    ) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Means, or the most probable levels of views that have levels; and variances."""
        posterior = self._posterior(view, q)
        if not isinstance(posterior, StochasticPosterior) or several(q):
            mean, variance = super().fill(view, rows, q)
        else:
            given = split_table(rows[view], posterior.likelihood)[1]
            mean, variance = fill_kind(posterior, self.seen(view, q), given)
        levels = self.levels(view)
        if levels is None:
            return mean, variance
        chances = np.where(np.isnan(levels), 0.0, self.probabilities(view, q))
        probable = levels[np.arange(len(levels)), np.argmax(chances, axis=2)]
        return np.where(np.isnan(levels).all(axis=1), mean, probable), variance

    def explained(self, view: int, q: Positions) -> float:
        posterior = self._posterior(view, q)
        if not isinstance(posterior, StochasticPosterior):
            return super().explained(view, q)
        return share_of_deviance(posterior, self.seen(view, q), self.data[view])

    def deviance_explained(
        self, view: int, q: Positions, table: Float[np.ndarray, "N E"]
    ) -> float | None:
        """The same of any rows; None if the view is Gaussian, or q is a mixture."""
        posterior = self._posterior(view, q)
        if not isinstance(posterior, StochasticPosterior) or several(q):
            return None
        return share_of_deviance(posterior, self.seen(view, q), table)

    def widened(
        self, view: int, variance: Float[np.ndarray, "N D"], how: Mapping[str, Any]
    ) -> Float[np.ndarray, "N D"]:
        """By `forgetting.imputation_widths()`, for independent rows and Gaussian views."""
        from .forgetting import imputation_widths

        if not isinstance(self.model.latent, StandardNormal):
            return variance
        asked = tuple(sorted((name, repr(value)) for name, value in how.items()))
        if asked not in self.imputed_widths:
            self.imputed_widths[asked] = imputation_widths(self, how)
        widths = self.imputed_widths[asked].get(view)
        return variance if widths is None else widths(variance)

    def quantiles(
        self, view: int, q: Positions, probabilities: Sequence[float], rng: np.random.RandomState
    ) -> Float[np.ndarray, "P N D"]:
        posterior = self._posterior(view, q)
        if not isinstance(posterior, StochasticPosterior) or several(q):
            return super().quantiles(view, q, probabilities, rng)
        return value_quantiles(posterior, self.seen(view, q), probabilities)

    def value_densities(
        self, view: int, q: Positions, table: Float[np.ndarray, "N E"]
    ) -> Float[np.ndarray, "N D"] | None:
        """Log density of every value of a view at positions; None if it follows from moments."""
        posterior = self._posterior(view, q)
        if not isinstance(posterior, StochasticPosterior):
            return None
        n_parts = len(q.mean) // len(table)
        found = value_densities(posterior, self.seen(view, q), np.repeat(table, n_parts, axis=0))
        if not several(q):
            return found
        parts = found.reshape(len(table), n_parts, -1)
        assert q.weights is not None
        return logsumexp(parts, axis=1, b=q.weights[:, :, None])

    def probabilities(self, view: int, q: Positions) -> Float[np.ndarray, "N D L"]:
        posterior = self._posterior(view, q)
        if not isinstance(posterior, StochasticPosterior):
            return super().probabilities(view, q)
        parts = level_probabilities(posterior, self.seen(view, q))
        mixed = q.mix(parts.reshape(len(parts), -1))[0]
        return mixed.reshape(len(mixed), *parts.shape[1:])

    def levels(self, view: int) -> Float[np.ndarray, "D L"] | None:
        posterior = self.posteriors[view]
        if not isinstance(posterior, StochasticPosterior):
            return None
        levels = posterior.likelihood.level_values()
        n_columns = posterior.offset.shape[0]
        return None if levels is None else np.broadcast_to(levels, (n_columns, levels.shape[1]))

    def slopes(self, view: int) -> Float[np.ndarray, "D Q"]:
        moved = sensitivity(self.posteriors[view], self.seen(view, self.positions))
        return self._spread_out(view, moved)

    def keeping(self, rows: Int[np.ndarray, " n"]) -> "VariationalEngine":
        from .without_rows import keeping_rows

        return keeping_rows(self, rows)

    def prior(self, n_rows: int) -> Positions:
        found = self.model.latent.prior(n_rows)
        return Positions.independent(found.mean, found.variance)

    # ------------------------------------------------------------------ over time

    def ahead(self, when: When) -> Positions:
        found = everything(self._extended(when)).rows(np.arange(-len(when.code), 0))
        return Positions.independent(found.mean, found.variance)

    def paths(
        self, when: When, n_paths: int, rng: np.random.RandomState
    ) -> Float[np.ndarray, "S N Q"]:
        key = jax.random.key(rng.randint(2**31 - 1))
        return np.asarray(draw_paths(self._extended(when), key, n_paths))[:, -len(when.code) :]

    def _extended(self, when: When) -> Paths:
        latent = self.model.latent
        assert isinstance(latent, Paths)
        return extended(latent, when)

    # ------------------------------------------------------------------ dimensions of a view

    def _posterior(self, view: int, q: Positions) -> Posterior:
        """What the map to a view is like, by what training rows and these rows taught it."""
        return q.posterior(view) if isinstance(q, Taught) else self.posteriors[view]

    def seen(self, view: int, q: Positions) -> Gaussian:
        """The dimensions that a view is a function of."""
        part = self.model.latent.dimensions(view)
        return Gaussian(*jax.device_put((q.mean[:, part], q.variance[:, part])))

    def _spread_out(
        self, view: int, values: Float[np.ndarray, "*_ P"]
    ) -> Float[np.ndarray, "*_ Q"]:
        """Values by the dimensions that a view sees, with zeros for the others."""
        full = np.zeros((*values.shape[:-1], self.positions.mean.shape[1]))
        full[..., self.model.latent.dimensions(view)] = values
        return full


def several(q: Positions) -> bool:
    """Whether positions are mixtures of more than one part."""
    return q.weights is not None and q.weights.shape[1] > 1


def extended(latent: Paths, when: When) -> Paths:
    """The latent space with rows at other times of its sequences added last."""
    own = np.flatnonzero(np.isin(np.asarray(latent.sequences.code), when.code))
    return latent.extended(when.inputs, when.code, own)


@eqx.filter_jit
def draw_paths(latent: Paths, key: PRNGKeyArray, n_paths: int) -> Array:
    """Paths of all rows, drawn jointly."""
    return latent.sample(key, n_paths)

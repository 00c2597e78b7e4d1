"""The engine of collaborative models: views with paths of their own around a shared one
[McGPDS23].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from ..data import When
from ..errors import OptionError
from ..fitted import Positions, Tables
from ..fitted.cross_view import as_positions, known_places, neighbours, unfilled
from ..fitted.segmentation import Segmentation
from ..inference.new_points import NewPoints
from ..io import register_record
from ..latent import Collaborative
from .engine import VariationalEngine
from .left_out_sequences import any_value, found_again

TREATMENTS = ("conditional", "nearest", "nearest-own")


class Question(NamedTuple):
    """Which views are known and which are wanted, by place."""

    known: tuple[int, ...]
    wanted: tuple[int, ...]


@register_record
@dataclass(frozen=True)
class CollaborativeEngine(VariationalEngine):
    """A model over a `Collaborative` latent space."""

    @property
    def latent(self) -> Collaborative:
        """The paths."""
        assert isinstance(self.model.latent, Collaborative)
        return self.model.latent

    def infer(
        self,
        rows: Tables,
        when: When | None = None,
        wanted: Sequence[int] = (),
        *,
        private: str = "auto",
        n_modes: int = 1,
        coupled: bool = True,
        evidence_power: Sequence[float | str] = (),
        n_starts: int = 10,
        flow_weight: float = 0.0,
        augmented: bool = False,
        losses: dict[str, dict[str, float]] | None = None,
    ) -> Positions:
        """q(x*) of rows; ``private="auto"`` takes what predicts left-out sequences best."""
        if rows is self.data:
            return self.positions
        if private not in {"auto", *TREATMENTS}:
            raise OptionError(f"private must be one of {('auto', *TREATMENTS)}, got {private!r}")
        if not coupled:
            raise OptionError("the rows of collaborative paths are always inferred jointly")
        if augmented:
            raise OptionError(
                "augmented=True is for views of one latent space, and these have paths of their "
                "own: leave it out"
            )
        powers = self.powers(evidence_power, timed=True)
        question = Question(tuple(known_places(rows)), tuple(wanted))
        if private == "auto":
            private = self._best_treatment(question, powers, n_starts, flow_weight, losses)
        found = self.search(
            rows, self.timed(rows, when), n_modes, powers, n_starts, flow_weight=flow_weight
        )
        return self.placed(rows, wanted, found, n_modes, private)

    def placed(
        self, rows: Tables, wanted: Sequence[int], found: NewPoints, n_modes: int, private: str
    ) -> Positions:
        if not wanted:
            return unfilled(found, n_modes)
        question = Question(tuple(known_places(rows)), tuple(wanted))
        return self.private_paths(as_positions(found, n_modes), question, private)

    def treatment(
        self, known: tuple[int, ...], wanted: tuple[int, ...], how: Mapping[str, Any]
    ) -> str:
        private = str(how.get("private", "auto"))
        if private != "auto":
            return private
        return self._best_treatment(
            Question(known, wanted), self.powers(how.get("evidence_power", ()), timed=True),
            how.get("n_starts", 10), how.get("flow_weight", 0.0), how.get("losses"),
        )  # fmt: skip

    def _best_treatment(
        self,
        question: Question,
        powers: Sequence[float] | None,
        n_starts: int,
        flow_weight: float,
        losses: dict[str, dict[str, float]] | None,
    ) -> str:
        """The one that predicts left-out sequences best."""
        if not question.known or not set(question.wanted) - set(question.known):
            return "conditional"
        found = self.compare(question, powers, n_starts, flow_weight, losses)
        return min(found, key=found.__getitem__)

    def log_density(
        self, rows: Tables, when: When | None = None, *, method: str = "auto", n_starts: int = 10
    ) -> Float[np.ndarray, " N"]:
        return super().log_density(rows, self.timed(rows, when), method=method, n_starts=n_starts)

    def divided(self, known: Sequence[int], wanted: Sequence[int]) -> Segmentation:
        """The shared path, and the paths that some views or others have for themselves."""
        everything = list(range(self.positions.mean.shape[1]))

        def own(views: set[int]) -> list[int]:
            return [d for view in sorted(views) for d in everything[self.latent.dimensions(view)]]

        a, b = set(known), set(wanted)
        shared = everything[self.latent.shared_dimensions()]
        return Segmentation(shared, own(a - b), own(b - a), own(set(range(len(self.data))) - a - b))

    def prior(self, n_rows: int) -> Positions:
        """A shared point, and every view's point around it."""
        n_views, Q = self.latent.n_views, self.latent.n_dimensions
        alpha = np.broadcast_to(np.asarray(self.latent.alpha.value), (n_views, Q))
        shared, own, spread = self.prior_variances()
        follow = np.concatenate([np.diag(1.0 - a) for a in (*alpha, np.zeros(Q))])
        apart = alpha**2 * own + (1.0 - alpha) ** 2 * spread[:, None]
        covariance = (follow * shared) @ follow.T
        covariance += np.diag(np.concatenate([apart.ravel(), np.zeros(Q)]))
        mean = np.zeros((n_rows, len(covariance)))
        return Positions(mean, covariance[None], np.zeros(n_rows, int))

    def prior_variances(
        self,
    ) -> tuple[Float[np.ndarray, " Q"], Float[np.ndarray, "K Q"], Float[np.ndarray, " K"]]:
        """Of the shared path, of the views' own dynamics, and the spread around the shared path."""
        shared, own = self.latent.prior_variances()
        return np.asarray(shared), np.asarray(own), np.asarray(self.latent.spread.value)

    def timed(self, rows: Tables, when: When | None) -> When:
        """Rows without time stamps: each is a sequence of its own, after the trained ones."""
        if when is not None:
            return when
        trained = self.latent.sequences
        return each_alone(len(rows[0]), trained.inputs.shape[1], int(trained.code.max()) + 1)

    # ------------------------------------------------------------------ private paths

    def private_paths(self, known: Positions, question: Question, treatment: str) -> Positions:
        """Give the wanted views that are not known their latent points.

        ``"conditional"`` leaves them as the joint posterior has them: their prior given what is
        known of the shared path. ``"nearest"`` takes those of the training sample nearest in the
        shared path [McGPDS23, Algorithm 1], ``"nearest-own"`` of the one nearest in the known
        views' own paths.
        """
        if treatment == "conditional" or not question.known:
            return known
        columns = np.arange(known.mean.shape[1])
        searched = [self.latent.shared_dimensions()]
        if treatment == "nearest-own":
            searched = [self.latent.dimensions(view) for view in question.known]
        dimensions = np.concatenate([columns[part] for part in searched]).tolist()
        near = self.positions.rows(neighbours(known, self.positions, dimensions))
        mean, variance = known.mean.copy(), known.variance.copy()
        for view in set(question.wanted) - set(question.known):
            part = self.latent.dimensions(view)
            mean[:, part], variance[:, part] = near.mean[:, part], near.variance[:, part]
        return replace(Positions.independent(mean, variance), weights=known.weights)

    def compare(
        self,
        question: Question,
        powers: Sequence[float] | None,
        n_starts: int,
        flow_weight: float = 0.0,
        memory: dict[str, dict[str, float]] | None = None,
    ) -> dict[str, float]:
        """Mean negative log density of the wanted views under each treatment, cross-validated.

        The training sequences are left out in turn (stretches of it, if there is but one): the
        others' paths and inducing variables are conditioned without them, at the parameters of the
        fit, and the left-out ones are predicted as new sequences. ``memory`` keeps the answers by
        question.
        """
        memory = {} if memory is None else memory
        name = f"{list(question.known)} -> {list(question.wanted)}, powers {powers}"
        name += f", flow {flow_weight:g}" if flow_weight else ""
        if name not in memory:
            losses: dict[str, list[float]] = {treatment: [] for treatment in TREATMENTS}
            search = {"powers": powers, "n_starts": n_starts, "flow_weight": flow_weight}
            for fold, given, points in found_again(self, question.known, **search):
                known, wanted = (any_value(fold.rows, side) for side in question)
                if not (known & wanted).any():
                    continue
                for treatment in TREATMENTS:
                    q = fold.engine.placed(given, question.wanted, points, 1, treatment)
                    losses[treatment] += [
                        _loss(fold.engine, view, q, fold.rows[view]) for view in question.wanted
                    ]
            memory[name] = {k: float(np.mean(v)) for k, v in losses.items() if v}
        return memory[name]


def _loss(engine: VariationalEngine, view: int, q: Positions, Y: Float[np.ndarray, "N D"]) -> float:
    mean, variance = engine.moments(view, q, "variance")
    assert variance is not None
    return float(np.nanmean(-norm.logpdf(Y, mean, np.sqrt(variance))))


def each_alone(n_rows: int, n_inputs: int, first: int = 0) -> When:
    """Rows without time stamps: each is a sequence of its own."""
    code = first + np.arange(n_rows)
    return When(np.zeros((n_rows, n_inputs)), code, tuple(code.tolist()))

"""From stored views to a fitted model: a sample starts it, and all rows pass by in blocks."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Float

from ..data import Aligned, StoredViews
from ..data.blocks import ahead
from ..errors import OptionError
from ..inference.bound import Model
from ..inference.diagnostics import FitInfo
from ..inference.encoder import Encoder
from ..inference.leaving_out import LeavingOut, uses
from ..inference.search import TRIAL_STEPS
from ..inference.stochastic import Batches, fit_batches
from ..inference.streaming import Streaming, encoded, fit_stream, taught
from ..io import register_record
from ..latent import StandardNormal
from ..likelihoods import GaussianNoise, Likelihood
from ..mappings import StochasticGP
from ..mappings.base import condition
from .encoded_engine import EncodedEngine
from .fit import FitOptions, starting_model
from .kinds import paired

SAMPLE = 2000  # rows that a fit starts from, and that the model keeps
FIRST_STEPS = 1000
LAST = 0.1  # share of the steps whose bounds are averaged

register_record(Encoder)


Views = tuple[StochasticGP, ...]


class Streamed(NamedTuple):
    """A fitted engine, what happened, and the bound of all rows as scaled."""

    engine: EncodedEngine
    info: FitInfo
    bound: float


def sample_frames(stored: StoredViews, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Some rows of all views as DataFrames, by their numbers."""
    numbers, tables = stored.sample(SAMPLE, rng)
    columns = dict(zip(stored.names, stored.columns, strict=True))
    return {
        name: pd.DataFrame(table, index=numbers, columns=columns[name])
        for name, table in tables.items()
    }


def all_stochastic(
    kinds: tuple[Likelihood | None, ...],
) -> tuple[Likelihood, ...]:
    """Gaussian views with explicit inducing variables, too: nothing may need all rows at once."""
    return tuple(GaussianNoise() if kind is None else kind for kind in kinds)


def fit_streamed(
    stored: StoredViews, scaled: list[Float[np.ndarray, "n _"]], model: Any, options: FitOptions
) -> Streamed:
    """Fit from a sample, teach an encoder what it found, and go on with all rows."""
    began, seed = time.perf_counter(), options.plan.seed
    start = starting_model(scaled, options, 0)
    outputs = tuple(options.outputs(view, Y) for view, Y in enumerate(scaled))
    steps = min(FIRST_STEPS, options.plan.search.max_iter)
    first, trace = fit_batches(start, outputs, Batches(steps, 512, 0.03), seed)
    first = LeavingOut(outputs, Batches(min(TRIAL_STEPS, steps), 512, 0.03), seed)(first)
    views = tuple(view for view in first.views if isinstance(view, StochasticGP))
    likelihoods = tuple(view.likelihood for view in views)
    encoder = Encoder.start(scaled, likelihoods, options.n_components, seed)
    encoder = taught(encoder, scaled, first.latent.infer().marginals)
    how = Streaming(passes=float(options.plan.search.passes))
    bounds: list[np.ndarray] = [trace * len(stored) / len(scaled[0])]
    kinds = dict(zip(model.view_names_, likelihoods, strict=True))
    blocks = ahead(prepared_blocks(stored, model, kinds, how, seed))

    def simpler(views: Views, encoder: Encoder) -> Views:
        """Without the dimensions that the sample, where the encoder puts it, does not need."""
        now = Model(placed(encoder, scaled), views)
        found = LeavingOut(outputs, Batches(0), seed)(now)
        if len(list(uses(found))) == len(list(uses(now))):
            return views  # q(U) knows more rows than those of the sample
        return tuple(view for view in found.views if isinstance(view, StochasticGP))

    for now in fit_stream(views, encoder, blocks, len(stored), how, seed, simpler):
        bounds.append(now.bounds)
        views, encoder = now.views, now.encoder
    latent = placed(encoder, scaled)
    q = latent.infer().marginals
    posteriors = tuple(condition(view, q, None) for view in views)
    engine = EncodedEngine(Model(latent, tuple(views)), posteriors, tuple(scaled), encoder)
    found = np.concatenate(bounds)
    bound = float(np.mean(found[-max(1, int(LAST * len(found))) :]))
    noise = np.array([float(view.noise_variance()) for view in views])
    spread = np.array([float(np.nanvar(Y)) for Y in scaled])
    info = FitInfo(
        bound_trace=found, signal_to_noise=spread / noise, seconds=time.perf_counter() - began,
        n_evaluations=len(found), restart_bounds=[bound], converged=True,
        jitter=np.zeros(len(views)),
    )  # fmt: skip
    return Streamed(engine, info, bound)


def placed(encoder: Encoder, tables: Sequence[Float[np.ndarray, "n _"]]) -> StandardNormal:
    """Rows where an encoder puts them."""
    q = encoded(encoder, encoder.look(tables))
    return StandardNormal(q.mean, jnp.maximum(q.variance, 1e-10))


def prepared_blocks(
    stored: StoredViews, model: Any, kinds: Mapping[str, Likelihood], how: Streaming, seed: int
) -> Iterator[list[Float[np.ndarray, "n _"]]]:
    """Blocks of rows as often as they are to be read, checked and scaled.

    ``kinds`` are those of the sample that the fit starts from, and know its levels.
    """
    rng, left = np.random.default_rng(seed), how.passes * len(stored)
    while left > 0:
        for first, tables in stored.shuffled(how.block, rng):
            if left <= 0:
                return
            left -= len(tables[0])
            numbers = list(range(first, first + len(tables[0])))
            found = Aligned(stored.names, tables, stored.columns, numbers, False)
            for name, table, columns in zip(stored.names, tables, stored.columns, strict=True):
                if name in kinds:  # and not a table beside a view
                    kinds[name].check_data(table, name, columns, numbers)
            yield model._scaled(paired(found, model.likelihoods_))


def refuse_what_needs_all_rows(model: Any, times: Any, sequences: Any) -> None:
    """Options that make no sense for rows that pass by."""
    if times is not None or sequences is not None:
        raise OptionError("stored views take no times or sequences: their rows are independent")
    if model.split_columns:
        raise OptionError("split_columns is for views in memory: set it to False")
    if model.shared_inducing:
        raise OptionError("shared_inducing is for views in memory: set it to False")
    if model.search is not None and model.search.checkpoint is not None:
        raise OptionError("fits of stored views write no checkpoint: leave Search.checkpoint out")

"""Tasks with counts, yes or no, levels and censored times in the development tables.

What is scored, and in which units, is as the collection prescribes it for its baselines: columns
with enough entries outside the commonest class, at most 40 of them; the 100 largest columns of
counts with a free total.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from .setting import Setting
from .tables_tasks import prepared

FOLDS = 5
MOST_COLUMNS, LARGEST = 40, 100
FEWEST, SHARE = 8, 0.05  # entries outside the commonest class
SHORTEST = 1e-3  # of the median time: a time of zero has no logarithm
HIDDEN = 0.1  # of the entries, in tasks that hide some at random
BINARY, ORDINAL, CATEGORICAL = "binary", "ordinal", "categorical"
TOTAL, COUNTS, CENSORED = "total", "counts", "censored"
LEVELS = (BINARY, ORDINAL, CATEGORICAL)


@dataclass(frozen=True)
class Task:
    """A view from others, or its hidden entries from all there is.

    Attributes
    ----------
    name : str
        The data set.
    target, known
    form : str
        "binary", "ordinal", "categorical": nats per entry; "total": nats per count; "counts": nats
        per entry; "censored": rate x time - event x log(rate), columns (time, event).
    marginal, glm : float, optional
        Losses as published with the data; of counts those of negative binomials.
    split : str
        "shuffled", the array whose groups stay whole, or "entries": a tenth of them, at random.
    columns : tuple of int
        Those of the target, if not all.
    """

    name: str
    target: str
    known: tuple[str, ...]
    form: str
    marginal: float | None = None
    glm: float | None = None
    split: str = "shuffled"
    columns: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """A short name that tells tasks apart."""
        more = "" if self.split == "shuffled" else f" ({self.split})"
        return f"{self.name}: {self.target} from {' + '.join(self.known)}{more}"


BFI = ("agreeableness", "conscientiousness", "extraversion", "openness", "person")
WEATHER = ("weather_EWR", "weather_JFK", "weather_LGA", "calendar")
VIEW_TASKS = (
    Task("cll_mofa", "mutations", ("drugs",), BINARY, 0.424, 0.339),
    Task("cll_proteome", "genes", ("proteins",), BINARY, 0.630, 0.516),
    Task("gbm_tcga", "mutations", ("expression", "copy_number"), BINARY, 0.458, 0.436),
    Task("covid_omics", "status", ("proteins", "rna"), BINARY, 0.643, 0.537),
    Task("pbc", "signs", ("labs",), BINARY, 0.523, 0.439),
    Task("cal500", "emotion", ("audio",), BINARY, 0.560, 0.551),
    Task("cal500", "usage", ("emotion", "genre", "song"), BINARY, 0.333, 0.284),
    Task("nhanes", "lifestyle", ("demography", "body"), BINARY, 0.569, 0.522),
    Task("hobbies", "activities", ("person", "tv"), BINARY, 0.581, 0.527),
    Task("tcga_acc", "copy_number", ("rna",), ORDINAL, 1.079, 1.043),
    Task("jura_rivers", "fish", ("morphology", "water"), ORDINAL, 0.978, 0.779),
    Task("jura_rivers", "fish", ("morphology", "water"), ORDINAL, 1.007, 1.036, "groups"),
    Task("mafragh", "plants", ("soil",), ORDINAL, 0.578, 0.581),
    Task("doubs", "fish", ("environment",), ORDINAL, 1.433, 1.323),
    Task("gironde", "services", ("employment", "housing", "environment"), ORDINAL, 0.881, 0.656),
    Task("bfi", "neuroticism", BFI, ORDINAL, 1.741, 1.640),
    Task("nhanes", "ordinal", ("demography", "body", "lifestyle"), ORDINAL, 1.082, 0.970),
    Task("soils88", "soil_class", ("bacteria",), CATEGORICAL, 1.981, 1.550),
    Task("russett", "regime", ("agriculture", "industry"), CATEGORICAL, 1.120, 0.899),
    Task("mite", "mites", ("substrate", "habitat"), COUNTS, 1.740, 1.675),
    Task("caddisflies", "caddisflies", ("weather",), COUNTS, 1.920, 1.959, "groups"),
    Task("nyc_flights", "flights", WEATHER, COUNTS, 4.189, 3.810),
    Task("nhanes", "counts", ("demography", "body", "lifestyle"), COUNTS, 2.549, 2.462),
    Task("mite", "mites", ("substrate", "habitat"), TOTAL, 2.733, 2.525),
    Task("hmp2_pairs", "proteins", ("bacteria_16s",), TOTAL, 3.518, 3.385),
    Task("hmp2_pairs", "bacteria_16s", ("proteins",), TOTAL, 2.041, 2.019),
    Task("soils88", "bacteria", ("environment",), TOTAL, 4.564, 3.879),
    Task("cf_sputum", "microbes", ("metabolites",), TOTAL, 4.336, 4.356, "groups"),
    Task("cf_sputum", "microbes", ("metabolites",), TOTAL, 3.352, 2.518),
    Task("tcga_acc", "mirna", ("rna",), TOTAL, 3.127, 3.084),
    Task("hintikka_xos", "microbiota", ("metabolites", "biomarkers"), TOTAL, 3.791, 3.758),
    Task("pbmc_multiome", "rna", ("atac",), TOTAL, 4.077, 4.063),
    Task("news3sources", "guardian", ("bbc",), TOTAL, 4.569, 4.442),
    Task("movies", "keywords", ("actors",), TOTAL, 4.373, 4.349),
    Task("cll_mofa", "survival", ("drugs",), CENSORED, 0.842, 0.730, columns=(0, 1)),
    Task("tcga_acc", "survival", ("rna",), CENSORED, 3.323, 3.140),
    Task("pbc", "survival", ("labs",), CENSORED, 3.666, 3.478),
)
"""Whole views predicted from others."""

HIDING = (
    ("cll_mofa", "drugs"), ("covid_omics", "proteins"), ("cal500", "audio"), ("pbc", "labs"),
    ("jura_rivers", "morphology"), ("doubs", "environment"), ("gironde", "employment"),
    ("tcga_acc", "rna"), ("mite", "substrate"), ("nyc_flights", "weather_EWR"),
)  # fmt: skip
"""Data set and first known view of the tasks that are also asked with entries hidden."""

TASKS = VIEW_TASKS + tuple(
    replace(task, split="entries", marginal=None, glm=None)
    for task in VIEW_TASKS
    if (task.name, task.known[0]) in HIDING
    and task.split == "shuffled"
    and task.form not in (TOTAL, CENSORED)
)


@dataclass(frozen=True)
class Problem:
    """A task with its data.

    Attributes
    ----------
    target : ndarray of shape (n_rows, n_columns)
        What is scored, NaN where missing; of censored times the times.
    events : ndarray, optional
        Whether the times are those of events.
    known : dict of ndarray
        Inputs as the collection prepares them.
    levels : tuple of ndarray
        Those of every column of the target.
    """

    task: Task
    target: np.ndarray
    known: dict[str, np.ndarray]
    events: np.ndarray | None = None
    levels: tuple[np.ndarray, ...] = ()
    groups: np.ndarray | None = None

    def folds(self) -> Iterator[np.ndarray]:
        """Masks of the entries to be predicted, one for every fold."""
        rows = np.arange(len(self.target))
        if self.task.split == "entries":
            for seed in range(FOLDS):
                yield _hidden(self.target, np.random.default_rng(seed))
            return
        divide = (
            KFold(FOLDS, shuffle=True, random_state=0).split(rows)
            if self.groups is None
            else GroupKFold(FOLDS).split(rows, groups=self.groups)
        )
        for _, out in divide:
            yield np.broadcast_to(np.isin(rows, out)[:, None], self.target.shape)


def load(setting: Setting, task: Task) -> Problem:
    """Read a data set, pick what is scored, and leave out rows that lack either side."""
    data = setting.load(f"tables/{task.name}")
    kinds = dict(zip(data["views"].tolist(), data["kinds"].tolist(), strict=True))
    target = data[task.target].astype(np.float64)
    target = target[:, task.columns] if task.columns else target
    known = {name: prepared(data[name], kinds[name]) for name in task.known}
    kept = ~np.isnan(np.hstack(list(known.values()))).all(axis=1) & ~np.isnan(target).all(axis=1)
    groups = data.get(task.split)
    target = target[kept]
    events = None
    if task.form == CENSORED:
        target, events = target[:, ::2], target[:, 1::2]
        target = np.maximum(target, SHORTEST * np.nanmedian(target))
    elif task.form == TOTAL:
        target = target[:, np.argsort(-np.nansum(target, axis=0), kind="stable")[:LARGEST]]
        target = target[:, target.sum(axis=0) > 0]
    else:
        target = target[:, scored(target)]
    levels = ()
    if task.form in LEVELS:
        levels = tuple(np.unique(column[~np.isnan(column)]) for column in target.T)
    return Problem(
        task, target, {name: table[kept] for name, table in known.items()}, events, levels,
        None if groups is None else groups[kept],
    )  # fmt: skip


def scored(target: np.ndarray) -> np.ndarray:
    """The columns that are scored: enough entries outside the commonest class, most entropy."""
    found = []
    for place, column in enumerate(target.T):
        counts = np.unique(column[~np.isnan(column)], return_counts=True)[1]
        rest = counts.sum() - counts.max()
        if rest >= max(FEWEST, SHARE * counts.sum()):
            shares = counts / counts.sum()
            found.append((-float(-np.sum(shares * np.log(shares))), place))
    return np.sort([place for _, place in sorted(found)[:MOST_COLUMNS]])


def _hidden(target: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A tenth of the entries that there are."""
    return (rng.uniform(size=target.shape) < HIDDEN) & ~np.isnan(target)

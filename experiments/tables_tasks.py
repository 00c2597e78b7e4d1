"""The tasks of the development tables: which view from which, how it is split, plain references.

A task is a question about one data set with a continuous target. Inputs are prepared as the
collection prescribes: counts and non-negative intensities as log(1 + x), factors as indicators.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from .setting import Setting

FOLDS = 5
COMMON = 0.1  # share of rows in which a column must not be zero to be kept by "root-common"
LOGARITHMIC = ("counts", "non-negative", "positive")


@dataclass(frozen=True)
class Task:
    """A view from others.

    Attributes
    ----------
    name : str
        The data set.
    target, known
    split : str
        "shuffled", "blocks", or the array whose groups stay whole.
    form : str
        What is done to the target: "", "log1p", or "root-common" (square roots of the columns
        that are not zero in a tenth of the rows).
    window : int
        Inputs of so many steps before and after are added.
    published : tuple of float, optional
        Errors of the mean, ridge, 5-NN and PLS with 5 components, as given with the data.
    """

    name: str
    target: str
    known: tuple[str, ...]
    published: tuple[float, float, float, float] | None = None
    split: str = "shuffled"
    form: str = ""
    window: int = 0

    @property
    def label(self) -> str:
        """A short name that tells tasks apart."""
        more = [] if self.split == "shuffled" else [self.split]
        more += [f"window {self.window}"] if self.window else []
        return f"{self.name}: {self.target} from {' + '.join(self.known)}" + (
            f" ({', '.join(more)})" if more else ""
        )


TASKS = (
    Task("gait", "knee", ("hip",), (1.062, 0.881, 1.002, 0.898)),
    Task("wine_sensory", "taste", ("odour_before", "visual", "odour_after"),
         (1.169, 0.871, 0.995, 0.952)),
    Task("russett", "instability", ("agriculture", "industry"), (1.076, 0.972, 1.070, 0.971)),
    Task("potato_blocks", "Sensory", ("Chemical", "NIRraw"), (1.122, 0.710, 1.006, 0.786)),
    Task("glioma_mfa", "expression", ("cgh",), (1.052, 0.985, 1.021, 1.063)),
    Task("cll_proteome", "drug_auc", ("proteins",), (1.086, 1.041, 1.090, 1.062)),
    Task("tcga_acc", "protein", ("rna",), (1.078, 1.006, 1.041, 1.044)),
    Task("hintikka_xos", "metabolites", ("microbiota",), (1.139, 1.097, 1.127, 1.116)),
    Task("hintikka_xos", "biomarkers", ("microbiota",), (1.131, 1.113, 1.147, 1.118)),
    Task("peerj32", "lipids", ("microbes",), (1.115, 1.148, 1.211, 1.208), "groups"),
    Task("us_diseases", "pertussis", ("measles",), (1.393, 0.822, 0.731, 0.810), "blocks", "log1p"),
    Task("us_diseases", "rubella", ("mumps",), (1.070, 0.665, 0.656, 0.660), form="log1p"),
    Task("soils88", "environment", ("bacteria",), (1.031, 0.675, 0.839, 0.740)),
    Task("corn_nir", "properties", ("m5",), (1.021, 0.277, 0.960, 0.699)),
    Task("corn_nir", "m5", ("mp6",), (1.023, 0.253, 0.327, 0.254)),
    Task("sugarcane_nir", "chemistry", ("micronir1700",), (1.034, 0.415, 0.737, 0.590)),
    Task("sugarcane_nir", "nirscan_nano", ("scio",), (1.046, 0.548, 0.868, 0.554)),
    Task("emulsions", "pufa", ("raman",), (1.034, 0.291, 0.581, 0.379)),
    Task("emulsions", "nir", ("raman",), (1.070, 0.924, 0.972, 1.071)),
    Task("nci60_multidrug", "compounds", ("abc_transporters",), (1.077, 1.057, 1.114, 1.075)),
    Task("gbm_tcga", "expression", ("copy_number",), (1.035, 0.991, 1.069, 1.014)),
    Task("covid_omics", "proteins", ("rna",), (1.034, 1.031, 1.097, 1.049)),
    Task("cf_sputum", "metabolites", ("microbes",), (1.164, 1.515, 1.245, 1.194), "groups",
         "log1p"),
    Task("cf_sputum", "metabolites", ("microbes",), (1.024, 0.900, 0.912, 0.953), form="log1p"),
    Task("pwt_countries", "prices", ("gdp_shares", "factors"), (1.075, 0.925, 0.895, 0.920)),
    Task("cll_mofa", "drugs", ("mutations",), (1.057, 1.036, 1.071, 1.045)),
    Task("nyc_flights", "weather_LGA", ("weather_EWR", "weather_JFK"),
         (1.017, 0.318, 0.456, 0.322)),
    Task("pbc", "labs", ("signs", "grades", "person"), (1.007, 0.956, 1.024, 0.960), form="log1p"),
    Task("gironde", "employment", ("housing", "services", "environment"),
         (1.014, 0.945, 1.009, 0.946)),
    Task("wheat_markers", "yield", ("markers",), (1.005, 0.890, 0.967, 0.920)),
    Task("nirsoil", "soil", ("spectra",), (1.011, 0.524, 0.709, 0.612)),
    Task("kelp_forest", "invertebrates", ("algae", "habitat"), (1.058, 1.075, 1.039, 1.055),
         "groups", "root-common"),
    Task("leaves100", "texture", ("shape",), (1.010, 0.996, 0.920, 1.002)),
    Task("leaves100", "texture", ("margin",), (1.010, 0.942, 0.805, 0.972)),
    Task("wiki_image_text", "text_topics", ("image_sift",), (1.002, 0.959, 1.026, 0.970)),
    Task("satellite", "nir2", ("green", "red"), (1.000, 0.981, 0.346, 0.982)),
    Task("daphnet_gait", "trunk", ("ankle", "thigh"), (1.041, 0.941, 0.932, 0.942), "blocks"),
    Task("daphnet_gait", "trunk", ("ankle", "thigh"), (1.041, 0.856, 0.841, 0.882), "blocks",
         window=8),
    Task("basic_motions", "gyroscope", ("accelerometer",), (1.005, 0.997, 0.982, 0.997),
         "sequence"),
    Task("basic_motions", "gyroscope", ("accelerometer",), (1.005, 0.786, 0.757, 0.797),
         "sequence", window=5),
    # no references come with these
    Task("doubs", "environment", ("fish",)),
    Task("mafragh", "soil", ("plants",)),
    Task("jura_rivers", "water", ("fish", "morphology")),
    Task("jura_rivers", "water", ("fish", "morphology"), split="groups"),
    Task("mite", "substrate", ("mites",)),
    Task("caddisflies", "weather", ("caddisflies",), split="groups"),
    Task("cal500", "audio", ("emotion", "genre", "instrument", "song", "usage", "vocals")),
    Task("bfi", "neuroticism",
         ("agreeableness", "conscientiousness", "extraversion", "openness", "person")),
    Task("nhanes", "body", ("demography", "lifestyle", "ordinal")),
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A task with its data: views by name, the target among them, and the group of every row."""

    task: Task
    views: dict[str, np.ndarray]
    groups: np.ndarray | None

    def splits(self, repeat: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to learn from and rows to predict; the first repeat is the collection's own."""
        rows = np.arange(len(self.views[self.task.target]))
        if self.task.split == "blocks":
            return KFold(FOLDS).split(rows)
        if self.groups is None:
            return KFold(FOLDS, shuffle=True, random_state=repeat).split(rows)
        if repeat == 0:
            return GroupKFold(FOLDS).split(rows, groups=self.groups)
        again = GroupKFold(FOLDS, shuffle=True, random_state=repeat)
        return again.split(rows, groups=self.groups)


def load(setting: Setting, task: Task) -> Problem:
    """Read a data set and prepare the views of a task; rows that lack either side are left out."""
    data = setting.load(f"tables/{task.name}")
    kinds = dict(zip(data["views"].tolist(), data["kinds"].tolist(), strict=True))
    groups = data.get(task.split)
    views = {name: prepared(data[name], kinds[name]) for name in task.known}
    if task.window:
        sequence = data.get("sequence", np.zeros(len(data[task.target]), dtype=int))
        views = {name: windows(table, sequence, task.window) for name, table in views.items()}
    views[task.target] = formed(data[task.target].astype(np.float64), task.form)
    known = np.hstack([views[name] for name in task.known])
    kept = ~np.isnan(known).all(axis=1) & ~np.isnan(views[task.target]).all(axis=1)
    return Problem(
        task,
        {name: table[kept] for name, table in views.items()},
        None if groups is None else groups[kept],
    )


def prepared(table: np.ndarray, kind: str) -> np.ndarray:
    """Inputs: logarithms of counts and intensities, indicators of factors."""
    values = table.astype(np.float64)
    if kind.startswith(LOGARITHMIC):
        return np.log1p(values)
    if kind.startswith("categorical"):
        return np.hstack([_indicators(column) for column in values.T])
    return values


def _indicators(column: np.ndarray) -> np.ndarray:
    """A column per level; NaN where the level is not known."""
    levels = np.unique(column[~np.isnan(column)])
    return np.where(np.isnan(column)[:, None], np.nan, (column[:, None] == levels).astype(float))


def formed(table: np.ndarray, form: str) -> np.ndarray:
    """The target as it is to be predicted."""
    if form == "log1p":
        return np.log1p(table)
    if form == "root-common":
        return np.sqrt(table[:, (table > 0).mean(axis=0) >= COMMON])
    return table


def windows(table: np.ndarray, sequence: np.ndarray, width: int) -> np.ndarray:
    """Rows with those around them; zeros beyond the ends of a sequence."""
    wide = np.empty((len(table), (2 * width + 1) * table.shape[1]))
    for name in dict.fromkeys(sequence.tolist()):
        own = np.flatnonzero(sequence == name)
        padded = np.pad(table[own], ((width, width), (0, 0)))
        at = np.arange(len(own))[:, None] + np.arange(2 * width + 1)
        wide[own] = padded[at].reshape(len(own), -1)
    return wide

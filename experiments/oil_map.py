"""The oil-flow map [BGPLVM16, §5.2]: classes by nearest neighbour in the two dominant dimensions.

Twelve gamma-ray readings of an oil pipeline in three flow regimes. Nothing is chosen by the
labels: the two dominant dimensions are those of the largest relevance, and the restart is
the one of the highest bound. The same data with values removed at random measure imputation.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.neighbors import NearestNeighbors

from manyviews import BayesianGPLVM, Search
from manyviews.inference.initialise import ppca_fill
from manyviews.points import GPLVM

from .oil_picture import draw, draw_weights
from .pieces import finished, tallied
from .setting import Setting
from .table import Row, summarise

FULL, SPARSE, QUICK = 2000, 10_000, 30  # most iterations of the MAP models
BAYESIAN = "Bayesian GP-LVM"
WIDE = "full GP-LVM of ten dimensions"
POINTS = {"sparse GP-LVM": 26, "full GP-LVM, EQ": 2, "full GP-LVM, ARD": 8}  # errors as printed


def run(setting: Setting) -> list[Row]:
    """The map of the training data, and imputation at 30 % and 60 % missing."""
    rows = map_rows(setting)
    for share in (30, 60):
        rows += imputation_rows(setting, share)
    return rows


def oil(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Readings and flow regimes."""
    data = setting.load("oil")
    Y, labels = data["Y_train"], data["labels_onehot_train"].argmax(axis=1)
    return (Y[:150], labels[:150]) if setting.quick else (Y, labels)


def fit(setting: Setting, Y: np.ndarray, seed: int, n_restarts: int = 1) -> BayesianGPLVM:
    """Q = 10, M = 50, RBF-ARD, as published; the best start by the bound."""
    n_inducing, search = 50, Search(n_restarts=n_restarts)
    if setting.quick:
        n_inducing, search = 20, Search(n_restarts=1, max_iter=40)
    model = BayesianGPLVM(
        10, n_inducing=n_inducing, search=search, random_state=seed, signal_check="off"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(Y)


def map_rows(setting: Setting) -> list[Row]:
    """Nearest-neighbour errors and dimensions kept."""
    Y, labels = oil(setting)
    maps = list(finished(setting, one_map, [(BAYESIAN, s) for s in range(setting.seeds)]).values())
    points = finished(setting, one_point_model, point_pieces(setting))
    wide = points[WIDE, 0]["full GP-LVM, ARD"]
    draw_weights(setting, max(maps, key=lambda found: found["bound"]), wide)
    seconds = float(np.mean([found["seconds"] for found in maps]))
    weights = np.sort(wide["relevance"])[::-1]  # [BGPLVM16, figure 5]
    errors, kept = ([found[key] for found in maps] for key in ("errors", "kept"))
    pca = nearest_neighbour_errors(PCA(2).fit_transform(Y), labels)
    return [
        summarise(BAYESIAN, "nn-errors", errors, seconds=seconds, ours=True, published=1),
        Row("PCA", "nn-errors", pca),
        *point_rows([answer for piece, answer in points.items() if piece[0] != WIDE]),
        Row("full GP-LVM, ARD", "dimensions-kept", wide["kept"], ours=True,
            note="ARD weights " + " ".join(f"{w:.3f}" for w in weights), seconds=wide["seconds"]),
        summarise(BAYESIAN, "dimensions-kept", kept, seconds=seconds, ours=True, published=2),
    ]  # fmt: skip


def one_map(setting: Setting, _: str, seed: int) -> dict[str, Any]:
    """One fit; the first is drawn."""
    Y, labels = oil(setting)
    began = time.perf_counter()
    model = fit(setting, Y, seed, n_restarts=3)
    seconds = time.perf_counter() - began
    if seed == 0:
        draw(setting, model, labels)
    dominant = np.argsort(-model.relevance_)[:2]
    errors = nearest_neighbour_errors(model.latent_mean_[:, dominant], labels)
    return {**summary(model), "errors": errors, "bound": model.lower_bound_, "seconds": seconds}


def summary(model: BayesianGPLVM | GPLVM) -> dict[str, Any]:
    """What the relevance weights make of too many dimensions."""
    return {"kept": model.n_active_, "relevance": model.relevance_}


def point_pieces(setting: Setting) -> list[tuple[str, int]]:
    """The start is PCA's: seeds change nothing but the sparse model's inducing inputs."""
    sparse = [("sparse GP-LVM", seed) for seed in range(setting.seeds)]
    return [*sparse, ("full GP-LVM", 0), (WIDE, 0)]


def one_point_model(setting: Setting, name: str, seed: int) -> dict[str, dict[str, Any]]:
    """The MAP GP-LVM of two dimensions, sparse or full, or a full one of ten.

    The ARD model starts where the EQ model ends, which is a special case of it: from PCA it ends,
    or stands still, hundreds of nats below.
    """
    Y, labels = oil(setting)
    most = QUICK if setting.quick else SPARSE if name == "sparse GP-LVM" else FULL
    if name == WIDE:
        models = {"full GP-LVM, ARD": fit_points(Y, 10, seed, most)}
    elif name == "sparse GP-LVM":
        models = {name: fit_points(Y, 2, seed, most, n_inducing=50)}
    else:
        models = {"full GP-LVM, EQ": fit_points(Y, 2, seed, most, ard=False)}
        start = models["full GP-LVM, EQ"].latent_mean_
        models["full GP-LVM, ARD"] = fit_points(Y, 2, seed, most, init=start)
    return {
        name: {
            **summary(model), "seconds": round(model.fit_info_.seconds, 1),
            "errors": nearest_neighbour_errors(model.latent_mean_, labels),
        }
        for name, model in models.items()
    }  # fmt: skip


def point_rows(answers: list[dict[str, dict[str, Any]]]) -> list[Row]:
    """Errors of the models of two dimensions."""
    rows = []
    for name in POINTS:
        found = [answer[name] for answer in answers if name in answer]
        rows.append(
            summarise(
                name, "nn-errors", [one["errors"] for one in found], ours=True,
                seconds=float(np.mean([one["seconds"] for one in found])),
                published=POINTS[name], note="two dimensions given",
            )
        )  # fmt: skip
    return rows


def fit_points(Y: np.ndarray, n_components: int, seed: int, max_iter: int, **options: Any) -> GPLVM:
    """A MAP GP-LVM from its principal components."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = Search(max_iter=max_iter)
        return GPLVM(n_components, search=search, random_state=seed, **options).fit(Y)


def imputation_rows(setting: Setting, share: int) -> list[Row]:
    """Error of the removed values, in the data's units."""
    seeds = range(min(setting.seeds, 3))
    pieces = [(method, share, seed) for method in FILLED for seed in seeds]
    return [
        summarise(method, measure, errors, seconds=seconds, ours=method == BAYESIAN)
        for (method, measure), (errors, seconds) in tallied(setting, one_filling, pieces).items()
    ]


def one_filling(
    setting: Setting, method: str, share: int, seed: int
) -> dict[str, dict[str, float]]:
    """One method and one choice of holes."""
    Y, _ = oil(setting)
    holes = holes_in(Y.shape, share / 100, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filled = FILLED[method](setting, np.where(holes, np.nan, Y), seed)
    error = float(np.sqrt(np.mean((filled - Y)[holes] ** 2)))
    return {method: {f"imputation-RMSE-{share}": error}}


def ppca_dimensions(Y: np.ndarray, seed: int) -> int:
    """The number of components that best fills a tenth of the observed values, held out."""
    rng = np.random.default_rng([seed, 1])  # not the stream that made the holes
    held = ~np.isnan(Y) & (rng.uniform(size=Y.shape) < 0.1)
    held[(np.isnan(Y) | held).all(axis=1)] = False
    train = np.where(held, np.nan, Y)
    errors = [np.mean((ppca_fill(train, q) - Y)[held] ** 2) for q in range(1, Y.shape[1])]
    return 1 + int(np.argmin(errors))


FILLED: dict[str, Callable[[Setting, np.ndarray, int], np.ndarray]] = {
    BAYESIAN: lambda setting, Y, seed: fit(setting, Y, seed).impute(),
    "PPCA": lambda setting, Y, seed: ppca_fill(Y, ppca_dimensions(Y, seed)),
    "iterative imputer": lambda setting, Y, seed: IterativeImputer(max_iter=30).fit_transform(Y),
    "5-NN imputer": lambda setting, Y, seed: KNNImputer(n_neighbors=5).fit_transform(Y),
    "column mean": lambda setting, Y, seed: SimpleImputer().fit_transform(Y),
}


def holes_in(shape: tuple[int, int], share: float, rng: np.random.Generator) -> np.ndarray:
    """Entries to remove at random, leaving every row at least one value."""
    holes = rng.uniform(size=shape) < share
    empty = np.flatnonzero(holes.all(axis=1))
    holes[empty, rng.integers(shape[1], size=empty.size)] = False
    return holes


def nearest_neighbour_errors(X: np.ndarray, labels: np.ndarray) -> int:
    """Leave-one-out: points whose nearest other point has another class."""
    neighbour = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X)[1][:, 1]
    return int((labels[neighbour] != labels).sum())

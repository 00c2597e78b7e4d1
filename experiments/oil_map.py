"""The oil-flow map [BGPLVM16, §5.2]: classes by nearest neighbour in the two dominant dimensions.

Twelve gamma-ray readings of an oil pipeline in three flow regimes. Nothing is chosen by the
labels: the two dominant dimensions are those of the largest relevance, and the restart is
the one of the highest bound. The same data with values removed at random measure imputation.
"""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.neighbors import NearestNeighbors

from manyviews import BayesianGPLVM, Search
from manyviews.inference.initialise import ppca_fill
from manyviews.points import GPLVM

from .setting import Setting
from .table import Row, summarise

FULL, SPARSE, QUICK = 2000, 10_000, 30  # most iterations of the MAP models


def run(setting: Setting) -> list[Row]:
    """The map of the training data, and imputation at 30 % and 60 % missing."""
    data = setting.load("oil")
    Y, labels = data["Y_train"], data["labels_onehot_train"].argmax(axis=1)
    if setting.quick:
        Y, labels = Y[:150], labels[:150]
    rows = map_rows(setting, Y, labels)
    for share in (30, 60):
        rows += imputation_rows(setting, Y, share)
    return rows


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


def map_rows(setting: Setting, Y: np.ndarray, labels: np.ndarray) -> list[Row]:
    """Nearest-neighbour errors and dimensions kept."""
    errors, kept, best = [], [], None
    began = time.perf_counter()
    for seed in range(setting.seeds):
        model = fit(setting, Y, seed, n_restarts=3)
        dominant = np.argsort(-model.relevance_)[:2]
        errors.append(nearest_neighbour_errors(model.latent_mean_[:, dominant], labels))
        kept.append(model.n_active_)
        if best is None or model.lower_bound_ > best.lower_bound_:
            best = model
    seconds = (time.perf_counter() - began) / setting.seeds
    draw(setting, best, labels)
    wide = fit_points(Y, 10, 0, QUICK if setting.quick else FULL)
    draw_weights(setting, best, wide)
    pca = nearest_neighbour_errors(PCA(2).fit_transform(Y), labels)
    return [
        summarise(
            "Bayesian GP-LVM", "nn-errors", errors, seconds=seconds, ours=True, published=1,
            note=f"by seed {errors}",
        ),
        Row("PCA", "nn-errors", pca),
        *point_rows(setting, Y, labels),
        ten_dimensions(wide),
        summarise(
            "Bayesian GP-LVM", "dimensions-kept", kept, seconds=seconds, ours=True, published=2,
            note=f"by seed {kept}",
        ),
    ]  # fmt: skip


def point_rows(setting: Setting, Y: np.ndarray, labels: np.ndarray) -> list[Row]:
    """The MAP GP-LVM of two dimensions, sparse and full.

    The start is PCA's, so that there is nothing for seeds to change but the sparse model's
    inducing inputs. The ARD model starts where the EQ model ends, which is a special case of it:
    from PCA it ends, or stands still, hundreds of nats below.
    """
    models: dict[str, tuple[dict[str, Any], int]] = {
        "sparse GP-LVM": ({"n_inducing": 50}, 26),
        "full GP-LVM, EQ": ({"ard": False}, 2),
        "full GP-LVM, ARD": ({}, 8),
    }
    rows = []
    for name, (options, published) in models.items():
        if name == "full GP-LVM, ARD":
            options = {"init": model.latent_mean_}
        errors, began = [], time.perf_counter()
        sparse = "n_inducing" in options
        limit = QUICK if setting.quick else SPARSE if sparse else FULL
        for seed in range(setting.seeds if sparse else 1):
            model = fit_points(Y, 2, seed, limit, **options)
            errors.append(nearest_neighbour_errors(model.latent_mean_, labels))
        seconds = (time.perf_counter() - began) / len(errors)
        rows.append(
            summarise(name, "nn-errors", errors, seconds=seconds, ours=True, published=published,
                      note="two dimensions given" if len(errors) == 1 else f"by seed {errors}")
        )  # fmt: skip
    return rows


def ten_dimensions(model: GPLVM) -> Row:
    """What the relevance weights make of too many dimensions [BGPLVM16, figure 5]."""
    weights = np.sort(model.relevance_)[::-1]
    note = "ARD weights " + " ".join(f"{w:.3f}" for w in weights)
    return Row("full GP-LVM, ARD", "dimensions-kept", model.n_active_, ours=True, note=note,
               seconds=round(model.fit_info_.seconds, 1))  # fmt: skip


def fit_points(Y: np.ndarray, n_components: int, seed: int, max_iter: int, **options: Any) -> GPLVM:
    """A MAP GP-LVM from its principal components."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = Search(max_iter=max_iter)
        return GPLVM(n_components, search=search, random_state=seed, **options).fit(Y)


def imputation_rows(setting: Setting, Y: np.ndarray, share: int) -> list[Row]:
    """Error of the removed values, in the data's units."""
    methods = {
        "Bayesian GP-LVM": lambda Y, seed: fit(setting, Y, seed).impute(),
        "PPCA": lambda Y, seed: ppca_fill(Y, ppca_dimensions(Y, seed)),
        "iterative imputer": lambda Y, seed: IterativeImputer(max_iter=30).fit_transform(Y),
        "5-NN imputer": lambda Y, seed: KNNImputer(n_neighbors=5).fit_transform(Y),
        "column mean": lambda Y, seed: SimpleImputer().fit_transform(Y),
    }
    seeds = min(setting.seeds, 3)
    rows = []
    for name, method in methods.items():
        errors, began = [], time.perf_counter()
        for seed in range(seeds):
            holes = holes_in(Y.shape, share / 100, np.random.default_rng(seed))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                filled = method(np.where(holes, np.nan, Y), seed)
            errors.append(float(np.sqrt(np.mean((filled - Y)[holes] ** 2))))
        seconds = (time.perf_counter() - began) / seeds
        ours = name == "Bayesian GP-LVM"
        rows.append(summarise(name, f"imputation-RMSE-{share}", errors, seconds=seconds, ours=ours))
    return rows


def ppca_dimensions(Y: np.ndarray, seed: int) -> int:
    """The number of components that best fills a tenth of the observed values, held out."""
    rng = np.random.default_rng([seed, 1])  # not the stream that made the holes
    held = ~np.isnan(Y) & (rng.uniform(size=Y.shape) < 0.1)
    held[(np.isnan(Y) | held).all(axis=1)] = False
    train = np.where(held, np.nan, Y)
    errors = [np.mean((ppca_fill(train, q) - Y)[held] ** 2) for q in range(1, Y.shape[1])]
    return 1 + int(np.argmin(errors))


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


def draw(setting: Setting, model: BayesianGPLVM, labels: np.ndarray) -> None:
    """The latent map and the relevance of every dimension."""
    from manyviews.plot import latent_map, relevance_bars
    from manyviews.plot.style import two_panels

    figure, (left, right) = two_panels()
    latent_map(model, labels=[("stratified", "annular", "homogeneous")[k] for k in labels], ax=left)
    relevance_bars(model, ax=right)
    setting.results.mkdir(parents=True, exist_ok=True)
    figure.savefig(setting.results / "oil-map.png", dpi=150)


def draw_weights(setting: Setting, bayesian: BayesianGPLVM, point: GPLVM) -> None:
    """The relevance weights of ten dimensions, variational and by MAP [BGPLVM16, figure 5]."""
    from manyviews.plot import relevance_bars
    from manyviews.plot.style import two_panels

    figure, panels = two_panels()
    models = {"Bayesian GP-LVM": bayesian, "GP-LVM by MAP": point}
    for ax, (name, model) in zip(panels, models.items(), strict=True):
        relevance_bars(model, ax=ax)
        ax.set_title(f"{name}: {ax.get_title()}")
    figure.savefig(setting.results / "oil-weights.png", dpi=150)

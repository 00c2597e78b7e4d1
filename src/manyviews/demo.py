"""The demonstration behind ``make demo``: handwritten digits, no labels used in the fit.

Five of the ten digits, because they make a readable map: with all ten, two dimensions do not
suffice (nine are used) and the two main ones separate the classes less well than PCA's.
"""

import base64
import io
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from . import BayesianGPLVM
from .errors import ManyviewsWarning
from .plot import latent_map, relevance_bars, two_panels

N_SAMPLES, N_NEW = 500, 100
LOWER_HALF = slice(32, 64)


def main(path: str = "results/demo.html") -> None:
    """Fit, save and reload a model of the digits, and write a page with what it found."""
    images, labels = _digits()
    Y, new = images[:N_SAMPLES], images[N_SAMPLES:]
    print(f"fitting {N_SAMPLES} images of the digits 0 to 4, no labels given ...")
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyviewsWarning)  # dark margins are constant columns
        model = BayesianGPLVM(10, n_inducing=50, random_state=0, verbose=1).fit(Y)
    seconds = time.perf_counter() - began
    destination = Path(path)
    destination.parent.mkdir(parents=True, exist_ok=True)
    file = destination.with_suffix(".safetensors")
    model.save(file)

    hidden = new.copy()
    hidden[:, LOWER_HALF] = np.nan
    filled, std = model.impute(hidden, return_std=True)
    holes = np.isnan(hidden)
    covered = float(np.mean(np.abs(filled - new)[holes] <= 1.645 * std[holes]))
    facts = {
        "fit": f"{seconds:.0f} s for {model.fit_info_.n_evaluations} evaluations of the bound",
        "latent dimensions in use": f"{model.n_active_} of 10",
        "signal-to-noise": f"{model.fit_info_.signal_to_noise[0]:.1f}",
        "new digits named by 5-NN in the two main dimensions": _accuracy(model, Y, new, labels),
        "lower halves restored (RMSE, grey levels 0-16)": _restoration(model, Y, hidden, new),
        "90 % intervals that hold the truth": f"{covered:.0%}",
        "model file": f"{file} ({file.stat().st_size / 1e6:.1f} MB)",
    }
    for name, value in facts.items():
        print(f"  {name}: {value}")
    _write(destination, facts, [_map(model, labels[:N_SAMPLES]), _restored(hidden, filled, new)])
    print(f"open {destination} in a browser")


def _digits() -> tuple[np.ndarray, np.ndarray]:
    digits = load_digits()
    chosen = np.flatnonzero(digits.target < 5)[: N_SAMPLES + N_NEW]
    return digits.data[chosen], digits.target[chosen]


def _accuracy(model: Any, Y: np.ndarray, new: np.ndarray, labels: np.ndarray) -> str:
    def score(X: np.ndarray, X_new: np.ndarray) -> float:
        nearest = KNeighborsClassifier(5).fit(X, labels[:N_SAMPLES])
        return float(nearest.score(X_new, labels[N_SAMPLES:]))

    main = np.argsort(-model.relevance_)[:2]
    ours = score(model.latent_mean_[:, main], model.transform(new)[:, main])
    pca = PCA(2).fit(Y)
    return f"{ours:.0%} (PCA {score(pca.transform(Y), pca.transform(new)):.0%})"


def _restoration(model: Any, Y: np.ndarray, hidden: np.ndarray, new: np.ndarray) -> str:
    from sklearn.impute import KNNImputer

    holes = np.isnan(hidden)

    def error(filled: np.ndarray) -> float:
        return float(np.sqrt(np.mean((filled - new)[holes] ** 2)))

    neighbours = KNNImputer(n_neighbors=5, keep_empty_features=True).fit(Y).transform(hidden)
    mean = np.where(holes, Y.mean(axis=0), hidden)
    ours = error(model.impute(hidden))
    return f"{ours:.2f} (5 nearest neighbours {error(neighbours):.2f}, mean {error(mean):.2f})"


def _map(model: Any, labels: np.ndarray) -> str:
    figure, (left, right) = two_panels()
    latent_map(model, labels=labels, ax=left)
    relevance_bars(model, ax=right)
    return _picture(figure, "Latent space coloured by the digit (not used in the fit); relevance")


def _restored(hidden: np.ndarray, filled: np.ndarray, new: np.ndarray, n: int = 12) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3), layout="constrained")
    axes = figure.subplots(3, n)
    for row, (images, title) in enumerate(
        [(hidden, "given"), (filled, "restored"), (new, "truth")]
    ):
        for ax, image in zip(axes[row], images, strict=False):
            ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            ax.set_xticks([])
            ax.set_yticks([])
        axes[row, 0].set_ylabel(title)
    return _picture(figure, "New digits with the lower half hidden, and what the model expects")


def _picture(figure: Any, caption: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode()
    image = f'<img alt="{caption}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _write(path: Path, facts: dict[str, str], pictures: list[str]) -> None:
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in facts.items())
    path.write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'><title>manyviews: digits</title>"
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;"
        "padding:0 1rem;color:#222;background:#fff}img{max-width:100%}figure{margin:2rem 0}"
        "figcaption{color:#555}th{text-align:left;padding-right:1.5rem;font-weight:500}</style>"
        "<h1>Handwritten digits, by a Bayesian GP-LVM</h1>"
        f"<table>{rows}</table>{''.join(pictures)}</html>\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Pictures of the oil flow: its map, and the weights of ten dimensions."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from manyviews import BayesianGPLVM
from manyviews.plot import latent_map, relevance_bars
from manyviews.plot.style import two_panels

from .setting import Setting


def draw(setting: Setting, model: BayesianGPLVM, labels: np.ndarray) -> None:
    """The latent map and the relevance of every dimension."""
    figure, (left, right) = two_panels()
    latent_map(model, labels=[("stratified", "annular", "homogeneous")[k] for k in labels], ax=left)
    relevance_bars(model, ax=right)
    setting.results.mkdir(parents=True, exist_ok=True)
    figure.savefig(setting.results / "oil-map.png", dpi=150)


def draw_weights(setting: Setting, bayesian: dict[str, Any], point: dict[str, Any]) -> None:
    """The relevance weights of ten dimensions, variational and by MAP [BGPLVM16, figure 5]."""
    figure, panels = two_panels()
    models = {"Bayesian GP-LVM": bayesian, "GP-LVM by MAP": point}
    for ax, (name, found) in zip(panels, models.items(), strict=True):
        model = SimpleNamespace(relevance_=np.array(found["relevance"]), n_active_=found["kept"])
        relevance_bars(model, ax=ax)
        ax.set_title(f"{name}: {ax.get_title()}")
    setting.results.mkdir(parents=True, exist_ok=True)
    figure.savefig(setting.results / "oil-weights.png", dpi=150)

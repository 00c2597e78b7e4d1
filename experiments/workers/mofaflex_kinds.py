"""MOFA-FLEX on views of several kinds: ``python -m experiments.workers.mofaflex_kinds IN OUT``.

The problem and the answer are those of :mod:`.mofa_kinds`; likelihoods are "gaussian", "bernoulli"
or "negative_binomial". Options are the library's defaults, but for horseshoe weights (its relevance
determination) and a learning rate of 0.01, with which fits of tables of this size end.
"""

import sys
import time
import warnings

import numpy as np

NAMES = {"gaussian": "Normal", "bernoulli": "Bernoulli", "negative_binomial": "NegativeBinomial"}


def main() -> None:
    """One fit, and what it says about the target."""
    import anndata
    from mofaflex import MOFAFLEX, DataOptions, ModelOptions, TrainingOptions

    with np.load(sys.argv[1]) as file:
        kinds = [NAMES[name] for name in file["likelihoods"].tolist()]
        views = {f"view_{k}": file[f"view_{k}"] for k in range(len(kinds))}
        target = f"view_{int(file['target'])}"
        n_components, seed = int(file["n_components"]), int(file["seed"])
    rows = [f"row{n}" for n in range(len(views[target]))]
    data = {}
    for name, table in views.items():
        there = ~np.isnan(table).all(axis=1)  # a sample without any value has no part in a view
        data[name] = anndata.AnnData(table[there].astype(np.float32))
        data[name].obs_names = [row for row, own in zip(rows, there, strict=True) if own]
        data[name].var_names = [f"{name}_{d}" for d in range(table.shape[1])]
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MOFAFLEX(
            {"all": data},
            DataOptions(plot_data_overview=False, remove_constant_features=False),
            ModelOptions(
                n_factors=n_components, weight_prior="Horseshoe",
                likelihoods=dict(zip(views, kinds, strict=True)),
            ),
            TrainingOptions(
                device="cpu", lr=0.01, max_epochs=5000, seed=seed, save_path=False
            ),
        )  # fmt: skip
    seconds = time.perf_counter() - began
    (Z, Z_std), (W, W_std) = (
        [_table(get(moment=moment), own, order) for moment in ("mean", "std")]
        for get, own, order in (
            (model.get_factors, "all", rows),
            (model.get_weights, target, list(data[target].var_names)),
        )
    )
    mean = Z @ W.T
    variance = (Z**2 + Z_std**2) @ (W**2 + W_std**2).T - Z**2 @ (W**2).T
    noise = np.ones(mean.shape[1])
    if target in model.get_dispersion():
        noise = model.get_dispersion()[target].loc[list(data[target].var_names)].to_numpy()
    np.savez(
        sys.argv[2], mean=mean, variance=variance, noise=np.broadcast_to(noise, mean.shape),
        seconds=seconds,
    )  # fmt: skip


def _table(found: dict, own: str, order: list[str]) -> np.ndarray:
    """A component of one group or view, its rows in order and its factors in columns."""
    table = found[own]
    return (table if order[0] in table.index else table.T).loc[order].to_numpy(float)


if __name__ == "__main__":
    main()

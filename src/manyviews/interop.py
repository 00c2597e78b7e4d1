"""Results in the forms that other tools expect: MuData, AnnData, xarray."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ._optional import needed
from .errors import DataError
from .plot.subject import Subject

HIGHLY_VARIABLE = "highly_variable"  # the column of ``.var`` that scanpy writes


def views_of(
    data: Any,
    layers: str | Mapping[str, str] | None = None,
    *,
    use_highly_variable: bool = False,
) -> dict[str, pd.DataFrame]:
    """The modalities of a MuData or AnnData object as views, from layers where these are named.

    Parameters
    ----------
    data : MuData or AnnData
        An AnnData object has one modality, ``"X"``.
    layers : str or dict by modality, optional
        The layer to read, such as ``"log1p"``. Default: ``.X``.
    use_highly_variable : bool, default=False
        Whether a modality with a column ``.var["highly_variable"]`` is read with the columns marked
        there alone.

    Returns
    -------
    dict of DataFrame
        Samples by columns, for ``fit``. Groups of samples (donors, batches) are columns of
        ``data.obs``, which ``associations`` and ``write_report(metadata=...)`` take as it is.
    """
    parts = dict(data.mod) if hasattr(data, "mod") else {"X": data}
    chosen = dict.fromkeys(parts, layers) if layers is None or isinstance(layers, str) else layers
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        raise DataError(f"there is no modality {unknown[0]!r}: there are {list(parts)}")
    views = {}
    for name, part in parts.items():
        layer = chosen.get(name)
        if layer is not None and layer not in part.layers:
            raise DataError(f"{name!r} has no layer {layer!r}: it has {list(part.layers)}")
        marked = use_highly_variable and HIGHLY_VARIABLE in part.var
        if marked:
            part = part[:, part.var[HIGHLY_VARIABLE].to_numpy(bool)]
        if marked and not part.n_vars:
            raise DataError(f"{name!r} has no column that is marked as highly variable")
        views[str(name)] = part.to_df(layer=layer)
    if use_highly_variable and not any(HIGHLY_VARIABLE in part.var for part in parts.values()):
        raise DataError(
            f"no modality has a column {HIGHLY_VARIABLE!r} in .var: mark the columns first, for "
            "example by scanpy.pp.highly_variable_genes"
        )
    return views


def annotate(data: Any, model: Any, key: str = "mrd") -> Any:
    """Write a model's results into the MuData or AnnData object it was fitted to; return it.

    Where to look for them, with the default key:

    - ``.obsm["X_mrd"]``, ``.obsm["X_mrd_std"]``: latent means and std (NaN for samples that
      were not in the fit),
    - ``.varm["mrd_sensitivity"]`` of every modality: columns x dimensions, like loadings,
    - ``.uns["mrd"]``: relevance, variance explained, names of dimensions, lower bound.
    """
    subject = Subject(model)
    parts = data.mod if hasattr(data, "mod") else {subject.names[0]: data}
    unknown = [name for name in subject.names if name not in parts]
    if unknown:
        raise DataError(f"the model has a view {unknown[0]!r}, the data have {list(parts)}")
    samples = pd.Index([str(sample) for sample in model.samples_])
    if not data.obs_names.isin(samples).any():
        raise DataError("none of the data's samples was in the fit: are these the same data?")
    for name, values in ((f"X_{key}", subject.latent), (f"X_{key}_std", model.latent_std_)):
        frame = pd.DataFrame(values, index=samples).reindex(data.obs_names)
        data.obsm[name] = frame.to_numpy()
    for name in subject.names:
        loadings = subject.sensitivity(name).rename(index=str).reindex(parts[name].var_names)
        parts[name].varm[f"{key}_sensitivity"] = loadings.to_numpy()
    dimensions = {d: str(d) for d in subject.relevance.columns}
    data.uns[key] = {
        "model": type(model).__name__,
        "relevance": subject.relevance.rename(columns=dimensions),
        "variance_explained": subject.explained().rename(columns=str),
        "dimensions": np.array(subject.labels, dtype=object),
        "lower_bound": float(getattr(model, "lower_bound_", np.nan)),
    }
    return data


def to_mudata(model: Any, key: str = "mrd") -> Any:
    """The training data as a MuData object with the model's results (see `annotate()`)."""
    mudata, anndata = needed("mudata", "mudata"), needed("anndata", "mudata")
    parts = {}
    for name, table in Subject(model).tables.items():
        known = table[table.notna().any(axis=1)]
        parts[name] = anndata.AnnData(known.rename(index=str, columns=str))
    data = mudata.MuData(parts)
    return annotate(data, model, key)


def to_xarray(model: Any) -> Any:
    """Posterior and results as an ``xarray.Dataset`` with named dimensions."""
    xarray = needed("xarray", "xarray")
    subject = Subject(model)
    Q = subject.latent.shape[1]
    coords: dict[str, Any] = {
        "sample": list(model.samples_),
        "dimension": list(range(Q)),
        "view": subject.names,
    }
    explained = subject.explained().drop(columns="total")
    content = {
        "latent_mean": (("sample", "dimension"), subject.latent),
        "latent_std": (("sample", "dimension"), model.latent_std_),
        "relevance": (("view", "dimension"), subject.relevance.to_numpy()),
        "variance_explained": (("view", "dimension"), explained.to_numpy()),
    }
    coords["name"] = ("dimension", subject.labels)
    for name in subject.names:
        column = f"column of {name}"
        coords[column] = subject.tables[name].columns.tolist()
        content[f"sensitivity of {name}"] = (
            (column, "dimension"),
            subject.sensitivity(name).to_numpy(),
        )
    facts = {"model": type(model).__name__, "lower_bound": getattr(model, "lower_bound_", np.nan)}
    return xarray.Dataset(content, coords, facts)

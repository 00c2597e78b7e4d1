"""Odd tables, options, times and names: read as what they are, or refused in words."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from manyviews import Views, kernels
from manyviews.data.alignment import as_views
from manyviews.data.times import as_when
from manyviews.shells import TableModel, ViewsModel

from .case import Part, Result, refused
from .generate import COLUMNS, FORMS, ROWS, form, plain
from .models import FAST, MODELS, SEVERAL, training
from .spoiled import spoil

VALUES = (
    None, -1, 0, 1, 2, 3, 7, 50, 0.0, 0.5, 1.0, 2.5, -0.1, 1e-300, 1e300, np.nan, np.inf, -np.inf,
    True, False, "", "x", "auto", "rbf", "linear", "view", "column", "none", "random", "😀", b"x",
    (), [], {}, {"odd": 1}, {"nobody": 1}, {"odd": "none", "good": "view"}, [1, "a"], object(),
    np.int64(2), np.float32(0.5), np.array(2), np.zeros((ROWS, 2)), np.full((ROWS, 2), np.nan),
    np.zeros((3, 3)), 1j, int, lambda: 1, kernels.RBF(2), pd.Series([1.0]), "union", "intersection",
)  # fmt: skip
SHELLS = [name for name, make in MODELS.items() if isinstance(make(), TableModel | ViewsModel)]


def start(folder: Path) -> Any:
    """Try a case of one of five kinds."""
    kinds = (_forms, _spoiled, _options, _times, _fits)

    def case(rng: np.random.Generator, number: int) -> Result:
        return kinds[rng.choice(5, p=[0.3, 0.3, 0.2, 0.14, 0.06])](rng)

    return case


def _forms(rng: np.random.Generator) -> Result:
    """The same numbers come out, whatever form they come in."""
    table = plain(rng)
    try:
        kind, given, numbers = form(rng, table)
    except ImportError:
        return Result("package not installed")
    if kind == "array" and rng.random() < 0.5:
        return _mudata(table)
    try:
        found = as_views({"a": given, "b": np.nan_to_num(numbers)}) if rng.random() < 0.5 else None
        found = found or Views([given])._aligned
    except Exception as error:
        if kind in {"xarray", "texts of numbers", "lists"}:
            return refused(error, kind)
        raise
    same = np.array_equal(found.tables[0], numbers, equal_nan=True)
    return Result("read alike" if same else "wrong", "" if same else f"{kind} is read otherwise")


def _mudata(table: np.ndarray) -> Result:
    try:
        from anndata import AnnData
        from mudata import MuData
    except ImportError:
        return Result("package not installed")
    names = pd.DataFrame(index=[f"s{i}" for i in range(len(table))])
    data = MuData(
        {"a": AnnData(table, obs=names), "b": AnnData(table[: ROWS // 2], obs=names[: ROWS // 2])}
    )
    found = as_views(data)
    same = np.array_equal(found.tables[0], table, equal_nan=True)
    same &= np.isnan(found.tables[1][ROWS // 2 :]).all()
    return Result("read alike" if same else "wrong", "" if same else "MuData is read otherwise")


def _spoiled(rng: np.random.Generator) -> Result:
    """Any shell prepares a spoiled table as finite numbers, or refuses it."""
    kind, given = spoil(rng, plain(rng))
    name = str(rng.choice(SHELLS))
    about = f"{name}, {kind}"
    model = MODELS[name]()
    (data,), when = training(name, given, plain(rng, 3), rng)
    try:
        scaled = model._prepare(data, **when)
    except Exception as error:
        return refused(error, about)
    tables = scaled if isinstance(scaled, list) else [scaled]
    bad = any(np.isinf(t).any() or np.isnan(t).all() for t in tables)
    return Result("wrong", f"{about}: infinite numbers") if bad else Result("taken")


def _options(rng: np.random.Generator) -> Result:
    """Any value of any option is taken or refused; fast models are fitted with it."""
    name = str(rng.choice(sorted(MODELS)))
    model = MODELS[name]()
    options = sorted(model.get_params())
    option = options[rng.integers(len(options))]
    value = VALUES[rng.integers(len(VALUES))]
    about = f"{name}({option}={value!r})"
    good = rng.standard_normal((ROWS, COLUMNS)), rng.standard_normal((ROWS, 3))
    arguments, when = training(name, *good, rng)
    try:
        model.set_params(**{option: value})
        clone(model)
        if name in FAST:
            return _checked(model.fit(*arguments, **when), name, about)
        if name in SHELLS:
            model._prepare(*arguments, **when)
        elif hasattr(model, "_check_options"):
            model._check_options()
    except Exception as error:
        return refused(error, about)
    return Result("taken")


def _times(rng: np.random.Generator) -> Result:
    """Times and sequences in any form: finite numbers, in the order of the samples, or refused."""
    n = int(rng.integers(1, 12))
    numbers = np.sort(rng.standard_normal(n) * 10.0 ** rng.choice([0, 3, 9]))
    days = np.datetime64("1970-01-01") + rng.integers(-9999, 9999, n).astype("timedelta64[D]")
    seconds = days.astype("datetime64[s]").astype(float)
    samples = [f"s{i}" for i in range(n)]
    order = rng.permutation(n)
    stamps = pd.DatetimeIndex(days)
    zoned = stamps.tz_localize("UTC")
    forms = {
        "numbers": (numbers, numbers),
        "list": (numbers.tolist(), numbers),
        "days": (days, seconds),
        "nanoseconds": (days.astype("datetime64[ns]"), seconds),
        "texts": (days.astype(str), seconds),
        "dates": ([d.item() for d in days], seconds),
        "timestamps": (list(stamps), seconds),
        "zone": (pd.Series(zoned, samples), seconds),
        "zone elsewhere": (pd.Series(zoned.tz_convert("Asia/Tokyo"), samples), seconds),
        "another order": (pd.Series(numbers, samples).iloc[order], numbers),
        "durations": (days - np.datetime64("1970-01-01"), seconds),
        "table": (np.stack([numbers, numbers], 1), numbers),
        "unknown labels": (pd.Series(numbers, range(n)), None),
        "too few": (numbers[1:], None),
        "missing": (np.append(numbers[1:], np.nan), None),
        "not a time": (np.append(days[1:], np.datetime64("NaT")), None),
        "complex": (numbers + 1j, None),
        "words": (["x"] * n, None),
        "far": (np.full(n, np.datetime64(10**12, "D")), None),
        "none in it": ([None] * n, None),
        "dict": ({1: 2}, None),
        "special": ([VALUES[i] for i in rng.integers(len(VALUES), size=n)], ...),
    }  # fmt: skip
    kind = str(rng.choice(sorted(forms)))
    given, wanted = forms[kind]
    sequences = [None, "a", ["a"] * n, [1] * n, np.array(["a", "b"])[np.arange(n) % 2]]
    odd = [["a"], [1, "1"], [None] * n, np.zeros((n, 2)), 5.0, [[]] * n, [np.nan] * n, {}]
    spoiled = rng.random() < 0.2
    chosen = (odd if spoiled else sequences)[rng.integers(len(odd if spoiled else sequences))]
    try:
        found = as_when(given, chosen, samples)
    except Exception as error:
        if wanted is None or wanted is ... or spoiled:
            return refused(error, f"times, {kind}")
        raise
    if not np.isfinite(found.inputs).all() or len(found.inputs) != n:
        return Result("wrong", f"times, {kind}: not finite, or not one per row")
    if wanted is None:
        return Result("wrong", f"times, {kind}: taken as {found.inputs.ravel()[:3]}")
    if wanted is ...:
        return Result("taken")
    same = np.allclose(found.inputs[:, 0], wanted, rtol=1e-12, atol=1e-6)
    return Result(
        "read alike" if same else "wrong", "" if same else f"times, {kind}: read otherwise"
    )


def _fits(rng: np.random.Generator) -> Result:
    """A fast model is fitted and asked: finite answers, or a refusal."""
    name = str(rng.choice(FAST))
    spoiled = rng.random() < 0.5
    try:
        kind, given = spoil(rng, plain(rng)) if spoiled else form(rng, plain(rng))[:2]
    except ImportError:
        return Result("package not installed")
    about = f"{name}, {kind}"
    arguments, when = training(name, given, plain(rng, 3), rng)
    try:
        model = MODELS[name]().fit(*arguments, **when)
        return _checked(model, name, about)
    except Exception as error:
        return refused(error, about)


def _checked(model: Any, name: str, about: str) -> Result:
    answers = [model.latent_mean_, model.latent_std_, model.relevance_]
    if name not in {"CCA", "KernelCCA"}:
        answers += [model.lower_bound_]
    filled, std = model.impute(return_std=True)
    answers += [*filled.values(), *std.values()] if name in SEVERAL else [filled, std]
    stds = [model.latent_std_, *(std.values() if name in SEVERAL else [std])]
    if not all(np.isfinite(np.asarray(answer, dtype=float)).all() for answer in answers):
        return Result("wrong", f"{about}: an answer is not finite")
    if any((np.asarray(one) < 0).any() for one in stds):
        return Result("wrong", f"{about}: a negative standard deviation")
    return Result("finite")


PART = Part(
    f"tables in {len(FORMS)} forms, spoiled ones, options, times: read alike, finite, or refused",
    limit=60.0, share=1.0, start=start,
)  # fmt: skip

"""Fits to parts of some data take the programs of the whole, and come to the same."""

import jax.numpy as jnp
import numpy as np
import pytest

from manyviews import MRD, Search
from manyviews.expectations import Gaussian
from manyviews.inference.objective import Objective
from manyviews.inference.row_programs import (
    FEW,
    SEVERAL,
    filled_up,
    rows_to_compile,
    sharing_programs,
)
from manyviews.mappings import make_outputs
from manyviews.mappings.base import condition
from manyviews.variational.fit import starting_model

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")


def tables(n=30, holes=0.0, seed=0):
    """A wide view, of which fewer columns are needed, and a narrow one."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    found = [np.tanh(x @ rng.normal(size=(2, d))) + 0.3 * rng.normal(size=(n, d)) for d in (45, 3)]
    for table in found:
        table[rng.random(table.shape) < holes] = np.nan
    return found


def objective(data):
    model = MRD(3, 8, random_state=0)
    scaled = model._prepare({"a": data[0], "b": data[1]})
    options = model._fit_options(scaled)
    outputs = tuple(options.outputs(k, Y) for k, Y in enumerate(scaled))
    return Objective(starting_model(scaled, options, 0), outputs)


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_rows_that_are_added_change_neither_bound_nor_gradient(holes):
    alone = objective(tables(holes=holes))
    with sharing_programs(40):
        padded = objective(tables(holes=holes))
    assert padded.layout.n_padded == 40
    assert {len(o.filled) for o in padded.outputs} == {40}
    start = alone.start + 0.1 * np.cos(np.arange(alone.start.size))
    assert padded.start.shape == alone.start.shape
    value, gradient = alone(start)
    same, slopes = padded(start)
    assert same == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(slopes, gradient, atol=1e-8 * np.abs(gradient).max())
    assert padded.model_at(start).latent.mean.raw.shape == (30, 3)


@pytest.mark.parametrize("n_rows", [30, 36])
def test_data_of_all_parts_have_the_shapes_of_the_whole(n_rows):
    """Also where the part has fewer rows than columns, and the whole more."""
    data = tables(50)[0]
    with sharing_programs(50):
        q = Gaussian(jnp.zeros((n_rows, 2)), jnp.ones((n_rows, 2)))
        _, outputs = filled_up(q, make_outputs(data[:n_rows]))
    whole = make_outputs(data)
    assert outputs.filled.shape == whole.filled.shape
    assert [f.shape for f in outputs.factors] == [f.shape for f in whole.factors]


@pytest.mark.parametrize("missing", ["exact", "shared"])
def test_posteriors_know_nothing_of_rows_that_are_added(missing):
    data = tables(holes=0.0 if missing == "exact" else 0.2)
    found = objective(data)
    model = found.model_at(found.start)
    q, _ = model.latent.infer()
    for view, table in zip(model.views, data, strict=True):
        outputs = make_outputs(table, missing)
        with sharing_programs(44):
            longer = condition(view, *filled_up(q, outputs))
        alone = condition(view, q, outputs)
        solved = 1e-9 if missing == "exact" else 1e-5  # by iterations in single precision
        np.testing.assert_allclose(longer.weights, alone.weights, rtol=1e-6, atol=solved)
        np.testing.assert_allclose(longer.inner, alone.inner, rtol=1e-9, atol=1e-12)


@pytest.mark.long
def test_models_of_parts_are_those_of_fits_alone():
    data = {"a": tables()[0], "b": tables()[1]}
    search = Search(n_restarts=1, max_iter=5)
    model = MRD(3, 8, search=search, random_state=0, signal_check="off")
    bound = model.fit(data).lower_bound_
    mean = model.predict({"a": data["a"][:4]}, "b")
    with sharing_programs(35):
        model.fit(data)
        assert model.latent_mean_.shape == (30, 3)
        assert model.lower_bound_ == pytest.approx(bound, rel=1e-4)
        np.testing.assert_allclose(model.predict({"a": data["a"][:4]}, "b"), mean, atol=1e-3)


def test_how_many_rows_there_are():
    assert rows_to_compile(30) == 30
    with sharing_programs(100):
        assert [rows_to_compile(n) for n in (30, 100, 120)] == [100, 100, 120]
        with sharing_programs(80):
            assert rows_to_compile(30) == 100
    with sharing_programs(FEW + 50):
        assert [rows_to_compile(n) for n in (198, 208, 245)] == [250, 250, 250]
        with sharing_programs(FEW + 1):
            assert [rows_to_compile(n) for n in (130, 201, 202)] == [208, 208, 250]
    with sharing_programs(SEVERAL + 50):
        assert [rows_to_compile(n) for n in (985, 992, 1045)] == [992, 992, 1050]
    assert rows_to_compile(30) == 30

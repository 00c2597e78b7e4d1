"""Calibrated intervals of imputed values."""

import numpy as np
import pytest
from tests.fuzz.coverage import hidden_values, inside
from tests.fuzz.simulate import curved_table

from manyviews import MRD, BayesianGPLVM, Search
from manyviews.variational.forgetting import PARTS, _forgotten, _parts, imputation_widths
from manyviews.variational.widths import Widths
from manyviews.variational.without_rows import keeping_rows

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
FEW = {"n_inducing": 10, "random_state": 0, "signal_check": "off"}
BRIEF = Search(max_iter=60, n_restarts=1)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    found = curved_table(rng)[:30]
    found[hidden_values(rng, found)] = np.nan
    return found


@pytest.fixture(scope="module")
def model(table):
    return BayesianGPLVM(2, search=BRIEF, **FEW).fit(table)


def raw_std(model, view=0):
    engine = model.engine_
    variance = engine.fill(view, engine.data, engine.positions)[1]
    return np.sqrt(variance) * model._scalings[view].scale


def test_widths_find_the_profile_of_errors(rng):
    variance = rng.uniform(0.1, 2.0, size=(4000, 3))
    sizes = np.array([0.5, 1.0, 3.0])
    for power in (0.0, 0.5, 1.0):
        true = sizes**2 * variance**power
        errors = np.sqrt(true) * rng.standard_normal(variance.shape)
        errors[rng.random(errors.shape) < 0.3] = np.nan
        found = Widths.fit(errors, variance, 1.0)
        assert found.shape == power
        np.testing.assert_allclose(found(variance), true, rtol=0.1)
    doubled = Widths.fit(errors, variance, 2.0)
    np.testing.assert_allclose(doubled(variance), 2.0 * found(variance))


def test_every_known_value_is_hidden_once(rng):
    known = rng.random((40, 7)) < 0.8
    part = _parts(known, rng)
    assert ((part >= 0) == known).all()
    assert part.max() == PARTS - 1
    for row, own in zip(part, known, strict=True):
        counts = np.bincount(row[own], minlength=PARTS)
        assert counts.max() - counts.min() <= 1


def test_errors_are_those_of_a_model_that_has_not_seen_the_row(model):
    engine = model.engine_
    Y, part = engine.data[0], _parts(~np.isnan(engine.data[0]), np.random.default_rng(0))
    rows = np.array([3, 8, 20])
    ((errors, variance),) = _forgotten(engine, rows, part, {})
    asked, hide = 8, 2
    fold = keeping_rows(engine, np.setdiff1d(np.arange(len(Y)), rows))
    hidden = part[asked] == hide
    q = fold.infer([np.where(hidden, np.nan, Y[asked])[None]])
    mean, spread = fold.moments(0, q, "variance")
    place = hide * len(rows) + 1
    np.testing.assert_allclose(errors[place][hidden], (Y[asked] - mean[0])[hidden], atol=1e-4)
    np.testing.assert_allclose(variance[place], spread[0], rtol=1e-3)
    assert np.isnan(errors[place][~hidden]).all()
    assert np.isfinite(errors).sum() == np.isfinite(Y[rows]).sum()


def test_intervals_are_calibrated_and_means_are_not_touched(model, table):
    mean, std = model.impute(return_std=True)
    missing = np.isnan(table)
    np.testing.assert_array_equal(mean, model.impute())
    assert (std[~missing] == 0).all()
    widths = imputation_widths(model.engine_, model._inference())[0]
    scale = model.scaling_.scale
    wanted = np.sqrt(widths((raw_std(model) / scale) ** 2)) * scale
    np.testing.assert_allclose(std[missing], wanted[missing])
    again, new_std = model.impute(table[:4], return_std=True)
    assert again.shape == new_std.shape == (4, table.shape[1])


def test_models_over_time_and_few_rows_are_as_they_are(table):
    timed = BayesianGPLVM(2, search=BRIEF, **FEW).fit(table, times=np.arange(30.0))
    few = BayesianGPLVM(1, search=BRIEF, **(FEW | {"n_inducing": 5})).fit(table[:8])
    for model, own in ((timed, table), (few, table[:8])):
        missing = np.isnan(own)
        std = model.impute(return_std=True)[1]
        np.testing.assert_allclose(std[missing], raw_std(model)[missing])


@pytest.mark.long
def test_without_the_link_nothing_is_calibrated(table):
    views = {"a": table[:, :6], "b": table[:, 6:]}
    model = MRD(2, search=BRIEF, **FEW).fit(views)
    missing = np.isnan(views["a"])
    calibrated = model.impute(return_std=True)[1]["a"][missing]
    raw = model.set_params(residual_link=False).impute(return_std=True)[1]["a"][missing]
    np.testing.assert_allclose(raw, raw_std(model)[missing])
    assert not np.allclose(raw, calibrated)


@pytest.mark.long
def test_intervals_hold_what_they_say():
    """Eight sets drawn from the model; `make fuzz` has tables of more."""
    found, before = [], []
    for seed in range(8):
        rng = np.random.default_rng([77, seed])
        table = curved_table(rng)
        hidden = hidden_values(rng, table)
        options = FEW | {"n_inducing": 30}
        model = BayesianGPLVM(4, **options).fit(np.where(hidden, np.nan, table))
        mean, std = model.impute(return_std=True)
        found.append(inside(table[hidden], mean[hidden], std[hidden]))
        before.append(inside(table[hidden], mean[hidden], raw_std(model)[hidden]))
    assert 0.88 < np.mean(found) < 0.94
    assert np.mean(before) < np.mean(found)

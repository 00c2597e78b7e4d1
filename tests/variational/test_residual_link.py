import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import manyviews
from manyviews import MRD, Search, Views
from manyviews.errors import DataError
from manyviews.expectations import Gaussian
from manyviews.fitted.adjustment import Adjustment
from manyviews.mappings import make_outputs
from manyviews.mappings.base import condition
from manyviews.variational.link_regression import left_out, members_of
from manyviews.variational.prediction import pad
from manyviews.variational.residual_link import ResidualLink, _folds
from manyviews.variational.without_rows import keeping_rows

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")

N, NEW = 60, 20


def views(n=N + NEW, seed=0):
    """A strong signal, and a weak one that one latent dimension leaves out."""
    rng = np.random.default_rng(seed)
    strong, weak = rng.normal(size=(2, n, 1))
    a = strong @ np.ones((1, 5)) + weak @ np.array([[0.3, -0.3, 0.3, -0.3, 0.3]])
    b = np.concatenate([np.sin(strong), strong + 2.0 * weak], axis=1)
    return {
        "a": a + 0.1 * rng.normal(size=a.shape),
        "b": 5.0 + 10.0 * (b + 0.1 * rng.normal(size=b.shape)),
    }


def part(tables, rows):
    return {name: table[rows] for name, table in tables.items()}


@pytest.fixture(scope="module")
def data():
    return views()


@pytest.fixture(scope="module")
def model(data):
    search = Search(max_iter=60, n_restarts=1)
    made = MRD(1, 10, kernel="rbf", search=search, random_state=0, signal_check="off")
    return made.fit(part(data, slice(N)))


# ---------------------------------------------------------------------- the regression


def link_data(rng, n=30, d=3):
    inputs, mean = rng.normal(size=(n, 4)), rng.normal(size=(n, d))
    Y = 0.5 * mean + inputs[:, :d] + 0.3 * rng.normal(size=(n, d))
    return inputs, Y, mean, np.exp(0.3 * rng.normal(size=(n, d)))


def test_errors_are_those_of_regressions_without_the_row(rng):
    inputs, Y, mean, _ = link_data(rng)
    a = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    U, s, _ = np.linalg.svd(a, full_matrices=False)
    y, m = Y - Y.mean(axis=0), mean - mean.mean(axis=0)
    found = left_out(U, s, y, m, ~np.isnan(Y), penalty=3.0)
    for share in (found.share, found.share + 0.02, found.share - 0.02):
        errors = []
        for row in range(len(a)):
            kept = np.arange(len(a)) != row
            ridge = Ridge(alpha=3.0).fit(a[kept], (y - share * m)[kept])
            errors.append((y - share * m)[row] - ridge.predict(a[[row]])[0])
        if share == found.share:
            np.testing.assert_allclose(found.errors, errors, atol=1e-10)
            best = np.mean(np.square(errors))
        else:
            assert np.mean(np.square(errors)) > best


def test_groups_are_left_out_whole(rng):
    inputs, Y, mean, _ = link_data(rng, n=31)
    groups = np.repeat(np.arange(6), 6)[:31]
    a = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    U, s, _ = np.linalg.svd(a, full_matrices=False)
    y, m = Y - Y.mean(axis=0), mean - mean.mean(axis=0)
    found = left_out(U, s, y, m, ~np.isnan(Y), 3.0, members_of(groups))
    errors = np.empty_like(y)
    for group in range(6):
        kept = groups != group
        ridge = Ridge(alpha=3.0).fit(a[kept], (y - found.share * m)[kept])
        errors[~kept] = (y - found.share * m)[~kept] - ridge.predict(a[~kept])
    np.testing.assert_allclose(found.errors, errors, atol=1e-4)


def test_groups_of_one_row_are_rows(rng):
    inputs, Y, mean, variance = link_data(rng, n=40)
    alone = ResidualLink.fit(inputs, Y, mean, variance)
    groups = ResidualLink.fit(inputs, Y, mean, variance, rng.permutation(40))
    np.testing.assert_allclose(groups.coefficients, alone.coefficients, atol=1e-5)
    np.testing.assert_allclose(groups.widths.squares, alone.widths.squares, rtol=1e-4)


def test_folds_leave_groups_whole():
    groups = np.repeat(np.arange(8), 5)
    folds = _folds(np.arange(40), groups)
    assert sorted(np.concatenate(folds)) == list(range(40))
    for fold in folds:
        assert not set(groups[fold]) & set(groups[np.setdiff1d(np.arange(40), fold)])
    assert len(_folds(np.arange(40), np.repeat([0, 1], 20))) == 2


def test_the_latent_answer_stands_where_inputs_add_nothing(rng):
    inputs, _, mean, variance = link_data(rng, n=200)
    Y = mean + 0.5 * rng.normal(size=mean.shape)
    link = ResidualLink.fit(inputs, Y, mean, variance)
    adjusted = link.adjustment(inputs, mean, variance)
    assert link.share > 0.9
    np.testing.assert_allclose(adjusted.centre, mean, atol=0.3)
    np.testing.assert_allclose((np.sqrt(variance) * adjusted.stretch).mean(), 0.5, rtol=0.1)


def test_answers_stay_within_reach_of_the_values_seen(rng):
    inputs, Y, mean, variance = link_data(rng, n=60)
    link = ResidualLink.fit(inputs, Y, mean, variance)
    far = link.adjustment(inputs + 100.0, mean, variance).centre
    near = link.adjustment(inputs, mean, variance).centre
    low, high = Y.min(axis=0) - 0.5 * Y.std(axis=0), Y.max(axis=0) + 0.5 * Y.std(axis=0)
    assert (far >= low - 1e-9).all()
    assert (far <= high + 1e-9).all()
    assert np.any(np.isclose(far, low) | np.isclose(far, high))
    assert not np.any(np.isclose(near, low) | np.isclose(near, high))


def test_noise_is_predicted_by_its_mean(rng):
    inputs, _, mean, variance = link_data(rng, n=100)
    Y = 3.0 + rng.normal(size=mean.shape)
    adjusted = ResidualLink.fit(inputs, Y, mean, variance).adjustment(inputs, mean, variance)
    assert np.std(adjusted.centre) < 0.35


def test_missing_values_do_not_count(rng):
    inputs, Y, mean, variance = link_data(rng, n=80)
    holes = Y.copy()
    holes[::7, 1] = np.nan
    full, some = (ResidualLink.fit(inputs, T, mean, variance) for T in (Y, holes))
    np.testing.assert_allclose(some.coefficients, full.coefficients, atol=0.25)
    np.testing.assert_allclose(some.widths.squares, full.widths.squares, rtol=0.5)
    assert not np.isnan(some.widths.squares).any()


def test_an_adjustment_moves_and_stretches(rng):
    raw, centre = rng.normal(size=(2, 4, 3))
    stretch = rng.uniform(0.5, 2.0, size=(4, 3))
    adjust = Adjustment(raw, centre, lambda: stretch)
    root = rng.normal(size=(4, 3, 3))
    covariance = root @ np.swapaxes(root, 1, 2)
    draws = raw + np.einsum("nij,snj->sni", root, rng.normal(size=(40_000, 4, 3)))
    moved = adjust.values(draws)
    np.testing.assert_allclose(moved.mean(axis=0), centre, atol=0.1)
    expected = adjust.spread(covariance)
    np.testing.assert_allclose(np.cov(moved[:, 1].T), expected[1], rtol=0.1, atol=0.1)
    diagonal = np.diagonal(covariance, axis1=1, axis2=2)
    np.testing.assert_allclose(
        adjust.spread(diagonal), np.diagonal(expected, axis1=1, axis2=2), rtol=1e-12
    )


# ---------------------------------------------------------------------- a model that forgets rows


def test_a_model_that_keeps_all_rows_is_the_same(model):
    same = keeping_rows(model.engine_, np.arange(N))
    for old, new in zip(model.engine_.posteriors, same.posteriors, strict=True):
        np.testing.assert_allclose(new.weights, old.weights, rtol=1e-6, atol=1e-8)


def test_rows_that_are_forgotten_leave_no_trace(model, data):
    kept = np.arange(N - 10)
    changed = [Y.copy() for Y in model.engine_.data]
    for table in changed:
        table[N - 10 :] += 100.0
    other = type(model.engine_)(model.engine_.model, model.engine_.posteriors, tuple(changed))
    for a, b in zip(
        keeping_rows(model.engine_, kept).posteriors, keeping_rows(other, kept).posteriors,
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(a.weights, b.weights)
        assert not np.allclose(a.weights, model.engine_.posteriors[0].weights[:, :1])


def test_what_is_kept_is_conditioned_on_as_if_there_were_no_more(model):
    kept = np.arange(5, N, 2)
    engine = model.engine_
    fold = keeping_rows(engine, kept)
    for view, table, found in zip(engine.model.views, engine.data, fold.posteriors, strict=True):
        alone = condition(view, engine.marginals[kept], make_outputs(table[kept]))
        np.testing.assert_allclose(found.weights, alone.weights, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found.inner, alone.inner, rtol=1e-9, atol=1e-12)


def test_rows_are_filled_up_to_few_sizes():
    q = Gaussian(jnp.arange(6.0).reshape(3, 2), jnp.ones((3, 2)))
    cheap, dear = pad(q, 1000), pad(q)
    assert (len(cheap.mean), len(dear.mean)) == (64, 4)
    np.testing.assert_array_equal(cheap.mean[:3], q.mean)


# ---------------------------------------------------------------------- answers of a model


def error(model, data, **how):
    known, truth = part(data, slice(N, None)), data["b"][N:]
    return np.sqrt(np.mean((model.predict({"a": known["a"]}, "b", **how) - truth) ** 2))


def test_what_the_latent_space_leaves_is_found(model, data):
    linked = error(model, data)
    model.residual_link = False
    latent = error(model, data)
    model.residual_link = True
    assert linked < 0.8 * latent


def test_all_forms_of_an_answer_agree(model, data):
    known = {"a": data["a"][N:]}
    mean, std = model.predict(known, "b", return_std=True)
    same, covariance = model.predict(known, "b", return_cov=True)
    np.testing.assert_allclose(same, mean)
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)), std)
    draws = model.predict(known, "b", n_samples=2000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.15 * std.max())
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.15)
    low, middle, high = model.predict_quantiles(known, "b", random_state=0)
    np.testing.assert_allclose(middle, mean, atol=0.2 * std.max())
    np.testing.assert_allclose(high - low, 2 * 1.645 * std, rtol=0.2)
    modes = model.predict_modes(known, "b", n_modes=1)
    np.testing.assert_allclose(modes.means[:, 0], mean, rtol=1e-6)
    np.testing.assert_allclose(modes.stds[:, 0], std, rtol=1e-6)


def test_intervals_hold_what_they_promise(model):
    fresh = views(300, seed=5)
    mean, std = model.predict({"a": fresh["a"]}, "b", return_std=True)
    inside = np.abs(fresh["b"] - mean) < 1.645 * std
    assert 0.84 < inside.mean() < 0.95


def grouped(n_groups, size=8, seed=0):
    """Rows of a group differ little, and the relation of the views has a part of its own in each.

    Signals beside these are noise, of which the wanted view has most.
    """
    rng = np.random.default_rng(seed)
    place, part = rng.normal(size=(2, n_groups, 1, 1))
    x = np.tile(place, (1, size, 1)) + 0.1 * rng.normal(size=(n_groups, size, 1))
    a = x @ np.ones((1, 4)) + 0.1 * rng.normal(size=(n_groups, size, 4))
    b = (x + part) @ np.ones((1, 3)) + 0.1 * rng.normal(size=(n_groups, size, 3))
    return {"a": a.reshape(-1, 4), "b": b.reshape(-1, 3)}


@pytest.mark.long
def test_intervals_hold_for_other_groups():
    train, new, codes = grouped(10), grouped(60, seed=1), np.repeat(np.arange(10), 8)
    model = MRD(2, 12, search=Search(max_iter=60, n_restarts=1), random_state=0, signal_check="off")
    inside = {}
    for name, groups in (("alone", None), ("together", codes), ("carried", None)):
        given = Views(train, groups=codes) if name == "carried" else train
        fitted = clone(model).fit(given, groups=groups)
        mean, std = fitted.predict({"a": new["a"]}, "b", return_std=True)
        inside[name] = np.mean(np.abs(new["b"] - mean) < 1.645 * std)
    assert inside["carried"] == inside["together"]
    assert inside["alone"] < 0.7
    assert 0.8 < inside["together"] <= 1.0


def test_one_group_is_refused(data):
    with pytest.raises(DataError, match="one group"):
        MRD(1, 10).fit(part(data, slice(N)), groups=np.zeros(N))
    with pytest.raises(DataError, match="60 samples but 3 groups"):
        MRD(1, 10).fit(part(data, slice(N)), groups=[1, 2, 3])


def test_answers_do_not_depend_on_the_rows_beside(model, data):
    many = model.predict({"a": data["a"][N:]}, "b")
    np.testing.assert_allclose(model.predict({"a": data["a"][N : N + 1]}, "b"), many[:1], rtol=1e-5)


def test_known_values_of_the_target_count_for_more_than_a_line(model, data):
    rows = part(data, slice(N, None))
    rows["b"] = rows["b"].copy()
    rows["b"][:, 0] = np.nan
    with_some = model.predict(rows, "b")
    model.residual_link = False
    np.testing.assert_array_equal(with_some, model.predict(rows, "b"))
    model.residual_link = True


def test_missing_inputs_are_filled_by_the_model(model, data):
    holes = data["a"][N:].copy()
    holes[::3, 2] = np.nan
    assert np.isfinite(model.predict({"a": holes}, "b")).all()


def test_a_file_keeps_the_answers(model, data, tmp_path):
    model.save(tmp_path / "m.safetensors")
    loaded = manyviews.load(tmp_path / "m.safetensors")
    known = {"a": data["a"][N:]}
    np.testing.assert_allclose(loaded.predict(known, "b"), model.predict(known, "b"), rtol=1e-6)

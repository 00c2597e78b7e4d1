"""Shared and private latent points: what belongs to whom, and that parts add up."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import manyviews
from manyviews import Search
from manyviews.errors import NothingSharedWarning, OptionError
from manyviews.inference.bound import Model
from manyviews.inference.objective import Objective
from manyviews.kernels import Linear, Polynomial, Restricted, Sum
from manyviews.mappings import ExactGP, PrunedGP, make_outputs
from manyviews.points import SharedPrivateGPLVM, SubspaceGPLVM
from manyviews.points.divided import Division, divided_start
from manyviews.points.parts import parts_start, varimax


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    left = np.column_stack([x[:, 0], x[:, 1]]) @ rng.normal(size=(2, 4))
    right = np.column_stack([np.sin(x[:, 0]) * 1.5, x[:, 2]]) @ rng.normal(size=(2, 4))
    views = {"left": left, "right": right}
    return x, {k: v + 0.05 * rng.normal(size=v.shape) for k, v in views.items()}


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


@pytest.mark.parametrize("private", ["ncca", "pcca"])
def test_the_start_divides_shared_from_private(problem, private):
    x, views = problem
    tables = [v - v.mean(axis=0) for v in views.values()]
    X = divided_start(tables, Division(1, (1, 1)), ("left", "right"), private)
    assert correlation(X[:, 0], x[:, 0]) > 0.95
    if private == "ncca":
        assert correlation(X[:, 1], x[:, 1]) > 0.9
        assert correlation(X[:, 2], x[:, 2]) > 0.9


def test_division_numbers_the_dimensions():
    division = Division(2, (1, 3))
    assert division.shared == (0, 1)
    assert division.private(0) == (2,)
    assert division.private(1) == (3, 4, 5)
    assert division.total == 6


@pytest.mark.parametrize("options", [{}, pytest.param({"n_inducing": 25}, marks=pytest.mark.long)])
def test_subspace_finds_shared_and_private(problem, options, tmp_path):
    x, views = problem
    model = SubspaceGPLVM(
        1, {"left": 1, "right": 1}, search=Search(tol=1e-3), random_state=0, **options
    )
    model.fit(views)
    assert model.shared() == [0]
    assert model.private("left") == [1]
    assert model.private("right") == [2]
    assert correlation(model.latent_mean_[:, 0], x[:, 0]) > 0.9
    predicted = model.predict({"left": views["left"]}, "right")
    baseline = np.mean((views["right"] - views["right"].mean(axis=0)) ** 2)
    assert np.mean((predicted - views["right"]) ** 2) < baseline
    assert np.isfinite(model.score(views))
    assert (model.variance_explained()["total"] > 0.9).all()
    model.save(tmp_path / "model.safetensors")
    loaded = manyviews.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(views, "left"), model.predict(views, "left"))


def test_private_points_of_one_view_do_not_move_another(problem):
    _, views = problem
    model = SubspaceGPLVM(1, 1, search=Search(tol=1e-2), random_state=0).fit(views)
    X = np.zeros((2, 3))
    X[1, 2] = 1.5
    first, second = model.inverse_transform(X, "left")
    np.testing.assert_array_equal(first, second)
    assert np.abs(np.subtract(*model.inverse_transform(X, "right"))).max() > 0.1


@pytest.fixture(scope="module")
def subspace(problem):
    _, views = problem
    return SubspaceGPLVM(1, 1, search=Search(tol=1e-2), random_state=0).fit(views)


def test_private_dimensions_come_from_the_nearest_sample(subspace, problem):
    """[MRD21, Algorithm 1] with latent points."""
    _, views = problem
    new, X = {"left": views["left"][:5] + 0.1}, subspace.latent_mean_
    x = subspace.transform(new)
    np.testing.assert_allclose(x[:, 2], 0.0, atol=1e-2)  # "posterior": nothing is known of it
    near = np.abs(X[:, 0] - x[:, [0]]).argmin(axis=1)
    place = np.column_stack([x[:, :2], X[near, 2]])
    expected = subspace.inverse_transform(place, "right")
    found = subspace.predict(new, "right", private="nearest")
    np.testing.assert_allclose(found, expected, atol=1e-10)
    keep = subspace.relevance_.loc["left"].to_numpy()
    blended = subspace.inverse_transform(keep * x + (1 - keep) * X[near], "right")
    np.testing.assert_allclose(subspace.predict(new, "right", private="blend"), blended)
    rows = [subspace.scalings_[0].apply(new["left"]), np.full((5, 4), np.nan)]
    known, filled = (subspace.engine_.infer(rows, None, w, private="nearest") for w in ((), (1,)))
    np.testing.assert_array_equal(filled.covariance[:, :2, :2], known.covariance[:, :2, :2])
    assert not filled.covariance[:, 2].any()  # what is taken from a sample is taken as known
    with pytest.raises(OptionError, match="private must be one of"):
        subspace.predict(new, "right", private="best")


def test_private_dimensions_come_from_all_samples_that_are_near(subspace, problem):
    _, views = problem
    new, X = {"left": views["left"][:3] + 0.1}, subspace.latent_mean_
    x, spread = subspace.transform(new, return_std=True)
    width = spread[:, 0] ** 2 + (X[:, 0].std() * 60 ** (-1 / 5)) ** 2
    expected = np.zeros((3, 4))
    for n in range(3):
        w = np.exp(-0.5 * (x[n, 0] - X[:, 0]) ** 2 / width[n])
        near = np.argsort(-w)[:50]
        place = np.column_stack([np.tile(x[n, :2], (50, 1)), X[near, 2]])
        expected[n] = w[near] / w[near].sum() @ subspace.inverse_transform(place, "right")
    found, std = subspace.predict(new, "right", private="conditional", return_std=True)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    narrow = subspace.predict(new, "right", private="nearest", return_std=True)[1]
    assert (std.mean(axis=0) > narrow.mean(axis=0)).all()


def test_components_add_up_and_are_gp_regressions(problem, tmp_path):
    x, views = problem
    model = SharedPrivateGPLVM(1, 1, n_rounds=2, search=Search(tol=1e-3), random_state=0).fit(views)
    for place, name in enumerate(views):
        shared = model.component(name, "shared")
        private = model.component(name, "private")
        whole = model.inverse_transform(model.latent_mean_, name)
        np.testing.assert_allclose(model.scalings_[place].centre + shared + private, whole)
    posterior = model.engine_.posteriors[0]
    kernel, Z = posterior.kernel, posterior.Z
    K = np.asarray(kernel.gram(Z)) + float(posterior.noise) * np.eye(60)
    C = np.asarray(kernel.parts[0].gram(Z))
    mean, std = model.component("left", "shared", return_std=True)
    scale = model.scalings_[0].scale
    np.testing.assert_allclose(
        mean, C @ np.linalg.solve(K, model.engine_.data[0]) * scale, atol=1e-6
    )
    slow = np.sqrt(np.maximum(np.diagonal(C - C @ np.linalg.solve(K, C)), 0))
    np.testing.assert_allclose(std[:, 0], slow * scale[0], atol=1e-4)
    assert correlation(model.latent_mean_[:, 0], x[:, 0]) > 0.9
    assert (model.variance_explained()["total"] > 0.9).all()
    model.save(tmp_path / "model.safetensors")
    loaded = manyviews.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.component("left", "private"),
                                  model.component("left", "private"))  # fmt: skip


def test_linear_parts_are_pcca(problem):
    """[Leen08, §4.1]: with linear kernels K = XXᵀ + X_iX_iᵀ + noise."""
    _, views = problem
    Y = views["left"]
    X = np.random.default_rng(1).normal(size=(60, 2))
    kernel = Sum((Restricted(Linear(), (0,)), Restricted(Linear(), (1,))))
    K = ExactGP(kernel, 2, 0.3, jitter=0.0).covariance(jnp.asarray(X), jnp.ones(60))
    np.testing.assert_allclose(K, X @ X.T + 0.3 * np.eye(60), atol=1e-10)
    assert Y.shape == (60, 4)


def bars(seed, n=120):
    """6 x 6 images with a horizontal bar in both views and a vertical one in each; transposed."""
    rng = np.random.default_rng(seed)
    row, column = np.indices((6, 6)).reshape(2, 36)
    which = rng.integers(6, size=n)
    sides = [3 * half + rng.integers(3, size=n) for half in range(2)]
    views = [(row[:, None] == which) | (column[:, None] == side) for side in sides]
    truth = [np.eye(6)[row], np.eye(6)[column][:, :3], np.eye(6)[column][:, 3:]]
    return {k: v.astype(float) for k, v in zip(("left", "right"), views, strict=True)}, truth


def match(found, truth):
    """Correlation of every true part with the found one that is matched to it."""
    both = np.corrcoef(found.T, truth.T)[: found.shape[1], found.shape[1] :]
    return both[linear_sum_assignment(-both)]


def test_varimax_undoes_a_rotation():
    rng = np.random.default_rng(0)
    parts = np.eye(4)[rng.integers(4, size=50)]
    Q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    R = varimax(parts @ Q)
    np.testing.assert_allclose(R @ R.T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.abs(Q @ R).max(axis=0), 1.0, atol=1e-6)


def test_a_start_by_parts_finds_bars_and_keeps_spare_dimensions_small():
    views, truth = bars(0)
    X = parts_start(list(views.values()), Division(6, (3, 3)), tuple(views))
    for columns, part in zip(np.split(X, [6, 9], axis=1), truth, strict=True):
        assert match(columns, part).min() > 0.9
    X = parts_start(list(views.values()), Division(9, (3, 3)), tuple(views))
    assert np.sort(np.ptp(X[:, :9], axis=0))[:3].max() < 0.5
    for columns, part in zip(np.split(X, [9, 12], axis=1), truth, strict=True):
        assert match(columns, part).min() > 0.9
    with pytest.raises(OptionError, match="private dimensions"):
        parts_start(list(views.values()), Division(1, (40, 1)), tuple(views))


@pytest.mark.long
def test_bars_are_found_and_spare_images_pruned():
    """[Leen08, §4.4] in small: every latent image is a bar,
    and weights of spare ones go to zero.
    """
    views, truth = bars(1)
    model = SharedPrivateGPLVM(
        8,
        3,
        bounded=True,
        init="parts",
        ard_prior=0.05,
        search=Search(max_iter=400, tol=1e-4),
        random_state=0,
    ).fit(views)
    X = model.latent_mean_
    for columns, part in zip(np.split(X, [8, 11], axis=1), truth, strict=True):
        assert match(columns, part).min() > 0.8
    for shared, _ in model.weights_.values():
        assert (shared > 0.01 * shared.max()).sum() == 6


def test_a_view_that_shares_nothing_is_named():
    rng = np.random.default_rng(0)
    shared, own = rng.normal(size=(40, 1)), rng.normal(size=(40, 1))
    left = shared @ rng.normal(size=(1, 3)) + 0.05 * rng.normal(size=(40, 3))
    right = own @ rng.normal(size=(1, 3)) + 0.05 * rng.normal(size=(40, 3))
    X = np.concatenate([shared, rng.normal(size=(40, 1)), own], axis=1)
    kernel, search = Polynomial(1, 1.0, 0.1), Search(tol=1e-3)
    model = SharedPrivateGPLVM(
        1, 1, kernel=kernel, init=X, search=search, ard_prior=0.3, random_state=0
    )
    with pytest.warns(NothingSharedWarning, match="'right' does not use"):
        model.fit({"left": left, "right": right})


def test_two_blocks_hold_each_other(problem):
    _, views = problem
    division = Division(1, (1, 1))
    kernels = [
        Sum(tuple(Restricted(Polynomial(), own) for own in (division.shared, division.private(v))))
        for v in range(2)
    ]
    X = np.random.default_rng(0).normal(size=(60, 3))
    processes = [ExactGP(kernel, 3, 0.1) for kernel in kernels]
    model = Model(division.points(X), tuple(PrunedGP(each, 1.0) for each in processes))
    outputs = tuple(make_outputs(v - v.mean(axis=0)) for v in views.values())
    objective = Objective(model, outputs)
    from manyviews.points.shared_private import PRIVATE_BLOCK, SHARED_BLOCK

    masks = (objective.mask(*SHARED_BLOCK), objective.mask(*PRIVATE_BLOCK))
    shared, private = (objective.flat(mask) for mask in masks)
    noise = 2  # free in both
    assert ((shared + private) >= 1).all()
    assert int((shared + private == 2).sum()) == noise
    _, gradient = objective(objective.start)
    direction = np.random.default_rng(1).normal(size=gradient.size)
    ends = [objective(objective.start + s * 1e-5 * direction)[0] for s in (1, -1)]
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(float(gradient @ direction), rel=1e-5)


def test_bounded_points_stay_in_the_unit_interval(problem):
    _, views = problem
    model = SharedPrivateGPLVM(
        1, 1, bounded=True, n_rounds=1, search=Search(tol=1e-3), random_state=0
    ).fit(views)
    assert model.latent_mean_.min() > 0
    assert model.latent_mean_.max() < 1
    assert np.isfinite(model.transform({"left": views["left"][:3]})).all()


def test_bad_options(problem):
    _, views = problem
    with pytest.raises(OptionError, match="more than view 'left'"):
        SubspaceGPLVM(1, {"left": 5}).fit(views)
    with pytest.raises(OptionError, match="SubspaceGPLVM for none"):
        SharedPrivateGPLVM(1, 0).fit(views)
    with pytest.raises(OptionError, match="names the view 'middle'"):
        SubspaceGPLVM(1, {"middle": 1}).fit(views)
    model = SharedPrivateGPLVM(1, 1, n_rounds=0, search=Search(tol=1e-1), random_state=0).fit(views)
    with pytest.raises(OptionError, match="part must be"):
        model.component("left", "both")


@pytest.mark.long
def test_a_report_can_be_written(problem, tmp_path):
    from manyviews.report import write_report

    _, views = problem
    model = SubspaceGPLVM(1, 1, search=Search(tol=1e-1), random_state=0).fit(
        {k: v[:50] for k, v in views.items()}
    )
    held_out = {k: v[50:] for k, v in views.items()}
    write_report(model, tmp_path / "report.html", held_out=held_out)
    assert (tmp_path / "report.html").stat().st_size > 50_000

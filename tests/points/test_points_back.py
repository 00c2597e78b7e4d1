"""Back-constraints of the shared GP-LVM: points as a function of one view, or of several."""

import numpy as np
import pytest
from test_points_divided import correlation

import manyviews
from manyviews import Search
from manyviews.errors import DataError, OptionError
from manyviews.points import SharedGPLVM

RIDGE = 1e-2


@pytest.fixture(scope="module")
def problem():
    """The wide view varies by x and z, the narrow one by x alone."""
    rng = np.random.default_rng(0)
    x, z = rng.uniform(-2, 2, size=(2, 60))
    narrow = np.column_stack([np.sin(x), x, np.cos(x)])
    wide = np.column_stack([x, z, x + z, z - x]) @ rng.normal(size=(4, 4))
    views = {"wide": wide, "narrow": narrow}
    return x, z, {k: v + 0.05 * rng.normal(size=v.shape) for k, v in views.items()}


@pytest.fixture(scope="module")
def fitted(problem):
    _, _, views = problem
    model = SharedGPLVM(
        2, back_constraint={"narrow": "gp"}, search=Search(tol=1e-3), random_state=0
    )
    return model.fit(views)


def features(new, train, share=0.5):
    """The GP's mean by explicit distances and an inverse."""
    apart = np.linalg.norm(train[:, None] - train, axis=2)
    length = share * np.median(apart[np.triu_indices(len(train), 1)])
    K = np.exp(-0.5 * (apart / length) ** 2) + RIDGE * np.eye(len(train))
    k = np.exp(-0.5 * (np.linalg.norm(new[:, None] - train, axis=2) / length) ** 2)
    return k @ np.linalg.inv(K)


def test_points_are_the_function_of_the_view_named(fitted, problem):
    _, _, views = problem
    scaled = fitted.scalings_[1].apply(views["narrow"])
    targets = np.asarray(fitted.engine_.model.latent.weights.value)
    np.testing.assert_allclose(fitted.latent_mean_, features(scaled, scaled) @ targets, atol=1e-8)
    new = views["narrow"][:4] + 0.1
    expected = features(fitted.scalings_[1].apply(new), scaled) @ targets
    np.testing.assert_allclose(fitted.transform({"narrow": new}), expected, atol=1e-8)
    both = {"narrow": new, "wide": views["wide"][:4]}
    np.testing.assert_allclose(fitted.transform(both), expected, atol=1e-8)


def test_what_the_view_does_not_tell_apart_is_not_in_the_points(fitted, problem):
    """[MRD21, figure 3c]: the other view is explained without what is private to it."""
    x, z, views = problem
    free = SharedGPLVM(2, search=Search(tol=1e-3), random_state=0).fit(views)

    def explained(points, truth):
        """Share of the truth's variance that the nearest other point tells."""
        apart = np.linalg.norm(points[:, None] - points, axis=2) + 1e9 * np.eye(len(points))
        return 1.0 - np.mean((truth[apart.argmin(axis=1)] - truth) ** 2) / (2.0 * truth.var())

    assert explained(fitted.latent_mean_, x) > 0.9
    assert explained(fitted.latent_mean_, z) < 0.5 < explained(free.latent_mean_, z)


def test_a_row_without_the_view_is_searched_for(fitted, problem, tmp_path):
    x, _, views = problem
    rows = {"wide": views["wide"][:8], "narrow": views["narrow"][:8].copy()}
    rows["narrow"][:3] = np.nan
    found, std = fitted.transform(rows, return_std=True)
    assert (std[:3] > 0).all()
    assert not std[3:].any()
    predicted = fitted.predict({"wide": views["wide"]}, "narrow")
    assert correlation(predicted[:, 1], x) > 0.9
    fitted.save(tmp_path / "model.safetensors")
    loaded = manyviews.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.transform(rows), found)


def test_a_function_of_all_views_sees_them_alike(problem):
    _, _, views = problem
    model = SharedGPLVM(2, back_constraint="kernel", search=Search(tol=1e-2), random_state=0)
    model.fit(views)
    back = model.engine_.back
    sizes = [np.sum(part**2) for part in np.split(back.rows, [4], axis=1)]
    assert sizes[0] == pytest.approx(sizes[1])
    np.testing.assert_allclose(model.transform(views), model.latent_mean_, atol=1e-8)


@pytest.mark.parametrize(
    ("constraint", "problem_in_words"),
    [
        ({"wide": "gp", "narrow": "kernel"}, "one kind"),
        ({"wide": "linear"}, "must be one of"),
        ({"middle": "gp"}, "names the view 'middle'"),
        ("linear", "back_constraint"),
    ],
)
def test_bad_constraints_are_said_plainly(problem, constraint, problem_in_words):
    _, _, views = problem
    with pytest.raises(OptionError, match=problem_in_words):
        SharedGPLVM(2, back_constraint=constraint).fit(views)


def test_samples_without_the_view_and_paths_are_refused(problem):
    _, _, views = problem
    holey = {k: v.copy() for k, v in views.items()}
    holey["narrow"][[2, 5]] = np.nan
    with pytest.raises(DataError, match=r"2 samples lack \['narrow'\]"):
        SharedGPLVM(2, back_constraint={"narrow": "gp"}).fit(holey)
    with pytest.raises(OptionError, match="not both"):
        SharedGPLVM(2, back_constraint="gp").fit(views, times=np.arange(60))

import json

import equinox as eqx
import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import manyviews
from manyviews import MRD, BayesianGPLVM, Search, kernels
from manyviews.errors import DataError, LowSignalError, OptionError
from manyviews.inference.batching import map_alike
from manyviews.inference.bound import Model, evidence_bound
from manyviews.inference.initialise import compact_view, joint_means, share_out
from manyviews.inference.objective import Objective
from manyviews.latent import StandardNormal
from manyviews.mappings import CollapsedGP, make_outputs

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")

TABLE = {
    "n_inducing": 20,
    "kernel": "rbf",
    "scaling": "view",
    "search": Search(max_iter=150),
    "random_state": 0,
}
FAST = {**TABLE, "residual_link": False}
ONCE = {**FAST, "search": Search(max_iter=150, n_restarts=1)}


def signals(n=80, seed=0):
    """Two views of 6 and 5 columns: one signal shared, one private to each."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    left = np.tanh(x[:, [0, 1]]) @ rng.standard_normal((2, 6)) + 0.05 * rng.standard_normal((n, 6))
    right = np.tanh(x[:, [0, 2]]) @ rng.standard_normal((2, 5)) + 0.05 * rng.standard_normal((n, 5))
    return {"left": 3.0 + 2.0 * left, "right": 10.0 * right}, x


@pytest.fixture(scope="module")
def data():
    return signals()


@pytest.fixture(scope="module")
def model(data):
    return MRD(6, **FAST).fit({name: view[:60] for name, view in data[0].items()})


# ---------------------------------------------------------------------- the bound


def random_model(rng, n_views, N=12, M=5, Q=2):
    latent = StandardNormal(rng.standard_normal((N, Q)), rng.uniform(0.1, 0.5, (N, Q)))
    views = []
    for _ in range(n_views):
        kernel = kernels.RBF(rng.uniform(0.5, 2), rng.uniform(0.5, 2, Q))
        views.append(CollapsedGP(kernel, rng.standard_normal((M, Q)), rng.uniform(0.05, 0.5)))
    return Model(latent, tuple(views))


@pytest.mark.parametrize("n_views", [1, 2, 5])
def test_the_bound_is_the_sum_of_the_views_less_one_kl(rng, n_views):
    model = random_model(rng, n_views)
    outputs = tuple(make_outputs(rng.standard_normal((12, 3))) for _ in range(n_views))
    found = jax.jit(evidence_bound)(model, outputs)
    q = model.latent.marginals()
    alone = [
        float(v.expected_log_likelihood(q, y).value)
        for v, y in zip(model.views, outputs, strict=True)
    ]
    np.testing.assert_allclose(found.views, alone, rtol=1e-10)
    np.testing.assert_allclose(found.total, sum(alone) - float(model.latent.kl()), rtol=1e-10)


@pytest.mark.long
def test_views_of_different_shapes_are_batched_by_kind(rng):
    model = random_model(rng, 7)
    widths = [1, 3, 1, 1, 3, 3, 2]
    outputs = tuple(make_outputs(rng.standard_normal((12, d))) for d in widths)
    gradient = eqx.filter_grad(lambda m: evidence_bound(m, outputs).total)(model)
    q = model.latent.marginals()
    for k, (view, y) in enumerate(zip(model.views, outputs, strict=True)):
        one = eqx.filter_grad(lambda v, y=y: v.expected_log_likelihood(q, y).value)(view)
        found = gradient.views[k]
        np.testing.assert_allclose(found.inducing.raw, one.inducing.raw, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.noise.raw, one.noise.raw, rtol=1e-8)


def test_dozens_of_views_are_one_piece_of_program(rng):
    def size(n_views):
        model = random_model(rng, n_views)
        outputs = tuple(make_outputs(rng.standard_normal((12, 1))) for _ in range(n_views))
        return str(jax.make_jaxpr(lambda m: evidence_bound(m, outputs).total)(model)).count(
            "cholesky"
        )

    assert size(40) == size(4)


def test_map_alike_keeps_the_order(rng):
    items = [np.full(n, float(i)) for i, n in enumerate([2, 3, 2, 2, 3, 2])]
    results = map_alike(lambda a: a.sum(), [jax.numpy.asarray(i) for i in items], entries=1)
    np.testing.assert_allclose(results, [i.sum() for i in items])


def test_one_view_is_the_bayesian_gplvm(data):
    Y = data[0]["left"]
    once = Search(max_iter=150, n_restarts=1, tol=1e-5)  # MRD's own tolerance is another
    one = MRD(3, **{**TABLE, "search": once}).fit(Y)
    other = BayesianGPLVM(3, **{**TABLE, "search": once}).fit(Y)
    assert one.view_names_ == ("X",)
    np.testing.assert_allclose(one.lower_bound_, other.lower_bound_, rtol=1e-6)
    np.testing.assert_allclose(
        one.score_samples(Y[:5]), other.score_samples(Y[:5]), rtol=1e-5, atol=1e-5
    )


def test_a_missing_row_leaves_its_view_and_nothing_else(rng):
    model = random_model(rng, 2)
    Y = [rng.standard_normal((12, 3)), rng.standard_normal((12, 2))]
    Y[1][3:6] = np.nan
    q = model.latent.marginals()
    found = model.views[1].expected_log_likelihood(q, make_outputs(Y[1])).value
    seen = np.r_[0:3, 6:12]
    expected = model.views[1].expected_log_likelihood(q[seen], make_outputs(Y[1][seen])).value
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.long
def test_sixty_views_do_not_wait_for_one_another(rng):
    """Batched LAPACK calls of jaxlib 0.10 did, for ever, on a machine of two cores."""
    model = random_model(rng, 57, N=40, M=20)
    outputs = tuple(make_outputs(rng.standard_normal((40, 1))) for _ in range(57))
    objective = Objective(model, outputs)
    values = {objective(objective.start)[0] for _ in range(5)}
    assert len(values) == 1
    assert np.isfinite(values.pop())


# ---------------------------------------------------------------------- starts


def test_separate_start_gives_every_view_its_share(data):
    views = list(data[0].values())
    assert share_out(5, views) == [3, 2]
    assert share_out(20, views) == [6, 5]
    means = joint_means(views, 4, "separate", np.random.default_rng(0))
    alone = joint_means(views[:1], 2, "ppca", np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(means[:, :2]), np.abs(alone), atol=1e-8)
    np.testing.assert_allclose(means.std(axis=0), 1.0)


def test_concatenated_start_is_not_ruled_by_the_widest_view(rng):
    x = rng.standard_normal((50, 2))
    wide = x[:, :1] @ np.ones((1, 400)) + 0.5 * rng.standard_normal((50, 400))
    narrow = x[:, 1:] @ np.ones((1, 2)) + 0.1 * rng.standard_normal((50, 2))
    means = joint_means([wide, narrow], 2, "concatenated", rng)
    centred = x - x.mean(axis=0)
    left = centred - means @ np.linalg.lstsq(means, centred, rcond=None)[0]
    assert (left.var(axis=0) < 0.05 * x.var(axis=0)).all()


def test_a_compact_view_has_the_same_distances(rng):
    Y = rng.standard_normal((10, 50))
    Y[3] = np.nan
    compact = compact_view(Y)
    assert compact.shape == (10, 9)
    assert np.isnan(compact[3]).all()
    keep = np.arange(10) != 3
    np.testing.assert_allclose(Y[keep] @ Y[keep].T, compact[keep] @ compact[keep].T)


# ---------------------------------------------------------------------- who uses what


def test_the_pattern_is_found(model, data):
    x = data[1][:60]
    parts = model.segment("left", "right")
    assert len(parts.shared) == len(parts.private_a) == len(parts.private_b) == 1
    assert len(parts.off) == 3
    for dims, signal in zip((parts.shared, parts.private_a, parts.private_b), x.T, strict=True):
        found = np.corrcoef(model.latent_mean_[:, dims[0]], signal)[0, 1]
        assert abs(found) > 0.9
    assert model.shared() == parts.shared
    assert model.private("left") == parts.private_a
    assert model.private(["left", "right"]) == sorted(
        parts.shared + parts.private_a + parts.private_b
    )
    assert model.n_active_ == 3


def test_relevance_and_posterior_are_frames(model):
    assert list(model.relevance_.index) == ["left", "right"]
    np.testing.assert_allclose(model.relevance_.max(axis=1), 1.0)
    latent = model.latent_posterior()
    assert latent.shape == (60, 12)
    np.testing.assert_array_equal(latent["mean"], model.latent_mean_)


def test_variance_explained_follows_the_segmentation(model):
    parts = model.segment("left", "right")
    for kind in ("lost", "alone"):
        shares = model.variance_explained(kind)
        assert (shares["total"] > 0.95).all()
        assert abs(shares.loc["right", parts.private_a[0]]) < 0.02
        assert shares.loc["left", parts.private_a[0]] > 0.05
        assert (shares.loc[:, parts.shared[0]] > 0.05).all()
    with pytest.raises(OptionError, match="kind"):
        model.variance_explained("both")


def test_linear_variance_explained_adds_up_and_sensitivity_is_the_loading(rng):
    x = rng.standard_normal((200, 2))
    x = np.linalg.qr(x - x.mean(axis=0))[0] * np.sqrt(200)
    W = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
    Y = x @ W + 0.05 * rng.standard_normal((200, 3))
    model = MRD(3, **{**FAST, "kernel": "linear", "scaling": "none"}).fit({"only": Y})
    lost, alone = model.variance_explained(), model.variance_explained("alone")
    np.testing.assert_allclose(lost.drop(columns="total"), alone.drop(columns="total"), atol=0.02)
    np.testing.assert_allclose(lost.drop(columns="total").sum(axis=1), lost["total"], atol=0.03)
    slopes = model.sensitivity("only").to_numpy()
    np.testing.assert_allclose((slopes**2).sum(axis=1), (W**2).sum(axis=0), rtol=0.05)


# ---------------------------------------------------------------------- new samples


def test_one_view_from_another_beats_the_mean(model, data):
    new = {name: view[60:] for name, view in data[0].items()}
    mean, std = model.predict({"left": new["left"]}, "right", return_std=True)
    trained = data[0]["right"][:60]
    plain = np.mean((new["right"] - trained.mean(axis=0)) ** 2)
    assert np.mean((new["right"] - mean) ** 2) < 0.8 * plain
    held = np.abs(new["right"] - mean) < 1.645 * std
    assert 0.75 < held.mean() <= 1.0
    both = model.predict(new, ["left", "right"])
    assert np.mean((both["left"] - new["left"]) ** 2) < 0.05 * new["left"].var()


@pytest.mark.long
def test_covariance_and_samples_agree_with_the_moments(model, data):
    known = {"left": data[0]["left"][60:63]}
    mean, std = model.predict(known, "right", return_std=True)
    same, cov = model.predict(known, "right", return_cov=True)
    np.testing.assert_allclose(mean, same)
    np.testing.assert_allclose(np.sqrt(np.diagonal(cov, axis1=1, axis2=2)), std, rtol=1e-5)
    draws = model.predict(known, "right", n_samples=4000, random_state=0)
    assert draws.shape == (4000, 3, 5)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.1 * std.max())
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.1)
    with pytest.raises(OptionError, match="not for both"):
        model.predict(known, "right", n_samples=3, return_std=True)


@pytest.mark.long
def test_draws_of_two_views_come_from_one_latent_point(model):
    drawn = model.sample(400, random_state=0)
    codes = model.transform({"left": drawn["left"]}), model.transform({"right": drawn["right"]})
    (shared,) = model.shared()
    assert abs(np.corrcoef(codes[0][:, shared], codes[1][:, shared])[0, 1]) > 0.7


@pytest.mark.parametrize("private", ["posterior", "nearest", "blend", "conditional"])
@pytest.mark.parametrize("n_modes", [1, 3])
def test_every_treatment_of_private_dimensions(model, data, private, n_modes):
    known = {"left": data[0]["left"][60:70]}
    options = {"private": private, "n_modes": n_modes}
    mean, std = model.predict(known, "right", return_std=True, **options)
    assert mean.shape == std.shape == (10, 5)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    draws = model.predict(known, "right", n_samples=2000, random_state=1, **options)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.15 * std.max())
    modes = model.predict_modes(known, "right", **options)
    np.testing.assert_allclose(modes.weights.sum(axis=1), 1.0)
    together = np.einsum("ns,nsd->nd", modes.weights, modes.means)
    np.testing.assert_allclose(together, mean, rtol=1e-6, atol=1e-8)


def test_known_private_dimensions_sharpen_the_answer(model, data):
    known = {"left": data[0]["left"][60:]}
    _, prior = model.predict(known, "right", return_std=True)
    _, near = model.predict(known, "right", return_std=True, private="nearest")
    assert near.mean() < 0.7 * prior.mean()


def test_less_evidence_makes_positions_less_certain(model, data):
    known = {"left": data[0]["left"][60:]}
    doubtful = clone(model).set_params(evidence_power=0.05)
    doubtful.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_")})
    _, sure = model.transform(known, return_std=True)
    _, unsure = doubtful.transform(known, return_std=True)
    (shared,) = model.shared()
    assert unsure[:, shared].mean() > 2 * sure[:, shared].mean()
    np.testing.assert_allclose(doubtful.score_samples(known), model.score_samples(known), rtol=1e-6)
    doubtful.evidence_power = {"left": 1.5}
    with pytest.raises(OptionError, match="evidence_power"):
        doubtful.transform(known)


def test_modes_are_weighted_and_sorted(model, data):
    modes = model.predict_modes({"left": data[0]["left"][60:65]}, "right", n_modes=4)
    np.testing.assert_allclose(modes.weights.sum(axis=1), 1.0)
    assert (np.diff(modes.weights, axis=1) <= 1e-12).all()
    assert modes.means.shape == modes.stds.shape == (5, 4, 5)


@pytest.mark.long
def test_an_ambiguous_view_has_two_modes():
    """Seen through x², the sign of x is lost; the other view shows it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 120)
    seen = np.stack([x**2, np.abs(x) ** 1.5], axis=1) + 0.02 * rng.standard_normal((120, 2))
    other = np.stack([x, x**3 / 4], axis=1) + 0.02 * rng.standard_normal((120, 2))
    model = MRD(2, n_inducing=30, random_state=0, init=np.stack([x, rng.standard_normal(120)], 1))
    model.fit({"seen": seen, "other": other})
    modes = model.predict_modes({"seen": np.array([[2.25, 1.5**1.5]])}, "other", n_modes=8)
    likely = modes.means[0, modes.weights[0] > 0.1, 0]
    assert likely.min() < -1.0
    assert likely.max() > 1.0
    _, std = model.predict({"seen": [[2.25, 1.5**1.5]]}, "other", n_modes=8, return_std=True)
    assert std[0, 0] > 1.0


def test_correspondences(model, data):
    index, distance = model.correspondences({"left": data[0]["left"][:10]}, "right", k=4)
    assert index.shape == distance.shape == (10, 4)
    assert (np.diff(distance, axis=1) >= 0).all()
    shared = data[1][:60, 0]
    near = np.abs(shared[index.astype(int)] - shared[:10, None]).mean()
    assert near < 0.3 * np.abs(shared[:, None] - shared).mean()
    own, _ = model.correspondences(to="right", k=1)
    np.testing.assert_array_equal(own[:, 0], np.arange(60))
    with pytest.raises(OptionError, match="to="):
        model.correspondences()


# ---------------------------------------------------------------------- generation


def test_traversal_moves_what_the_dimension_moves(model):
    parts = model.segment("left", "right")
    along = model.traverse(parts.private_a[0], steps=7)
    assert along["left"].shape == (7, 6)
    assert along["left"].std(axis=0).max() > 0.5
    assert along["right"].std(axis=0).max() < 0.05 * along["right"].std()
    one = model.traverse(parts.shared[0], "left", at=3, span=0.0, steps=3)
    np.testing.assert_allclose(one[0], one[2])
    with pytest.raises(OptionError, match="dimension must be from 0 to 5"):
        model.traverse(6)
    with pytest.raises(DataError, match="no training sample 'ada'"):
        model.traverse(0, at="ada")


def test_interpolation_ends_at_its_samples(model):
    path = model.interpolate(3, 8, "left", steps=5)
    ends = model.inverse_transform(model.latent_mean_[[3, 8]], "left")
    np.testing.assert_allclose(path[[0, -1]], ends)
    shared = model.shared()
    some = model.interpolate(3, 8, "right", steps=2, dimensions=shared)
    x = model.latent_mean_[3].copy()
    x[shared] = model.latent_mean_[8][shared]
    np.testing.assert_allclose(some[1], model.inverse_transform(x[None], "right")[0])


def test_private_samples_share_what_is_shared(model):
    drawn = model.sample_private("right", at=5, n_samples=200, random_state=0)
    x = model.transform({"right": drawn})
    (shared,), (private,) = model.shared(), model.private("right")
    assert x[:, shared].std() < 0.3 * model.latent_mean_[:, shared].std()
    assert x[:, private].std() > 0.5 * model.latent_mean_[:, private].std()


# ---------------------------------------------------------------------- missing data and names


def test_missing_views_values_and_samples_in_any_combination(data):
    views, _ = data
    rng = np.random.default_rng(1)
    names = [f"s{i}" for i in range(80)]
    left = pd.DataFrame(views["left"], index=names).iloc[:70]
    right = pd.DataFrame(views["right"], index=names, columns=list("abcde")).iloc[10:]
    holes = rng.uniform(size=left.shape) < 0.1
    holes[:, 0] = False
    model = MRD(5, **FAST).fit({"left": left.mask(holes), "right": right})
    assert model.samples_ == [*names[:70], *names[70:]]
    filled, std = model.impute(return_std=True)
    assert filled["left"].shape == (80, 6)
    assert filled["right"].isna().sum().sum() == 0
    truth = pd.DataFrame(views["left"], index=names)
    missing = (std["left"] > 0).to_numpy()
    assert missing.sum() == holes.sum() + 60
    np.testing.assert_allclose(filled["left"].to_numpy()[~missing], truth.to_numpy()[~missing])
    inside = missing.copy()
    inside[70:] = False
    error = (filled["left"] - truth).to_numpy()[inside]
    assert np.mean(error**2) < 0.3 * truth.to_numpy()[inside].var()
    new = {"left": left.iloc[:4].mask(holes[:4]), "right": right.iloc[:2].rename(index=str.upper)}
    answer = model.predict(new, "right")
    assert list(answer.index) == ["s0", "s1", "s2", "s3", "S10", "S11"]
    assert list(answer.columns) == list("abcde")
    assert np.isfinite(model.score_samples(new)).all()


@pytest.mark.long
def test_columns_as_views(data):
    views, _ = data
    model = MRD.per_column(
        4, n_inducing=15, search=Search(max_iter=60), random_state=0, signal_check="off"
    )
    table = pd.DataFrame(views["left"], columns=list("uvwxyz"))
    model.fit(table)
    assert model.relevance_.shape == (6, 4)
    assert list(model.relevance_.index) == list("uvwxyz")
    partly = table.iloc[:5].assign(w=np.nan)
    answer = model.predict(partly, "w")
    assert np.mean((answer["w"] - table["w"][:5]) ** 2) < 0.3 * table["w"].var()


def test_views_are_clustered_by_what_moves_them(model):
    found = model.cluster_views(2)
    assert list(found.index) == ["left", "right"]
    assert sorted(found) == [0, 1]
    table = pd.DataFrame({"a": [1.0, 1.0], "b": [0.0, 0.0]}, index=["right", "left"])
    assert model.cluster_views(1, by=table).to_dict() == {"left": 0, "right": 0}
    assert model.cluster_views(1, by="variance", groups=["both", "both"]).to_dict() == {"both": 0}
    with pytest.raises(OptionError, match="by must be"):
        model.cluster_views(2, by="noise")
    with pytest.raises(OptionError, match="lacks the view 'left'"):
        model.cluster_views(2, by=table.iloc[:1])


def test_options_by_view(data):
    model = MRD(
        4, {"left": 12}, kernel={"right": "linear + bias"}, scaling={"left": "column"},
        search=Search(max_iter=20), random_state=0, signal_check="off",
    ).fit(data[0])  # fmt: skip
    left, right = model.engine_.model.views
    assert left.inducing.raw.shape == (12, 4)
    assert right.inducing.raw.shape == (50, 4)
    assert [type(k) for k in left.kernel.parts] == [kernels.RBF, kernels.Linear]
    assert isinstance(right.kernel, kernels.Sum)
    assert len(set(model.scalings_[0].scale)) == 6
    assert len(set(model.scalings_[1].scale)) == 1
    with pytest.raises(OptionError, match="kernel names the view 'middle'"):
        MRD(kernel={"middle": "rbf"}).fit(data[0])


@pytest.mark.long
def test_wide_views_cost_their_samples(data):
    rng = np.random.default_rng(0)
    x = data[1][:40]
    wide = np.tanh(x[:, :2]) @ rng.standard_normal((2, 20_000))
    model = MRD(4, n_inducing=15, search=Search(max_iter=50), random_state=0, signal_check="off")
    model.fit({"wide": wide, "narrow": data[0]["left"][:40]})
    assert model.predict({"narrow": data[0]["left"][40:42]}, "wide").shape == (2, 20_000)
    with pytest.raises(OptionError, match="does not fit into memory"):
        model.predict({"narrow": data[0]["left"][40:42]}, "wide", return_cov=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: {**v, "left": np.where(v["left"] > 5, np.inf, v["left"])}, "'left'.*infinity"),
        (lambda v: {k: np.vstack([t, np.full(t.shape[1], np.nan)]) for k, t in v.items()},
         "sample 80 has no value in any view"),
        (lambda v: {k: t[:2] for k, t in v.items()}, "at least 3 samples"),
        (lambda v: {**v, "flat": np.ones((80, 2))}, "every column of view 'flat' is constant"),
    ],
)  # fmt: skip
def test_bad_data_are_named(data, change, message):
    with pytest.raises(DataError, match=message):
        MRD(3, **FAST).fit(change(data[0]))


def test_bad_questions_are_named(model, data):
    with pytest.raises(OptionError, match="no view 'middle'"):
        model.predict(data[0], "middle")
    with pytest.raises(OptionError, match="private must be one of"):
        model.predict({"left": data[0]["left"][:2]}, "right", private="guess")
    with pytest.raises(OptionError, match="n_modes"):
        model.predict({"left": data[0]["left"][:2]}, "right", n_modes=0)
    with pytest.raises(OptionError, match="n_inducing=90 is more than the 80 samples"):
        MRD(3, 90).fit(data[0])
    with pytest.raises(ValueError, match="'init' parameter"):
        MRD(3, init="pcca").fit(data[0])


def test_noise_is_refused_if_asked(data):
    noisy = {**data[0], "noise": np.random.default_rng(0).standard_normal((80, 30))}
    with pytest.raises(LowSignalError, match="'noise'"):
        MRD(4, signal_check="error", **FAST).fit(noisy)


def test_clone_and_parameters():
    model = MRD(3, 10, kernel={"a": "linear"}, init="separate")
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "engine_")


def test_file_round_trip(model, data, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = manyviews.load(path)
    known = {"left": data[0]["left"][60:]}
    np.testing.assert_array_equal(again.predict(known, "right"), model.predict(known, "right"))
    pd.testing.assert_frame_equal(again.relevance_, model.relevance_)
    assert again.get_params() == model.get_params()
    assert json.dumps(again.samples_) == json.dumps(model.samples_)


def test_samples_named_by_days_survive_a_file(data, tmp_path):
    days = pd.date_range("2026-01-01", periods=80)
    views = {name: pd.DataFrame(view, index=days) for name, view in data[0].items()}
    brief = Search(max_iter=10, n_restarts=1)
    options = {"n_inducing": 10, "search": brief, "signal_check": "off"}
    model = MRD(3, random_state=0, **options).fit(views)
    model.save(tmp_path / "days.safetensors")
    again = manyviews.load(tmp_path / "days.safetensors")
    assert again.samples_ == model.samples_
    np.testing.assert_array_equal(
        again.traverse(0, "left", at=days[3]), model.traverse(0, "left", at=days[3])
    )


def test_same_seed_same_result(data):
    a, b = (MRD(4, 10, search=Search(max_iter=20), random_state=3, signal_check="off").fit(data[0])
            for _ in range(2))  # fmt: skip
    np.testing.assert_array_equal(a.latent_mean_, b.latent_mean_)

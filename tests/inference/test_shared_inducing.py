"""One Z for all views: the bound and gradient of a model whose views happen to have equal Z."""

import equinox as eqx
import jax
import numpy as np
import pytest

import manyviews
from manyviews import MRD, Search, kernels
from manyviews.errors import OptionError
from manyviews.inference.bound import Model, dimension_weights, evidence_bound
from manyviews.inference.objective import Objective
from manyviews.inference.shared_inducing import with_shared_inducing
from manyviews.latent import StandardNormal
from manyviews.mappings import CollapsedGP, make_outputs
from manyviews.parameters import named_parameters

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
N, M, Q, WIDTHS = 12, 5, 2, (3, 1, 2)


@pytest.fixture(scope="module")
def plain():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((M, Q))
    views = tuple(
        CollapsedGP(kernels.RBF(1.5, rng.uniform(0.5, 2.0, Q)), Z, rng.uniform(0.05, 0.5))
        for _ in WIDTHS
    )
    return Model(StandardNormal(rng.standard_normal((N, Q)), 0.2 * np.ones((N, Q))), views)


@pytest.fixture(scope="module")
def outputs():
    rng = np.random.default_rng(1)
    return tuple(make_outputs(rng.standard_normal((N, width))) for width in WIDTHS)


def test_it_stands_once_and_its_gradient_is_the_sum_over_views(plain, outputs):
    shared = with_shared_inducing(plain)
    names = [name for name, _ in named_parameters(shared) if name.endswith("inducing")]
    assert names == ["inducing"]
    both = jax.jit(lambda m: evidence_bound(m, outputs))
    for found, expected in zip(both(shared), both(plain), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(dimension_weights(shared), dimension_weights(plain))
    slope, parts = (
        eqx.filter_jit(eqx.filter_grad(lambda m: evidence_bound(m, outputs).total))(m)
        for m in (shared, plain)
    )
    total = sum(view.inducing.raw for view in parts.views)
    np.testing.assert_allclose(slope.inducing.raw, total, rtol=1e-9, atol=1e-11)
    for found, expected in zip(slope.views, parts.views, strict=True):
        np.testing.assert_allclose(found.noise.raw, expected.noise.raw, rtol=1e-9)


def test_an_optimiser_moves_one_z(plain, outputs):
    shared = Objective(with_shared_inducing(plain), outputs)
    assert shared.start.size == Objective(plain, outputs).start.size - 2 * M * Q
    value, slope = shared(shared.start)
    step = 1e-5 * np.random.default_rng(2).standard_normal(shared.start.size)
    ahead, behind = shared(shared.start + step)[0], shared(shared.start - step)[0]
    np.testing.assert_allclose(ahead - behind, 2.0 * slope @ step, rtol=1e-5)
    np.testing.assert_allclose(value, -float(evidence_bound(plain, outputs).total), rtol=1e-10)
    (moved,) = {
        np.asarray(view.inducing.raw).tobytes()
        for view in shared.model_at(shared.start + step).whole().views
    }
    assert moved != np.asarray(plain.views[0].inducing.raw).tobytes()


@pytest.mark.parametrize(
    "likelihood", [None, pytest.param({"c": "poisson"}, marks=pytest.mark.long)]
)
def test_after_a_fit_all_views_have_the_same(likelihood, tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((30, 2))
    views = {name: np.tanh(x) @ rng.standard_normal((2, 3)) for name in "ab"}
    views["c"] = rng.poisson(np.exp(x[:, :1] * np.ones(2))).astype(float)
    model = MRD(
        2, 6, shared_inducing=True, kernel="rbf", likelihood=likelihood, residual_link=False,
        search=Search(max_iter=10, n_restarts=1), random_state=0,
    ).fit(views)  # fmt: skip
    fitted = model.engine_.model
    assert type(fitted) is Model
    first, *others = (np.asarray(view.inducing.value) for view in fitted.views)
    for other in others:
        np.testing.assert_array_equal(other, first)
    if likelihood is None:
        tables = tuple(make_outputs(Y) for Y in model.engine_.data)
        bound = float(evidence_bound(fitted, tables).total)
        np.testing.assert_allclose(max(model.fit_info_.restart_bounds), bound, rtol=1e-8)
    model.save(tmp_path / "model.safetensors")
    again = manyviews.load(tmp_path / "model.safetensors")
    assert again.shared_inducing
    for old, new in zip(fitted.views, again.engine_.model.views, strict=True):
        np.testing.assert_array_equal(new.inducing.value, old.inducing.value)
    np.testing.assert_array_equal(
        again.predict({"a": views["a"][:3]}, "b"), model.predict({"a": views["a"][:3]}, "b")
    )


def test_views_of_different_numbers_of_inducing_inputs_are_refused():
    views = {"a": np.random.default_rng(0).standard_normal((20, 3))}
    views["b"] = views["a"] ** 2
    with pytest.raises(OptionError, match=r"one n_inducing for all views, got \{'a': 5, 'b': 7\}"):
        MRD(2, {"a": 5, "b": 7}, shared_inducing=True).fit(views)

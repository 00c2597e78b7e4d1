"""Latent points: densities against slow formulas, closed forms, finite differences, brute force."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import matrix_normal, multivariate_normal, spearmanr

import manyviews
from manyviews import Search
from manyviews.errors import DegenerateCovarianceWarning, OptionError
from manyviews.expectations import Gaussian, psi1
from manyviews.inference.bound import Model, evidence_bound
from manyviews.inference.objective import Objective
from manyviews.inference.point_rows import row_density
from manyviews.kernels import RBF, Linear, Polynomial, Restricted
from manyviews.latent import Points
from manyviews.linear import CCA
from manyviews.mappings import (
    CollapsedGP,
    CorrelatedGP,
    ExactGP,
    NoisePrior,
    SparseGP,
    make_outputs,
)
from manyviews.parameters import fix
from manyviews.points import GPLVM, GPLVMCCA, SharedGPLVM
from reference import linear_points


def points(X):
    return Gaussian(jnp.asarray(X), jnp.zeros(X.shape))


def toy_x1(seed, n=200):
    """[Leen08, §3.6.1]: a shared direction of little variance in the first view."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    roots = [np.array([[0.1, 0.3], [0.3, 1.0]]), np.array([[0.2, 0.1], [0.1, 1.0]])]
    signal = x @ np.array([[2.0, 0.0]])
    a, b = ((signal + rng.normal(size=(n, 2))) @ root for root in roots)
    return x[:, 0], {"a": a, "b": b}


@pytest.fixture
def small(rng):
    return rng.normal(size=(12, 2)), rng.normal(size=(12, 3))


@pytest.fixture(scope="module")
def circle():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 5, 50))
    W = rng.normal(size=(2, 5))
    return t, np.column_stack([np.cos(t), np.sin(t)]) @ W + 0.05 * rng.normal(size=(50, 5))


class TestMappings:
    def test_exact_density_with_missing_values(self, small):
        X, Y = small
        Y[:4, 1], Y[7, 2] = np.nan, np.nan
        view = ExactGP(RBF(1.3, 0.8), 2, 0.2, jitter=0.0)
        found = view.expected_log_likelihood(points(X), make_outputs(Y)).value
        K = np.asarray(view.kernel.gram(jnp.asarray(X))) + 0.2 * np.eye(12)
        expected = 0.0
        for d in range(3):
            there = ~np.isnan(Y[:, d])
            cov = K[np.ix_(there, there)]
            expected += multivariate_normal.logpdf(Y[there, d], cov=cov)
        assert float(found) == pytest.approx(expected, abs=1e-8)

    def test_exact_prediction_is_gp_regression(self, small, rng):
        X, Y = small
        Y[:4, 1] = np.nan
        view = ExactGP(RBF(1.3, 0.8), 2, 0.2, jitter=0.0)
        posterior = view.posterior(points(X), make_outputs(Y))
        new = rng.normal(size=(5, 2))
        mean, variance = posterior.at(jnp.asarray(new))[0], posterior.variance(jnp.asarray(new))
        kernel = view.kernel
        for d in range(3):
            there = ~np.isnan(Y[:, d])
            K = np.asarray(kernel.gram(jnp.asarray(X[there]))) + 0.2 * np.eye(there.sum())
            k = np.asarray(kernel.cross(jnp.asarray(new), jnp.asarray(X[there])))
            np.testing.assert_allclose(mean[:, d], k @ np.linalg.solve(K, Y[there, d]), atol=1e-8)
            left = 1.3 + 0.2 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)
            np.testing.assert_allclose(variance[:, d], left, atol=1e-8)
        np.testing.assert_allclose(posterior.mean(points(new)), mean, atol=1e-10)

    def test_sparse_is_the_collapsed_bound_at_points(self, small):
        X, Y = small
        Y[:4, 1] = np.nan
        Z = X[:5] + 0.1
        sparse, dense = SparseGP(RBF(), Z, 0.2), CollapsedGP(RBF(), Z, 0.2)
        outputs, q = make_outputs(Y), points(X)
        found = sparse.expected_log_likelihood(q, outputs).value
        assert float(found) == pytest.approx(
            float(dense.expected_log_likelihood(q, outputs).value), abs=1e-9
        )
        a, b = sparse.posterior(q, outputs), dense.posterior(q, outputs)
        np.testing.assert_allclose(a.mean(q), b.mean(q), atol=1e-9)
        np.testing.assert_allclose(a.variance(q.mean), b.variance(q) + 0.2, atol=1e-8)

    def test_sparse_with_all_points_is_exact_and_never_above(self, small):
        X, Y = small
        outputs, q = make_outputs(Y), points(X)
        exact = float(ExactGP(RBF(), 2, 0.2).expected_log_likelihood(q, outputs).value)
        full = float(
            SparseGP(RBF(), X, 0.2, jitter=1e-12).expected_log_likelihood(q, outputs).value
        )
        part = float(SparseGP(RBF(), X[:4], 0.2).expected_log_likelihood(q, outputs).value)
        assert full == pytest.approx(exact, abs=1e-5)
        assert part < exact

    def test_correlated_density(self, small):
        X, Y = small
        S0 = np.cov(Y.T) + np.eye(3)
        view = CorrelatedGP(ExactGP(RBF(), 2, 0.3, jitter=0.0), NoisePrior(S0, 1e-9))
        outputs, q = make_outputs(Y), points(X)
        psi = np.asarray(view.column_covariance(q, outputs))
        K = np.asarray(view.kernel.gram(q.mean)) + 0.3 * np.eye(12)
        np.testing.assert_allclose(psi, Y.T @ np.linalg.solve(K, Y) / 12, rtol=1e-6)
        expected = matrix_normal.logpdf(Y, rowcov=K, colcov=psi)
        found = float(view.expected_log_likelihood(q, outputs).value)
        assert found == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("diagonal", [False, True])
    def test_psi_is_the_maximum_and_its_gradient_that_of_psi_held(self, small, rng, diagonal):
        X, Y = small
        S0, n0, noise = np.cov(Y.T) + 0.1 * np.eye(3), 5.0, 0.3
        process = ExactGP(RBF(), 2, noise, jitter=0.0)
        view = CorrelatedGP(process, NoisePrior(S0, n0), diagonal=diagonal)
        outputs = make_outputs(Y)

        def joint(X, psi):  # slow: matrix normal and inverse Wishart, constants aside
            K = view.kernel.gram(X) + noise * jnp.eye(12)
            fit = jnp.trace(jnp.linalg.solve(K, Y) @ jnp.linalg.solve(psi, Y.T))
            sizes = 3 * jnp.linalg.slogdet(K)[1] + 12 * jnp.linalg.slogdet(psi)[1]
            sigma = noise * psi
            prior = jnp.linalg.slogdet(jnp.linalg.solve(S0, sigma))[1]
            prior = prior + jnp.trace(jnp.linalg.solve(sigma, S0)) - 3
            return -0.5 * (fit + sizes + 36 * jnp.log(2 * jnp.pi) + n0 * prior)

        def profile(X):
            return view.expected_log_likelihood(points(X), outputs).value

        psi = view.column_covariance(points(X), outputs)
        best = joint(jnp.asarray(X), psi)
        assert float(profile(jnp.asarray(X))) == pytest.approx(float(best), abs=1e-8)
        for _ in range(5):
            move = rng.normal(size=(3, 3)) * 0.02
            other = psi + (jnp.diag(jnp.diagonal(move)) if diagonal else move + move.T)
            assert joint(jnp.asarray(X), other) < best
        held = jax.grad(joint)(jnp.asarray(X), psi)
        np.testing.assert_allclose(jax.grad(profile)(jnp.asarray(X)), held, atol=1e-8)

    @pytest.mark.parametrize("kind", ["exact", "sparse", "correlated", "sparse correlated"])
    def test_gradients_by_finite_differences(self, small, rng, kind):
        X, Y = small
        views = {
            "exact": ExactGP(Polynomial(2), 2, 0.3),
            "sparse": SparseGP(RBF(), X[:5], 0.3),
            "correlated": CorrelatedGP(ExactGP(RBF(), 2, 0.3), NoisePrior(np.eye(3), 2.0)),
            "sparse correlated": CorrelatedGP(
                SparseGP(RBF(), X[:5], 0.3), NoisePrior(np.eye(3), 2.0)
            ),
        }
        objective = Objective(Model(Points(X), (views[kind],)), (make_outputs(Y),))
        x = objective.start
        _, gradient = objective(x)
        direction = rng.normal(size=x.size)
        step = 1e-5
        slope = (objective(x + step * direction)[0] - objective(x - step * direction)[0]) / 2 / step
        assert slope == pytest.approx(float(gradient @ direction), rel=1e-5)

    def test_restricted_kernel_sees_its_dimensions_only(self, rng):
        X, Z = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
        kernel, inner = Restricted(RBF(), (1, 3)), RBF().with_dimensions(2)
        expected = inner.cross(jnp.asarray(X[:, [1, 3]]), jnp.asarray(Z[:, [1, 3]]))
        np.testing.assert_allclose(kernel.cross(jnp.asarray(X), jnp.asarray(Z)), expected)
        assert kernel.relevance(4).tolist() == [0.0, 1.0, 0.0, 1.0]
        q = Gaussian(jnp.asarray(X), jnp.full((6, 4), 0.3))
        draws = jnp.asarray(X + np.sqrt(0.3) * rng.normal(size=(20_000, 6, 4)))
        sampled = kernel.cross(draws.reshape(-1, 4), jnp.asarray(Z)).reshape(-1, 6, 3).mean(axis=0)
        np.testing.assert_allclose(psi1(kernel, jnp.asarray(Z), q), sampled, atol=0.02)


class TestLinear:
    @pytest.mark.parametrize("prior", [False, True])
    def test_closed_form_is_a_stationary_maximum(self, rng, prior):
        """[Leen08, E4, E7]: X = U(Λ/D - I)^½, or its MAP version, for K = XXᵀ + I given Ψ."""
        tables = [rng.normal(size=(20, 3)) @ rng.normal(size=(3, 3)) * 3, rng.normal(size=(20, 2))]
        psis = [np.cov(Y.T) for Y in tables]
        X = linear_points(tables, psis, 2, prior=prior)

        def joint(X):
            K = X @ X.T + jnp.eye(20)
            total = -0.5 * jnp.sum(X**2) if prior else 0.0
            for Y, psi in zip(tables, psis, strict=True):
                fit = jnp.trace(jnp.linalg.solve(K, Y) @ jnp.linalg.solve(psi, Y.T))
                total -= 0.5 * (Y.shape[1] * jnp.linalg.slogdet(K)[1] + fit)
            return total

        gradient = jax.grad(joint)(jnp.asarray(X))
        assert float(jnp.abs(gradient).max()) < 1e-8
        best = joint(jnp.asarray(X))
        for _ in range(5):
            assert joint(jnp.asarray(X + 0.05 * rng.normal(size=X.shape))) < best

    def test_the_optimiser_reaches_the_closed_form(self, rng):
        Y = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 5)) * 2 + rng.normal(size=(40, 5))
        Y = Y - Y.mean(axis=0)
        X = linear_points([Y], [np.eye(5)], 2, prior=True)
        view = ExactGP(fix(Linear().with_dimensions(2)), 2, 1.0)
        best = float(evidence_bound(Model(Points(X), (fix(view),)), (make_outputs(Y),)).total)
        kernel = Linear(1.0).fix()
        model = GPLVM(
            2,
            kernel=kernel,
            scaling="none",
            search=Search(tol=1e-9),
            noise_floor=0.0,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(Y)
        # given the noise it ends with, no points are better than the closed form's
        noise = float(model.noise_variance_[0])
        assert model.lower_bound_ >= best - 1e-6
        view = fix(ExactGP(Linear().with_dimensions(2), 2, noise))
        outputs = (make_outputs(Y),)

        def total(X):
            return float(evidence_bound(Model(Points(X), (view,)), outputs).total)

        assert total(model.latent_mean_) == pytest.approx(model.lower_bound_, abs=1e-6)
        # K = XXᵀ + σ²I is σ²(X'X'ᵀ + I), X = σX': -½‖X‖² = -½σ²‖X'‖²
        values = np.linalg.eigvalsh(Y @ Y.T)[::-1][:2]
        D = 5.0
        stretch = (-D + np.sqrt(D**2 + 4.0 * values)) / 2.0  # roots of v² + Dv - λ = 0, v = l² + σ²
        np.testing.assert_allclose(
            np.linalg.svd(model.latent_mean_, compute_uv=False) ** 2 + noise, stretch, rtol=1e-3
        )


class TestGPLVM:
    @pytest.mark.parametrize(
        "options",
        [{}, *(pytest.param(o, marks=pytest.mark.long)
               for o in ({"n_inducing": 15}, {"back_constraint": "gp"}))],
    )  # fmt: skip
    def test_finds_the_order_on_a_curve(self, circle, options):
        t, Y = circle
        model = GPLVM(1, init="isomap", search=Search(tol=1e-4), random_state=0, **options).fit(Y)
        assert abs(spearmanr(model.latent_mean_[:, 0], t)[0]) > 0.98
        assert model.variance_explained()["total"] > 0.95
        np.testing.assert_allclose(model.transform(Y), model.latent_mean_, atol=0.15)
        assert np.sqrt(np.mean((model.predict(Y) - Y) ** 2)) < 0.1

    def test_new_rows_agree_with_a_fine_grid(self, circle):
        _, Y = circle
        model = GPLVM(1, init="isomap", search=Search(tol=1e-4), random_state=0).fit(Y[::2])
        rows = Y[1:21:2].copy()
        rows[:3, 1] = np.nan
        reach = 2.0 * np.abs(model.latent_mean_).max()  # the prior draws points together
        fine, coarse = np.linspace(-reach, reach, 4001), np.linspace(reach, 4.0, 2001)[1:]
        grid = np.concatenate([-coarse[::-1], fine, coarse])[:, None]
        scaled = model.scaling_.apply(rows)
        density = row_density(model.engine_.posteriors[0], scaled)
        found, scores = model.transform(rows), model.score_samples(rows)
        exact, step = np.empty(10), 1e-3 * reach
        for n in range(10):

            def joint(x, n=n):
                values = density.take(jnp.full(len(x), n))(jnp.asarray(x))
                return np.asarray(values) - 0.5 * x[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)

            values = joint(grid)
            assert abs(found[n, 0] - grid[values.argmax(), 0]) < 1e-3 * reach
            left, top, right = joint(found[n] + step * np.array([[-1.0], [0.0], [1.0]]))
            curvature = -(left - 2 * top + right) / step**2
            laplace = top + 0.5 * np.log(2 * np.pi) - 0.5 * np.log(curvature)
            jacobian = model.scaling_.log_jacobian(scaled)[n]
            assert scores[n] == pytest.approx(laplace - jacobian, abs=1e-3)
            integral = trapezoid(np.exp(values - values.max()), grid[:, 0])
            exact[n] = values.max() + np.log(integral) - jacobian
        assert np.abs(scores - exact).mean() < 0.3  # what Laplace's approximation costs here

    def test_predictions_know_that_the_point_is_uncertain(self, circle):
        """Laplace and the delta method against the integral around x*, and draws against both."""
        _, Y = circle
        model = GPLVM(1, init="isomap", search=Search(tol=1e-4), random_state=0).fit(Y[::2])
        rows = np.where(np.arange(5) < 2, Y[1:41:2], np.nan)
        reach = np.ptp(model.latent_mean_)
        grid = np.linspace(-reach, reach, 8001)[:, None]
        x = model.transform(rows)
        density = row_density(model.engine_.posteriors[0], model.scaling_.apply(rows))
        means, variances = model.engine_.at(0, grid)
        _, std = model.predict(rows, return_std=True)
        plain = model.inverse_transform(x, return_std=True)
        exact = np.empty_like(std)
        for n in range(len(rows)):
            log_p = np.asarray(density.take(jnp.full(len(grid), n))(jnp.asarray(grid)))
            near = np.abs(grid[:, 0] - x[n, 0]) < 0.1 * reach  # Laplace knows of one place only
            p = np.where(near, np.exp(log_p - log_p.max() - 0.5 * grid[:, 0] ** 2), 0.0)
            p /= p.sum()
            centre = p @ means
            exact[n] = np.sqrt(p @ (variances + (means - centre) ** 2)) * model.scaling_.scale
        assert np.median(np.abs(np.log(std / exact))) < 0.1
        assert np.median(np.abs(np.log(plain[1] / exact))) > np.median(np.abs(np.log(std / exact)))
        draws = model.predict(rows, n_samples=400, random_state=0)
        assert np.median(np.abs(np.log(draws.std(axis=0) / std))) < 0.1
        cov = model.predict(rows, return_cov=True)[1]
        np.testing.assert_allclose(np.sqrt(np.diagonal(cov, axis1=1, axis2=2)), std, rtol=1e-8)

    def test_protocol_and_file(self, circle, tmp_path):
        _, Y = circle
        Y = Y.copy()
        Y[3:9, 2] = np.nan
        model = GPLVM(
            1, init="isomap", back_constraint="kernel", search=Search(tol=1e-3), random_state=0
        ).fit(Y)
        filled, std = model.impute(return_std=True)
        assert not np.isnan(filled).any()
        assert (std[3:9, 2] > 0).all()
        mean, covariance = model.predict(Y[:3], return_cov=True)
        _, std = model.predict(Y[:3], return_std=True)
        np.testing.assert_allclose(np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)), std)
        draws = model.predict(Y[:3], n_samples=4000, random_state=0)
        np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.02)
        np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.1)
        assert model.sample(4).shape == (4, 5)
        assert model.sensitivity().shape == (5, 1)
        model.save(tmp_path / "model.safetensors")
        loaded = manyviews.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(loaded.predict(Y[:3]), model.predict(Y[:3]))

    def test_bad_options_are_said_plainly(self, circle, rng):
        _, Y = circle
        with pytest.raises(OptionError, match="n_inducing=51 is more than the 50"):
            GPLVM(n_inducing=51).fit(Y)
        with pytest.raises(OptionError, match="n_components=6"):
            GPLVM(6).fit(Y)
        scattered = np.where(rng.uniform(size=(50, 40)) < 0.2, np.nan, rng.normal(size=(50, 40)))
        with pytest.raises(OptionError, match="set n_inducing"):
            GPLVM().fit(scattered)

    def test_uncertain_positions_add_to_the_variance(self, circle):
        _, Y = circle
        model = GPLVM(1, search=Search(tol=1e-2), random_state=0).fit(Y)
        at = model.latent_mean_[:3]
        _, sure = model.inverse_transform(at, return_std=True)
        mean, unsure = model.inverse_transform(at, latent_std=0.1, return_std=True)
        step = 1e-5
        slope = (model.inverse_transform(at + step) - model.inverse_transform(at - step)) / step / 2
        np.testing.assert_allclose(unsure**2, sure**2 + (0.1 * slope) ** 2, rtol=1e-5)
        x = at + 0.1 * np.random.default_rng(0).standard_normal((20_000, 1, 1))
        drawn = model.inverse_transform(x.reshape(-1, 1)).reshape(20_000, 3, -1)
        error = drawn.std(axis=0) / np.sqrt(20_000)
        assert (np.abs(drawn.mean(axis=0) - mean) < 5 * error + 1e-9).all()


class TestViews:
    def test_identity_is_the_shared_gplvm(self):
        _, views = toy_x1(0, 60)
        options = {"n_components": 1, "init": "pca", "noise_floor": 1e-3, "random_state": 0}
        a = GPLVMCCA(psi="identity", **options).fit(views)
        b = SharedGPLVM(**options).fit(views)
        assert a.lower_bound_ == b.lower_bound_
        np.testing.assert_array_equal(a.latent_mean_, b.latent_mean_)

    @pytest.mark.long
    @pytest.mark.parametrize("seed", [0, 1])
    def test_x1_reaches_cca_and_the_baseline_does_not(self, seed):
        x, views = toy_x1(seed)
        model = GPLVMCCA(1, kernel="linear", random_state=0).fit(views)
        by_view = model.latent_by_view()
        found = np.corrcoef(by_view["a"][:, 0], by_view["b"][:, 0])[0, 1]
        sample = CCA(1).fit(views).canonical_correlations_[0]
        assert found == pytest.approx(sample, abs=0.02)
        assert abs(np.corrcoef(model.latent_mean_[:, 0], x)[0, 1]) > 0.9
        plain = SharedGPLVM(1, kernel="linear", random_state=0).fit(views).latent_by_view()
        assert abs(np.corrcoef(plain["a"][:, 0], plain["b"][:, 0])[0, 1]) < found - 0.2

    def test_without_a_prior_it_degenerates_and_says_so(self):
        _, views = toy_x1(0)
        with pytest.warns(DegenerateCovarianceWarning, match="psi_prior"):
            GPLVMCCA(1, kernel="linear", psi_prior=1e-3, random_state=0).fit(views)

    def test_missing_values_of_new_samples_are_marginalised_exactly(self, rng):
        _, views = toy_x1(1, 60)
        views["a"] = np.hstack([views["a"], rng.normal(size=(60, 2))])
        model = GPLVMCCA(1, psi_prior=0.01, search=Search(tol=1e-4), random_state=0).fit(views)
        row = views["a"][:1].copy()
        row[0, 2] = np.nan
        x = model.transform({"a": row})
        grid = np.linspace(-4, 4, 4001)[:, None]
        mean, variance = model.engine_.at(0, grid)
        there, y = [0, 1, 3], model.scalings_[0].apply(row)[0]
        psi = np.asarray(model.engine_.posteriors[0].columns)[np.ix_(there, there)]
        slow = [
            multivariate_normal.logpdf(y[there], m[there], v[0] * psi)
            for m, v in zip(mean, variance, strict=True)
        ]
        best = np.argmax(np.array(slow) - 0.5 * grid[:, 0] ** 2)
        assert x[0, 0] == pytest.approx(grid[best, 0], abs=3e-3)
        filled, std = model.impute({"a": row, "b": views["b"][:1]}, return_std=True)
        position, spread = model.transform({"a": row, "b": views["b"][:1]}, return_std=True)
        mu, cov = model._moments(0, model._at(position), std=False, cov=True)
        gain = np.linalg.solve(cov[0][np.ix_(there, there)], cov[0][there, 2])
        assert filled["a"][0, 2] == pytest.approx(mu[0, 2] + (row[0] - mu[0])[there] @ gain)
        given = cov[0][2, 2] - cov[0][there, 2] @ gain  # at the point; which is uncertain itself
        near = [model.inverse_transform(position + step, "a")[0] for step in (1e-5, -1e-5)]
        slope = (near[0] - near[1]) / 2e-5
        moved = (slope[2] - slope[there] @ gain) * spread[0, 0]
        assert std["a"][0, 2] ** 2 == pytest.approx(given + moved**2, rel=1e-5)

    def test_scattered_training_values_are_refused_whole_rows_are_not(self):
        _, views = toy_x1(0, 40)
        views["a"][3, 0] = np.nan
        with pytest.raises(OptionError, match="'a' lacks single values in 1 samples"):
            GPLVMCCA(1).fit(views)
        views["a"][3] = np.nan
        model = GPLVMCCA(1, search=Search(tol=1e-3), random_state=0).fit(views)
        assert np.isfinite(model.impute()["a"]).all()
        assert np.isnan(model.latent_by_view()["a"][3]).all()

    @pytest.mark.parametrize("kind", [SharedGPLVM, GPLVMCCA])
    def test_protocol_of_three_views_and_file(self, kind, tmp_path):
        from manyviews.plot import latent_map, relevance_bars

        rng = np.random.default_rng(0)
        x = rng.uniform(-2, 2, (40, 1))
        views = {
            "sine": np.hstack([np.sin(x), x]), "square": np.hstack([x**2, x]),
            "line": np.hstack([x, -x, x]),
        }  # fmt: skip
        views = {k: v + 0.1 * rng.normal(size=v.shape) for k, v in views.items()}
        model = kind(1, search=Search(tol=1e-3), random_state=0).fit(views)
        assert abs(spearmanr(model.latent_mean_[:, 0], x[:, 0])[0]) > 0.95
        mean, std = model.predict({"sine": views["sine"][:8]}, "line", return_std=True)
        assert np.sqrt(np.mean((mean - views["line"][:8]) ** 2)) < 0.3
        assert (std > 0).all()
        assert model.relevance_.shape == (3, 1)
        assert (model.variance_explained()["total"] > 0.7).all()
        assert np.isfinite(model.score(views))
        assert model.sample(3)["square"].shape == (3, 2)
        assert model.sensitivity("line").shape == (3, 1)
        latent_map(model)
        relevance_bars(model)
        model.save(tmp_path / "model.safetensors")
        loaded = manyviews.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(loaded.predict(views, "line"), model.predict(views, "line"))

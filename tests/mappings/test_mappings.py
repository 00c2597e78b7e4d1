import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

import reference as ref
from manyviews.errors import OptionError
from manyviews.expectations import Gaussian
from manyviews.kernels import RBF, Bias, Linear, Matern32
from manyviews.latent import StandardNormal
from manyviews.mappings import CollapsedGP, PatternedOutputs, ScatteredOutputs, make_outputs
from manyviews.mappings import shared_covariance as shared
from manyviews.mappings.rows import augmented_evidence, row_evidence
from manyviews.parameters import fix, named_parameters, split_free

N, Q, M, D = 8, 2, 4, 3
ELL, VAR, NOISE = np.array([0.9, 1.7]), np.array([0.6, 1.2]), 0.2
KERNELS = {
    "rbf": (RBF(1.3, ELL), ref.rbf(1.3, ELL)),
    "linear": (Linear(VAR), ref.linear(VAR)),
    "rbf+linear+bias": (
        RBF(1.3, ELL) + Linear(VAR) + Bias(0.5),
        ref.total(ref.rbf(1.3, ELL), ref.linear(VAR), ref.bias(0.5)),
    ),
}
FINE = ref.hermite_nodes(Q, 40)


@eqx.filter_jit
def evidence(mapping, q, outputs):
    return mapping.expected_log_likelihood(q, outputs)


@eqx.filter_jit
def moments(posterior, q):
    return posterior.mean(q), posterior.variance(q), posterior.covariance(q)


train = eqx.filter_jit(lambda mapping, q, outputs: mapping.posterior(q, outputs))
fixed_evidence = eqx.filter_jit(lambda rows, q: rows(q))


def gaussian(mean, variance):
    return Gaussian(jnp.asarray(mean), jnp.asarray(np.broadcast_to(variance, np.shape(mean))))


def gram_with_jitter(formula, Z, rung):
    K = ref.matrix(formula, Z, Z)
    return K + rung * np.mean(np.diag(K)) * np.eye(len(K))


def with_holes(Y, kind):
    Y = Y.copy()
    if kind == "patterns":
        Y[:3, 0] = np.nan
        Y[2:5, 2] = np.nan
    elif kind == "rows":
        Y[[1, 4]] = np.nan
    elif kind == "scattered":
        Y[[0, 1, 5, 7, 3], [0, 1, 2, 2, 0]] = np.nan
    return Y


@pytest.fixture
def world(rng):
    mean, variance = rng.normal(size=(N, Q)), rng.uniform(0.05, 0.5, size=(N, Q))
    Z, Y = rng.normal(size=(M, Q)), rng.normal(size=(N, D))
    return mean, variance, Z, Y


# ---------------------------------------------------------------- the bound, complete data


@pytest.mark.parametrize("columns", [3, 12])
def test_without_variance_and_inducing_at_the_data_it_is_the_exact_marginal(columns, rng):
    X, Y = 1.5 * rng.normal(size=(N, Q)), rng.normal(size=(N, columns))
    mapping = CollapsedGP(RBF(1.3, ELL), X, NOISE, jitter=1e-12)
    latent = StandardNormal(X, 1e-12)
    found = evidence(mapping, latent.marginals(), make_outputs(Y))
    exact = ref.gp_log_marginal(ref.matrix(ref.rbf(1.3, ELL), X, X), NOISE, Y)
    assert float(found.jitter) == 1e-12
    np.testing.assert_allclose(found.value, exact, rtol=1e-8)


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.floats(0.01, 3.0), st.floats(0.3, 3.0))
def test_without_variance_it_never_exceeds_the_exact_marginal(seed, noise, lengthscale):
    rng = np.random.default_rng(seed)
    X, Y, Z = rng.normal(size=(N, Q)), rng.normal(size=(N, D)), rng.normal(size=(M, Q))
    mapping = CollapsedGP(RBF(1.3, lengthscale), Z, noise)
    found = float(evidence(mapping, gaussian(X, 1e-14), make_outputs(Y)).value)
    exact = ref.gp_log_marginal(ref.matrix(ref.rbf(1.3, lengthscale), X, X), noise, Y)
    assert found <= exact + 1e-7 * abs(exact)


@pytest.mark.parametrize("name", KERNELS)
def test_it_equals_the_printed_formula_with_explicit_inverses(name, world):
    kernel, formula = KERNELS[name]
    mean, variance, Z, Y = world
    Z = Z[:2] if name == "linear" else Z
    mapping = CollapsedGP(kernel, Z, NOISE)
    found = evidence(mapping, gaussian(mean, variance), make_outputs(Y))
    zero, first, second = ref.psi_rows(formula, Z, mean, variance, FINE)
    K = gram_with_jitter(formula, Z, 1e-6)
    expected = ref.collapsed_bound(Y, K, zero.sum(), first, second.sum(axis=0), 1 / NOISE)
    assert float(found.jitter) == 1e-6
    np.testing.assert_allclose(found.value, expected, rtol=1e-10)


def test_wide_data_are_compressed_and_give_the_same_number(world, rng):
    mean, variance, Z, _ = world
    Y = rng.normal(size=(N, 30))
    wide = make_outputs(Y)
    assert wide.factors[0].shape == (N, N)
    plain = eqx.tree_at(lambda o: o.factors, wide, (jnp.asarray(Y),))
    mapping, q = CollapsedGP(RBF(1.3, ELL), Z, NOISE), gaussian(mean, variance)
    found, expected = evidence(mapping, q, wide).value, evidence(mapping, q, plain).value
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    parts = [evidence(mapping, q, make_outputs(Y[:, i : i + 3])).value for i in range(0, 30, 3)]
    np.testing.assert_allclose(found, sum(parts), rtol=1e-12)


def test_scaling_data_kernel_and_noise_shifts_the_bound_by_the_jacobian(world):
    mean, variance, Z, Y = world
    q, c = gaussian(mean, variance), 7.0
    before = evidence(CollapsedGP(RBF(1.3, ELL), Z, NOISE), q, make_outputs(Y)).value
    scaled = CollapsedGP(RBF(1.3 * c**2, ELL), Z, NOISE * c**2)
    after = evidence(scaled, q, make_outputs(c * Y)).value
    np.testing.assert_allclose(after, before - N * D * np.log(c), rtol=1e-11)


def test_kl_of_the_latent_space(world):
    mean, variance, _, _ = world
    latent = StandardNormal(mean, variance)
    rows = [
        ref.kl_gaussians(m, np.diag(s), np.zeros(Q), np.eye(Q))
        for m, s in zip(mean, variance, strict=True)
    ]
    np.testing.assert_allclose(latent.marginals().kl(latent.prior(len(rows))), rows, rtol=1e-12)
    np.testing.assert_allclose(latent.kl(), sum(rows), rtol=1e-12)
    prior = latent.prior(3)
    np.testing.assert_allclose(prior.kl(prior), 0.0, atol=1e-14)


def flat_bound(mapping, latent, outputs):
    """The bound and its gradient as one function of all free raw parameters, and where they are."""
    loose, rest = split_free((mapping, latent))
    start, unravel = ravel_pytree(loose)

    @jax.jit
    @jax.value_and_grad
    def bound(vector):
        mapping, latent = eqx.combine(unravel(vector), rest)
        value = mapping.expected_log_likelihood(latent.marginals(), outputs).value
        return value - latent.kl()

    return bound, np.array(start)


@pytest.mark.parametrize(
    ("kernel", "holes"),
    [
        (RBF(1.3, ELL), "patterns"),
        (RBF(1.3, ELL) + Linear(VAR) + Bias(0.5), "none"),
        (Matern32(1.3, ELL), "none"),
    ],
)
def test_gradients_of_all_parameters_agree_with_finite_differences(kernel, holes, world):
    mean, variance, Z, Y = world
    outputs = make_outputs(with_holes(Y, holes))
    mapping, latent = CollapsedGP(kernel, Z, NOISE), StandardNormal(mean, variance)
    bound, start = flat_bound(mapping, latent, outputs)
    gradient = np.asarray(bound(start)[1])
    assert gradient.size == sum(p.raw.size for _, p in named_parameters((mapping, latent)))
    expected = ref.finite_differences(lambda v: bound(v)[0], start)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * abs(expected).max())


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [(Linear(np.array([0.8])), ref.linear(0.8)), (RBF(1.2, np.array([1.0])), ref.rbf(1.2, 1.0))],
    ids=["linear", "rbf"],
)
def test_the_whole_bound_is_below_the_evidence_with_the_latents_integrated_out(
    kernel, formula, rng
):
    n, d, n_draws = 4, 2, 200_000
    Y, noise = rng.normal(size=(n, d)), 0.5
    X = rng.normal(size=(n_draws, n, 1))
    covariances = formula(X[:, :, None], X[:, None]) + noise * np.eye(n)
    quadratic = np.einsum("nd,knm,md->k", Y, np.linalg.inv(covariances), Y)
    log_det = np.linalg.slogdet(2 * np.pi * covariances)[1]
    log_likelihood = -0.5 * (quadratic + d * log_det)
    top = log_likelihood.max()
    likelihood = np.exp(log_likelihood - top)
    log_evidence = top + np.log(likelihood.mean())
    error = likelihood.std() / likelihood.mean() / np.sqrt(n_draws)

    mapping = fix(CollapsedGP(kernel, rng.normal(size=(3, 1)), noise), "kernel.*", "noise")
    bound, start = flat_bound(mapping, StandardNormal(X[0], 0.5), make_outputs(Y))

    def objective(v):
        value, gradient = bound(v)
        return -float(value), -np.asarray(gradient)

    best = -minimize(objective, start, jac=True, method="L-BFGS-B").fun
    for value in (float(bound(start)[0]), best):
        assert value <= log_evidence + 5 * error
    assert best > log_evidence - 2.5


# ---------------------------------------------------------------- missing outputs


@pytest.mark.parametrize("holes", ["patterns", "rows", "scattered"])
def test_missing_outputs_equal_every_column_on_its_own(holes, world):
    mean, variance, Z, Y = world
    Y = with_holes(Y, holes)
    outputs = make_outputs(Y, "exact")
    assert isinstance(outputs, PatternedOutputs)
    assert outputs.n_observed() == np.sum(~np.isnan(Y))
    np.testing.assert_allclose(outputs.variance(), np.nanmean(Y**2), rtol=1e-13)
    mapping = CollapsedGP(RBF(1.3, ELL), Z, NOISE)
    found = evidence(mapping, gaussian(mean, variance), outputs).value
    formula = ref.rbf(1.3, ELL)
    statistics = ref.psi_rows(formula, Z, mean, variance, FINE)
    K = gram_with_jitter(formula, Z, 1e-6)
    expected = ref.collapsed_bound_with_holes(Y, K, *statistics, 1 / NOISE)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("missing", ["exact", "shared"])
def test_whole_missing_rows_equal_dropping_them(missing, world, rng):
    mean, variance, Z, Y = world
    Y = np.concatenate([with_holes(Y, "rows"), rng.normal(size=(2, D))])
    mean, variance = np.tile(mean, (2, 1))[: N + 2], np.tile(variance, (2, 1))[: N + 2]
    keep = ~np.isnan(Y).all(axis=1)
    mapping = CollapsedGP(RBF(1.3, ELL), Z, NOISE)
    found = evidence(mapping, gaussian(mean, variance), make_outputs(Y, missing)).value
    kept = make_outputs(Y[keep], missing)
    expected = evidence(mapping, gaussian(mean[keep], variance[keep]), kept).value
    np.testing.assert_allclose(found, expected, rtol=1e-12 if missing == "exact" else 1e-6)


def test_treatment_of_holes_is_chosen_by_the_number_of_patterns(rng):
    Y = rng.normal(size=(30, 20))
    assert isinstance(make_outputs(Y), PatternedOutputs)
    Y[np.arange(20), np.arange(20)] = np.nan
    assert isinstance(make_outputs(Y), ScatteredOutputs)
    assert isinstance(make_outputs(Y, "exact"), PatternedOutputs)
    assert len(make_outputs(Y, "exact").factors) == 20
    shared_outputs = make_outputs(Y, "shared")
    assert shared_outputs.n_observed() == 580
    np.testing.assert_allclose(shared_outputs.variance(), np.nanmean(Y**2), rtol=1e-13)


@pytest.mark.parametrize("holes", ["none", "patterns", "rows", "scattered"])
def test_the_shared_covariance_gives_a_bound_and_the_same_one_where_nothing_is_missing(
    holes, world
):
    mean, variance, Z, Y = world
    Y = with_holes(Y, holes)
    mapping, q = CollapsedGP(RBF(1.3, ELL), Z, NOISE), gaussian(mean, variance)
    exact = float(evidence(mapping, q, make_outputs(Y, "exact")).value)
    found = float(evidence(mapping, q, make_outputs(Y, "shared")).value)
    formula = ref.rbf(1.3, ELL)
    statistics = ref.psi_rows(formula, Z, mean, variance, FINE)
    K = gram_with_jitter(formula, Z, 1e-6)
    best = ref.shared_covariance_bound(Y, K, *statistics, 1 / NOISE)
    assert best <= exact + 1e-10 * abs(exact)
    assert found <= best + 1e-9 * abs(best)
    np.testing.assert_allclose(found, best, rtol=1e-5)
    if holes in {"none", "rows"}:
        np.testing.assert_allclose(found, exact, rtol=1e-5)


def test_gradient_of_the_shared_bound_is_that_of_its_optimum(world, monkeypatch):
    mean, variance, Z, Y = world
    outputs = make_outputs(with_holes(Y, "scattered"), "shared")
    latent = StandardNormal(mean, variance)
    bound, start = flat_bound(CollapsedGP(RBF(1.3, ELL), Z, NOISE), latent, outputs)
    usual = np.asarray(bound(start)[1])
    monkeypatch.setattr(shared, "TOLERANCE", 1e-6)
    bound, start = flat_bound(CollapsedGP(RBF(1.3, ELL), Z, NOISE), latent, outputs)
    tight = np.asarray(bound(start)[1])
    expected = ref.finite_differences(lambda v: bound(v)[0], start, step=1e-4)
    np.testing.assert_allclose(tight, expected, rtol=1e-4, atol=1e-5 * abs(expected).max())
    np.testing.assert_allclose(usual, expected, rtol=1e-2, atol=1e-2 * abs(expected).max())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_columns_that_are_solved_stand_still_while_others_go_on(seed):
    rng = np.random.default_rng(seed)
    N, M, D, beta, fixed = 37, 37, 2000, 30.0, 1.3 * np.eye(37)
    P, Y = rng.normal(size=(N, M)) / 3, rng.normal(size=(N, D))
    mask = (rng.uniform(size=(N, D)) < 0.4).astype(float)
    mask[:, :1500] = 1.0  # solved in a few steps, the others take many
    Y[:, :1000] *= np.logspace(-18, 0, 1000)
    near = np.linalg.inv(fixed + 0.97 * beta * P.T @ P)
    parts = [jnp.asarray(part, jnp.float32) for part in (P.T, fixed, near, mask, beta)]
    right = beta * (P.T @ (mask * Y))
    found = shared._conjugate_gradients(shared._System(*parts), jnp.asarray(right, jnp.float32))
    assert np.isfinite(found).all()
    for d in range(500, D, 10):
        exact = np.linalg.solve(fixed + beta * P.T @ (mask[:, d, None] * P), right[:, d])
        np.testing.assert_allclose(found[:, d], exact, atol=1e-3 * abs(exact).max())


# ---------------------------------------------------------------- prediction


@pytest.fixture
def new_points(rng):
    return rng.normal(size=(3, Q)), rng.uniform(0.02, 0.5, size=(3, Q))


def explicit_posterior(formula, mean, variance, Z, Y):
    _, first, second = ref.psi_rows(formula, Z, mean, variance, FINE)
    K = gram_with_jitter(formula, Z, 1e-6)
    means, covariances = ref.inducing_posterior(Y, K, first, second, 1 / NOISE)
    return K, means, covariances


@pytest.mark.parametrize(
    ("name", "holes"), [("rbf", "none"), ("rbf", "patterns"), ("rbf+linear+bias", "none")]
)
def test_moments_equal_the_average_of_conditional_moments_over_the_input(
    name, holes, world, new_points
):
    kernel, formula = KERNELS[name]
    mean, variance, Z, Y = world
    Y = with_holes(Y, holes)
    mapping = CollapsedGP(kernel, Z, NOISE)
    posterior = train(mapping, gaussian(mean, variance), make_outputs(Y))
    found = moments(posterior, gaussian(*new_points))
    K, means, covariances = explicit_posterior(formula, mean, variance, Z, Y)
    inverse = np.linalg.inv(K)
    xi, omega = FINE
    for row, (mu, s) in enumerate(zip(*new_points, strict=True)):
        x = mu + np.sqrt(s) * xi
        k = formula(x[:, None], Z[None]) @ inverse
        conditional = np.stack([k @ m for m in means], axis=1)
        prior = formula(x, x) - np.einsum("km,ml,kl->k", k, K, k)
        own = [omega @ (prior + np.einsum("km,ml,kl->k", k, C, k)) for C in covariances]
        average = omega @ conditional
        centred = conditional - average
        covariance = (centred * omega[:, None]).T @ centred + np.diag(own)
        np.testing.assert_allclose(found[0][row], average, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found[1][row], np.diag(covariance), rtol=1e-8)
        np.testing.assert_allclose(found[2][row], covariance, rtol=1e-8, atol=1e-9)


def test_a_known_input_gives_the_sparse_gp_prediction_far_away_the_prior(world):
    mean, variance, Z, Y = world
    posterior = train(
        CollapsedGP(RBF(1.3, ELL), Z, NOISE), gaussian(mean, variance), make_outputs(Y)
    )
    at, spread, _ = moments(posterior, gaussian(np.full((3, Q), 100.0), 0.0))
    np.testing.assert_allclose(at, 0.0, atol=1e-12)
    np.testing.assert_allclose(spread, 1.3, rtol=1e-12)


def test_shared_covariance_posterior_agrees_with_the_exact_one_without_holes(world, new_points):
    mean, variance, Z, Y = world
    mapping, q = CollapsedGP(RBF(1.3, ELL), Z, NOISE), gaussian(mean, variance)
    exact = moments(train(mapping, q, make_outputs(Y)), gaussian(*new_points))
    found = moments(train(mapping, q, make_outputs(Y, "shared")), gaussian(*new_points))
    for a, b in zip(found, exact, strict=True):
        np.testing.assert_allclose(a, b, rtol=5e-3, atol=5e-3)


def test_samples_have_the_predicted_moments(world, new_points):
    mean, variance, Z, Y = world
    mapping = CollapsedGP(RBF(1.3, ELL), Z, NOISE)
    outputs = make_outputs(with_holes(Y, "patterns"))
    posterior = train(mapping, gaussian(mean, variance), outputs)
    q, n_draws = gaussian(*new_points), 20_000
    draws = np.asarray(
        eqx.filter_jit(lambda p, key: p.sample(q, n_draws, key))(posterior, jax.random.key(0))
    )
    assert draws.shape == (n_draws, 3, D)
    average, spread, covariance = (np.asarray(m) for m in moments(posterior, q))
    error = np.sqrt(spread / n_draws)
    assert np.all(np.abs(draws.mean(axis=0) - average) < 5 * error)
    centred = draws - average
    products = np.einsum("knd,kne->knde", centred, centred)
    error = products.std(axis=0) / np.sqrt(n_draws)
    assert np.all(np.abs(products.mean(axis=0) - covariance) < 5 * error)


# ---------------------------------------------------------------- evidence of new rows


def new_rows(rng):
    filled = rng.normal(size=(3, D))
    observed = np.array([[True] * 3, [True, False, True], [False, False, True]])
    return np.where(observed, filled, 0.0), observed


@pytest.mark.parametrize(("name", "holes"), [("rbf", "patterns"), ("rbf+linear+bias", "none")])
def test_row_evidence_is_the_difference_of_bounds_with_the_inducing_posterior_held(
    name, holes, world, new_points, rng
):
    kernel, formula = KERNELS[name]
    mean, variance, Z, Y = world
    Y = with_holes(Y, holes)
    mapping = CollapsedGP(kernel, Z, NOISE)
    q = gaussian(mean, variance)
    posterior = train(mapping, q, make_outputs(Y))
    filled, observed = new_rows(rng)
    rows = row_evidence(posterior, filled, observed)
    found = fixed_evidence(rows, gaussian(*new_points))

    K, means, covariances = explicit_posterior(formula, mean, variance, Z, Y)

    def bound(Y, mean, variance):
        statistics = ref.psi_rows(formula, Z, mean, variance, FINE)
        return ref.uncollapsed_bound(Y, K, *statistics, 1 / NOISE, means, covariances)

    before = bound(Y, mean, variance)
    np.testing.assert_allclose(before, evidence(mapping, q, make_outputs(Y)).value, rtol=1e-7)
    for n in range(3):
        y = np.where(observed[n], filled[n], np.nan)
        after = bound(
            np.vstack([Y, y]),
            np.vstack([mean, new_points[0][n]]),
            np.vstack([variance, new_points[1][n]]),
        )
        np.testing.assert_allclose(found[n], after - before, rtol=1e-6)

    order = jnp.array([2, 0, 2])
    taken = fixed_evidence(rows.take(order), gaussian(*new_points)[order])
    np.testing.assert_allclose(taken, found[order], rtol=1e-12)


@pytest.mark.parametrize(("holes", "checked"), [("none", [0, 1]), ("patterns", [1])])
def test_augmented_evidence_is_the_difference_of_bounds_with_the_row_appended(
    holes, checked, world, new_points, rng
):
    mean, variance, Z, Y = world
    Y = with_holes(Y, holes)
    mapping, q = CollapsedGP(RBF(1.3, ELL), Z, NOISE), gaussian(mean, variance)
    posterior = train(mapping, q, make_outputs(Y))
    filled, observed = new_rows(rng)
    q_new = gaussian(*new_points)
    found = augmented_evidence(
        posterior, q_new, jnp.asarray(filled), jnp.asarray(observed, jnp.float64)
    )
    before = evidence(mapping, q, make_outputs(Y)).value
    for n in checked:
        y = np.where(observed[n], filled[n], np.nan)
        longer = gaussian(
            np.vstack([mean, new_points[0][n]]), np.vstack([variance, new_points[1][n]])
        )
        after = evidence(mapping, longer, make_outputs(np.vstack([Y, y]))).value
        np.testing.assert_allclose(found[n], after - before, rtol=1e-8)


@settings(max_examples=15)
@given(st.integers(0, 2**31), st.floats(0.05, 2.0), st.floats(0.1, 10.0))
def test_letting_the_inducing_posterior_adapt_never_lowers_the_evidence(seed, noise, surprise):
    rng = np.random.default_rng(seed)
    q = gaussian(rng.normal(size=(N, Q)), rng.uniform(0.05, 0.5, size=(N, Q)))
    q_new = gaussian(rng.normal(size=(3, Q)), rng.uniform(0.02, 0.5, size=(3, Q)))
    mapping = CollapsedGP(RBF(1.3, ELL), rng.normal(size=(M, Q)), noise)
    posterior = train(mapping, q, make_outputs(rng.normal(size=(N, D))))
    filled, observed = new_rows(rng)
    filled = surprise * filled
    fixed = fixed_evidence(row_evidence(posterior, filled, observed), q_new)
    seen = jnp.asarray(observed, jnp.float64)
    augmented = augmented_evidence(posterior, q_new, jnp.asarray(filled), seen)
    assert np.all(augmented >= fixed - 1e-9 * np.abs(fixed))


def test_the_augmented_bound_is_refused_for_shared_covariances(world, new_points, rng):
    mean, variance, Z, Y = world
    mapping, q = CollapsedGP(RBF(1.3, ELL), Z, NOISE), gaussian(mean, variance)
    posterior = train(mapping, q, make_outputs(with_holes(Y, "scattered"), "shared"))
    filled, observed = new_rows(rng)
    seen = jnp.asarray(observed, jnp.float64)
    with pytest.raises(OptionError, match="fixed"):
        augmented_evidence(posterior, gaussian(*new_points), jnp.asarray(filled), seen)


def test_relevance_and_noise_of_the_mapping(world):
    mapping = CollapsedGP(RBF(1.3, 0.5), world[2], NOISE)
    np.testing.assert_allclose(mapping.relevance(), np.full(Q, 1.3 / 0.25), rtol=1e-13)
    np.testing.assert_allclose(mapping.noise_variance(), NOISE, rtol=1e-13)

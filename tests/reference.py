"""Slow and obvious NumPy: what the library must agree with, sharing no code with it.

A kernel here is a function of two broadcastable stacks of points, ``k(x, z)``; white noise
is the function that is zero for two different points.
"""

from itertools import product

import numpy as np
from scipy.stats import multivariate_normal


def rbf(variance, lengthscale):
    return lambda x, z: variance * np.exp(-0.5 * np.sum(((x - z) / lengthscale) ** 2, axis=-1))


def linear(variances):
    return lambda x, z: np.sum(variances * x * z, axis=-1)


def bias(variance):
    return lambda x, z: variance + np.zeros(np.broadcast_shapes(x.shape, z.shape)[:-1])


def white():
    return bias(0.0)


def _distance(x, z, lengthscale):
    return np.sqrt(np.sum(((x - z) / lengthscale) ** 2, axis=-1))


def matern12(variance, lengthscale):
    return lambda x, z: variance * np.exp(-_distance(x, z, lengthscale))


def matern32(variance, lengthscale):
    def k(x, z):
        r = np.sqrt(3) * _distance(x, z, lengthscale)
        return variance * (1 + r) * np.exp(-r)

    return k


def matern52(variance, lengthscale):
    def k(x, z):
        r = np.sqrt(5) * _distance(x, z, lengthscale)
        return variance * (1 + r + r**2 / 3) * np.exp(-r)

    return k


def periodic(variance, lengthscale, period):
    def k(x, z):
        wave = np.sin(np.pi * (x - z) / period) / lengthscale
        return variance * np.exp(-2 * np.sum(wave**2, axis=-1))

    return k


def polynomial(degree, variances, offset):
    return lambda x, z: (np.sum(variances * x * z, axis=-1) + offset) ** degree


def total(*kernels):
    return lambda x, z: sum(k(x, z) for k in kernels)


def times(*kernels):
    return lambda x, z: np.prod([k(x, z) for k in kernels], axis=0)


def matrix(k, X, Z):
    return np.array([[k(x, z) for z in Z] for x in X])


def hermite_nodes(n_dimensions, order):
    points, weights = np.polynomial.hermite_e.hermegauss(order)
    weights = weights / weights.sum()
    xi = np.array(list(product(points, repeat=n_dimensions)))
    return xi, np.array([np.prod(w) for w in product(weights, repeat=n_dimensions)])


def cross_psi2_rows(ka, Za, kb, Zb, mean, variance, rule):
    """⟨k_a(z, x_n) k_b(x_n, z')⟩ for every n, z and z'."""
    xi, omega = rule
    rows = []
    for mu, s in zip(mean, variance, strict=True):
        x = mu + np.sqrt(s) * xi
        left, right = ka(x[:, None], Za[None]), kb(x[:, None], Zb[None])
        rows.append((left * omega[:, None]).T @ right)
    return np.array(rows)


def psi_rows(k, Z, mean, variance, rule):
    """⟨k(x_n, x_n)⟩, ⟨k(x_n, z)⟩ and ⟨k(z, x_n) k(x_n, z')⟩ for every row n."""
    xi, omega = rule
    zero, first = [], []
    for mu, s in zip(mean, variance, strict=True):
        x = mu + np.sqrt(s) * xi
        zero.append(omega @ k(x, x))
        first.append(omega @ k(x[:, None], Z[None]))
    return np.array(zero), np.array(first), cross_psi2_rows(k, Z, k, Z, mean, variance, rule)


def gp_log_marginal(K, noise, Y):
    covariance = K + noise * np.eye(len(K))
    return sum(multivariate_normal.logpdf(y, np.zeros(len(K)), covariance) for y in Y.T)


def collapsed_bound(Y, K, psi0, Psi1, Psi2, beta):
    """Section 1 of the specification, as it is printed there."""
    N, D = Y.shape
    full = K + beta * Psi2
    return (
        N * D / 2 * np.log(beta / (2 * np.pi))
        + D / 2 * np.linalg.slogdet(K)[1]
        - D / 2 * np.linalg.slogdet(full)[1]
        - beta / 2 * np.trace(Y @ Y.T)
        + beta**2 / 2 * np.trace(Y.T @ Psi1 @ np.linalg.inv(full) @ Psi1.T @ Y)
        - beta * D / 2 * psi0
        + beta * D / 2 * np.trace(np.linalg.inv(K) @ Psi2)
    )


def collapsed_bound_with_holes(Y, K, psi0_rows, psi1, psi2_rows, beta):
    """Every column on its own, with the rows it has seen."""
    value = 0.0
    for y in Y.T:
        seen = ~np.isnan(y)
        value += collapsed_bound(
            y[seen, None], K, psi0_rows[seen].sum(), psi1[seen], psi2_rows[seen].sum(axis=0), beta
        )
    return value


def inducing_posterior(Y, K, psi1, psi2_rows, beta):
    """Mean and covariance of q(u_d) for every column d, from the rows that column has seen."""
    means, covariances = [], []
    for y in Y.T:
        seen = ~np.isnan(y)
        inverse = np.linalg.inv(K + beta * psi2_rows[seen].sum(axis=0))
        means.append(K @ inverse @ (beta * psi1[seen].T @ y[seen]))
        covariances.append(K @ inverse @ K)
    return means, covariances


def uncollapsed_bound(Y, K, psi0_rows, psi1, psi2_rows, beta, means, covariances):
    """The bound for any q(u_d) = N(m_d, C_d): expected log likelihood less KL(q(U) ‖ p(U))."""
    inverse = np.linalg.inv(K)
    value = 0.0
    for y, m, C in zip(Y.T, means, covariances, strict=True):
        for n in np.flatnonzero(~np.isnan(y)):
            P = inverse @ psi2_rows[n]
            square = np.trace(P @ inverse @ (np.outer(m, m) + C)) + psi0_rows[n] - np.trace(P)
            misfit = y[n] ** 2 - 2 * y[n] * (psi1[n] @ inverse @ m) + square
            value += 0.5 * np.log(beta / (2 * np.pi)) - 0.5 * beta * misfit
        value -= kl_gaussians(m, C, np.zeros(len(K)), K)
    return value


def shared_covariance_bound(Y, K, psi0_rows, psi1, psi2_rows, beta):
    """One q(u) covariance for all columns, and the best mean of each with its C_n for all n.

    ⟨(k_nᵀb)²⟩ = (ψ_nᵀb)² + bᵀC_nb; the second term is charged for every row, seen or not.
    """
    seen = ~np.isnan(Y)
    share = seen.mean(axis=1)
    some = share > 0
    C = sum(psi2_rows[n] - np.outer(psi1[n], psi1[n]) for n in np.flatnonzero(some))
    Psi2 = np.einsum("n,nml->ml", share, psi2_rows)
    value = Y.shape[1] * collapsed_bound(
        np.zeros((1, 1)), K, share @ psi0_rows, np.zeros((1, len(K))), Psi2, beta
    )
    value += (seen.sum() - Y.shape[1]) / 2 * np.log(beta / (2 * np.pi))
    for y, rows in zip(Y.T, seen.T, strict=True):
        P = psi1[rows]
        b = np.linalg.solve(K + beta * (P.T @ P + C), beta * P.T @ y[rows])
        fit = P @ b
        value -= beta / 2 * np.sum((y[rows] - fit) ** 2)
        value -= 0.5 * b @ (K + beta * C) @ b
    return value


def kl_gaussians(m, C, m0, C0):
    inverse = np.linalg.inv(C0)
    gap = m0 - m
    return 0.5 * (
        np.trace(inverse @ C)
        + gap @ inverse @ gap
        - len(m)
        + np.linalg.slogdet(C0)[1]
        - np.linalg.slogdet(C)[1]
    )


def finite_differences(function, x, step=1e-5):
    """Central differences of a scalar function of a vector."""
    gradient = np.empty_like(x)
    for i in range(x.size):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (float(function(up)) - float(function(down))) / (2 * step)
    return gradient


def linear_points(tables, psis, n_components, *, prior):
    """The best latent points for K = XXᵀ + I in every view, given the covariances Ψ of its columns.

    With λ the eigenvalues of Σ_k Y_kΨ_k⁻¹Y_kᵀ and D all columns together, X = U diag(l):
    l² + 1 = λ/D by maximum likelihood [Leen08, §3.4.1, E7], and with the prior N(0, I) on the
    points l² + 1 = ½(√(D² + 4λ) - D).
    """
    pairs = zip(tables, psis, strict=True)
    S = sum(Y @ np.linalg.solve(psi, Y.T) for Y, psi in pairs)
    D = sum(Y.shape[1] for Y in tables)
    values, vectors = np.linalg.eigh(S)
    values, U = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    stretch = 0.5 * (np.sqrt(D**2 + 4.0 * np.maximum(values, 0.0)) - D) if prior else values / D
    return U * np.sqrt(np.maximum(stretch - 1.0, 0.0))


def sparse_matrix_normal_bound(Y, Kxx, Kxz, Kzz, noise, psi):
    """Titsias's bound on log p(vec Y) = log N(0, Ψ ⊗ (K + noise)), by its Kronecker product."""
    N, D = Y.shape
    C = Kxz @ np.linalg.solve(Kzz, Kxz.T)
    covariance = np.kron(psi, C + noise * np.eye(N))
    density = multivariate_normal.logpdf(Y.T.ravel(), np.zeros(N * D), covariance)
    return density - 0.5 * D / noise * np.trace(Kxx - C)


def inverse_wishart(sigma, scale, pseudo_samples):
    """Its log density, zero where Σ = S₀."""
    ratio = np.linalg.solve(sigma, scale)
    trace = np.trace(ratio) - len(sigma)
    return -0.5 * pseudo_samples * (trace - np.linalg.slogdet(ratio)[1])


def inference_algorithm(train, row, shared, private, k):
    """[MRD21, Algorithm 1], lines 6 to 9: k pairs of a training row and q(x̃) = (mean, variance).

    ``train`` and ``row`` are (means, variances); what is private has the neighbour's variance.
    """
    means, variances = train
    distances = [np.sqrt(sum((row[0][j] - mean[j]) ** 2 for j in shared)) for mean in means]
    found = []
    for n in sorted(range(len(means)), key=distances.__getitem__)[:k]:
        mean, variance = row[0].copy(), row[1].copy()
        for j in private:
            mean[j], variance[j] = means[n][j], variances[n][j]
        found.append((n, distances[n], mean, variance))
    return found


def smoothed_weights(train, row, shared, rows):
    """w_n ∝ N(x_s; μ_ns, S_ns + s_s + h²) with Scott's h, for some training rows n."""
    means, variances = train
    weights = []
    for n in rows:
        weight = 1.0
        for j in shared:
            h = means[:, j].std() * len(means) ** (-1 / (len(shared) + 4))
            wide = variances[n][j] + row[1][j] + h**2
            weight *= np.exp(-0.5 * (row[0][j] - means[n][j]) ** 2 / wide) / np.sqrt(wide)
        weights.append(weight)
    return np.array(weights) / sum(weights)


def output_moments(k, Z, K, noise, inducing, mean, variance, rule):
    """[BGPLVM16, eq. 40-41] with noise at one q(x*), for all columns' q(u_d) = N(m_d, C_d)."""
    zero, first, second = psi_rows(k, Z, mean[None], variance[None], rule)
    inverse = np.linalg.inv(K)
    means, variances = [], []
    for m, C in zip(*inducing, strict=True):
        b = inverse @ m
        centred = second[0] - np.outer(first[0], first[0])
        own = zero[0] - np.trace((inverse - inverse @ C @ inverse) @ second[0])
        means.append(first[0] @ b)
        variances.append(b @ centred @ b + own + noise)
    return np.array(means), np.array(variances)

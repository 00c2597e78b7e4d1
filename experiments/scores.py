"""Measures of a probabilistic prediction."""

import numpy as np


def nlpd(truth: np.ndarray, mean: np.ndarray, std: np.ndarray) -> float:
    """Mean negative log density of every value under its Gaussian."""
    z = (truth - mean) / std
    return float(np.mean(0.5 * z**2 + np.log(std) + 0.5 * np.log(2 * np.pi)))


def coverage(truth: np.ndarray, mean: np.ndarray, std: np.ndarray, share: float = 0.9) -> float:
    """Share of the values that central intervals of that probability hold."""
    from scipy.stats import norm

    return float(np.mean(np.abs(truth - mean) < norm.ppf(0.5 + share / 2) * std))


def rmse(truth: np.ndarray, mean: np.ndarray) -> float:
    """Root mean square error over all values."""
    return float(np.sqrt(np.mean((truth - mean) ** 2)))

"""Calibrating densities of classes against each other on rows that no model has seen."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import logsumexp

from ..io import register_record

POWER_PENALTY = 1e-3  # on the spread of the logarithms of the powers
OFFSET_PENALTY = 1.5e-4  # on the squares of the offsets, in nats


@register_record
@dataclass(frozen=True)
class DensityPowers:
    """p(c | x) ∝ p(c) exp(b_c) p(x | c)^{a_c}.

    A density of many columns whose noise is correlated beyond the model is too sharp, and sharper
    for some classes than for others; a power below one takes that back.
    """

    power: Float[np.ndarray, " C"]
    offset: Float[np.ndarray, " C"]

    @classmethod
    def none(cls, n_classes: int) -> Self:
        """Densities as they are."""
        return cls(np.ones(n_classes), np.zeros(n_classes))

    @classmethod
    def fit(
        cls,
        log_densities: Float[np.ndarray, "N C"],
        code: Int[np.ndarray, " N"],
        log_priors: Float[np.ndarray, " C"],
    ) -> Self:
        """The least log loss on held-out rows, powers kept alike and offsets small."""
        n_rows, n_classes = log_densities.shape
        hit = np.eye(n_classes)[code]

        def loss(x: Float[np.ndarray, " V"]) -> tuple[float, Float[np.ndarray, " V"]]:
            logs, offset = x[:n_classes], x[n_classes:]
            scaled = np.exp(logs) * log_densities
            joint = scaled + offset + log_priors
            log_chances = joint - logsumexp(joint, axis=1, keepdims=True)
            slope = (np.exp(log_chances) - hit) / n_rows
            away = logs - logs.mean()
            value = -np.sum(log_chances * hit) / n_rows
            value += POWER_PENALTY * np.sum(away**2) + OFFSET_PENALTY * np.sum(offset**2)
            by_power = np.sum(slope * scaled, axis=0) + 2.0 * POWER_PENALTY * away
            by_offset = slope.sum(axis=0) + 2.0 * OFFSET_PENALTY * offset
            return float(value), np.concatenate([by_power, by_offset])

        start = np.concatenate([np.full(n_classes, np.log(0.1)), np.zeros(n_classes)])
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
        return cls(np.exp(found[:n_classes]), found[n_classes:])

    def apply(self, log_densities: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """a_c log p(x | c) + b_c."""
        return self.power * log_densities + self.offset

"""A straight and a curved regression beside a latent answer, weighed by how sure the curves are."""

from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Bool, Float

from .link_features import LinkFeatures
from .link_regression import LinkRegression, Members

FULL_TRUST = 2.0  # standard errors


class LinkBlend(NamedTuple):
    """y - s m ≈ (1 - ω) w_0·φ_0(a) + ω w_1·φ_1(a), φ_0 straight and φ_1 curved features.

    The penalties and the share of each regression (`LinkRegression.best`), and the lengthscale of
    the curves, are those of the smallest leave-one-out errors, by the mean over rows of a row's
    root mean square, and s is the average of the two shares. The curves have the weight ω = t/2,
    at most one and at least zero, where t is what they take off that mean, in standard errors over
    rows; or over groups, where these are left out whole. With few rows, curves that look better are
    often worse.

    Attributes
    ----------
    features : LinkFeatures
        φ_1, of which φ_0 is the first part; or φ_0.
    trust : float
        ω.
    share : float
        s.
    coefficients : ndarray of shape (n_features, n_columns)
        Of all features.
    centre : ndarray of shape (n_features,)
        What the features are on average.
    errors : ndarray of shape (n_rows, n_columns)
        Those of y, each row left out.
    """

    features: LinkFeatures
    trust: float
    share: float
    coefficients: Float[np.ndarray, "F D"]
    centre: Float[np.ndarray, " F"]
    errors: Float[np.ndarray, "N D"]

    @classmethod
    def fit(
        cls,
        inputs: Float[np.ndarray, "N P"],
        y: Float[np.ndarray, "N D"],
        m: Float[np.ndarray, "N D"],
        seen: Bool[np.ndarray, "N D"],
        together: Members | None = None,
    ) -> Self:
        """Regress centred values on the features of inputs, beside centred latent answers."""
        candidates = [LinkRegression(each, inputs) for each in LinkFeatures.candidates(inputs)]
        found = [each.best(y, m, seen, together) for each in candidates]
        best = min(range(len(found)), key=lambda place: found[place].error)
        straight = candidates[0].answer(found[0], y, m)
        if best == 0:
            return cls(
                candidates[0].features, 0.0, found[0].share, straight, candidates[0].centre,
                found[0].errors,
            )  # fmt: skip
        weight, curved = trust(found[0].sizes - found[best].sizes), candidates[best]
        coefficients = weight * curved.answer(found[best], y, m)
        coefficients[: len(straight)] += (1.0 - weight) * straight
        share, errors = (
            (1.0 - weight) * getattr(found[0], what) + weight * getattr(found[best], what)
            for what in ("share", "errors")
        )
        return cls(curved.features, weight, share, coefficients, curved.centre, errors)


def trust(gain: Float[np.ndarray, " n"]) -> float:
    """How far to believe in a gain over rows: half its mean in standard errors, in [0, 1]."""
    mean, sure = float(gain.mean()), FULL_TRUST * float(gain.std()) / np.sqrt(len(gain))
    if mean <= 0.0 or mean >= sure:
        return float(mean > 0.0)
    return mean / sure

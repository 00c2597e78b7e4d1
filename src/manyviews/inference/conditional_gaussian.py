"""A Gaussian given some of its coordinates, once for all rows that have the same ones."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data.patterns import by_pattern

LOG_2PI = float(np.log(2.0 * np.pi))


def regression(
    known: Float[np.ndarray, "*K O O"],
    cross: Float[np.ndarray, "*K O M"],
    own: Float[np.ndarray, "*#K M M"],
) -> tuple[Float[np.ndarray, "*K M O"], Float[np.ndarray, "*K M M"]]:
    """B = Σ_mo Σ_oo⁻¹ and Σ_mm - B Σ_om, of y_m = μ_m + B (y_o - μ_o) + e.

    Parameters
    ----------
    known, cross, own
        Σ_oo, Σ_om and Σ_mm; for several Gaussians, one after the other along the first axis.
    """
    gain = np.swapaxes(np.linalg.solve(known, cross), -1, -2)
    return gain, own - gain @ cross


class Given(NamedTuple):
    """Rows that lack the same values, and the regression of those on the values seen."""

    rows: Int[np.ndarray, " n"]
    seen: Bool[np.ndarray, " D"]
    lost: Bool[np.ndarray, " D"]
    gain: Float[np.ndarray, "*K M O"]
    covariance: Float[np.ndarray, "*K M M"]

    @property
    def there(self) -> tuple[Any, ...]:
        """The places in the table of what is seen in these rows."""
        return np.ix_(self.rows, self.seen)

    @property
    def gone(self) -> tuple[Any, ...]:
        """The places in the table of what is lost."""
        return np.ix_(self.rows, self.lost)


def given_observed(
    covariance: Float[np.ndarray, "*K D D"], observed: Bool[np.ndarray, "N D"]
) -> Iterator[Given]:
    """What a Gaussian, or each of several, says of missing values: an answer per pattern of them.

    Rows that lack nothing are left out.
    """
    for seen, rows in by_pattern(observed):
        if seen.all():
            continue
        lost = ~seen
        known, other = covariance[..., seen, :], covariance[..., lost, :]
        fit = regression(known[..., seen], known[..., lost], other[..., lost])
        yield Given(rows, seen, lost, *fit)

"""Numbers in sentences."""

from collections.abc import Sequence

import numpy as np


def share(x: float) -> str:
    """A share as a percentage without false precision."""
    if not np.isfinite(x):
        return "an unknown share"
    if 0 < x < 0.01:
        return "less than 1 %"
    return f"{x:.0%}".replace("%", " %") if x < 0.995 or x >= 1 else f"{100 * x:.1f} %"


def listing(words: Sequence[str]) -> str:
    """Words with commas and an 'and'."""
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def count_of(n: int, thing: str) -> str:
    """So many things."""
    return f"{n} {thing}{'s' * (n != 1)}"


def capital(text: str) -> str:
    """With a capital letter first."""
    return text[:1].upper() + text[1:]

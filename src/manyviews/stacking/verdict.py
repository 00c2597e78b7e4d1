"""One sentence on what to use, and why."""

from collections.abc import Mapping

import numpy as np
import pandas as pd


def verdict(folds: pd.DataFrame, reference: str, failures: Mapping[str, str]) -> str:
    """Say which method predicts best, and whether a quicker one does as well.

    The best has the highest log density per value, averaged over the views. The method to use is
    the quickest of those that fall short of it by no more than one standard error of the
    difference, over folds in pairs.
    """
    failed = f" ({', '.join(failures)} failed)" if failures else ""
    if folds.empty:
        return f"There is nothing to choose from{failed}."
    density = folds.pivot_table(index="fold", columns="method", values="log_density")
    error = folds.pivot_table(index="fold", columns="method", values="error").mean()
    seconds = folds.groupby("method")["seconds"].mean()
    best = str(density.mean().idxmax())
    short = density.rsub(density[best], axis=0)
    doubt = short.std(ddof=1) / np.sqrt(len(short))
    names = [str(name) for name in density]
    equal = [name for name in names if name == best or short[name].mean() <= doubt[name]]
    use = str(seconds[equal].idxmin())
    words = [_opening(use, best, equal)]
    if use == "mean":
        return f"{words[0]}: no method has found that the views say anything of each other{failed}."
    if use != reference and reference in density:
        gain = density[use] - density[reference]
        se = gain.std(ddof=1) / np.sqrt(len(gain))
        change = 100.0 * (error[use] / error[reference] - 1.0)
        words.append(
            f"its log density per value is {gain.mean():+.3f} ± {se:.3f} from {reference}'s, its "
            f"error {abs(change):.1f} % {'lower' if change < 0 else 'higher'}"
        )
    elif use == reference:
        words.append("nothing is better by more than a standard error")
    if use != best:
        words.append(
            f"{best}, the best, gains {short[use].mean():.3f} ± {doubt[use]:.3f} more and takes "
            f"{seconds[best]:.1f} s instead of {seconds[use]:.1f} s"
        )
    return f"{words[0]}: {'; '.join(words[1:])}{failed}." if words[1:] else f"{words[0]}{failed}."


def _opening(use: str, best: str, equal: list[str]) -> str:
    if use == best:
        return f"Use {use}"
    others = len(equal) - 1
    return f"Use {use}, the quickest of {others + 1} that predict equally well"

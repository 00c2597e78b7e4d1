"""One sentence on what to use, and why."""

from collections.abc import Mapping

import numpy as np
import pandas as pd


def verdict(folds: pd.DataFrame, reference: str, failures: Mapping[str, str]) -> str:
    """Say which method predicts best, and whether a simpler one does as well.

    The best has the highest log density per value, averaged over the views. Its equals fall short
    of it by no more than one standard error of the difference, over folds in pairs. Of these the
    mean is to be used, if it is one of them, or else the reference, or else the quickest.
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
    if "mean" in equal:
        return (
            "Use the mean of every column: no method predicts better than it by more than a "
            f"standard error, so the views say nothing of each other that was found{failed}."
        )
    use = reference if reference in equal else str(seconds[equal].idxmin())
    reasons = []
    if use == reference:
        reasons.append("no method is better by more than a standard error")
    elif reference in density:
        gain = density[use] - density[reference]
        se = gain.std(ddof=1) / np.sqrt(len(gain))
        change = 100.0 * (error[use] / error[reference] - 1.0)
        reasons.append(
            f"its log density per value is {gain.mean():.3f} ± {se:.3f} higher than {reference}'s, "
            f"its error {abs(change):.1f} % {'lower' if change < 0 else 'higher'}"
        )
    elif use == best:
        reasons.append("its log density is the highest")
    if use != best:
        reasons.append(
            f"{best} gains {short[use].mean():.3f} ± {doubt[use]:.3f} on it and takes "
            f"{seconds[best]:.1f} s instead of {seconds[use]:.1f} s"
        )
    return f"Use {use}: {'; '.join(reasons)}{failed}."

"""What a fitted model says, in sentences."""

from collections.abc import Sequence

import numpy as np

from ..plot.subject import Subject
from .assess import Assessment


def findings(subject: Subject, assessments: Sequence[Assessment]) -> list[str]:
    """Plain-language findings, the most important first."""
    if hasattr(subject.model, "following"):
        sentences = _paths(subject)
    elif not subject.walkable:
        sentences = _clusters(subject)
    elif len(subject.names) > 1:
        sentences = [_shared(subject), *_private(subject)]
    else:
        sentences = [_single(subject)]
    sentences += [_prediction(assessment) for assessment in assessments]
    sentences += _missing(subject)
    return sentences


def _single(subject: Subject) -> str:
    n, total = len(subject.active()), subject.latent.shape[1]
    (explained,) = subject.explained()["total"]
    return (
        f"{count(n, 'of')} {total} latent dimensions {are(n)} used; together they explain "
        f"{share(explained)} of the variance of the data."
    )


def _shared(subject: Subject) -> str:
    names, total = subject.names, subject.latent.shape[1]
    shared = subject.shared()
    all_of_them = "both views" if len(names) == 2 else f"all {len(names)} views"
    n = len(shared)
    if not shared:
        return (
            f"No latent dimension is shared by {all_of_them}: as far as this model can tell, "
            + ("they" if len(names) == 2 else "the views, taken together,")
            + " have nothing in common."
        )
    explained = subject.model.variance_explained_by(shared)
    parts = [f"{share(explained[name])} of {name}" for name in names[:6]]
    more = f" (the first 6 of {len(names)} views)" if len(names) > 6 else ""
    return (
        f"{count(n, 'of')} {total} dimensions {are(n)} shared by {all_of_them} "
        f"({listing([str(d) for d in shared])}); {'it explains' if n == 1 else 'they explain'} "
        f"{listing(parts)}{more}."
    )


def _private(subject: Subject) -> list[str]:
    sentences = []
    totals = subject.explained()["total"]
    for name in subject.names[:6]:
        own = [d for d in subject.active(name) if subject.users(d) == [name]]
        n = len(own)
        if not own:
            sentences.append(f"{name} has no dimension of its own.")
            continue
        alone = subject.model.variance_explained_by(own)[name]
        sentences.append(
            f"{name} has {n} dimension{'s' * (n > 1)} of its own "
            f"({listing([str(d) for d in sorted(own)])}), which explain{'s' * (n == 1)} "
            f"{share(alone)} of it; all dimensions together explain {share(totals[name])}."
        )
    partly = [d for d in subject.active() if 1 < len(subject.users(d)) < len(subject.names)]
    for d in sorted(partly)[:6]:
        sentences.append(f"Dimension {d} is shared by {listing(subject.users(d))} only.")
    off = subject.latent.shape[1] - len(subject.active())
    if off:
        sentences.append(f"{off} dimension{'s' * (off > 1)} {are(off)} switched off: not needed.")
    return sentences


def _paths(subject: Subject) -> list[str]:
    """Of a collaborative model, whose views have no dimension in common but a path."""
    followed = subject.model.following()
    totals = subject.explained()["total"]
    sentences = ["Every view has a latent path of its own around a path that all of them share."]
    for name in subject.names[:6]:
        parts = followed.loc[name]
        alike = np.allclose(parts, parts.iloc[0])
        shares = [share(x) for x in (parts[:1] if alike else parts)]
        where = "" if alike else " in its dimensions, by turns"
        sentences.append(
            f"{name} follows the shared path with {listing(shares)} of its path's variance{where}; "
            f"the path explains {share(totals[name])} of {name}."
        )
    return sentences


def _clusters(subject: Subject) -> list[str]:
    """Of a mixture, whose clusters have latent spaces of their own."""
    sizes = np.sort(np.bincount(subject.model.labels_))[::-1]
    sizes = sizes[sizes > 0]
    totals = subject.explained()["total"]
    parts = [f"{share(totals[name])} of {name}" for name in subject.names[:6]]
    return [
        f"The samples fall into {count_of(len(sizes), 'cluster')} of "
        f"{listing([str(n) for n in sizes[:12]])} samples, each with a linear relation of its own "
        "between the views.",
        f"Cluster and latent position together explain {listing(parts)}.",
    ]


def _prediction(a: Assessment) -> str:
    row = a.summary()
    explained, linear = row["variance explained"], row["variance explained, ridge"]
    verdict = "better than" if explained > linear + 0.005 else "worse than"
    if not abs(explained - linear) > 0.005:
        verdict = "about as well as"
    of = "its variance" if a.truth.shape[1] == 1 else "the variance of a typical column"
    return (
        f"On {len(a.truth)} samples held out, {a.view} predicted from {a.given}: "
        f"{share(explained)} of {of}, {verdict} ridge regression ({share(linear)}); "
        f"the 90 % intervals hold {share(row['coverage of 90 % intervals'])} of the true values."
    )


def _missing(subject: Subject) -> list[str]:
    sentences = []
    for name, table in subject.tables.items():
        holes = table.isna().to_numpy()
        if not holes.any():
            continue
        absent = int(holes.all(axis=1).sum())
        where = f"{name} is missing altogether for {absent} samples and " if absent else f"{name} "
        rest = holes[~holes.all(axis=1)].mean() if absent < len(holes) else 1.0
        sentences.append(
            f"{where}lacks {share(rest)} of its values{' elsewhere' if absent else ''}; "
            "the model can fill them in (impute)."
        )
    return sentences[:6]


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


def count(n: int, after: str) -> str:
    """A number that begins a sentence."""
    return f"{'None' if n == 0 else n} {after}"


def are(n: int) -> str:
    """The verb for so many."""
    return "is" if n == 1 else "are"

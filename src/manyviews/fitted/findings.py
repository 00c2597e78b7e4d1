"""What a fitted model says, in sentences: of any model in one of the two shells."""

from typing import Any

import numpy as np

from .explain import measure, variance_divided, variance_explained
from .segmentation import ACTIVE_THRESHOLD
from .sentences import capital, count_of, listing, share
from .stability import Stability

MOST_VIEWS = 6  # named in one sentence
SHARED, PARTLY, OWN = "shared by all", "shared by some", "private"


def structure(model: Any, stability: Stability | None = None) -> list[str]:
    """Sentences on what a model has found, the most important first."""
    if hasattr(model, "following"):
        return _paths(model)
    if model.engine_.positions.cluster is not None:
        return _clusters(model)
    if len(model.engine_.relevance) == 1:
        return [_single(model)]
    table = divided(model)
    sentences = [_shared(model, table, stability)]
    if stability is not None:
        sentences += stability.reasons(dict(enumerate(model.dimension_labels())))
    return [*sentences, *_private(model, table)]


def groups_of(model: Any, view: int) -> dict[str, list[int]]:
    """The dimensions that a view uses, by who else does."""
    used = model.engine_.relevance > ACTIVE_THRESHOLD
    count = used.sum(axis=0)
    own, everyone = used[view], len(used)
    parts = {SHARED: count == everyone, PARTLY: (count > 1) & (count < everyone), OWN: count == 1}
    if everyone == 1:
        parts = {SHARED: count < 0, PARTLY: count < 0, OWN: count == 1}
    return {name: np.flatnonzero(own & chosen).tolist() for name, chosen in parts.items()}


Shares = dict[str, dict[str, float]]


def divided(model: Any) -> Shares:
    """Shares of every view's variance by who shares the dimensions; they add up to the total."""
    found = {}
    for view, name in enumerate(view_names(model)):
        shares = variance_divided(model.engine_, view, groups_of(model, view))
        found[name] = {**shares, "total": sum(shares.values())}
    return found


def view_names(model: Any) -> list[str]:
    """The names of a model's views; a single table is X."""
    return [str(name) for name in getattr(model, "view_names_", ("X",))]


def _single(model: Any) -> str:
    n, total = model.n_active_, model.engine_.relevance.shape[1]
    explained = variance_explained(model.engine_, 0, "lost")[1]
    return (
        f"{_none(n)} of {total} latent dimensions {_are(n)} used; together they explain "
        f"{share(explained)} of the {measure(model)} of the data."
    )


def _shared(model: Any, table: Shares, stability: Stability | None) -> str:
    names = view_names(model)
    used = model.engine_.relevance > ACTIVE_THRESHOLD
    shared = np.flatnonzero(used.all(axis=0)).tolist()
    all_of_them = "both views" if len(names) == 2 else f"all {len(names)} views"
    n, total = len(shared), used.shape[1]
    if not shared:
        return (
            f"No latent dimension is shared by {all_of_them}: as far as this model can tell, "
            + ("they" if len(names) == 2 else "the views, taken together,")
            + " have nothing in common."
        )
    count = str(n) if stability is None else stability.count
    parts = [f"{share(table[name][SHARED])} of {name}" for name in names[:MOST_VIEWS]]
    more = f" (the first {MOST_VIEWS} of {len(names)} views)" if len(names) > MOST_VIEWS else ""
    labels = model.dimension_labels()
    return (
        f"{capital(count)} of {total} dimensions {_are(n)} shared by {all_of_them} "
        f"({listing([labels[d] for d in shared])}); {'it explains' if n == 1 else 'they explain'} "
        f"{listing(parts)}{more}."
    )


def _private(model: Any, table: Shares) -> list[str]:
    sentences = []
    names, labels = view_names(model), model.dimension_labels()
    for view, name in enumerate(names[:MOST_VIEWS]):
        groups = groups_of(model, view)
        own, row = groups[OWN], table[name]
        n = len(own)
        parts = [(f"{share(row[SHARED])} from shared dimensions", groups[SHARED])]
        parts += [(f"{share(row[PARTLY])} from those it shares with some", groups[PARTLY])]
        parts += [(f"{share(row[OWN])} from its own", own)]
        told = [text for text, dimensions in parts if dimensions]
        summed = f" ({listing(told)})" if len(told) > 1 else ""
        has = "no dimension of its own"
        if n:
            has = f"{count_of(n, 'dimension')} of its own ({listing([labels[d] for d in own])})"
        sentences.append(
            f"{name} has {has}; all its dimensions explain {share(row['total'])} of it{summed}."
        )
    used = model.engine_.relevance > ACTIVE_THRESHOLD
    count = used.sum(axis=0)
    for d in np.flatnonzero((count > 1) & (count < len(used)))[:MOST_VIEWS]:
        users = [name for name, uses in zip(names, used[:, d], strict=True) if uses]
        sentences.append(f"Dimension {labels[d]} is shared by {listing(users)} only.")
    off = int((count == 0).sum())
    if off:
        sentences.append(f"{count_of(off, 'dimension')} {_are(off)} switched off: not needed.")
    return sentences


def _paths(model: Any) -> list[str]:
    """Of a collaborative model, whose views have no dimension in common but a path."""
    followed = model.following()
    sentences = ["Every view has a latent path of its own around a path that all of them share."]
    for view, name in enumerate(view_names(model)[:MOST_VIEWS]):
        parts = followed.loc[name]
        alike = np.allclose(parts, parts.iloc[0])
        shares = [share(x) for x in (parts[:1] if alike else parts)]
        where = "" if alike else " in its dimensions, by turns"
        explained = variance_explained(model.engine_, view, "lost")[1]
        sentences.append(
            f"{name} follows the shared path with {listing(shares)} of its path's variance{where}; "
            f"the path explains {share(explained)} of {name}."
        )
    return sentences


def _clusters(model: Any) -> list[str]:
    """Of a mixture, whose clusters have latent spaces of their own."""
    sizes = np.sort(np.bincount(model.labels_))[::-1]
    sizes = sizes[sizes > 0]
    names = view_names(model)[:MOST_VIEWS]
    totals = [variance_explained(model.engine_, k, "lost")[1] for k in range(len(names))]
    parts = [f"{share(total)} of {name}" for total, name in zip(totals, names, strict=True)]
    return [
        f"The samples fall into {count_of(len(sizes), 'cluster')} of "
        f"{listing([str(n) for n in sizes[:12]])} samples, each with a linear relation of its own "
        "between the views.",
        f"Cluster and latent position together explain {listing(parts)}.",
    ]


def _none(n: int) -> str:
    return "None" if n == 0 else str(n)


def _are(n: int) -> str:
    return "is" if n == 1 else "are"

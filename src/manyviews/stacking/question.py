"""A question: which view is wanted, and which are known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from ..data import Views
from ..errors import OptionError


@dataclass(frozen=True)
class Question:
    """A view to be predicted from others.

    Attributes
    ----------
    known : tuple of str
        In the order of the views.
    target : str
        The view that is to be predicted.

    Examples
    --------
    >>> from manyviews.stacking import Question
    >>> print(Question(("genes", "drugs"), "proteins"))
    proteins from genes + drugs
    """

    known: tuple[str, ...]
    target: str

    @classmethod
    def of(
        cls, names: Sequence[str], target: str, known: Sequence[str] | None = None
    ) -> "Question":
        """A question about views of these names; by default all others are known."""
        if target not in names:
            raise OptionError(f"there is no view {target!r}: there are {list(names)}")
        for name in known or ():
            if name not in names:
                raise OptionError(f"there is no view {name!r}: there are {list(names)}")
        chosen = names if known is None else known
        found = tuple(name for name in names if name in chosen and name != target)
        if not found:
            raise OptionError(f"{target!r} is to be predicted, but no other view is known")
        return cls(found, target)

    def known_of(self, views: Views) -> Views:
        """The known views alone."""
        return views.only(self.known)

    def rows(self, views: Views) -> Bool[np.ndarray, " N"]:
        """The samples that can say something: a value of the target, and one that is known."""
        wanted = ~np.isnan(views.array(self.target)).all(axis=1)
        return wanted & self.informed(views)

    def informed(self, views: Views) -> Bool[np.ndarray, " N"]:
        """The samples of which any known view has a value."""
        there = [~np.isnan(views.array(name)).all(axis=1) for name in self.known]
        return np.any(there, axis=0)

    def __str__(self) -> str:
        return f"{self.target} from {' + '.join(self.known)}"

"""A look at the data before a fit: what there is, what is odd, what will be done about it."""

from ..data.concern import Concern
from .look import check
from .record import Check

__all__ = ["Check", "Concern", "check"]

"""Models combined by the densities of held-out values, and compared on the user's own data."""

from . import records as _records
from .blend import Blend
from .comparing import compare
from .comparison import Comparison
from .folds import fold_of_rows
from .members import Asked
from .mixture import Mixture
from .question import Question
from .selecting import Selection, select
from .stack import Stack
from .view_regressor import ViewRegressor
from .weights import Stacked, stacking_weights

__all__ = [
    "Asked",
    "Blend",
    "Comparison",
    "Mixture",
    "Question",
    "Selection",
    "Stack",
    "Stacked",
    "ViewRegressor",
    "compare",
    "fold_of_rows",
    "select",
    "stacking_weights",
]

del _records

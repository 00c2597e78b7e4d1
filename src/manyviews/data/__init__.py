"""Views of the same samples: reading, aligning, checks and scaling."""

from .checks import check_training_columns, check_values
from .scaling import Scaling
from .times import When, as_when
from .views import Views, as_views, is_mudata, match_views

__all__ = [
    "Scaling",
    "Views",
    "When",
    "as_views",
    "as_when",
    "check_training_columns",
    "check_values",
    "is_mudata",
    "match_views",
]

"""Views of the same samples: reading, aligning, checks and scaling."""

from .alignment import Aligned, as_views, is_mudata, match_views
from .checks import check_scaled, check_spread, check_training_columns, check_values, numbers_only
from .container import Views
from .groups import as_groups
from .overlap import check_overlap
from .scaling import Scaling
from .stored import StoredViews
from .times import When, as_when

__all__ = [
    "Aligned",
    "Scaling",
    "StoredViews",
    "Views",
    "When",
    "as_groups",
    "as_views",
    "as_when",
    "check_overlap",
    "check_scaled",
    "check_spread",
    "check_training_columns",
    "check_values",
    "is_mudata",
    "match_views",
    "numbers_only",
]

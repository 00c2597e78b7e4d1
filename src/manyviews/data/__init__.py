"""Views of the same samples: checks and scaling."""

from .checks import check_training_columns, check_values
from .scaling import Scaling

__all__ = ["Scaling", "check_training_columns", "check_values"]

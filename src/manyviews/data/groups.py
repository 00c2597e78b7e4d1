"""Groups of samples that belong together: one number for each sample."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from ..errors import DataError
from .times import aligned_to


def as_groups(groups: Any, samples: Sequence[Any]) -> Int[np.ndarray, " N"]:
    """The group of every sample as a number; a Series is matched by its index."""
    values = np.asarray(aligned_to(samples, groups, "groups"))
    if values.shape != (len(samples),):
        raise DataError(f"there are {len(samples)} samples but {values.size} groups")
    return np.unique(values.astype(str), return_inverse=True)[1]

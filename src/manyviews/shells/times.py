"""Time stamps at the edge of a fitted model: those of new samples, and of forecasts."""

from typing import Any

import numpy as np

from ..data import When, as_when
from ..data.times import as_inputs
from ..errors import DataError, OptionError


def read_times(times: Any, sequences: Any, samples: list[Any], trained: When | None) -> When:
    """When new samples were seen, in terms of the sequences trained on."""
    known = _trained(trained)
    return _same_inputs(as_when(times, sequences, samples, known.labels), known)


def forecast_times(times: Any, sequence: Any, trained: When | None) -> When:
    """Other times of one training sequence."""
    known = _trained(trained)
    if sequence is None and len(known.labels) > 1:
        raise OptionError(
            f"name the sequence: sequence=... ({len(known.labels)} were trained on, "
            f"{known.labels[0]!r} for one)"
        )
    sequence = known.labels[0] if sequence is None else sequence
    if sequence not in known.labels:
        raise OptionError(
            f"there is no training sequence {sequence!r}: there are {list(known.labels[:5])}"
        )
    inputs = as_inputs(times)
    code = np.full(len(inputs), known.labels.index(sequence))
    return _same_inputs(When(inputs, code, known.labels), known)


def _trained(when: When | None) -> When:
    if when is None:
        raise OptionError(
            "the model was fitted without time stamps: fit(..., times=..., sequences=...)"
        )
    return when


def _same_inputs(when: When, known: When) -> When:
    have, wanted = when.inputs.shape[1], known.inputs.shape[1]
    if have != wanted:
        raise DataError(f"times have {have} column(s), the model was fitted to {wanted}")
    return when

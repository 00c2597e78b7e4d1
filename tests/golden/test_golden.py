"""Every public estimator answers what it answered when the numbers were recorded.

``python -m tests.golden [case ...]`` records them anew; see the difference before committing it.
"""

import numpy as np
import pytest

from .record import CASES, answers_of, read

RECORDED = read()


def test_all_cases_are_recorded():
    assert set(RECORDED) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_recorded(name):
    found, recorded = answers_of(name), RECORDED[name]
    assert set(found) == set(recorded)
    for quantity, expected in recorded.items():
        check(found[quantity], expected, f"{name}: {quantity}")


def check(found, expected, message):
    assert found["shape"] == expected["shape"], message
    if "words" in expected:
        assert found.get("words") == expected["words"], message
        return
    assert "values" in found, message
    a = np.array([*found["values"], found["sum"]])
    b = np.array([*expected["values"], expected["sum"]])
    values = b[:-1][np.isfinite(b[:-1])]
    scale = max(1.0, np.abs(values).max(initial=0.0))
    np.testing.assert_allclose(
        a[:-1], b[:-1], rtol=1e-8, atol=1e-8 * scale, equal_nan=True, err_msg=message
    )
    size = max(1, int(np.prod(expected["shape"])))
    np.testing.assert_allclose(
        a[-1], b[-1], rtol=1e-8, atol=1e-8 * scale * size, err_msg=f"{message} (sum)"
    )

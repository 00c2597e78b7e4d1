"""Which devices take part, and which processes."""

import jax
import numpy as np
import pytest

from manyviews.devices import VARIABLE, row_mesh, together
from manyviews.errors import OptionError, ProcessLostError
from manyviews.processes import COORDINATOR, gather_rows, join_processes


@pytest.mark.parametrize("choice", ["", "auto", "1"])
def test_one_device_needs_no_mesh(monkeypatch, choice):
    monkeypatch.setenv(VARIABLE, choice)
    assert row_mesh(1_000_000) is None


@pytest.mark.parametrize("choice", ["0", "some", "1000"])
def test_a_number_of_devices_that_is_not_there_is_refused(monkeypatch, choice):
    monkeypatch.setenv(VARIABLE, choice)
    with pytest.raises(OptionError, match=f"{VARIABLE} must be .* {len(jax.devices())}"):
        row_mesh(100)


def test_a_failure_is_told_by_what_it_means(monkeypatch):
    def fail():
        with together():
            raise jax.errors.JaxRuntimeError("Connection reset by peer")

    with pytest.raises(jax.errors.JaxRuntimeError, match="Connection reset"):
        fail()
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(ProcessLostError, match=r"one of the 2 processes .*Connection reset"):
        fail()


def test_one_process_has_nothing_to_join(monkeypatch):
    for name in (COORDINATOR, "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert join_processes() == 0
    rows = np.array([[1.0, np.nan]])
    np.testing.assert_array_equal(gather_rows(rows), rows)


def test_half_of_what_several_processes_need_is_refused():
    with pytest.raises(OptionError, match="all of them"):
        join_processes("localhost:1234")
    with pytest.raises(OptionError, match="rows and columns"):
        gather_rows(np.zeros(3))

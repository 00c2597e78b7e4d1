import os
import signal
import threading
import time

import jax
import numpy as np
import pytest

from manyviews.inference import race
from manyviews.inference.abreast import abreast, n_abreast
from manyviews.inference.optimise import optimise
from manyviews.inference.search import Stage

from .test_optimise import make_model, problem

STAGES = (Stage("lbfgs", 60), Stage("adam", 20), Stage("lbfgs", 30))


def fitted(monkeypatch, at_once, progress=None):
    monkeypatch.setattr(race, "n_abreast", lambda: at_once)
    _, outputs = problem()
    return optimise(make_model, outputs, STAGES, n_restarts=3, progress=progress)


@pytest.mark.filterwarnings("ignore")
def test_threads_change_nothing_about_a_fit(monkeypatch):
    model, info = fitted(monkeypatch, 1)
    same, other = fitted(monkeypatch, 3)
    np.testing.assert_array_equal(other.bound_trace, info.bound_trace)
    np.testing.assert_array_equal(same.latent.mean.raw, model.latent.mean.raw)
    assert other.restart_bounds == info.restart_bounds
    assert other.restart_finished == info.restart_finished
    assert other.n_evaluations == info.n_evaluations


class Impatient:
    """A user who presses Ctrl-C when something has happened."""

    def __init__(self):
        self.starts = set()

    def update(self, restart, stage, bound, gradient_norm, signal_to_noise):
        if not self.starts:
            self.starts.add(restart)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)  # for the main thread to hear of it


@pytest.fixture
def usual_handler():
    """Python's own, which other tests of this process may have replaced."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("usual_handler")
def test_ctrl_c_stops_all_that_run_side_by_side(monkeypatch):
    _, info = fitted(monkeypatch, 3, Impatient())
    assert info.interrupted
    assert np.isfinite(info.bound_trace).all()
    assert info.n_evaluations < fitted(monkeypatch, 1)[1].n_evaluations


def test_an_error_of_one_thread_is_not_lost():
    done = []

    def work(item):
        if item == 1:
            raise ZeroDivisionError
        done.append(item)

    for at_once in (1, 2):
        with pytest.raises(ZeroDivisionError):
            abreast(work, [0, 1], at_once)
    assert done == [0, 0]


def test_starts_go_in_turn_where_devices_share_their_rows(monkeypatch):
    assert n_abreast() >= 1
    monkeypatch.setattr(jax, "device_count", lambda: 4)
    assert n_abreast() == 1


def test_work_is_done_side_by_side():
    together = threading.Barrier(3, timeout=10)
    abreast(lambda _: together.wait(), [0, 1, 2], 3)
    began = []
    abreast(lambda item: (time.sleep(0.01), began.append(item)), [2, 0, 1], 1)
    assert began == [2, 0, 1]

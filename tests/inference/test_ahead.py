"""Programs that are compiled in another thread, and found where they are needed."""

import threading

import jax
import numpy as np
import pytest

from manyviews import BayesianGPLVM, Search
from manyviews.errors import ConvergenceWarning
from manyviews.inference import tall_tables
from manyviews.inference.ahead import Ahead
from manyviews.variational import fit as fitting


def test_a_task_runs_once_in_another_thread_and_its_failure_is_left_to_the_caller():
    threads = []

    def task():
        threads.append(threading.current_thread())
        raise ValueError

    with Ahead() as ahead:
        ahead.begin("one", task)
        ahead.begin("one", task)
        assert ahead.wait("one") >= 0.0
        assert ahead.wait("another") < 1.0
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


@pytest.fixture
def compiled():
    """The names of programs as they are compiled, with the threads that do it."""
    found, listening = [], True

    def listen(event, duration, fun_name="", **_):
        if listening and event.endswith("backend_compile_duration"):
            found.append((fun_name, threading.current_thread() is threading.main_thread()))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    listening = False


def test_what_is_compiled_ahead_is_not_compiled_again_and_changes_nothing(monkeypatch, compiled):
    Y = np.random.default_rng(0).standard_normal((23, 7))

    def fitted(takes_long):
        monkeypatch.setattr(fitting, "_takes_long", lambda _: takes_long)
        return BayesianGPLVM(
            2, n_inducing=5, random_state=0, signal_check="off", search=Search(max_iter=20)
        ).fit(Y)

    with pytest.warns(ConvergenceWarning):
        ahead = fitted(True)
    for name in ("jit(_run)", "jit(condition)"):
        assert [main for other, main in compiled if other == name] == [False]
    with pytest.warns(ConvergenceWarning):
        plain = fitted(False)
    assert ahead.lower_bound_ == plain.lower_bound_
    np.testing.assert_array_equal(ahead.latent_mean_, plain.latent_mean_)
    assert ahead.fit_info_.compile_seconds > 0.0


def test_numpy_and_jax_find_the_same_components_of_tall_tables(monkeypatch):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((25_000, 4)) @ rng.standard_normal((4, 6)) + 3.0
    scores, squares = tall_tables.tall_scores(Y, 3), tall_tables.tall_spectrum(Y)
    monkeypatch.setattr(tall_tables, "MUCH", 0)
    np.testing.assert_allclose(scores, tall_tables.tall_scores(Y, 3), rtol=0, atol=1e-9)
    np.testing.assert_allclose(squares, tall_tables.tall_spectrum(Y), rtol=1e-10, atol=1e-8)

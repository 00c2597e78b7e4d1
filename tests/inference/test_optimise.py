import errno
import os
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from manyviews.errors import (
    CheckpointInUseError,
    CheckpointMismatchError,
    CheckpointWarning,
    ConvergenceWarning,
    FactorisationError,
    FileFormatError,
    FileWriteError,
)
from manyviews.inference.bound import Model
from manyviews.inference.checkpoint import (
    Checkpoint,
    fingerprint,
    finished,
    keeping_checkpoints,
    open_checkpoint,
)
from manyviews.inference.curvature import quasi_newton, remember
from manyviews.inference.descent import (
    CONVERGED,
    MEMORY,
    PROBES,
    RUNNING,
    STRETCH,
    begin,
    descend,
    evaluate,
    method_of,
    run,
    run_untuned,
)
from manyviews.inference.many_minima import minimise_rows
from manyviews.inference.objective import Objective
from manyviews.inference.optimise import optimise
from manyviews.inference.search import Stage, default_stages
from manyviews.kernels import RBF
from manyviews.latent import StandardNormal
from manyviews.mappings import CollapsedGP, make_outputs

N, Q, M, D = 30, 2, 6, 4
STAGES = (Stage("adam", 20), Stage("lbfgs", 60))


def problem(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, Q))
    Y = np.sin(X @ rng.standard_normal((Q, D))) + 0.05 * rng.standard_normal((N, D))
    return make_model(0), (make_outputs(Y - Y.mean(axis=0)),)


def make_model(restart):
    rng = np.random.default_rng([7, restart])
    X = rng.standard_normal((N, Q))
    return Model(StandardNormal(X), (CollapsedGP(RBF(1.0, np.ones(Q)), X[:M], 0.1),))


def rosenbrock(x, _=None):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), ()


def test_lbfgs_solves_rosenbrock():
    end = descend(rosenbrock, jnp.full(10, -1.0), None, 500, -1.0)
    np.testing.assert_allclose(end.x, 1.0, atol=1e-5)
    assert int(end.status) == CONVERGED


def two_loop(gradient, pairs):
    """The quasi-Newton direction as the textbook has it (Nocedal & Wright 2006, alg. 7.4)."""
    q, coefficients = gradient.copy(), []
    for s, y in reversed(pairs):
        coefficients.append((s @ q) / (s @ y))
        q -= coefficients[-1] * y
    s, y = pairs[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), a in zip(pairs, reversed(coefficients), strict=True):
        q += s * (a - (y @ q) / (s @ y))
    return -q


@pytest.mark.parametrize("n_pairs", [1, 7, 30, 45])
def test_directions_are_those_of_the_two_loop_recursion(n_pairs):
    rng = np.random.default_rng(n_pairs)
    A = rng.standard_normal((50, 50))
    A = A @ A.T / 50 + np.eye(50)
    state = begin(lambda x, _: (jnp.sum(x["a"]) + jnp.sum(x["b"]), ()),
                  {"a": jnp.zeros((10, 3)), "b": jnp.zeros(20)}, None)  # fmt: skip

    def tree(v):
        return {"a": jnp.asarray(v[:30].reshape(10, 3)), "b": jnp.asarray(v[30:])}

    pairs, history, gradient = [], state.history, rng.standard_normal(50)
    for _ in range(n_pairs):
        s = rng.standard_normal(50)
        pairs.append((s, A @ s))
        gradient = gradient + A @ s
        history = remember(history, tree(s), tree(A @ s), tree(gradient), jnp.array(True))
    direction, slope, _ = quasi_newton(history, tree(gradient), tree(np.ones(50)))
    expected = two_loop(gradient, pairs[-MEMORY:])
    found = np.concatenate([np.ravel(direction["a"]), direction["b"]])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(slope, expected @ gradient, rtol=1e-6)


def test_units_are_a_change_of_variables():
    units = jnp.array([1.0, 0.3, 2.0, 0.5])

    def end(function, x, units):
        method = method_of(False, units, 12, -1.0)
        state = begin(function, x, None)
        return run((function, None, method, jnp.array(STRETCH)), state)[0].x

    start = jnp.array([0.8, 0.7, 0.5, 0.2])
    found = end(rosenbrock, start, units)
    same = end(lambda u, _: rosenbrock(units * u), start / units, jnp.ones(4))
    np.testing.assert_allclose(found, units * same, rtol=1e-6)
    assert not np.allclose(found, end(rosenbrock, start, jnp.ones(4)), rtol=1e-3)


def test_shared_parameters_have_smaller_units_the_more_rows_there_are():
    model, _ = problem()
    few = Objective(model, (make_outputs(np.zeros((N, D))),))
    np.testing.assert_array_equal(few.scales()[0], few.mask()[0])
    rng = np.random.default_rng(0)
    for n_rows, unit in ((4000, 0.05), (9000, 1 / 30)):
        X = rng.standard_normal((n_rows, Q))
        model = Model(StandardNormal(X), (CollapsedGP(RBF(1.0, np.ones(Q)), X[:M], 0.1),))
        many = Objective(model, (make_outputs(np.zeros((n_rows, D))),))
        own, held = many.scales()[0], many.scales("noise")[0]
        assert np.sum(own == 1.0) == 2 * n_rows * Q
        np.testing.assert_allclose(own[own != 1.0], unit)
        assert np.sum(held == 0.0) == 1
        np.testing.assert_array_equal(many.mask()[0], 1.0)


def test_lbfgs_gets_through_rounding_noise():
    def noisy(x, _):
        value, _ = rosenbrock(x)
        grain = jnp.sin(1e9 * jnp.sum(jax.lax.stop_gradient(x) * jnp.arange(1.0, 7.0)))
        return value + 1e-3 * grain, ()

    end = descend(noisy, jnp.full(6, -1.0), None, 500, -1.0)
    assert float(rosenbrock(end.x)[0]) < 0.02
    assert 2e-4 < float(evaluate(noisy, end.x, None, 1 + PROBES).noise) < 1e-2


def test_it_descends_in_single_precision_too():
    end = descend(rosenbrock, jnp.full(4, -1.0, jnp.float32), None, 200, -1.0)
    assert end.x.dtype == end.value.dtype == jnp.float32
    np.testing.assert_allclose(end.best, 1.0, atol=0.01)


def test_lbfgs_backs_away_from_infinite_values():
    def walled(x, _):
        return jnp.where(x[0] < 0.5, jnp.inf, jnp.sum((x - 0.6) ** 2)), ()

    end = descend(walled, jnp.array([30.0, -4.0]), None, 100, -1.0)
    np.testing.assert_allclose(end.x, 0.6, atol=1e-6)
    assert int(end.status) == CONVERGED


def test_a_stuck_lbfgs_does_not_claim_convergence():
    @jax.custom_jvp
    def upside_down(x):  # the gradient points the wrong way: no step along it helps
        return jnp.sum(x**2)

    upside_down.defjvp(lambda x, t: (jnp.sum(x[0] ** 2), -2 * jnp.sum(x[0] * t[0])))
    end = descend(lambda x, _: (upside_down(x), ()), jnp.array([1.0, 2.0]), None, 50, -1.0)
    np.testing.assert_allclose(end.x, [1.0, 2.0], rtol=1e-8)
    assert int(end.status) != CONVERGED


def adam(function, x, rate, turns):
    method = method_of(True, 1.0, turns, -1.0)
    state = begin(function, x, None, rate)
    while int(state.iterations) < turns:
        state, _ = run((function, None, method, jnp.array(STRETCH)), state)
    return state


def test_adam_returns_the_best_point_and_survives_a_cliff():
    def cliff(x, _):
        return jnp.where(x[0] < -0.5, jnp.inf, x[0]), ()

    assert -0.5 <= float(adam(cliff, jnp.array([1.0]), 0.05, 200).best[0]) < -0.4


def test_adam_is_that_of_the_paper():
    x = np.full(4, -1.0)
    first, second = np.zeros(4), np.zeros(4)
    slope = jax.grad(lambda x: rosenbrock(x)[0])
    for t in range(1, 41):
        g = np.asarray(slope(jnp.asarray(x)))
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
        x = x - 0.02 * first / (1 - 0.9**t) / np.sqrt(second / (1 - 0.999**t))
    np.testing.assert_allclose(adam(rosenbrock, jnp.full(4, -1.0), 0.02, 40).x, x, rtol=1e-9)


def test_the_path_does_not_depend_on_how_it_is_divided():
    method = method_of(False, 1.0, 40, -1.0)
    ends = []
    for turns in (1, 7, STRETCH):
        state, values = begin(rosenbrock, jnp.full(10, -1.0), None), []
        while int(state.status) == RUNNING and int(state.iterations) < 40:
            state, seen = run((rosenbrock, None, method, jnp.array(turns)), state)
            values += np.asarray(seen.values)[: int(seen.steps)].tolist()
        ends.append(values)
    assert ends[0] == ends[1] == ends[2]
    assert len(ends[0]) == 40


def test_the_untuned_program_takes_the_same_path():
    method, ends = method_of(False, 1.0, 60, -1.0), []
    for program in (run, run_untuned):
        state = begin(rosenbrock, jnp.array([-1.2, 1.0, 0.3]), None)
        ends.append(program((rosenbrock, None, method, jnp.array(40)), state)[0])
    assert int(ends[0].turn) == int(ends[1].turn) == 40
    np.testing.assert_allclose(ends[0].x, ends[1].x, rtol=1e-9)


def test_many_minima_solves_each_row_on_its_own():
    rng = np.random.default_rng(0)
    targets = jnp.asarray(rng.standard_normal((7, 3)))
    curvature = jnp.asarray(10.0 ** rng.uniform(-2, 2, (7, 3)))

    def function(x):
        return jnp.sum(curvature * (x - targets) ** 2 + 0.1 * (x - targets) ** 4, axis=1)

    x, value = minimise_rows(function, jnp.zeros((7, 3)), jnp.ones((7, 3)), tolerance=1e-9)
    np.testing.assert_allclose(x, targets, atol=1e-6)
    np.testing.assert_allclose(value, 0.0, atol=1e-12)


def test_objective_gradient_matches_finite_differences_and_flat_vector_round_trips():
    model, outputs = problem()
    objective = Objective(model, outputs)
    x = objective.start + 0.01
    _, gradient = objective(x)
    rng = np.random.default_rng(0)
    for _ in range(5):
        d = rng.standard_normal(x.size)
        slope = (objective(x + 1e-5 * d)[0] - objective(x - 1e-5 * d)[0]) / 2e-5
        np.testing.assert_allclose(slope, gradient @ d, rtol=1e-5)
    np.testing.assert_allclose(
        objective.model_at(objective.start).latent.mean.value, model.latent.mean.value
    )
    np.testing.assert_array_equal(Objective(objective.model_at(x), outputs).start, x)


def test_held_parameters_do_not_move():
    model, outputs = problem()
    stages = (
        Stage("lbfgs", 15, hold=("noise", "kernel.*variance")),
        Stage("adam", 5, hold=("inducing",)),
    )
    for stage in stages:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted, _ = optimise(lambda _: model, outputs, [stage])
        moved = {
            "noise": fitted.views[0].noise.raw != model.views[0].noise.raw,
            "variance": fitted.views[0].kernel.variance.raw != model.views[0].kernel.variance.raw,
            "inducing": (fitted.views[0].inducing.raw != model.views[0].inducing.raw).all(),
            "mean": (fitted.latent.mean.raw != model.latent.mean.raw).all(),
        }
        first = stage is stages[0]
        expected = {"noise": not first, "variance": not first, "inducing": first, "mean": True}
        assert {k: bool(v) for k, v in moved.items()} == expected


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
def test_restarts_are_ranked_by_bound_and_the_same_seed_gives_the_same_result():
    _, outputs = problem()
    model, info = optimise(make_model, outputs, STAGES, n_restarts=3)
    again, info_again = optimise(make_model, outputs, STAGES, n_restarts=3)
    assert len(info.restart_bounds) == 3
    best, _ = optimise(lambda _: make_model(int(np.argmax(info.restart_bounds))), outputs, STAGES)
    np.testing.assert_array_equal(model.latent.mean.raw, best.latent.mean.raw)
    np.testing.assert_array_equal(model.latent.mean.raw, again.latent.mean.raw)
    assert info.restart_bounds == info_again.restart_bounds
    _, unfinished = optimise(make_model, outputs, STAGES[:1], n_restarts=3)
    apart = np.diff(unfinished.restart_bounds)  # compared where all starts stood
    np.testing.assert_allclose(np.diff(info.restart_bounds), apart, rtol=1e-6)
    assert max(info.restart_bounds) > max(unfinished.restart_bounds)
    assert 3 * 20 + 30 < info.n_evaluations < 3 * 80  # one start is finished, not three
    assert info.seconds > info.compile_seconds > 0
    assert info.bound_trace[-1] > info.bound_trace[0]


THREE = (Stage("lbfgs", 50), Stage("adam", 20), Stage("lbfgs", 60))
OTHER = (Stage("lbfgs", 50, hold=("noise",)), *THREE[1:])


def plan(restart):
    return (THREE, OTHER)[restart % 2]


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
def test_the_worse_half_of_the_starts_of_one_plan_is_dropped_after_the_first_stage():
    _, outputs = problem()
    _, info = optimise(make_model, outputs, plan, n_restarts=5)
    after_first = [
        max(optimise(lambda _, r=r: make_model(r), outputs, plan(r)[:1])[1].restart_bounds)
        for r in range(5)
    ]
    kept = {0, 2, 4} - {min((0, 2, 4), key=lambda r: after_first[r])}
    kept |= {max((1, 3), key=lambda r: after_first[r])}
    for restart, (bound, early) in enumerate(zip(info.restart_bounds, after_first, strict=True)):
        assert bound == early if restart not in kept else bound >= early
    assert {restart for restart, ended in enumerate(info.restart_finished) if ended} == kept
    np.testing.assert_array_equal(
        sorted(info.finished_bounds()), sorted(info.restart_bounds[restart] for restart in kept)
    )
    assert len(info.restart_relevance) == len(kept)
    _, again = optimise(make_model, outputs, plan, n_restarts=5)
    assert again.restart_bounds == info.restart_bounds


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
def test_starts_are_not_dropped_after_a_few_iterations():
    _, outputs = problem()
    short = (Stage("lbfgs", 6), Stage("adam", 6), Stage("lbfgs", 6))
    _, info = optimise(make_model, outputs, short, n_restarts=3)
    assert info.n_evaluations > 3 * 12


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
def test_starts_that_were_dropped_stay_dropped_when_a_fit_goes_on(tmp_path):
    _, outputs = problem()
    path = tmp_path / "fit.checkpoint"
    _, whole = optimise(make_model, outputs, plan, n_restarts=4)
    in_adam = StopAt(4 * 50 + 10)
    optimise(make_model, outputs, plan, n_restarts=4, progress=in_adam,
             checkpoint=Checkpoint(path, "a"))  # fmt: skip
    state = Checkpoint(path, "a").resume()
    assert state.stage == 1
    assert len(state.alive) == len(state.runs) == 2
    _, resumed = optimise(make_model, outputs, plan, n_restarts=4, checkpoint=Checkpoint(path, "a"))
    assert len(resumed.restart_bounds) == 4
    assert resumed.n_evaluations < whole.n_evaluations - 3 * 50
    dropped = set(range(4)) - set(state.alive)
    assert all(resumed.restart_bounds[r] == whole.restart_bounds[r] for r in dropped)
    assert resumed.restart_bounds == whole.restart_bounds


def test_convergence_is_reported_and_its_absence_warned_of():
    _, outputs = problem()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        _, info = optimise(make_model, outputs, [Stage("lbfgs", 3)])
    assert not info.converged
    _, info = optimise(make_model, outputs, [Stage("lbfgs", 2000)], tolerance=1e-2)
    assert info.converged


class StopAt:
    def __init__(self, count):
        self.count = count

    def update(self, *_):
        self.count -= 1
        if self.count == 0:
            raise KeyboardInterrupt


def test_ctrl_c_keeps_the_best_state(monkeypatch):
    monkeypatch.setattr("manyviews.inference.race.n_abreast", lambda: 1)
    _, outputs = problem()
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        _, info = optimise(make_model, outputs, STAGES, n_restarts=5, progress=StopAt(10))
    assert info.interrupted
    assert len(info.restart_bounds) == 1
    assert info.restart_bounds[0] == max(info.bound_trace)
    start = Objective(make_model(0), outputs)
    assert info.restart_bounds[0] > -start(start.start)[0]


def test_ctrl_c_before_there_is_anything_to_keep(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("manyviews.inference.run.Run.advance", stop)  # as while compiling
    with pytest.raises(KeyboardInterrupt):
        optimise(make_model, problem()[1], STAGES)


@pytest.mark.filterwarnings("ignore::manyviews.errors.ConvergenceWarning")
@pytest.mark.parametrize("stop", [5, 30, 60], ids=["first start", "second start", "last stage"])
def test_an_interrupted_fit_ends_where_one_that_was_not_ends(tmp_path, stop):
    _, outputs = problem()
    path = tmp_path / "fit.checkpoint"

    def go(**options):
        return optimise(make_model, outputs, STAGES, n_restarts=2, **options)

    _, first = go(progress=StopAt(stop), checkpoint=Checkpoint(path, "a"))
    assert first.interrupted
    model, resumed = go(checkpoint=Checkpoint(path, "a"))
    expected, whole = go()
    np.testing.assert_array_equal(model.latent.mean.raw, expected.latent.mean.raw)
    np.testing.assert_array_equal(resumed.bound_trace, whole.bound_trace)
    assert resumed.restart_bounds == whole.restart_bounds
    assert len(resumed.restart_relevance) == len(whole.restart_relevance) > 0
    for known, wanted in zip(resumed.restart_relevance, whole.restart_relevance, strict=True):
        np.testing.assert_array_equal(known, wanted)
    assert resumed.n_evaluations < whole.n_evaluations
    again, ended = go(checkpoint=Checkpoint(path, "a"))  # of a fit that is complete
    np.testing.assert_array_equal(again.latent.mean.raw, expected.latent.mean.raw)
    assert ended.converged == whole.converged
    assert ended.n_evaluations < 10


def test_defective_checkpoints_are_named_errors(tmp_path):
    path = tmp_path / "fit.checkpoint"
    run = {"position": np.zeros(3), "best": np.zeros(3)}
    Checkpoint(path, "a").write(0, 1, None, run)
    whole = path.read_bytes()
    with pytest.raises(CheckpointMismatchError, match="other data"):
        Checkpoint(path, "b").resume()
    for place in range(8, len(whole), 7):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(FileFormatError):
            Checkpoint(path, "a").resume()
    path.write_bytes(whole[:40])
    with pytest.raises(FileFormatError):
        Checkpoint(path, "a").resume()


def test_a_checkpoint_is_for_one_fit_and_noticed_early_where_it_cannot_be(tmp_path):
    path = tmp_path / "fit.checkpoint"
    second = Checkpoint(path, "b")
    with Checkpoint(path, "a"), pytest.raises(CheckpointInUseError, match="another fit"):
        second.__enter__()
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileWriteError, match="create it first"):
        Checkpoint(tmp_path / "none" / "fit.checkpoint", "a").__enter__()
    with pytest.raises(FileWriteError, match="folder of that name"):
        Checkpoint(tmp_path, "a").__enter__()


def test_a_full_disk_does_not_end_the_fit(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "fit.checkpoint"
    Checkpoint(path, "a").write(0, 1, None, {})
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(CheckpointWarning, match="the disk is full"):
        Checkpoint(path, "a").write(1, 1, None, {})
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["fit.checkpoint"]


def test_checkpoints_stay_until_the_block_around_their_fits_has_ended(tmp_path):
    path = tmp_path / "fit.checkpoint"

    def fits(last_one_ends):
        with keeping_checkpoints():
            for name in "ab":
                with keeping_checkpoints():  # as every fit has it
                    checkpoint = open_checkpoint(path, name)
                    checkpoint.write(0, 1, None, {})
                    if name == "a" or last_one_ends:
                        finished(checkpoint)
            assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, f"{path.name}-2"]

    fits(False)
    assert len(list(tmp_path.iterdir())) == 2
    fits(True)
    assert not list(tmp_path.iterdir())

    def fails():
        with keeping_checkpoints():
            checkpoint = open_checkpoint(path, "a")
            checkpoint.write(0, 1, None, {})
            finished(checkpoint)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert path.exists()


def test_fingerprint_sees_options_and_data():
    Y = np.ones((3, 2))
    marks = {
        fingerprint({"a": 1}, Y),
        fingerprint({"a": 2}, Y),
        fingerprint({"a": 1}, Y + 1),
        fingerprint({"a": 1}, Y.reshape(2, 3)),
    }
    assert len(marks) == 4


def test_a_bound_that_is_never_finite_is_a_named_error():
    model, outputs = problem()
    broken = Model(StandardNormal(np.full((N, Q), 1e200)), model.views)
    with pytest.raises(FactorisationError, match="not finite"):
        optimise(lambda _: broken, outputs, [Stage("adam", 3)])


def test_default_stages_hold_noise_first():
    first, *rest = default_stages(1000)
    assert "noise" in first.hold
    assert all(not stage.hold for stage in rest)
    assert sum(stage.iterations for stage in default_stages(5)) == 15

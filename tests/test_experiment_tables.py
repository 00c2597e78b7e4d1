"""The pieces of the tables of many data sets: single folds, in an order for many processes."""

from collections import Counter

import numpy as np
import pytest
from experiments.setting import DataFolderError
from experiments.table import summarise
from experiments.tables import (
    FEW_SAMPLES,
    METHODS,
    SIDE_BY_SIDE,
    chosen_tasks,
    comparisons,
    overall,
    planned,
)
from experiments.tables_stacks import Division, said_by, stacked
from experiments.tables_tasks import FOLDS, TASKS

from manyviews import Stack, Views
from manyviews.stacking import Question
from manyviews.stacking.comparing import scored_fold

SIZES = {
    task.label: FEW_SAMPLES + 1 + place if place < 12 else place for place, task in enumerate(TASKS)
}


def test_every_fold_of_every_method_is_a_piece():
    pieces = planned(TASKS, METHODS, 3, SIZES)
    assert len(set(pieces)) == len(pieces)
    blocks = sum(task.split == "blocks" for task in TASKS)
    assert len(pieces) == FOLDS * len(METHODS) * (3 * len(TASKS) - 2 * blocks)
    counts = Counter(piece[0] for piece in pieces if piece[2] == 0)
    assert set(counts.values()) == {FOLDS * len(METHODS)}


def test_small_tasks_come_whole_and_the_longest_first():
    pieces = planned(TASKS, METHODS, 1, SIZES)
    whole = FOLDS * len(METHODS)
    n_few = sum(size <= FEW_SAMPLES for size in SIZES.values())
    sizes = []
    for first in range(0, whole * n_few, whole):
        (label,) = {piece[0] for piece in pieces[first : first + whole]}
        sizes.append(SIZES[label])
    assert sizes == sorted(sizes, reverse=True)
    assert [piece[1] for piece in pieces[: FOLDS + 1]] == [METHODS[-1]] * FOLDS + [METHODS[-2]]
    assert [piece[3] for piece in pieces[:FOLDS]] == list(range(FOLDS))


def test_large_tasks_have_their_stacks_last_and_neighbours_of_different_data():
    pieces = [p for p in planned(TASKS, METHODS, 1, SIZES) if SIZES[p[0]] > FEW_SAMPLES]
    assert [p[1] == "Stack" for p in pieces] == sorted(p[1] == "Stack" for p in pieces)
    for first in range(0, FOLDS * SIDE_BY_SIDE, SIDE_BY_SIDE):
        some = pieces[first : first + SIDE_BY_SIDE]
        assert {piece[1:] for piece in some} == {("MRD", 0, first // SIDE_BY_SIDE)}
        assert len({piece[0] for piece in some}) == SIDE_BY_SIDE


def test_what_is_not_done_in_all_folds_has_no_row():
    task = TASKS[0]

    def cell(method, fold):
        scores = {"values": 10, "squares": 5.0, "log_density": -9.0, "inside": 9, "seconds": 1.0}
        return {
            "method": method, "fold": fold, "failure": "", "notes": [], "seconds": 1.0,
            "scores": {task.target: scores},
        }  # fmt: skip

    cells = {(task.label, "ridge", 0, fold): cell("ridge", fold) for fold in range(FOLDS)}
    cells |= {(task.label, "Stack", 0, fold): cell("Stack", fold) for fold in range(FOLDS - 1)}
    cells |= {(task.label, "random forest", 0, fold): None for fold in range(FOLDS)}
    (found,) = comparisons(task, ("ridge", "Stack", "random forest"), cells)
    assert list(found.table["method"]) == ["ridge"]
    assert found.table["error"][0] == pytest.approx(0.5**0.5)
    assert comparisons(TASKS[1], ("ridge",), cells) == []


def test_the_best_rival_is_that_of_each_task():
    """Tasks that some rival has not been measured on count beside ridge alone."""
    errors = {"ridge": (1.0, 2.0, 4.0), "GP regression": (2.0, 1.0, 1.0), "Stack": (0.5, 2.0, 1.0)}
    rows = []
    for name in ("ridge", "PLS", "5-NN", "GP regression", "random forest", "Stack"):
        for task, error in enumerate(errors.get(name, (9.0, 9.0, None))):
            if error is not None:
                rows.append(summarise(name, f"task {task} | RMSE", [error], seconds=1.0))
                rows.append(summarise(name, f"task {task} | log-density", [-error], seconds=1.0))
    found = {row.measure: row.value for row in overall(rows) if row.method == "Stack"}
    assert found["RMSE-ratio-to-best-rival"] == pytest.approx((0.5 * 2.0) ** 0.5)
    assert found["RMSE-ratio-to-best-rival-worst"] == pytest.approx(2.0)
    assert found["density-gain-over-best-rival"] == pytest.approx((0.5 - 1.0) / 2)
    assert found["density-above-best-rival"] == 0.5
    assert found["RMSE-ratio-to-ridge"] == pytest.approx((0.5 * 1.0 * 0.25) ** (1 / 3))
    assert found["density-gain-over-ridge"] == pytest.approx((0.5 + 0.0 + 3.0) / 3)


def test_a_stack_of_kept_members_is_that_of_one_fit():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(48, 2))
    data = Views({"a": x, "b": x @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(48, 3))})
    groups, names, seed = np.arange(48) // 2, ["mean", "ridge", "knn"], 3
    fold = np.arange(48) // 16
    question = Question.of(("a", "b"), "b")
    division = Division(data, fold, 1, groups, seed)
    members = {name: said_by(name, data, question, division) for name in names}
    found = stacked(members, data, question, division)
    stack = Stack(names, targets="b")
    whole = scored_fold("stack", stack, 1, data, fold, [question], groups, seed)["scores"]["b"]
    assert found["squares"] == pytest.approx(whole["squares"], rel=1e-5)
    assert found["log_density"] == pytest.approx(whole["log_density"], rel=1e-5)
    assert found["inside"] == whole["inside"]


def test_unknown_sets_are_refused():
    with pytest.raises(DataFolderError, match="no task"):
        chosen_tasks(["nowhere"])

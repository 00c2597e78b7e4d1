"""The pieces of the tables of many data sets: single folds, in an order for many processes."""

from collections import Counter

import pytest
from experiments.setting import DataFolderError
from experiments.tables import METHODS, SIDE_BY_SIDE, chosen_tasks, comparisons, planned
from experiments.tables_tasks import FOLDS, TASKS


def test_every_fold_of_every_method_is_a_piece():
    pieces = planned(TASKS, METHODS, 3)
    assert len(set(pieces)) == len(pieces)
    blocks = sum(task.split == "blocks" for task in TASKS)
    assert len(pieces) == FOLDS * len(METHODS) * (3 * len(TASKS) - 2 * blocks)
    counts = Counter(piece[0] for piece in pieces if piece[2] == 0)
    assert set(counts.values()) == {FOLDS * len(METHODS)}


def test_neighbours_are_of_different_data():
    pieces = planned(TASKS, METHODS, 1)
    for first in range(0, len(pieces) - SIDE_BY_SIDE, SIDE_BY_SIDE):
        some = pieces[first : first + SIDE_BY_SIDE]
        if len({piece[1] for piece in some}) == 1:
            assert len({piece[0] for piece in some}) == SIDE_BY_SIDE
    assert pieces[0][1] == METHODS[-1]


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


def test_unknown_sets_are_refused():
    with pytest.raises(DataFolderError, match="no task"):
        chosen_tasks(["nowhere"])

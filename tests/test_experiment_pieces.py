"""Pieces of experiments are done once, kept by the code that they measure, and counted."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.pieces import Progress, UnfinishedError, finished, place, tallied
from experiments.setting import Ledger, Setting

DONE = []


@pytest.fixture
def setting(tmp_path):
    DONE.clear()
    return Setting(None, 1, False, tmp_path, name="toy", code="abc")


def squares(setting, name, seed):
    DONE.append((name, seed))
    return {"square": np.arange(3.0) ** seed, "seed": np.int64(seed)}


def by_method(setting, name, seed):
    return {"ours": {"error": 1.0 + seed, "seconds": 2.0}, "ridge": {"error": 3.0}}


def test_pieces_are_done_once_and_come_in_their_order(setting, tmp_path):
    first = finished(setting, squares, [("b", 2), ("a", 1)])
    again = finished(setting, squares, [("a", 1), ("b", 2)])
    assert DONE == [("b", 2), ("a", 1)]
    assert list(first) == [("b", 2), ("a", 1)]
    assert list(again) == [("a", 1), ("b", 2)]
    assert first["b", 2] == again["b", 2] == {"square": [0.0, 1.0, 4.0], "seed": 2}
    assert len(list((tmp_path / "toy" / "abc").glob("*.json"))) == 2


def test_other_code_a_smoke_run_and_other_work_have_pieces_of_their_own(setting, tmp_path):
    piece = ("a", 1)
    others = [replace(setting, code="def"), replace(setting, quick=True)]
    paths = {place(each, squares, piece) for each in (setting, *others)}
    paths |= {place(setting, by_method, piece), place(setting, squares, ("a 1",))}
    assert len(paths) == 5


@pytest.mark.parametrize("names", [("a b", "a_b"), ("x" * 300, "x" * 301)])
def test_names_that_look_alike_are_kept_apart(setting, names):
    first, second = (place(setting, squares, (name, 0)) for name in names)
    assert first != second
    assert len(first.name) < 200


def test_pieces_that_are_asked_for_twice_count_once(setting):
    finished(setting, squares, [("a", 1), ("b", 2)])
    once = setting.ledger.worked
    finished(setting, squares, [("b", 2)])
    assert setting.ledger.worked == once


def test_a_half_written_piece_is_done_again(setting):
    path = place(setting, squares, ("a", 1))
    path.parent.mkdir(parents=True)
    path.write_text('{"answer": ')
    assert finished(setting, squares, [("a", 1)])["a", 1]["seed"] == 1


def test_after_the_limit_nothing_is_begun(setting):
    finished(setting, squares, [("a", 1)])
    late = replace(setting, limit=-1.0)
    with pytest.raises(UnfinishedError, match="1 pieces are left"):
        finished(late, squares, [("a", 1), ("a", 2)])
    found = finished(late, squares, [("a", 1), ("a", 2)], all_of_them=False)
    assert list(found) == [("a", 1)]
    assert DONE == [("a", 1)]


def test_pieces_that_belong_together_are_done_in_one_process(setting, monkeypatch):
    runs = []

    def watched(work, run, jobs):
        for piece in run:
            runs.append(piece[1])
            yield work(*piece)

    monkeypatch.setattr("experiments.pieces.side_by_side", watched)
    pieces = [("a", 0), ("a", 1), ("b", 0), ("a", 2)]
    found = finished(setting, squares, pieces, together=lambda piece: piece[0])
    assert runs == [(("a", 0), ("a", 1)), (("b", 0),), (("a", 2),)]
    assert list(found) == pieces


def test_values_are_gathered_by_method_and_measure(setting):
    found = tallied(setting, by_method, [("x", seed) for seed in range(3)])
    assert found["ours", "error"].values == [1.0, 2.0, 3.0]
    assert found["ours", "error"].seconds == 2.0
    assert found["ridge", "error"].values == [3.0] * 3
    assert found["ridge", "error"].seconds < 1.0
    assert set(found) == {("ours", "error"), ("ridge", "error")}
    worked = setting.ledger.worked
    later = replace(setting, ledger=Ledger())
    tallied(later, by_method, [("x", seed) for seed in range(3)])
    assert later.ledger.worked == pytest.approx(worked)  # what is read counts, too


def test_the_time_left_is_that_of_pieces_of_the_same_name():
    found = {("slow", 0): {"seconds": 10.0}, ("slow", 1): None, ("fast", 0): {"seconds": 2.0},
             ("fast", 1): None, ("new", 0): None}  # fmt: skip
    assert Progress(found, 1).time_left() == pytest.approx(10.0 + 2.0 + 6.0)
    assert Progress(found, 2).time_left() == pytest.approx(9.0)


def test_what_json_cannot_hold_is_refused(setting):
    with pytest.raises(TypeError, match="set is nothing that JSON can hold"):
        finished(setting, lambda setting, name: {name}, [("a",)])


@pytest.mark.long
def test_pieces_run_side_by_side(setting):
    pieces = [("a", seed) for seed in range(4)]
    found = finished(replace(setting, jobs=2), squares, pieces)
    assert [found[piece]["seed"] for piece in pieces] == [0, 1, 2, 3]

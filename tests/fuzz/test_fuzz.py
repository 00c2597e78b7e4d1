"""A few cases of the parts that take no time; ``make fuzz`` tries the others, and many more."""

import json
import os
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest

from manyviews.errors import DataError

from . import files, hierarchy, pool
from .case import Result, attempt, generator, in_words, refused
from .division import amounts
from .mutate import forged, header_of, json_changed
from .parts import PARTS
from .pool import Found, Pool
from .samplers import rank
from .slot import Slot
from .summary import coverage_lines, rank_lines, text, written_into
from .tickets import Tickets

pytestmark = pytest.mark.filterwarnings("ignore::manyviews.errors.ManyviewsWarning")
CASES = "250"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", ["inputs", "checkpoints"])
def test_nothing_is_wrong_with_the_first_cases(part):
    """In a process whose types are not checked, as those of users are."""
    cases = [sys.executable, "-m", "tests.fuzz", "--only", part, "--case", "0", "--cases", CASES]
    done = subprocess.run(cases, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" after ") == int(CASES)


def test_changed_files_are_refused_or_read_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "KINDS", ("PPCA", "GroupFactorAnalysis", "KernelCCA"))
    case = PARTS["files"]().start(tmp_path)
    found = [attempt(case, generator(0, "files", n), n) for n in range(int(CASES))]
    assert [one.wrong for one in found if one.wrong] == []
    assert {one.outcome for one in found} == {"refused", "read as it is"}


def test_a_case_depends_on_its_number_alone(tmp_path):
    draws = [generator(0, "inputs", number).random() for number in (3, 4, 3)]
    assert draws[0] == draws[2] != draws[1]
    assert generator(1, "inputs", 3).random() != draws[0] != generator(0, "files", 3).random()


def test_errors_of_ours_are_answers_and_others_are_not():
    def raised(error):
        try:
            raise error
        except Exception as found:
            return refused(found, "about").outcome

    assert raised(DataError("the view 'a' has no columns")) == "refused"
    assert raised(KeyError("something that is long enough")) == "wrong"
    assert raised(ValueError("of somebody else, and long enough")) == "wrong"
    assert "ZeroDivisionError" in in_words(ZeroDivisionError("by zero"))
    assert attempt(lambda rng, n: 1 / 0, np.random.default_rng(0), 0).outcome == "wrong"


def test_forged_files_have_their_checksum(tmp_path):
    raw = files._saved("PPCA", tmp_path / "model.safetensors")
    changed = forged(raw, "content", np.random.default_rng(1))
    assert header_of(changed)["sha256"] != header_of(raw)["sha256"]
    assert json_changed('{"a": [1, 2]}', np.random.default_rng(0)) != '{"a": [1, 2]}'


def test_findings_of_processes_are_added_up(tmp_path):
    slot = Slot("files", 0, 1.0, None, tmp_path, 0)
    lines = [{"counts": {"refused": 3}}, {"case": 5, "wrong": "so"}, {"counts": {"wrong": 1}}]
    slot.notes.write_text("\n".join(map(json.dumps, lines)) + '\n{"counts": {"ref')
    slot.extra.append({"case": 7, "wrong": "no answer after 1 s"})
    found = Found()
    for noted in (*slot.news(), *slot.news()):  # a line under way is not read, none twice
        found.add(noted)
    with open(slot.notes, "a") as file:
        file.write('used": 2}}\n')
    for noted in slot.news():
        found.add(noted)
    assert found.counts == {"refused": 5, "wrong": 2}
    assert [one["case"] for one in found.wrong] == [5, 7]
    assert found.done("") == 7
    assert Found(numbers=[{"case": 1, "kills": 2}, {"case": 2, "kills": 3}]).done("kills") == 5


def test_numbers_are_given_out_once(tmp_path):
    a, b = Tickets(tmp_path, 30), Tickets(tmp_path, 30)
    blocks = [a.take(1.0), b.take(0.05), a.take(0.05), b.take(0.01), a.take(1.0)]
    assert [*map(len, blocks)] == [1, 10, 10, 9, 0]
    assert sorted(number for block in blocks for number in block) == list(range(30))
    endless = Tickets(tmp_path)
    assert endless.take(1.0) == range(30, 31)
    endless.no_more()
    assert not b.take(1.0)
    assert not endless.take(1.0)


def test_processes_go_where_the_most_is_left(tmp_path):
    parts = {name: PARTS[name]() for name in ("inputs", "files", "kills")}
    pool = Pool(parts, {}, 0, tmp_path, {"inputs": 100, "files": 100, "kills": 10})
    pool.until = time.time() + 1000.0
    pool.found = {
        "inputs": Found({"read": 100}),
        "files": Found({"refused": 60}),
        "kills": Found({"resumed": 9}, numbers=[{"kills": 2}, {"kills": 3}]),
    }
    assert pool._needy() == "kills"
    pool.found["kills"].numbers.append({"kills": 6})
    assert pool._needy() == "files"
    pool.until = time.time() + 5.0
    assert pool._needy() is None


def test_a_part_ends_at_its_goal_and_results_are_written(tmp_path):
    file = tmp_path / "found.json"
    command = [sys.executable, "-m", "tests.fuzz", "--processes", "checkpoints=2", "--until",
               "checkpoints=700", "--minutes", "5", "--json", str(file)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(file.read_text())
    assert sum(result["parts"]["checkpoints"]["counts"].values()) == 700
    assert result["ended"]
    assert result["seconds"] < 250


def test_parts_and_processes_are_told_by_name():
    assert amounts("inputs=2,kills=13") == {"inputs": 2, "kills": 13}
    for wrong in ("inputs", "inputs=x", "inputs=0", "inputs=2,"):
        with pytest.raises(ArgumentTypeError, match="PART=NUMBER"):
            amounts(wrong)


def test_tables_of_what_was_tried():
    numbers = [{"case": 0, "A, impute": 0.8}, {"case": 1, "A, impute": 1.0}]
    part = {"counts": Result("read").numbers | {"read": 1000, "wrong": 1}, "unfinished": 0}
    result = {"command": "c", "python": "3", "versions": {"jax": "1"}, "parts": {
        "files": part, "coverage": {**part, "numbers": numbers}}}  # fmt: skip
    assert "| files | 1,001 | 1,000 read | 1 | 0 |" in text(result)
    assert coverage_lines(numbers)[2] == "| A, impute | 2 | 0.900 | 0.100 |"
    page = "before\n<!-- tables -->\nold\n<!-- end of tables -->\nafter\n"
    assert written_into(page, "new").split() == (
        ["before", "<!--", "tables", "-->", "new", "<!--", "end", "of", "tables", "-->", "after"]
    )


def test_ranks_that_are_not_uniform_are_seen(rng):
    fair, narrow = rng.random(400), 0.5 + 0.2 * rng.standard_normal(400).clip(-2, 2)
    numbers = [
        {"case": i, "a": a, "b": b} for i, (a, b) in enumerate(zip(fair, narrow, strict=True))
    ]
    good, bad = (float(line.split("|")[-2]) for line in rank_lines(numbers)[2:])
    assert good > 0.001
    assert bad < 0.001


def test_the_rank_of_a_draw_among_others_is_uniform(rng):
    of_numbers = [rank(rng, rng.normal(), rng.normal(size=19)) for _ in range(2000)]
    of_counts = [rank(rng, rng.integers(3), rng.integers(3, size=19)) for _ in range(2000)]
    for found in (of_numbers, of_counts):
        assert kstest(found, "uniform").pvalue > 1e-3


def test_the_hierarchy_has_the_moments_that_the_library_states(rng):
    drawn = [hierarchy.draw(rng, (2,), 6, 1, 1.5, True) for _ in range(300)]
    assert abs(np.mean([one.alpha for one in drawn]) - 1.0) < 0.3
    mean = np.diag([2.0, 0.5]) + 0.3
    found = np.mean([hierarchy._wishart(rng, 4.0, mean) for _ in range(4000)], axis=0)
    np.testing.assert_allclose(found, mean, atol=0.1)
    seats = np.array([hierarchy._seats(rng, 1.5, 3) for _ in range(4000)])
    assert abs(np.mean(seats[:, 1] == 0) - 1.0 / 2.5) < 0.03
    assert abs(np.mean(seats.max(axis=1) == 0) - 2.0 / (2.5 * 3.5)) < 0.03


def test_a_library_that_is_not_installed_has_a_version_all_the_same(tmp_path, monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(pool, "version", absent)
    place = pool.environment(tmp_path)["PYTHONPATH"].split(os.pathsep)[-1]
    found = metadata.distributions(name="manyviews", path=[place])
    assert [one.version for one in found] == ["0"]

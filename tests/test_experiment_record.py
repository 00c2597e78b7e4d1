"""Result files hold what an experiment found, and say with which code."""

import json
import math
import subprocess
import sys
from types import ModuleType

import pytest
from experiments import code, record
from experiments.__main__ import main
from experiments.catalogue import EXPERIMENTS, module
from experiments.plan import planned, show_plan
from experiments.record import ABSENT, CHANGED, CURRENT, TRANSCRIBED, Record
from experiments.setting import Setting
from experiments.table import Row, printed, summarise

FILES = sorted(record.FOLDER.glob("*.json"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of result files that is empty."""
    found = tmp_path / "files"
    monkeypatch.setattr(record, "FOLDER", found)
    monkeypatch.setattr("experiments.__main__.FOLDER", found)
    return found


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
    """The command, with an experiment that takes no time."""
    seen = []

    def rows(setting: Setting):
        seen.append(setting)
        return [summarise("MRD", "error", [1.0, 2.0], ours=True, seconds=3.0)]

    monkeypatch.setitem(sys.modules, "experiments.toy", stand_in := ModuleType("experiments.toy"))
    stand_in.run = rows

    def command(*options):
        main(["toy", "--results", str(tmp_path / "results"), *options])
        return seen[-1]

    return command


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = [
        summarise("MRD", "error", [0.123456789, 0.2], ours=True, seconds=1.5, published=0.1,
                  note="é"),
        Row("cca_zoo", "error", math.nan, seeds=0, note="takes no NaN"),
        printed("paper", "error", 0.5),
        Row("ridge", "error", 3.0),
    ]  # fmt: skip
    Record("toy", {"origin": "a test"}, rows).write(tmp_path / "toy.json")
    found = Record.read(tmp_path / "toy.json")
    assert (found.experiment, found.header) == ("toy", {"origin": "a test"})
    assert [row.role for row in found.rows] == ["ours", "baseline", "published", "baseline"]
    first, second, third, _ = found.rows
    assert (first.values, first.seeds, first.seconds) == ([0.123457, 0.2], 2, 1.5)
    assert first.spread == pytest.approx(rows[0].spread, rel=1e-5)
    assert (first.published, first.note) == (0.1, "é")
    assert math.isnan(second.value)
    assert (third.value, third.published, third.quoted) == (0.5, 0.5, True)
    assert "NaN," not in (tmp_path / "toy.json").read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_committed_files_are_whole(path):
    found = Record.read(path)
    assert found.experiment == path.stem
    assert path.stem in EXPERIMENTS
    assert path.stat().st_size < 1_000_000
    assert len({(row.method, row.measure, row.quoted) for row in found.rows}) == len(found.rows)
    assert not found.header.get("settings", {}).get("quick")
    for row in found.rows:
        assert not row.values or len(row.values) == row.seeds
    assert {"chooses", "sees"} <= set(found.header)
    measured = {"version", "commit", "code", "machine", "ended", "seconds", "libraries"}
    assert "origin" in found.header or measured <= set(found.header)


def test_a_run_writes_its_file(run, folder):
    setting = run("--seeds", "2")
    found = json.loads((folder / "toy.json").read_text())
    about = EXPERIMENTS["toy"]
    assert (found["chooses"], found["sees"]) == (about.chooses, about.sees)
    assert found["settings"]["seeds"] == 2
    assert found["code"] == setting.code == code.fingerprint("toy")
    assert found["machine"]["cores"] >= 1
    assert {"version", "commit", "changed", "began", "ended", "seconds"} <= set(found)
    assert "numpy" in found["libraries"]
    assert found["rows"][0]["values"] == [1.0, 2.0]
    assert Record.read(folder / "toy.json").state == CURRENT


@pytest.mark.parametrize("options", [["--quick"], ["--sets", "a"], ["--methods", "b"]])
def test_a_part_of_an_experiment_replaces_no_file(run, folder, tmp_path, capsys, options):
    run(*options)
    assert not folder.exists()
    assert "written nowhere" in capsys.readouterr().out
    run(*options, "--json", str(tmp_path / "part.json"))
    assert Record.read(tmp_path / "part.json").rows


def test_a_smoke_run_is_not_written_among_the_results(run, folder, capsys):
    with pytest.raises(SystemExit):
        run("--quick", "--json", str(folder / "toy.json"))
    assert "a smoke run is no result" in capsys.readouterr().err


def test_pieces_of_older_code_are_kept_only_if_asked_for(run, folder, tmp_path):
    kept = run().kept
    kept.mkdir(parents=True)
    (kept / "piece.json").write_text("{}")
    older = kept.rename(kept.with_name("older-code"))
    assert not any(run().kept.glob("*.json"))
    assert (run("--keep-old").kept / "piece.json").exists()
    assert Record.read(folder / "toy.json").header["older_pieces"]
    assert Record.read(folder / "toy.json").state == CHANGED
    run("--fresh")
    assert not kept.exists()
    assert (older / "piece.json").exists()
    assert Record.read(folder / "toy.json").state == CURRENT


def test_states(folder):
    assert record.state_of("toy") == ABSENT
    headers = {TRANSCRIBED: {"origin": "typed"}, CHANGED: {"code": "of yesterday"},
               CURRENT: {"code": code.fingerprint("toy")}}  # fmt: skip
    for state, header in headers.items():
        Record("toy", header, [Row("a", "b", 1.0)]).write(folder / "toy.json")
        assert record.state_of("toy") == state


def test_the_plan_says_what_is_to_be_run_and_how_long(folder, capsys):
    rows = [Row("a", "b", 1.0, seconds=30.0, seeds=2)]
    current = {"code": code.fingerprint("toy"), "seconds": 7.0}
    Record("toy", current, rows).write(folder / "toy.json")
    Record("yale", {"origin": "typed"}, rows).write(folder / "yale.json")
    assert planned()["toy"] == (CURRENT, 7.0)
    assert planned()["yale"] == (TRANSCRIBED, 60.0)  # at least, by its rows
    names = show_plan()
    assert "toy" not in names
    assert len(names) == len(EXPERIMENTS) - 1
    assert "1.0 min or more for 1 of them" in capsys.readouterr().out


def test_all_of_them_run_one_after_the_other(folder, monkeypatch, capsys):
    Record("toy", {"code": code.fingerprint("toy")}, [Row("a", "b", 1.0)]).write(
        folder / "toy.json"
    )
    ran = []

    def run(command, check):
        ran.append(command[3])
        assert {"--seeds=3", "--jobs=2"} <= set(command)
        return subprocess.CompletedProcess(command, int(command[3] == "usps"))

    monkeypatch.setattr("experiments.plan.subprocess.run", run)
    with pytest.raises(SystemExit, match="failed: usps; the same command again"):
        main(["all", "--seeds", "3", "--jobs", "2"])
    assert ran == [name for name in EXPERIMENTS if name != "toy"]
    assert f"{len(ran)} to run" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["all", "--fresh", "--seeds", "3", "--jobs", "2"])
    assert "toy" in ran


def test_words_are_no_code(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(
        '"""One."""\n\nx = 1  # a\n\n\ndef f():\n    """Two."""\n    # three\n    return x\n'
    )
    other = tmp_path / "b.py"
    other.write_text(
        '"""Another."""\nx = 1  # a\ndef f():\n    """Words.\n\n    More."""\n    return x\n'
    )
    changed = tmp_path / "c.py"
    changed.write_text("x = 2  # a\ndef f():\n    return x\n")
    assert code.code_of(path) == code.code_of(other) == "x = 1  # a\ndef f():\n    return x"
    assert code.code_of(changed) != code.code_of(path)


def test_an_experiment_is_measured_with_the_files_that_it_imports():
    names = {path.stem for path in code.own_files("cuave")}
    assert {"cuave", "cuave_rivals", "pose_mc", "pose", "pose_baselines", "scores"} <= names
    assert not names & set(code.CARRYING)
    assert "peers" in {path.stem for path in code.own_files("imputation")}  # of benchmarks
    for name in EXPERIMENTS:
        assert code.own_files(module(name)), name
    assert code.fingerprint("cuave") != code.fingerprint("toy")


def test_what_only_shows_results_is_no_code_of_theirs(monkeypatch):
    before = code.library()
    monkeypatch.setattr(code, "code_of", lambda path: path.read_text())
    monkeypatch.setattr(code, "SHOWING", ())
    assert code.library.__wrapped__() != before
    assert set(code.SHOWING) <= {path.name.removesuffix(".py") for path in code.LIBRARY.iterdir()}


@pytest.mark.long
def test_the_command_for_all_of_them_starts_with_the_plan(tmp_path):
    command = [sys.executable, "-m", "experiments", "plan"]
    done = subprocess.run(command, cwd=code.ROOT, capture_output=True, text=True, check=True)
    assert "thesis-mixture" in done.stdout

"""Tables of the documentation are those of the result files."""

import math

import pytest
from experiments import cells as made
from experiments import pages
from experiments.cells import TableError, table
from experiments.code import fingerprint
from experiments.pages import AGED, DOCS, MARKED, differs, rewritten, source
from experiments.record import Record
from experiments.table import Row, printed, summarise

PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "<!-- table:" in path.read_text()]
ROWS = [
    summarise("MRD", "error", [0.1, 0.3], ours=True, published=0.25, seconds=12.0),
    summarise("MRD", "density", [1.0], ours=True),
    Row("ridge", "error", 0.15),
    Row("ridge", "density", 0.5),
    printed("paper", "error", 0.05),
    Row("cca_zoo", "error", math.nan, seeds=0, note="takes no NaN"),
    Row("kNN", "accuracy-70", 0.9125, seeds=3, spread=0.0004, note="all"),
    Row("SVM", "accuracy-70", 0.95),
]


@pytest.fixture
def files(monkeypatch):
    """Records in place of files."""
    found = {}
    for module in (made, pages):
        monkeypatch.setattr(module, "recorded", lambda name: found[name])

    def add(header=None, rows=ROWS):
        found["toy"] = Record("toy", header or {"origin": "typed"}, rows)

    add()
    return add


def cells(spec):
    lines = table("toy", spec).splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_tables_are_those_of_the_files(path):
    page = path.read_text(encoding="utf-8")
    assert page.count("<!-- table:") == len(MARKED.findall(page)) == page.count("<!-- end of table")
    assert not differs(page), "run: make docs-tables"


def test_every_page_of_a_paper_has_tables():
    assert len(PAGES) >= 5


def test_rows_columns_and_what_they_show(files):
    found = cells(
        '[columns]\nerror = {measure = "error", best = "low"}\n'
        'both = ["error", "density"]\n'
        'all = {measure = "error", show = "seeds", scale = 100, decimals = 1}\n'
        's = {measure = "error", show = "seconds"}\nn = {measure = "error", show = "count"}\n'
        '[rows]\n"MRD, ours †" = "MRD"\n"ridge " = "ridge"\n'
    )
    assert found[0] == ["", "error", "both", "all", "s", "n"]
    shown = ["0.2 (0.1)", "0.2 (0.1) / 1", "20.0 (10.0): 10.0, 30.0", "12", "2"]
    assert found[2] == ["MRD, ours †", *shown]
    assert found[3] == ["ridge", "**0.15**", "0.15 / 0.5", "15.0", "", "1"]


def test_published_numbers_stand_in_their_column_and_are_never_the_best(files):
    spec = '[columns]\nerror = {measure = "error", best = "low"}\n'
    found = {line[0]: line[1:] for line in cells(spec)}
    assert found["paper"] == ["0.05"]
    assert found["ridge"] == ["**0.15**"]
    assert found["cca_zoo"] == ["takes no NaN"]
    found = {
        line[0]: line[1:]
        for line in cells(spec + 'published = {measure = "error", show = "published"}\n')
    }
    assert found["paper"] == ["", "0.05"]
    assert found["MRD"] == ["0.2 (0.1)", "0.25"]


def test_a_row_may_be_part_of_a_measure_s_name(files):
    found = cells(
        '[columns]\nkNN = {method = "kNN", measure = "accuracy-{}", decimals = 3}\n'
        'SVM = {method = "SVM", measure = "accuracy-{}", show = "plain"}\n'
        'said = {method = "kNN", measure = "accuracy-{}", show = "note"}\n'
        '[rows]\n"70 rows" = "70"\n'
    )
    assert found[2] == ["70 rows", "0.912 (0.0004)", "0.95", "all"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ('[columns]\ne = "error"\n[rows]\nGPy = "GPy"\n', "no row 'GPy'"),
        ('[columns]\ne = "error"\nr = "R2"\n', "nothing for the column 'r'"),
        ('[columns]\ne = {measure = "error", show = "all"}\n', "knows no {'all'}"),
        ('[columns]\ne = {measures = "error"}\n', "measures"),
        ('[columns]\ne = "error"\n[row]\n', "knows no {'row'}"),
        ("[columns\n", "toy"),
        ("[rows]\n", "columns"),
    ],
)
def test_what_a_file_lacks_is_an_error(files, spec, message):
    with pytest.raises(TableError) as raised:
        table("toy", spec)
    assert message in str(raised.value)


def test_a_file_that_is_not_there_is_an_error():
    with pytest.raises(TableError, match=r"no experiments/results/nothing\.json"):
        table("nothing", '[columns]\ne = "error"\n')


HEADER = {"version": "1.2", "commit": "0123456789", "changed": False, "ended": "2026-11-19T05:00",
          "seconds": 90.0, "machine": {"cores": 2, "gpu": None}}  # fmt: skip


def test_the_line_below_says_where_numbers_come_from(files):
    assert source("toy") == "*File `experiments/results/toy.json`: typed.*"
    files(HEADER | {"code": fingerprint("toy")})
    said = source("toy")
    assert "run with version 1.2, commit 0123456, on 2026-11-19, in 1.5 min" in said
    assert AGED not in said
    files(HEADER | {"code": "another", "changed": True})
    assert "commit 0123456 with changes" in source("toy")
    assert source("toy").endswith(f"{AGED}*")


def test_pages_are_rewritten_between_their_marks(files):
    spec = '[columns]\nerror = "error"\n'
    page = f"Before\n\n<!-- table: toy\n{spec}-->\nold\n<!-- end of table -->\n\nAfter\n" * 2
    once = rewritten(page)
    assert rewritten(once) == once
    assert not differs(once)
    assert "old" not in once
    assert once.count("*File") == 1  # at the first table of a file
    assert once.count("| ridge | 0.15 |") == once.count("After") == once.count("Before") == 2
    assert differs(once.replace("0.15", "0.16"))
    files(HEADER | {"code": fingerprint("toy")})
    fresh = rewritten(page)
    files(HEADER | {"code": "another"})
    assert rewritten(fresh) != fresh
    assert not differs(fresh)  # that code ages is said by the site, and is no reason to fail


def test_the_site_makes_the_tables_anew(files):
    from importlib.util import module_from_spec, spec_from_file_location
    from types import SimpleNamespace

    from mkdocs.exceptions import PluginError

    spec = spec_from_file_location("tables", DOCS / "hooks" / "tables.py")
    spec.loader.exec_module(hook := module_from_spec(spec))
    page = SimpleNamespace(file=SimpleNamespace(src_uri="experiments/a.md"))
    text = '<!-- table: toy\n[columns]\nerror = "error"\n-->\nold\n<!-- end of table -->\n'
    assert "| ridge | 0.15 |" in hook.on_page_markdown(text, page, None, None)
    with pytest.raises(PluginError, match=r"experiments/a\.md: toy\.json has nothing"):
        hook.on_page_markdown(text.replace('"error"', '"R2"'), page, None, None)

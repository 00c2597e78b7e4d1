import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from manyviews.cli.csv_files import write_csv
from manyviews.escaping import file_names, in_html, in_markup, in_picture, visible

NASTY = [
    "$^$",
    "[/bold]",
    "../up",
    "/etc/passwd",
    "",
    "..",
    "a\x1b[2Jb",
    "\ud800",
    "=1+1",
    "_x",
    "con",
]


def test_file_names_are_no_paths_and_no_two_are_alike(tmp_path):
    names = [*NASTY, "a/b", "a_b", "A_B", "CON.txt", ".hidden", "x" * 300, "😀" * 90, "é b"]
    found = file_names(names)
    assert len({name.casefold() for name in found.values()}) == len(names)
    assert found["a/b"] == "a_b"
    assert found["é b"] == "é b"
    for name in found.values():
        (tmp_path / f"{name}_std.csv").write_text("")
        assert not name.startswith((".", " "))
    assert len(list(tmp_path.iterdir())) == len(names)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_shown_as_what_they_are(name, tmp_path):
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1], label=in_picture(name or "nothing"))
    axes.set_title(in_picture(name))
    assert len(axes.legend().get_texts()) == 1
    figure.savefig(tmp_path / "picture.svg")
    console = Console(record=True, width=200, quiet=True)
    console.quiet = False
    with console.capture() as shown:
        console.print(f"[bold]{in_markup(name)}[/]", highlight=False)
    assert shown.get().rstrip("\n") == visible(name)
    in_html(name).encode()


def test_html_is_escaped_in_attributes_too():
    assert in_html("""<a b='c' d="e">&""") == "&lt;a b=&#x27;c&#x27; d=&quot;e&quot;&gt;&amp;"


def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(tmp_path):
    frame = pd.DataFrame(
        {"=1+1": [-1.5, 2.0], "word": ["@SUM(A1)", "-5"], "kind": pd.Categorical(["+x", "y"])},
        index=["+a", "\tq"],
    )
    write_csv(frame, tmp_path / "table.csv")
    found = pd.read_csv(tmp_path / "table.csv", index_col=0, dtype=str)
    assert found.columns.tolist() == ["'=1+1", "word", "kind"]
    assert found.index.tolist() == ["'+a", "'\tq"]
    assert found["word"].tolist() == ["'@SUM(A1)", "-5"]
    assert found["kind"].tolist() == ["'+x", "y"]
    assert found.iloc[:, 0].tolist() == ["-1.5", "2.0"]
    assert frame.columns[0] == "=1+1"

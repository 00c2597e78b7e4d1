"""Files as people write them."""

import numpy as np
import pandas as pd
import pytest

from manyviews.data import as_views
from manyviews.data.encoding import level_numbers, numeric
from manyviews.data.files import read_column, read_views
from manyviews.data.identifiers import is_counter, is_identifier
from manyviews.data.reading import Reading
from manyviews.errors import DataError, OptionError

VALUES = np.array([[1.5, 2.25], [3.75, -4.5], [0.125, 1000.5]])


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return str(path)


def table(path, **how):
    """The only view of a file, and what was said while it was read."""
    found = read_views([str(path)], Reading(**how))
    (view,) = found.views.values()
    return view, found.concerns


@pytest.mark.parametrize(
    ("name", "sep", "decimal"),
    [
        ("a.csv", ",", "."),
        ("a.csv", ";", ","),
        ("a.csv", ";", "."),
        ("a.csv", "\t", ","),
        ("a.csv", "|", "."),
        ("a.tsv", "\t", "."),
        ("a.txt", " ", "."),
    ],
)
def test_separators_and_decimal_signs_are_found_out(tmp_path, name, sep, decimal):
    rows = [["id", "x", "y"]] + [[f"s{i}", *map(str, row)] for i, row in enumerate(VALUES)]
    text = "\n".join(sep.join(cell.replace(".", decimal) for cell in row) for row in rows)
    view, concerns = table(write(tmp_path / name, text))
    np.testing.assert_array_equal(view, VALUES)
    assert view.index.tolist() == ["s0", "s1", "s2"]
    assert any("decimal commas" in c.what for c in concerns) == (decimal == ",")


def test_other_marks_within_words_do_not_separate(tmp_path):
    text = "id,path,x\n" + "\n".join(f"s{i},a;b|c,{i}.5" for i in range(4))
    view, _ = table(write(tmp_path / "a.csv", text))
    assert view["x"].tolist() == [0.5, 1.5, 2.5, 3.5]
    quoted, _ = table(write(tmp_path / "b.csv", 'id,x\n"Doe; J, jr",1\n"Roe; R, sr",2\n'))
    assert quoted.index.tolist() == ["Doe; J, jr", "Roe; R, sr"]


def test_german_numbers_with_thousands(tmp_path):
    view, _ = table(write(tmp_path / "a.csv", "id;x\na;1.234,5\nb;0,25\nc;2,5\n"))
    assert view["x"].tolist() == [1234.5, 0.25, 2.5]


def test_what_is_said_wins_over_what_is_found_out(tmp_path):
    file = write(tmp_path / "a.csv", "id;x;y\ns0;1,5;2\ns1;2,5;x\n")
    with pytest.raises(DataError, match=r"row 2 \('s1'\), column 'y': 'x' is not a number"):
        table(file)
    view, _ = table(file, na_values=("x",))
    assert np.isnan(view.loc["s1", "y"])
    with pytest.raises(DataError, match="no column 'patient'"):
        table(file, index="patient")
    with pytest.raises(DataError, match="cannot be read as ascii"):
        table(write(tmp_path / "b.csv", "é,x\na,1\nb,2\n"), encoding="ascii")
    with pytest.raises(DataError, match="no encoding 'nonsense'"):
        table(file, encoding="nonsense")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_other_encodings(tmp_path, encoding):
    view, concerns = table(write(tmp_path / "a.csv", "id,größe\nÄ1,1\nÖ2,2\n", encoding))
    assert view.columns.tolist() == ["größe"]
    assert view.index.tolist() == ["Ä1", "Ö2"]
    assert any("not UTF-8" in c.what for c in concerns) == (encoding != "utf-8-sig")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("PK\x03\x04abc", "a zip file: if it is from Excel"),
        ("a,b\n1,2\n3,4,5,6\n", "Give --sep"),
        ("id,age\ns1,12\ns2,13\ns3,n.d.\n", r"row 3 \('s3'\), column 'age': 'n.d.'.*--na-values"),
        ("id;x;y\ns1;1,5;1.5\ns2;1,5;2.5\n", "If the comma is a decimal sign: --decimal ,"),
        ("id,x\ns1,1\ns2,<0.5\ns3,4\n", "Limits of detection"),
        ("id,x\ns1,1\n,2\ns3,4\n", "no name in column 'id'|no value"),
        ("id,x,y\nunit,mg,kg\ns1,1,7\ns2,3,4\n", "row 1 .*'mg' .*units or a second header"),
        ("My table\nid,x,y\ns1,1,7\ns2,3,4\n", "'My table', .* give --sep, .*lines above"),
        ("a,My table\nid,x,y,z\ns1,1,7,8\ns2,3,4,5\n", "first line .* fewer columns"),
        ("id,x\n", "a header and no rows"),
        ("date\n2020-01-01\n2020-01-02\n", "no column of numbers"),
    ],
)
def test_bad_files_are_one_helpful_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        table(write(tmp_path / "a.csv", text), index="id" if ",2" in text else None)


def test_a_separator_that_divides_nothing_is_named(tmp_path):
    file = write(tmp_path / "a.csv", "id,x\ns1,1\ns2,2\n")
    with pytest.raises(
        DataError, match=r"one column only, 'id,x', .* give --sep, .* seems to be ','"
    ):
        table(file, sep="|")
    view, _ = table(write(tmp_path / "b.csv", '"weight, kg"\n1\n2\n'))
    assert view.columns.tolist() == ["weight, kg"]


def test_comments_above_the_header_are_skipped(tmp_path):
    rows = "\ns0,1,2\ns1,3,4\ns2,5,7\n"
    for header in ("id,x,y", "#id,x,y"):
        text = "# made by a machine, 2024\n#\n" + header + rows
        view, concerns = table(write(tmp_path / "a.csv", text))
        assert view.columns.tolist() == ["x", "y"]
        assert view.index.tolist() == ["s0", "s1", "s2"]
        assert [c.figure for c in concerns if "comment" in c.what] == [2]


@pytest.mark.parametrize("header", ["id", "patient_id", "Sample", "PatientID", "sample no"])
def test_whole_numbers_that_name_samples_are_no_data(tmp_path, header):
    text = f"{header},x\n" + "\n".join(f"{7 * i % 11},{i / 2}" for i in range(11))
    view, concerns = table(write(tmp_path / "a.csv", text))
    assert view.columns.tolist() == ["x"]
    assert view.index[1] == 7
    assert any("taken for the samples' names" in c.what for c in concerns)
    kept, _ = table(tmp_path / "a.csv", index="-")
    assert kept.columns.tolist() == [header, "x"]
    other, _ = table(tmp_path / "a.csv", indexes={"a": "x"})
    assert other.columns.tolist() == [header]


def test_columns_that_only_look_like_names_stay():
    assert not is_identifier("age", pd.Series([30, 40, 50]))
    assert not is_identifier("id", pd.Series([1, 1, 2]))
    assert not is_identifier("id", pd.Series([1.5, 2.5, 3.0]))
    assert is_counter(pd.Series(range(20)))
    assert not is_counter(pd.Series(range(0, 40, 2)))


def test_repeated_names_reach_their_own_message(tmp_path):
    names = [f"p{i}" for i in range(20)] + ["p3"]
    text = "patient,x\n" + "\n".join(f"{name},{i}" for i, name in enumerate(names))
    view, _ = table(write(tmp_path / "a.csv", text))
    with pytest.raises(DataError, match="row 'p3' of view 'a' appears more than once"):
        as_views({"a": view})


def test_spaces_around_names_do_not_count(tmp_path):
    view, concerns = table(write(tmp_path / "a.csv", "id , x\ns1 ,1\n s2,2\ns3,3\n"))
    assert view.index.tolist() == ["s1", "s2", "s3"]
    assert view.columns.tolist() == ["x"]
    assert any("begin or end with a space" in c.what for c in concerns)


def test_words_become_categories_and_dates_are_left_out(tmp_path):
    rows = [f"s{i},{'mf'[i % 2]},2020-01-{i + 1:02d},note {i},{i / 3}" for i in range(24)]
    file = write(tmp_path / "a.csv", "id,sex,date,remark,x\n" + "\n".join(rows))
    view, concerns = table(file)
    assert view.columns.tolist() == ["sex", "x"]
    found = as_views({"a": view})
    assert found.columns == (["sex=f", "sex=m", "x"],)
    np.testing.assert_array_equal(found.tables[0][:2, :2], [[0, 1], [1, 0]])
    said = " ".join(f"{c.severity} {c.what} {c.done}" for c in concerns)
    assert "warning Column 'date'" in said
    assert "warning Column 'remark'" in said
    times = read_column(f"{file}:date")
    assert times.index[3] == "s3"
    assert times.iloc[3] == pd.Timestamp("2020-01-04")
    known = read_views([file], columns={"a": ["sex=f", "sex=m", "x"]}).views["a"].iloc[:1]
    new = as_views({"a": known}, columns={"a": ["sex=f", "sex=m", "x"]})
    np.testing.assert_array_equal(new.tables[0], [[0, 1, 0]])


def test_levels_of_new_data_are_those_of_the_model():
    new = pd.DataFrame({"sex": ["f", None, "d"], "x": [1, 2, 3]}, ["s1", "s2", "s3"])
    columns = ["sex=f", "sex=m", "x"]
    encoded = numeric("a", new.iloc[:2], columns)
    np.testing.assert_array_equal(encoded, [[1, 0, 1], [np.nan, np.nan, 2]])
    with pytest.raises(DataError, match=r"row 's3'.*holds 'd' in column 'sex'; .* f, m"):
        numeric("a", new, columns)
    twice = pd.DataFrame({"sex": pd.Categorical(["f", "m"]), "sex=f": [0, 1]})
    with pytest.raises(DataError, match="two columns for 'sex=f'"):
        numeric("a", twice)


def test_repeated_and_empty_columns(tmp_path):
    view, concerns = table(write(tmp_path / "a.csv", "id,x,x,\ns1,1,2,\ns2,3,4,\n"))
    assert view.columns.tolist() == ["x", "x.1"]
    assert any("'x' of" in c.what and "more than once" in c.what for c in concerns)


def test_row_names_as_r_writes_them(tmp_path):
    view, _ = table(write(tmp_path / "a.tsv", "x\ty\ns1\t1\t2\ns2\t3\t4\n"))
    assert view.index.tolist() == ["s1", "s2"]
    assert view.columns.tolist() == ["x", "y"]


def test_columns_used_beside_the_data_are_no_data(tmp_path):
    file = tmp_path / "a.csv"
    write(file, "id,x,t\ns1,1,5\ns2,3,6\n")
    found = read_views([str(file)], leave_out=[(file.resolve(), "t")])
    assert found.views["a"].columns.tolist() == ["x"]
    assert read_column(f"{file}:t").to_dict() == {"s1": 5, "s2": 6}


def test_files_of_which_one_names_its_samples(tmp_path):
    a = write(tmp_path / "a.csv", "id,x\ns1,1\ns2,3\n")
    b = write(tmp_path / "b.csv", "p,q\n1,2\n3,4\n")
    c = write(tmp_path / "c.csv", "p,q\n1,2\n3,4\n5,6\n")
    with pytest.raises(DataError, match=r"b\.csv have no names.*a\.csv do"):
        read_views([a, b])
    with pytest.raises(DataError, match=r"equally many rows.*'b': 2, 'c': 3"):
        read_views([b, c])
    with pytest.raises(OptionError, match="two views are called 'b'"):
        read_views([b, b])


def test_excel_files_and_their_sheets(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"id": ["s1", "s2"], "x": [1.5, 2.5], "day": pd.to_datetime(["2020"] * 2)})
    frame.to_excel(tmp_path / "one.xlsx", index=False)
    view, concerns = table(tmp_path / "one.xlsx")
    assert view.to_dict() == {"x": {"s1": 1.5, "s2": 2.5}}
    assert any("dates" in c.what for c in concerns)
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        frame.to_excel(book, sheet_name="genes", index=False)
        frame.rename(columns={"x": "y"}).to_excel(book, sheet_name="proteins", index=False)
        pd.DataFrame().to_excel(book, sheet_name="empty")
    found = read_views([str(tmp_path / "two.xlsx")]).views
    assert list(found) == ["genes", "proteins"]
    with pytest.raises(OptionError, match="several views with names of their own"):
        read_views([f"a={tmp_path / 'two.xlsx'}"])


def test_tables_of_other_libraries():
    frame = pd.DataFrame({"x": [1.0, None], "sample": ["s1", "s2"]})
    arrow = pytest.importorskip("pyarrow").Table.from_pandas(frame)

    class Foreign:
        """As Polars has it: no index, ``to_pandas``."""

        def __dataframe__(self):
            raise NotImplementedError

        def to_pandas(self):
            return frame.copy()

    for given in (arrow, Foreign()):
        found = as_views({"a": given})
        assert found.samples == ["s1", "s2"]
        assert found.columns == (["x"],)
        np.testing.assert_array_equal(found.tables[0], [[1.0], [np.nan]])


def test_objects_that_are_numbers():
    mixed = pd.DataFrame({"x": np.array([1, None, 2.5], dtype=object)}, index=list("abc"))
    np.testing.assert_array_equal(as_views({"a": mixed}).tables[0][:, 0], [1, np.nan, 2.5])
    mixed.loc["b", "x"] = "unknown"
    with pytest.raises(
        DataError, match=r"column 'x' of view 'a' is not numeric.*row 'b' holds 'unk"
    ):
        as_views({"a": mixed})


def test_words_as_numbers_of_levels(tmp_path):
    file = write(tmp_path / "a.csv", "id,type,size\ns1,t,big\ns2,b,small\ns3,,big\ns4,t,big\n")
    found = read_views([file], categorical={"a": {}})
    assert found.levels == {"a": {"type": ["b", "t"], "size": ["big", "small"]}}
    np.testing.assert_array_equal(found.views["a"], [[1, 0], [0, 1], [np.nan, 0], [1, 0]])
    known = {"a": {"type": ["b", "nk", "t"], "size": ["big", "small"]}}
    again = read_views([file], columns={"a": ["type", "size"]}, categorical=known)
    assert again.views["a"]["type"].tolist()[:2] == [2, 0]
    with pytest.raises(DataError, match=r"row 's2'.*holds 'b' in column 'type'"):
        read_views([file], categorical={"a": {"type": ["t"], "size": ["big", "small"]}})
    plain = pd.DataFrame({"x": [1.0, 2.0]})
    assert level_numbers("a", plain, {})[1] == {}

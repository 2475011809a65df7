from __future__ import annotations

import os
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from stableselect.io import Table, TableError, TableParts, TextError, _parts, _read, find_parts, open_table, read_table


@pytest.fixture
def folder(tmp_path):
    """Three parts of a table of 50 rows, as Parquet with several row groups and as CSV, the second in another order."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    for number, rows in enumerate(np.split(X, [20, 35])):
        part = pa.table({"id": [f"r{number}-{i}" for i in range(len(rows))], **dict(zip("abcd", rows.T, strict=True))})
        part = part.select(["id", "d", "c", "b", "a"] if number == 1 else ["id", "a", "b", "c", "d"])
        for kind in ("parquet", "csv"):
            (tmp_path / kind).mkdir(exist_ok=True)
        pa.parquet.write_table(part, tmp_path / "parquet" / f"part-{number}.parquet", row_group_size=6)
        pa.csv.write_csv(part, tmp_path / "csv" / f"part-{number}.csv")
    return tmp_path, X


def given_as(folder, kind, how):
    if how == "pattern":
        return [f"{folder}/{kind}/*.{kind}"]
    return [folder / kind] if how == "folder" else [folder / kind / f"part-{j}.{kind}" for j in range(3)]


@pytest.mark.parametrize("how", ["pattern", "folder", "files"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_parts_are_one_table_however_they_are_given(folder, kind, how):
    path, X = folder
    table = open_table(given_as(path, kind, how))
    assert isinstance(table, Table)
    assert table.columns == ["id", "a", "b", "c", "d"]
    np.testing.assert_array_equal(np.column_stack([table.data[name].to_numpy() for name in "abcd"]), X)
    assert table.name == {"pattern": f"*.{kind}", "folder": kind, "files": f"part-0.{kind} and 2 more"}[how]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_large_parts_are_read_piece_by_piece(folder, kind, monkeypatch):
    path, X = folder
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 10)
    table = open_table(path / kind)
    assert isinstance(table, TableParts)
    blocks = list(table.blocks(["b", "d"]))
    assert len(blocks) >= 3
    np.testing.assert_array_equal(np.concatenate(blocks), X[:, [1, 3]])
    assert table.take(["d", "id"]).data.column_names == ["d", "id"]


def test_every_part_is_read_once(folder, monkeypatch):
    path, _ = folder
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 10)
    read = []
    monkeypatch.setattr(_parts, "read_table", lambda part, **how: read.append(part.name) or read_table(part, **how))
    table = open_table(path / "csv")
    assert table.not_numbers(table.columns) == {"id": "text, such as 'r0-0' in row 1"}
    assert sum(len(block) for block in table.blocks(list("abcd"))) == 50
    assert read == ["part-0.csv", "part-1.csv", "part-2.csv"]
    assert table.take(["a"]).data.num_rows == 50


@pytest.mark.parametrize("limit", [1, 1 << 24])
def test_the_index_of_pandas_names_the_rows(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(_parts, "WHOLE_VALUES", limit)
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=pd.Index([7, 9], name="cell"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.parquet").ids == ("cell",)
    frame.reset_index().to_parquet(tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.parquet").ids == ()


def test_one_large_parquet_file_is_read_by_its_row_groups(folder, monkeypatch):
    path, X = folder
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 10)
    monkeypatch.setattr(_read, "_PIECE_VALUES", 1)
    whole = pa.table(dict(zip("abcd", np.tile(X, (60, 1)).T, strict=True)))
    pa.parquet.write_table(whole, path / "whole.parquet", row_group_size=500)
    sizes = [len(block) for block in open_table(path / "whole.parquet").blocks(list("abcd"))]
    assert sum(sizes) == 3000 and max(sizes) <= 1024


def test_identifiers_keep_their_zeros_in_all_parts(tmp_path):
    (tmp_path / "p0.csv").write_text("id,a\n7,1\n8,2\n")
    (tmp_path / "p1.csv").write_text("id,a\n007,1\n")
    assert open_table(tmp_path, verbatim=["id"]).data["id"].to_pylist() == ["7", "8", "007"]


def test_numbers_of_different_types_are_joined(tmp_path):
    (tmp_path / "p0.csv").write_text("a,b\n1,\n2,\n")
    (tmp_path / "p1.csv").write_text("a,b\n1.5,3\n")
    assert open_table(tmp_path).data.to_pydict() == {"a": [1, 2, 1.5], "b": [None, None, 3]}


BAD_PARTS = {
    "other names": ({"p1.csv": "a,c\n1,2\n"}, r"p1\.csv lacks 'b' and has 'c' besides, unlike p0\.csv"),
    "more names": ({"p1.csv": "a,b,c\n1,2,3\n"}, r"p1\.csv has 'c' besides"),
    "other types": ({"p1.csv": "a,b\n1,x\n"}, r"p1\.csv the column 'b' holds text, in p0\.csv numbers"),
    "dates": ({"p1.csv": "a,b\n1,2020-01-01\n"}, r"p1\.csv the column 'b' holds date32"),
    "no rows": ({"p1.csv": "a,b\n"}, r"p1\.csv is empty"),
    "nothing": ({"p1.csv": ""}, r"p1\.csv is empty"),
    "other kinds": ({"p1.tsv": "a\tb\n1\t2\n"}, r"different kinds, \.csv \(1\) and \.tsv \(1\)"),
}


@pytest.mark.parametrize("limit", [1, 1 << 24])
@pytest.mark.parametrize("case", BAD_PARTS)
def test_parts_that_do_not_fit_get_one_sentence(tmp_path, monkeypatch, case, limit):
    monkeypatch.setattr(_parts, "WHOLE_VALUES", limit)
    files, message = BAD_PARTS[case]
    for name, text in {"p0.csv": "a,b\n1,2\n3,4\n", **files}.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(TableError, match=message) as caught:
        table = open_table(tmp_path)
        list(table.blocks(["a", "b"]))
    assert "\n" not in str(caught.value)


def test_an_empty_or_damaged_parquet_part_is_named(folder):
    path, _ = folder
    pa.parquet.write_table(pa.parquet.read_table(path / "parquet" / "part-0.parquet").slice(0, 0), path / "e.parquet")
    first = path / "parquet" / "part-0.parquet"
    with pytest.raises(TableError, match=r"e\.parquet is empty"):
        open_table([first, path / "e.parquet"])
    (path / "e.parquet").write_bytes(first.read_bytes()[:-40])
    with pytest.raises(TableError, match=r"e\.parquet cannot be read as PARQUET"):
        open_table([first, path / "e.parquet"])


def test_missing_values_name_the_part(folder, monkeypatch):
    path, _ = folder
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 10)
    (path / "csv" / "part-1.csv").write_text("id,a,b,c,d\nx,1,,2,3\n")
    with pytest.raises(TableError, match=r"part-1\.csv: Missing values in 'b' \(1\)"):
        list(open_table(path / "csv").blocks(list("abcd")))


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_no_path_leads_out_of_the_folder(folder, tmp_path):
    path, _ = folder
    inside, outside = path / "parquet", tmp_path / "secret.parquet"
    outside.write_bytes((inside / "part-0.parquet").read_bytes())
    (inside / "link.parquet").symlink_to(inside / "part-0.parquet")
    with pytest.raises(TableError, match="more than once"):
        open_table(inside)
    (inside / "link.parquet").unlink()
    (inside / "link.parquet").symlink_to("../secret.parquet")
    for given in (inside, f"{inside}/*.parquet", f"{path}/parquet/**/*.parquet"):
        with pytest.raises(TableError, match=r"link\.parquet leads out of the folder"):
            find_parts([given])
    (inside / "link.parquet").unlink()
    (inside / "sub").symlink_to(tmp_path / "csv")
    with pytest.raises(TableError, match="leads out of the folder"):
        find_parts([f"{inside}/*/*.csv"])
    # A link that is given by name is the caller's own.
    (tmp_path / "mine.parquet").symlink_to(outside)
    assert read_table(tmp_path / "mine.parquet").data.num_rows == 20


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(TableError, match=r"No file matches .*\*\.csv; check the pattern"):
        open_table(f"{tmp_path}/*.csv")
    with pytest.raises(TableError, match="is a folder without tables"):
        open_table(tmp_path)
    with pytest.raises(TableError, match=r"none\.csv does not exist"):
        open_table([tmp_path / "none.csv", tmp_path / "none2.csv"])
    with pytest.raises(TableError, match="none does not exist"):
        open_table(tmp_path / "none")
    with pytest.raises(TableError, match="Standard input cannot be one of several"):
        open_table(["-", tmp_path / "none.csv"])


def test_a_name_with_brackets_is_a_file_where_there_is_one(tmp_path):
    (tmp_path / "t[1].csv").write_text("a,b\n1,2\n")
    assert open_table(tmp_path / "t[1].csv").columns == ["a", "b"]


def test_hidden_files_and_markers_are_no_parts(tmp_path):
    for name in ("p0.csv", ".p1.csv", "_SUCCESS", "_tmp.csv", "readme.md"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    assert find_parts([tmp_path]) == [tmp_path / "p0.csv"]


@pytest.fixture(params=[1, 1 << 24])
def either_way(request, monkeypatch):
    """Read parts piece by piece, and held in memory."""
    monkeypatch.setattr(_parts, "WHOLE_VALUES", request.param)


def numbers_of(table):
    return np.concatenate(list(table.blocks(["a", "b"]))) if isinstance(table, TableParts) else table.data.to_pandas()


def test_notes_of_all_parts_are_told_once(tmp_path, either_way):
    for name, text in {
        "1": "a,b\n1,2\n3,4\n",
        "2": "a;b\n1;2\n3;4\n",
        "3": "a;b\n1;2\n3;4\n",
        "4": "# made at noon\na,b\n1,2\n3,4\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    table = open_table(tmp_path)
    for _ in range(2):
        assert len(numbers_of(table)) == 8
    assert list(table.notes) == ["2.csv was read with separator ';'.", "The first line was skipped as a comment (#)."]


def test_parts_with_different_decimal_marks_are_refused(tmp_path, either_way):
    for name, text in {"1": "a;b\n1;2\n3;4\n", "2": "a;b\n1,5;2\n3;4\n3;4\n", "3": "a;b\n3;4.5\n1.25;2\n3;4\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(TextError, match=r"The part 3\.csv has numbers with '\.', 2\.csv with ','; say which mark"):
        numbers_of(open_table(tmp_path))
    (tmp_path / "3.csv").write_text("a;b\n3;4\n")
    np.testing.assert_array_equal(numbers_of(open_table(tmp_path)), [[1, 2], [3, 4], [1.5, 2], [3, 4], [3, 4], [3, 4]])


def test_flags_and_whole_numbers_are_joined(tmp_path, either_way):
    pa.parquet.write_table(pa.table({"a": [True, False], "b": [1.5, 2.5]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"a": [3, 300], "b": [1, 2]}), tmp_path / "2.parquet")
    np.testing.assert_array_equal(numbers_of(open_table(tmp_path)), [[1, 1.5], [0, 2.5], [3, 1], [300, 2]])


def test_what_is_read_ahead_keeps_its_order_and_its_errors():
    def items():
        yield from range(3)
        raise TableError("the fourth is damaged")

    found = []
    with pytest.raises(TableError, match="the fourth is damaged"):
        for item in _parts._ahead(items()):
            found.append(item)
    assert found == [0, 1, 2]
    before = threading.active_count()
    reader = _parts._ahead(iter(range(100)))
    assert next(reader) == 0
    reader.close()  # as where the caller gives up
    assert threading.active_count() == before

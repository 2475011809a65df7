from __future__ import annotations

import datetime
import io
import pickle
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from stableselect.io import TableError, _read, read_table
from stableselect.io._tables import numeric_matrix


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_csv_agrees_with_pandas(tmp_path):
    text = 'a,"b, c",d\n1,2.5,true\n-3,1e-7,false\n4,.5,true\n'
    path = written(tmp_path, "t.csv", text)
    table = read_table(path)
    frame = pd.read_csv(path)
    assert table.columns == list(frame.columns)
    np.testing.assert_array_equal(numeric_matrix(table, table.columns), frame.to_numpy(dtype=float))


def test_tsv_and_crlf_and_byte_order_mark(tmp_path):
    table = read_table(written(tmp_path, "t.TSV", b"\xef\xbb\xbfa\tb\r\n1\t2\r\n"))
    assert table.data.to_pydict() == {"a": [1], "b": [2]}


def test_types_are_inferred_from_the_whole_file(tmp_path):
    rows = "\n".join(["1"] * 400_000 + ["2.5"])
    assert read_table(written(tmp_path, "t.csv", f"a\n{rows}\n")).data.schema.types == [pa.float64()]


def test_rows_wider_than_a_megabyte_are_read(tmp_path):
    m = 2_000
    header, row = ",".join(f"{j:01000d}" for j in range(m)), ",".join(f"0.{'1' * 700}" for _ in range(m))
    assert read_table(written(tmp_path, "t.csv", f"{header}\n{row}\n")).data.num_columns == m


def test_line_breaks_inside_quotes_survive_block_boundaries(tmp_path, monkeypatch):
    monkeypatch.setattr(_read, "_BLOCK_BYTES", 64)
    words = [f"{'x' * j}\n{'y' * (20 - j)}" for j in range(20)]
    text = "word,n\n" + "".join(f'"{word}",{j}\n' for j, word in enumerate(words))
    assert read_table(written(tmp_path, "t.csv", text)).data["word"].to_pylist() == words


def test_standard_input_is_csv(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    table = read_table("-")
    assert (table.name, table.columns) == ("standard input", ["a", "b"])


def test_no_header_names_columns_by_position(tmp_path):
    table = read_table(written(tmp_path, "t.csv", "1,2\n3,4\n"), header=False)
    assert table.data.to_pydict() == {"c0": [1, 3], "c1": [2, 4]}
    assert not table.named


@pytest.mark.parametrize(
    ("cells", "expected"),
    [(["007", "008"], ["007", "008"]), (["7", "8"], [7, 8]), (["NA", ""], ["NA", ""]), (["1e5", "2"], ["1e5", "2"])],
)
def test_verbatim_columns_lose_nothing(tmp_path, cells, expected):
    path = written(tmp_path, "t.csv", "id,a\n" + "".join(f"{cell},1\n" for cell in cells))
    assert read_table(path, verbatim=["id", "not there"]).data["id"].to_pylist() == expected


def test_folder_names_do_not_become_parquet_columns(tmp_path):
    (tmp_path / "year=2020").mkdir()
    path = tmp_path / "year=2020" / "t.parquet"
    pa.parquet.write_table(pa.table({"a": [1]}), path)
    assert read_table(path).columns == ["a"]


@pytest.mark.parametrize("dtype", ["u1", "i2", ">f4", "f8", "f2", "?"])
def test_numpy_arrays_keep_values_and_type(tmp_path, dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    np.save(tmp_path / "t.npy", X)
    table = read_table(tmp_path / "t.npy")
    np.testing.assert_array_equal(numeric_matrix(table, table.columns), X.astype(float))
    assert table.data["c0"].to_numpy().dtype == X.dtype.newbyteorder("=")
    assert not table.named


def test_archive_takes_its_column_names(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(2), feature_names=["p", "q"], y=np.ones(2))
    table = read_table(tmp_path / "t.npz")
    assert (table.columns, table.named) == (["p", "q"], True)


class Bomb:
    def __reduce__(self):
        return (sys.exit, ("unpickled",))


@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
def test_pickles_are_never_loaded(tmp_path, name):
    bombs = np.empty((1, 1), dtype=object)
    bombs[0, 0] = Bomb()
    with open(tmp_path / name, "wb") as stream:
        np.save(stream, bombs) if name == "t.npy" else np.savez(stream, X=bombs)
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / name)
    (tmp_path / "u.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / "u.npy")


BAD_FILES = {
    "empty": ("t.csv", "", "cannot be read as CSV"),
    "header alone": ("t.csv", "a,b\n", "t.csv is empty"),
    "ragged": ("t.csv", "a,b\n1,2\n3\n", "Row #3"),
    "repeated names": ("t.csv", "a,b,a\n1,2,3\n", "more than one column named 'a'"),
    "repeated names of data": ("t.csv", "1,2,1\n1,2,3\n", "without a header"),
    "another encoding": ("t.csv", "naïve,b\n1,2\n".encode("latin-1"), "not UTF-8"),
    "not parquet": ("t.parquet", "PAR1 no", "cannot be read as PARQUET"),
    "not an array": ("t.npy", "\x93NUMPY", "cannot be read as NPY"),
    "not an archive": ("t.npz", "PK\x03\x04 no", "cannot be read as NPZ"),
    "unknown extension": ("t.xlsx", "a\n1\n", "expected one of .csv, .tsv"),
    "no extension": ("t", "a\n1\n", "no extension"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_get_one_sentence(tmp_path, case):
    name, content, message = BAD_FILES[case]
    with pytest.raises(TableError, match=message.replace(".", r"\.")) as caught:
        read_table(written(tmp_path, name, content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.eye(2)}, "'Z' but no array 'X'"),
        ({}, "nothing but no array 'X'"),
        ({"X": np.ones(3)}, r"shape \(3,\)"),
        ({"X": np.array([["a"]])}, "type <U1"),
        ({"X": np.ones((2, 2), dtype=complex)}, "type complex128"),
        ({"X": np.eye(2), "feature_names": ["a"]}, "expected 2 strings"),
        ({"X": np.eye(2), "feature_names": [1, 2]}, "expected 2 strings"),
        ({"X": np.eye(2), "feature_names": ["a", "a"]}, "more than one column named 'a'"),
        ({"X": np.ones((0, 3))}, "is empty"),
    ],
)
def test_bad_archives_get_one_sentence(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / "t.npz")


def test_missing_files_and_folders_are_told_apart(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "d.csv")


def matrix_of(tmp_path, text):
    table = read_table(written(tmp_path, "t.csv", text))
    return numeric_matrix(table, table.columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,c\n1,x,2020-01-01\n2,y,2020-01-02\n",
            r"'b', 'c' \(for example 'x' in 'b'\); only columns of numbers",
        ),
        (",b\nr1,1\nr2,2\n", r"'' \(the column without a name\)"),
        ("a;b\n1;2\n", "another separator"),
        ("a,b\n1,\n2,NA\n3,4\n", r"Missing values in 'b' \(2\); .*SimpleImputer"),
        ("a,b\n1,\n2,\n", r"Missing values in 'b' \(2\)"),
        ("a,b\n1,inf\n2,-inf\n", "Infinite values in 'b'"),
        ("a\n12:30:00\n", "Not numbers: 'a'"),
        ("\n".join([",".join(f"t{j}" for j in range(9)), ",".join("x" * 9)]), "'t4' and 4 more"),
    ],
)
def test_cells_that_are_not_finite_numbers_are_refused_by_name(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        matrix_of(tmp_path, text)


def test_nan_in_a_binary_file_counts_as_missing(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[1, np.nan], [2, np.nan]], dtype=np.float16))
    table = read_table(tmp_path / "t.npy")
    with pytest.raises(TableError, match=r"'c1' \(2\)"):
        numeric_matrix(table, table.columns)


def test_booleans_decimals_and_dictionaries_of_numbers_count_as_numbers(tmp_path):
    data = pa.table(
        {
            "flag": [True, False],
            "price": pa.array([1, 2], pa.decimal128(5, 2)),
            "level": pa.array([7, 9]).dictionary_encode(),
            "large": pa.array([2**60 + 1, 1], pa.int64()),
        }
    )
    pa.parquet.write_table(data, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(numeric_matrix(table, table.columns), [[1, 1, 7, 2.0**60], [0, 2, 9, 1]])


@pytest.mark.parametrize("value", [datetime.date(2020, 1, 1), datetime.timedelta(1), b"x", [1, 2], {"p": 1}])
def test_other_parquet_types_count_as_text(tmp_path, value):
    pa.parquet.write_table(pa.table({"odd": [value]}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="Not numbers: 'odd'"):
        numeric_matrix(table, table.columns)


def test_control_characters_in_names_are_written_out(tmp_path):
    with pytest.raises(TableError) as caught:
        matrix_of(tmp_path, "\x1b[31mred\nx\n")
    assert "\x1b" not in str(caught.value)
    assert r"\x1b[31mred" in str(caught.value)

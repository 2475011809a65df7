from __future__ import annotations

import csv
import io
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stableselect.io import FORMATS, TableError, formulas, quote_formulas, read_table, write_table
from stableselect.io._write import check_writable, write_stream

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"))


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_written_is_read_again(tmp_path, suffix):
    table = pa.table({"b": [0.1, 1e300, -0.0], "a": [1.5, 2.25, 1e-300]})
    write_table(table, tmp_path / f"t{suffix}")
    again = read_table(tmp_path / f"t{suffix}").data
    assert [column.to_pylist() for column in again.columns] == [column.to_pylist() for column in table.columns]
    if suffix != ".npy":
        assert again.column_names == ["b", "a"]


def test_pandas_reads_text_files(tmp_path):
    table = pa.table({'a "quoted", name': [1, 2], "b": [0.1, 0.2], "c": ["x,y", 'z"'], "d": [True, False]})
    write_table(table, tmp_path / "t.tsv")
    frame = pd.read_csv(tmp_path / "t.tsv", sep="\t")
    assert frame.to_dict("list") == table.to_pydict()


@pytest.mark.slow
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.data(), st.sampled_from([".csv", ".tsv"]))
def test_text_files_hold_any_names_and_numbers(names, data, suffix):
    columns = {name: data.draw(st.lists(NUMBERS, min_size=3, max_size=3)) for name in names}
    stream = io.BytesIO()
    write_stream(pa.table(columns), stream, suffix)
    text = io.StringIO(stream.getvalue().decode(), newline="")
    rows = list(csv.reader(text, delimiter="," if suffix == ".csv" else "\t"))
    assert rows[0] == names
    numbers = [[float(cell) for cell in row] for row in rows[1:]]
    assert numbers == [list(row) for row in zip(*columns.values(), strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        write_table(pa.table(columns), f"{folder}/t{suffix}")
        assert (
            read_table(f"{folder}/t{suffix}").data.cast(pa.schema(dict.fromkeys(names, pa.float64()))).to_pydict()
            == columns
        )


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("name", [";", "a;b;c", ",", "|", "a,b", "a\tb", 'a";"b', "#1"])
def test_the_name_of_a_single_column_may_hold_what_separates_others_or_begins_a_comment(tmp_path, name, suffix):
    write_table(pa.table({name: [0.5, 1.5, 2.5]}), tmp_path / f"t{suffix}")
    assert read_table(tmp_path / f"t{suffix}").data.to_pydict() == {name: [0.5, 1.5, 2.5]}


def test_types_survive_parquet(tmp_path):
    types = [pa.int8(), pa.uint16(), pa.float32(), pa.bool_(), pa.date32()]
    table = pa.table({str(t): pa.nulls(2, t) for t in types})
    write_table(table, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").data.schema.types == types


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_array_files_refuse_text_and_gaps(suffix):
    with pytest.raises(TableError, match=r"'s'.*write \.csv or \.parquet"):
        check_writable(pa.table({"a": [1], "s": ["x"]}), suffix)
    with pytest.raises(TableError, match="missing values of 'a'"):
        write_stream(pa.table({"a": [1, None]}), io.BytesIO(), suffix)


def test_text_files_refuse_nested_columns():
    with pytest.raises(TableError, match=r"write \.parquet"):
        check_writable(pa.table({"a": [[1, 2]]}), ".csv")


def test_array_files_take_the_smallest_common_type(tmp_path):
    write_table(pa.table({"a": pa.array([1], pa.uint8()), "b": pa.array([2], pa.uint8())}), tmp_path / "t.npy")
    assert np.load(tmp_path / "t.npy").dtype == np.uint8


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(TableError):
        write_table(pa.table({"a": [[1]]}), path)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
    assert path.read_text() == "old"


TEXTS = [
    "=1+1",
    "+1+1",
    "-A1",
    "@x",
    "\tx",
    "\rx",
    "=",
    "-",
    "-inf",
    "a=b",
    "",
    " =x",
    "'=x",
    "-5",
    "+1e-7",
    "-.5",
    "-5%",
]


def test_formulas_are_found_in_names_and_text_alone():
    begins = {"=1+1", "+1+1", "-A1", "@x", "\tx", "\rx", "=", "-", "-inf", "-5%"}
    table = pa.table({name: [-1.5, 2.0] for name in TEXTS})
    assert formulas(table) == ([name for name in TEXTS if name in begins], 0)
    text = pa.array([*TEXTS, None])
    for column in (text, text.cast(pa.large_string()), text.dictionary_encode(), pa.chunked_array([text, text[:0]])):
        assert formulas(pa.table({"a": column, "b": range(len(text))})) == ([], len(begins))
        quoted = quote_formulas(pa.table({"a": column, "b": range(-5, len(text) - 5)}))
        expected = [f"'{cell}" if cell in begins else cell for cell in TEXTS]
        assert quoted["a"].to_pylist() == [*expected, None]
        assert quoted["b"].to_pylist() == list(range(-5, len(text) - 5))
    assert quote_formulas(table).column_names == [f"'{name}" if name in begins else name for name in TEXTS]
    assert formulas(quote_formulas(table)) == ([], 0)

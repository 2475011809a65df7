"""Write tables in the format of the file's extension, whole or not at all; text with or without formulas."""

from __future__ import annotations

import io
import re
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from .._files import PathLike, write_whole
from ._sources import TEXT, table_format
from ._tables import TableError, is_number, is_text, listed, plain

_START = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""What begins like a formula and is none."""


def write_table(table: pa.Table, path: PathLike) -> None:
    """Write ``table`` to a file in the format of its extension, replacing a file of that name.

    Parameters
    ----------
    table : pyarrow.Table
        What to write. NPY and NPZ hold numbers only, in the smallest type that holds every column; an NPZ archive
        stores the table as ``X`` and its column names as ``feature_names``.
    path : str or path
        A file name with one of the extensions in ``FORMATS``.

    Examples
    --------
    >>> import pathlib, tempfile, pyarrow as pa
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.csv")
    >>> write_table(pa.table({"a": [1, 2], "b": [0.5, 0.25]}), path)
    >>> path.read_text().split()
    ['a,b', '1,0.5', '2,0.25']
    """
    suffix = table_format(path)
    with write_whole(path, overwrite=True) as (stream,):
        write_stream(table, stream, suffix)


def write_stream(table: pa.Table, stream: BinaryIO, suffix: str) -> None:
    """Write ``table`` to an open binary stream in the format of ``suffix``."""
    if suffix in TEXT:
        _write_text(table, stream, TEXT[suffix][0])
    elif suffix == ".parquet":
        pa.parquet.write_table(table, stream)
    elif suffix == ".npy":
        np.save(stream, _as_array(table, suffix), allow_pickle=False)
    else:
        names = np.array(table.column_names, dtype=str)
        np.savez_compressed(stream, X=_as_array(table, suffix), feature_names=names)


def check_writable(table: pa.Table, suffix: str) -> None:
    """Raise if the format cannot hold the table's column types, before any work is done for it."""
    if table.num_columns:
        write_stream(table.slice(0, 1), io.BytesIO(), suffix)


def _write_text(table: pa.Table, stream: BinaryIO, delimiter: str) -> None:
    # pyarrow would quote every column name.
    stream.write((delimiter.join(_cell(name, delimiter) for name in table.column_names) + "\n").encode())
    try:
        pa.csv.write_csv(table, stream, pa.csv.WriteOptions(include_header=False, delimiter=delimiter))
    except pa.ArrowException as error:
        raise TableError(f"These columns cannot be written as text ({error}); write .parquet instead.") from error


def _cell(name: str, delimiter: str) -> str:
    """Return a column name for a header row, in quotes where a reader might split, trim or skip it."""
    plain_text = name.isprintable() and name and not any(mark in name for mark in ('"', delimiter, *",;|"))
    return name if plain_text and not name.startswith("#") else '"' + name.replace('"', '""') + '"'


def _as_array(table: pa.Table, suffix: str) -> np.ndarray:
    table = plain(table)
    other = [field.name for field in table.schema if not is_number(field.type)]
    if other:
        raise TableError(
            f"{suffix} files hold numbers only, and these are not: {listed(other)}; write .csv or .parquet."
        )
    gaps = [name for name, column in zip(table.column_names, table.columns, strict=True) if column.null_count]
    if gaps:
        raise TableError(f"{suffix} files cannot hold the missing values of {listed(gaps)}; write .csv or .parquet.")
    columns = [column.to_numpy() for column in table.columns]
    stacked = np.column_stack(columns)
    changed = [
        name
        for name, column, written in zip(table.column_names, columns, stacked.T, strict=True)
        if column.dtype.kind in "iu" and not np.array_equal(written.astype(object), column.astype(object))
    ]
    if changed:
        raise TableError(f"{suffix} would round the whole numbers of {listed(changed)}; write .csv or .parquet.")
    return stacked


def formulas(table: pa.Table) -> tuple[list[str], int]:
    """Return the column names, and the number of cells of text, that a spreadsheet would run as formulas.

    They begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and are no numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> formulas(pa.table({"=1+1": [-5, 3], "-2": ["@SUM(A1)", "-7"]}))
    (['=1+1'], 1)
    """
    cells = sum(pc.sum(_begins(column)).as_py() or 0 for column in plain(table).columns if is_text(column.type))
    return [name for name in table.column_names if _is_formula(name)], cells


def quote_formulas(table: pa.Table) -> pa.Table:
    """Return the table with an apostrophe before column names and cells of text that :func:`formulas` finds.

    Examples
    --------
    >>> import pyarrow as pa
    >>> quote_formulas(pa.table({"=1+1": ["@SUM(A1)", "-7"]})).to_pydict()
    {"'=1+1": ["'@SUM(A1)", '-7']}
    """
    columns = [
        pc.if_else(_begins(column), pc.replace_substring_regex(column, _START, r"'\0"), column)
        if is_text(column.type)
        else column
        for column in plain(table).columns
    ]
    return pa.table(columns, names=[f"'{name}" if _is_formula(name) else name for name in table.column_names])


def _is_formula(text: str) -> bool:
    return re.match(_START, text) is not None and re.match(_NUMBER, text) is None


def _begins(column: pa.ChunkedArray) -> pa.ChunkedArray:
    number = pc.match_substring_regex(column, _NUMBER)
    return pc.and_not(pc.match_substring_regex(column, _START), number)

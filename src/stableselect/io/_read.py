"""Read a table from CSV, TSV, Parquet, NPY or NPZ. Nothing is ever unpickled."""

from __future__ import annotations

import sys
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from .._files import PathLike, printable
from ._names import TableError, listed, looks_like_data

FORMATS = (".csv", ".tsv", ".parquet", ".npy", ".npz")
"""The file extensions that can be read and written."""

DELIMITERS = {".csv": ",", ".tsv": "\t"}

_BLOCK_BYTES = 1 << 26
"""A row must fit in one block, so this bounds the width of a text file: 64 MiB, some five million values."""


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Parameters
    ----------
    data : pyarrow.Table
        The columns, in file order and with the file's types.
    name : str
        File name without its folder.
    named : bool, default=True
        False where the file has no column names: columns are then known by position and called c0, c1, ...

    Examples
    --------
    >>> import pyarrow as pa
    >>> Table(pa.table({"a": [1, 2], "b": [3, 4]}), "small.csv").columns
    ['a', 'b']
    """

    data: pa.Table
    name: str
    named: bool = True

    @property
    def columns(self) -> list[str]:
        """Column names in file order."""
        return list(self.data.column_names)


def table_format(path: PathLike, formats: tuple[str, ...] = FORMATS, kind: str = "") -> str:
    """Return the extension of ``path`` in lower case, or raise if it is not one of ``formats``."""
    suffix = Path(path).suffix.lower()
    if suffix not in formats:
        came = f"the extension {printable(suffix)}" if suffix else "no extension"
        raise TableError(f"{printable(str(path))} has {came}; expected {kind}one of {', '.join(formats)}.")
    return suffix


def read_table(path: PathLike, *, header: bool = True, verbatim: Iterable[str] = ()) -> Table:
    r"""Read a table from a file, or CSV from standard input where ``path`` is ``"-"``.

    Parameters
    ----------
    path : str or path
        A file with one of the extensions in ``FORMATS``. A NumPy archive holds its table as ``X`` (rows x columns) and
        may hold column names as ``feature_names``.
    header : bool, default=True
        Whether the first row of a CSV or TSV file names the columns.
    verbatim : iterable of str, optional
        Columns of a CSV or TSV file to keep as written, such as identifiers with leading zeros.

    Returns
    -------
    Table
        At least one row, and columns of distinct names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.csv")
    >>> _ = path.write_text("a,b\n1,2.5\n3,4.5\n")
    >>> [str(type) for type in read_table(path).data.schema.types]
    ['int64', 'double']
    """
    stdin = str(path) == "-"
    name = "standard input" if stdin else Path(path).name
    suffix = ".csv" if stdin else table_format(path)
    if not stdin and not Path(path).is_file():
        what = "is a folder, not a table" if Path(path).is_dir() else "does not exist"
        raise TableError(f"{printable(str(path))} {what}; check the path.")
    named = True
    try:
        if suffix in DELIMITERS:
            source = pa.BufferReader(sys.stdin.buffer.read()) if stdin else str(path)
            data, named = _read_text(source, DELIMITERS[suffix], header, verbatim), header
        elif suffix == ".parquet":
            # ParquetFile reads this one file; parquet.read_table would also make columns of folder names such as a=1.
            with pa.parquet.ParquetFile(path) as file:
                data = file.read()
        else:
            data, named = _read_numpy(path, name)
    except TableError:
        raise
    except UnicodeDecodeError as error:
        raise TableError(f"{printable(name)} is not UTF-8 text; save it as UTF-8 first.") from error
    except (pa.ArrowException, ValueError, EOFError, OverflowError, MemoryError, zipfile.BadZipFile) as error:
        reason = printable(" ".join(str(error).split()))[:160].rstrip(". ")
        raise TableError(
            f"{printable(name)} cannot be read as {suffix[1:].upper()} ({reason}); check the file."
        ) from error
    _check_unique(data.column_names, name)
    if not data.num_rows or not data.num_columns:
        size = f"{data.num_rows} rows and {data.num_columns} columns"
        raise TableError(f"{printable(name)} is empty ({size}); expected at least one of each.")
    return Table(data.replace_schema_metadata(None), name, named)


def _check_unique(names: list[str], source: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        hint = "if the first row is data, read it without a header" if looks_like_data(names) else "rename one of them"
        raise TableError(f"{printable(source)} has more than one column named {listed(repeated)}; {hint}.")


def _read_text(source: Any, delimiter: str, header: bool, verbatim: Iterable[str]) -> pa.Table:
    """Read delimited text; types are inferred over the whole file."""
    verbatim = set(verbatim)
    # Without a header pyarrow calls the columns f0, f1, ..., and here they are c0, c1, ....
    types = {name if header else "f" + name.removeprefix("c"): pa.string() for name in verbatim}
    table = pa.csv.read_csv(
        source,
        # One thread, for only then does the error for a ragged row say which row it is.
        read_options=pa.csv.ReadOptions(
            block_size=_BLOCK_BYTES, use_threads=False, autogenerate_column_names=not header
        ),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(column_types=types),
    )
    if not header:
        table = table.rename_columns(_positional(table.num_columns))
    for j, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if name in verbatim and pa.types.is_string(column.type):
            table = table.set_column(j, name, _restore_integers(column))
    return table


def _restore_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a text column as int64 where that loses nothing, not even a leading zero."""
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowException:
        return column
    return numbers if pc.all(pc.equal(numbers.cast(pa.string()), column)).as_py() else column


def _read_numpy(path: PathLike, name: str) -> tuple[pa.Table, bool]:
    """Read a two-dimensional numeric array; say whether the file names its columns."""
    names: np.ndarray | None = None
    # Opened here, because np.load leaves its own file open when an archive is damaged.
    with open(path, "rb") as stream:
        loaded = np.load(stream, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            X = loaded
        elif "X" in loaded.files:
            X = loaded["X"]
            names = loaded["feature_names"] if "feature_names" in loaded.files else None
        else:
            held = listed(loaded.files) or "nothing"
            raise TableError(f"{printable(name)} holds {held} but no array 'X'; store the table as X (rows x columns).")
    if X.ndim != 2 or X.dtype.kind not in "biuf" or X.dtype.itemsize > 8:
        raise TableError(f"{printable(name)} holds shape {X.shape}, type {X.dtype}; expected numbers, rows x columns.")
    if names is not None and (names.shape != (X.shape[1],) or names.dtype.kind != "U"):
        came = f"feature_names of shape {names.shape}, type {names.dtype}"
        raise TableError(f"{printable(name)} has {came}; expected {X.shape[1]} strings, one per column.")
    X = X.astype(X.dtype.newbyteorder("="), copy=False)
    labels = _positional(X.shape[1]) if names is None else [str(label) for label in names]
    return pa.Table.from_arrays([pa.array(column) for column in X.T], names=labels), names is not None


def _positional(n_columns: int) -> list[str]:
    return [f"c{j}" for j in range(n_columns)]

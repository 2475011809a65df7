"""Read a table from CSV, TSV, Parquet, NPY or NPZ. Nothing is ever unpickled."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from .._files import PathLike, open_plain, printable
from ._numpy import read_numpy
from ._tables import Table, TableError, listed, looks_like_data

FORMATS = (".csv", ".tsv", ".parquet", ".npy", ".npz")
"""The file extensions that can be read and written."""

DELIMITERS = {".csv": ",", ".tsv": "\t"}

_BLOCK_BYTES = 1 << 26
"""A row must fit in one block, so this bounds the width of a text file: 64 MiB, some five million values."""


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
        A file with one of the extensions in ``FORMATS``. A NumPy archive holds its table as ``X`` (rows x columns), at
        most 4 GiB once decompressed, and may hold column names as ``feature_names``.
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
    # A file's name need not be text, and becomes part of results that are.
    name = "standard input" if stdin else Path(path).name.encode(errors="backslashreplace").decode()
    suffix = ".csv" if stdin else table_format(path)
    with open_table_file(path) as stream, read_failures(name, suffix):
        data, named = _read(stream, suffix, name, header, verbatim)
    _check_unique(data.column_names, name)
    if not data.num_rows or not data.num_columns:
        size = f"{data.num_rows} rows and {data.num_columns} columns"
        raise TableError(f"{printable(name)} is empty ({size}); expected at least one of each.")
    return Table(data.replace_schema_metadata(None), name, named)


@contextmanager
def read_failures(name: str, suffix: str) -> Iterator[None]:
    """Turn whatever goes wrong in reading a file into one sentence that names it."""
    try:
        yield
    except TableError:
        raise
    except UnicodeDecodeError as error:
        raise TableError(f"{printable(name)} is not UTF-8 text; save it as UTF-8 first.") from error
    except Exception as error:  # a damaged file can fail anywhere
        text = str(error) or type(error).__name__
        reason = printable(" ".join(text.split()))[:160].rstrip(". ")
        raise TableError(
            f"{printable(name)} cannot be read as {suffix[1:].upper()} ({reason}); check the file."
        ) from error


def open_table_file(path: PathLike) -> BinaryIO:
    """Open a file, or standard input for ``"-"``."""
    if str(path) == "-":
        if sys.stdin is None:
            raise TableError("Standard input is closed; give a file.")
        return BytesIO(sys.stdin.buffer.read())
    try:
        return open_plain(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TableError(f"{printable(str(path))} does not exist; check the path.") from error
    except IsADirectoryError as error:
        raise TableError(f"{printable(str(path))} is a folder, not a table; check the path.") from error


def _read(stream: BinaryIO, suffix: str, name: str, header: bool, verbatim: Iterable[str]) -> tuple[pa.Table, bool]:
    """Read a table; say whether the file names its columns."""
    if suffix in DELIMITERS:
        return _read_text(stream, DELIMITERS[suffix], header, verbatim), header
    if suffix == ".parquet":
        # ParquetFile reads this one file; parquet.read_table would also make columns of folder names such as a=1.
        with pa.parquet.ParquetFile(stream) as file:
            data = file.read()
        data.validate(full=True)  # text that is no text, and places beyond the end, would fail later
        return data, True
    X, names = read_numpy(stream, name)
    labels = _positional(X.shape[1]) if names is None else names
    return pa.Table.from_arrays([pa.array(column) for column in X.T], names=labels), names is not None


def _check_unique(names: list[str], source: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        hint = "if the first row is data, read it without a header" if looks_like_data(names) else "rename one of them"
        raise TableError(f"{printable(source)} has more than one column named {listed(repeated)}; {hint}.")


def _read_text(stream: BinaryIO, delimiter: str, header: bool, verbatim: Iterable[str]) -> pa.Table:
    """Read delimited text; types are inferred over the whole file."""
    verbatim = set(verbatim)
    # Without a header pyarrow calls the columns f0, f1, ..., and here they are c0, c1, ....
    types = {name if header else "f" + name.removeprefix("c"): pa.string() for name in verbatim}
    table = pa.csv.read_csv(
        stream,
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


def _positional(n_columns: int) -> list[str]:
    return [f"c{j}" for j in range(n_columns)]

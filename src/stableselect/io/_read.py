"""Read a table from a file of any kind into memory. Nothing is ever unpickled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from .._files import PathLike, printable
from ._excel import read_excel
from ._h5ad import H5ad, open_h5ad
from ._numpy import ARCHIVE_LIMIT, read_numpy
from ._sources import ARROW, TEXT, Source, index_columns, read_failures, source_of
from ._style import TextStyle
from ._tables import Table, TableError, check_unique
from ._text import read_text

_PIECE_VALUES = 1 << 20
"""Values of a file that are read at a time."""


def read_table(
    path: PathLike, *, header: bool = True, verbatim: Iterable[str] = (), style: TextStyle | None = None
) -> Table:
    r"""Read a table from a file, or from standard input where ``path`` is ``"-"``.

    Parameters
    ----------
    path : str or path
        A file with one of the extensions in ``READABLE``; text may be compressed (``.csv.gz``, ``.tsv.zst``), to at
        most 4 GiB of text. A NumPy archive holds its table as ``X`` (rows x columns), at most 4 GiB once decompressed,
        and may hold column names as ``feature_names``. Of a workbook the first sheet is read, of an ``.h5ad`` file X
        with the names of its rows and columns.
    header : bool, default=True
        Whether the first row of a text file or sheet names the columns.
    verbatim : iterable of str, optional
        Columns of a text file to keep as written, such as identifiers with leading zeros.
    style : TextStyle, optional
        Separator, decimal mark and encoding of a text file, where they are not to be recognised, and its own words for
        missing values.

    Returns
    -------
    Table
        At least one row, and columns of distinct names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.csv")
    >>> _ = path.write_text("a;b\n1;2,5\n3;4,5\n")
    >>> [str(type) for type in read_table(path).data.schema.types]
    ['int64', 'double']
    """
    source = source_of(path)
    source.begin().close()  # a file that cannot be opened is not one that cannot be read
    with read_failures(source.name, source.suffix):
        table = _read(source, header, verbatim, style or TextStyle())
    check_unique(table.columns, source.name)
    data = table.data
    if not data.num_rows or not data.num_columns:
        size = f"{data.num_rows} rows and {data.num_columns} columns"
        raise TableError(f"{printable(source.name)} is empty ({size}); expected at least one of each.")
    return replace(table, data=data.replace_schema_metadata(None))


def _read(source: Source, header: bool, verbatim: Iterable[str], style: TextStyle) -> Table:
    name, suffix = source.name, source.suffix
    if suffix in TEXT:
        return read_text(source.begin_text, name, TEXT[suffix], style, header=header, verbatim=verbatim)
    with source.begin() as stream:
        if suffix == ".xlsx":
            data, notes = read_excel(stream, name, header)
            return Table(data, name, header, tuple(notes))
        if suffix == ".h5ad":
            with closing(open_h5ad(stream, name)) as adata:
                return _h5ad(adata, name)
        if suffix in (".npy", ".npz"):
            X, names = read_numpy(stream, name)
            labels = [f"c{j}" for j in range(X.shape[1])] if names is None else names
            return Table(pa.table(list(X.T), names=labels), name, names is not None)
        limit = max(ARCHIVE_LIMIT, stream.seek(0, os.SEEK_END))
        stream.seek(0)
        if suffix in ARROW:
            data = _read_arrow(stream, name, limit)
        else:
            # ParquetFile reads this one file; parquet.read_table would also make columns of folder names such as a=1.
            with pa.parquet.ParquetFile(stream) as file:
                batches = file.iter_batches(rows_at_a_time(file.metadata.num_columns))
                batches = _limited(batches, name, limit, "give fewer rows, or leave out columns of text")
                data = pa.Table.from_batches(batches, file.schema_arrow)
        data.validate(full=True)  # text that is no text, and places beyond the end, would fail later
        return Table(data, name, ids=index_columns(data.schema))


def _read_arrow(stream: BinaryIO, name: str, limit: int) -> pa.Table:
    """Read the file or the stream format."""
    is_file = stream.read(6) == b"ARROW1"
    stream.seek(0)
    with (pa.ipc.open_file if is_file else pa.ipc.open_stream)(stream) as reader:
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        return pa.Table.from_batches(_limited(batches, name, limit, "store it as .parquet"), reader.schema)


def _limited(batches: Iterable[pa.RecordBatch], name: str, limit: int, advice: str) -> Iterator[pa.RecordBatch]:
    """Yield batches up to a limit: they may be compressed, and few bytes can hold many."""
    size = 0
    for batch in batches:
        size += batch.nbytes
        if size > limit:
            raise TableError(f"{printable(name)} takes more than {limit / 2**30:.3g} GiB decompressed; {advice}.")
        yield batch


def rows_at_a_time(n_columns: int) -> int:
    """Return how many rows to read at a time."""
    return max(1024, _PIECE_VALUES // max(1, n_columns))


def h5ad_pieces(file: H5ad, columns: list[str], name: str, rows: int) -> Iterator[Table]:
    """Yield columns of an ``.h5ad`` file as dense tables of so many rows; the names of its rows are identifiers."""
    position = {label: j for j, label in enumerate(file.names)}
    wanted = [position[label] for label in columns if label in position]
    called, done = file.rows_called, 0
    labels = file.row_names() if called in columns else []
    for block in file.blocks(rows):
        part = block[:, wanted] if isinstance(block, np.ndarray) else block[:, wanted].toarray()
        arrays = dict(zip([file.names[j] for j in wanted], map(pa.array, part.T), strict=True))
        if labels:
            arrays[called] = pa.array(labels[done : done + block.shape[0]], pa.string())
        done += block.shape[0]
        data = pa.Table.from_arrays([arrays[column] for column in columns], names=columns)
        yield Table(data, name, ids=(called,) if labels else ())


def _h5ad(file: H5ad, name: str) -> Table:
    size = 8 * file.shape[0] * file.shape[1]
    if size > ARCHIVE_LIMIT:
        raise TableError(
            f"{printable(name)} would take {size / 2**30:.3g} GiB as a dense table, and at most "
            f"{ARCHIVE_LIMIT / 2**30:.3g} are read; use a method that reads it piece by piece, or give fewer rows."
        )
    check_unique(file.names, name)
    pieces = list(h5ad_pieces(file, file.columns, name, 4096))
    return replace(pieces[0], data=pa.concat_tables([piece.data for piece in pieces]))

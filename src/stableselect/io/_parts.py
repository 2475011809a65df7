"""A table in several files, or too large to be held: checked part against part, and read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from .._files import PathLike, printable
from ._h5ad import H5ad, Matrix, open_h5ad
from ._match import check_marks, check_names, check_types, joined
from ._read import h5ad_pieces, read_table, rows_at_a_time
from ._sources import COMPRESSED, find_parts, index_columns, part_name, read_failures, source_format, source_of
from ._tables import (
    EMPTY,
    NotFiniteError,
    Table,
    TableError,
    numeric_matrix,
)
from ._turn import transposed

T = TypeVar("T")
_STREAMS = (".parquet", ".h5ad")
"""The kinds of file that are read piece by piece."""

WHOLE_VALUES = 1 << 24
"""Tables of at most so many values (128 MiB as numbers) are held in memory, whatever they are stored in."""


@dataclass(frozen=True)
class TableParts:
    """A table that is read piece by piece: its parts are files with the same columns.

    :func:`open_table` makes one where a table is too large to be held.

    Parameters
    ----------
    paths : tuple of path
        The files, in the order of their rows.
    name : str
        What the table is called in messages.
    columns : list of str
        Column names, in the order of the first part.
    named : bool, default=True
        False where columns are known by position alone.
    notes : list of str
        What the person who gave the files should know of how they were read; it grows as parts are read.
    ids : tuple of str
        As those of a :class:`Table`.
    reading : dict
        Keyword arguments of :func:`read_table`.
    """

    paths: tuple[Path, ...]
    name: str
    columns: list[str]
    named: bool = True
    notes: list[str] = field(default_factory=list)
    ids: tuple[str, ...] = ()
    reading: dict[str, Any] = field(default_factory=dict)
    _first: list[Table] = field(default_factory=list, repr=False)

    def blocks(self, columns: Sequence[str]) -> Iterator[Matrix]:
        """Yield the named columns as blocks of finite numbers, rows x columns, in one pass over the files.

        Those of sparse matrices are sparse. While one block is worked on, the next is read.
        """
        yield from _ahead(self._blocks(columns))

    def _blocks(self, columns: Sequence[str]) -> Iterator[Matrix]:
        if source_format(self.paths[0]) == ".h5ad":
            for path in self.paths:
                yield from _h5ad_blocks(path, columns, self.columns, self.paths[0].name)
            return
        for piece in self._pieces(list(columns)):
            try:
                block = numeric_matrix(piece, columns)
            except TableError as error:
                raise type(error)(f"{printable(piece.name)}: {error}") from error
            yield np.ascontiguousarray(block)

    def head(self, columns: Iterable[str]) -> Table:
        """Return the first rows of the named columns."""
        return next(self._pieces(list(columns), peek=True))

    def not_numbers(self, columns: Sequence[str]) -> dict[str, str]:
        """Return those of the columns that do not hold numbers, as far as the first rows tell, with what they hold."""
        if source_format(self.paths[0]) == ".h5ad":
            return {name: "text" for name in columns if name in self.ids}
        # What is empty in the first part may be filled in another.
        found = self.head(columns).not_numbers(columns)
        return {name: held for name, held in found.items() if held != EMPTY}

    def take(self, columns: Iterable[str]) -> Table:
        """Return the named columns of all parts, held in memory."""
        pieces = list(self._pieces(list(columns)))
        return Table(joined(pieces, self._verbatim), self.name, self.named, tuple(self.notes), self.ids)

    def count_values(self) -> float:
        """Return about how many values the parts hold, without reading them."""
        return _count_values(self.paths)

    @property
    def _verbatim(self) -> set[str]:
        return set(self.reading.get("verbatim", ()))

    def _pieces(self, columns: list[str], *, peek: bool = False) -> Iterator[Table]:
        first = shown = None
        told = {_without_name(note, path.name) for note in self.notes for path in self.paths}
        for path in self.paths:
            if path == self.paths[0] and self._first:  # read already, to learn its columns
                pieces = iter([self._first[0].take(columns)])
                if not peek:
                    self._first.clear()
            else:
                pieces = _read_pieces(path, columns, self.columns, self.paths[0].name, self.reading)
            for piece in pieces:
                first = first or piece.data.schema
                shown = shown or (piece if piece.decimal else None)
                check_marks(piece, shown or piece)
                if new := [note for note in piece.notes if _without_name(note, piece.name) not in told]:
                    self.notes.extend(new)
                    told |= {_without_name(note, piece.name) for note in new}
                check_types(piece, first, self.paths[0].name, self._verbatim)
                yield piece


def open_table(paths: PathLike | Sequence[PathLike], *, transpose: bool = False, **reading: Any) -> Table | TableParts:
    r"""Read a table from a file, or from several with the same columns.

    Parameters
    ----------
    paths : str, path, or sequence of them
        Files; patterns such as ``"logs/*.parquet"``; folders, whose files are the parts. Parts follow each other in the
        order given, those of a pattern or folder in the order of their names. Links that lead out of a folder are
        refused.
    transpose : bool, default=False
        Whether the rows of the file are the columns of the table, as where every row is a gene. The first column of
        text, or the first of the ``verbatim`` ones, then names the columns.
    **reading
        Keyword arguments of :func:`read_table`.

    Returns
    -------
    Table or TableParts
        The table; where it has more than some 16 million values and several parts, or is one Parquet file, it is not
        read yet but will be, piece by piece.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for day in ("mon", "tue"):
    ...     _ = (folder / f"{day}.csv").write_text("a,b\n1,2.5\n3,4.5\n")
    >>> open_table(folder / "*.csv").data.num_rows
    4
    """
    if "verbatim" in reading:
        reading["verbatim"] = list(reading["verbatim"])  # every part asks for it
    table = _open_table(paths, reading)
    if not transpose:
        return table
    if isinstance(table, TableParts):
        raise TableError(f"{printable(table.name)} is too large to be transposed; store it with rows for columns.")
    return transposed(table, reading.get("verbatim", ()))


def _open_table(paths: PathLike | Sequence[PathLike], reading: dict[str, Any]) -> Table | TableParts:
    given: list[PathLike] = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if len(given) == 1 and str(given[0]) == "-":
        return read_table("-", **reading)
    found = find_parts(given)
    streams = source_format(found[0]) in _STREAMS
    if len(found) == 1 and (not streams or _count_values(found) <= WHOLE_VALUES):
        return read_table(found[0], **reading)
    name = part_name(given, found)
    if streams:
        parts = TableParts(tuple(found), name, *_described(found[0]), reading=reading)
    else:
        table = read_table(found[0], **reading)
        about = (table.columns, table.named, [*table.notes], table.ids)
        parts = TableParts(tuple(found), name, *about, reading, [table])
    return parts if _count_values(found) > WHOLE_VALUES else parts.take(parts.columns)


def _count_values(paths: Iterable[Path]) -> float:
    """Return about how many values the files hold, without reading them."""
    total = 0.0
    for path in paths:
        suffix = source_format(path)
        if suffix in _STREAMS:
            with _opened(path) as file:
                about = file.metadata if suffix == ".parquet" else None
                rows, columns = file.shape if about is None else (about.num_rows, about.num_columns)
                total += rows * columns
        else:
            packed = 4 if path.suffix.lower() in COMPRESSED else 1
            total += packed * os.path.getsize(path) / 8 if path.exists() else 0
    return total


def _described(path: Path) -> tuple[list[str], bool, list[str], tuple[str, ...]]:
    """Return the columns of a file, without reading them, that they have names, notes, and those that name its rows."""
    with _opened(path) as file:
        if isinstance(file, H5ad):
            return file.columns, True, [], (file.rows_called,)
        return list(file.schema_arrow.names), True, [], index_columns(file.schema_arrow)


def _read_pieces(
    path: Path, columns: list[str], expected: list[str], first: str, reading: dict[str, Any]
) -> Iterator[Table]:
    """Yield the named columns of a part: one piece after another where the file allows it, else all rows at once."""
    suffix = source_format(path)
    if suffix == ".h5ad":
        with _opened(path) as adata:
            check_names(adata.columns, expected, path.name, first)
            yield from _each(h5ad_pieces(adata, columns, path.name, rows_at_a_time(adata.shape[1])), path)
    elif suffix == ".parquet":
        with _opened(path) as file:
            check_names(list(file.schema_arrow.names), expected, path.name, first)
            if not file.metadata.num_rows:
                raise TableError(f"{printable(path.name)} is empty (0 rows); leave this part out.")
            for data in _each(map(_validated, file.iter_batches(rows_at_a_time(len(columns)), columns=columns)), path):
                yield Table(data.select(columns), path.name)
    else:
        table = read_table(path, **reading)
        check_names(table.columns, expected, table.name, first)
        yield table.take(columns)


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield items, of which the next is made in a thread meanwhile."""
    with ThreadPoolExecutor(1) as reader:
        waiting = reader.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = reader.submit(next, items, None)
            yield item


def _without_name(note: str, name: str) -> str:
    """Return a note without the name of the part that it is about: what is so in every part is told once."""
    return note.removeprefix(printable(name))


def _each(items: Iterator[T], path: Path) -> Iterator[T]:
    """Yield the pieces of a file; what goes wrong in reading one is told in a sentence that names it."""
    while True:
        with read_failures(path.name, source_format(path)):
            item = next(items, None)
        if item is None:
            return
        yield item


def _validated(batch: pa.RecordBatch) -> pa.Table:
    data = pa.Table.from_batches([batch]).replace_schema_metadata(None)
    data.validate(full=True)
    return data


def _h5ad_blocks(path: Path, columns: Sequence[str], expected: list[str], first: str) -> Iterator[Matrix]:
    """Yield the named columns of a matrix, sparse where it is."""
    with _opened(path) as adata:
        check_names(adata.columns, expected, path.name, first)
        position = {name: j for j, name in enumerate(adata.names)}
        wanted = [position[name] for name in columns]
        for block in _each(adata.blocks(rows_at_a_time(adata.shape[1])), path):
            block = (block if wanted == list(range(adata.shape[1])) else block[:, wanted]).astype(np.float64)
            if not np.isfinite(block if isinstance(block, np.ndarray) else block.data).all():
                raise NotFiniteError(f"{printable(path.name)} holds missing or infinite values; fill them first.")
            yield block


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file that can be read piece by piece."""
    suffix = source_format(path)
    with source_of(path).begin() as stream:
        with read_failures(path.name, suffix):
            file = open_h5ad(stream, path.name) if suffix == ".h5ad" else pa.parquet.ParquetFile(stream)
        with closing(file):
            yield file

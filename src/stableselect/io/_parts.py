"""A table in several files, or too large to be held: found, checked part against part, and read piece by piece."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from .._files import PathLike, printable
from ._read import FORMATS, open_table_file, read_failures, read_table, table_format
from ._tables import Table, TableError, check_numeric, is_number, is_text, listed, numeric_matrix, quoted

WHOLE_VALUES = 1 << 24
"""Tables of at most so many values (128 MiB as numbers) are held in memory, whatever they are stored in."""
_PIECE_VALUES = 1 << 22
"""Values of a Parquet file that are read at a time."""


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
    reading : dict
        Keyword arguments of :func:`read_table`.
    """

    paths: tuple[Path, ...]
    name: str
    columns: list[str]
    named: bool = True
    notes: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    reading: dict[str, Any] = field(default_factory=dict)

    def blocks(self, columns: Sequence[str]) -> Iterator[np.ndarray]:
        """Yield the named columns as blocks of finite numbers, rows x columns, in one pass over the files."""
        for piece in self._pieces(list(columns)):
            with _named_part(piece.name):
                yield numeric_matrix(piece, columns)

    def head(self, columns: Iterable[str]) -> Table:
        """Return the first rows of the named columns."""
        return next(self._pieces(list(columns)))

    def check_numeric(self, columns: Sequence[str]) -> None:
        """Raise if one of the columns does not hold numbers, as far as the first rows tell."""
        check_numeric(self.head(columns), columns)

    def take(self, columns: Iterable[str]) -> Table:
        """Return the named columns of all parts, held in memory."""
        pieces = list(self._pieces(list(columns)))
        return Table(_joined(pieces, self._verbatim), self.name, self.named, self.notes, self.ids)

    def count_values(self) -> float:
        """Return about how many values the parts hold, without reading them."""
        return _count_values(self.paths)

    @property
    def _verbatim(self) -> set[str]:
        return set(self.reading.get("verbatim", ()))

    def _pieces(self, columns: list[str]) -> Iterator[Table]:
        first: pa.Schema | None = None
        for path in self.paths:
            for piece in _read_pieces(path, columns, self.columns, self.paths[0].name, self.reading):
                first = first or piece.data.schema
                _check_types(piece, first, self.paths[0].name, self._verbatim)
                yield piece


def open_table(paths: PathLike | Sequence[PathLike], **reading: Any) -> Table | TableParts:
    r"""Read a table from a file, or from several with the same columns.

    Parameters
    ----------
    paths : str, path, or sequence of them
        Files; patterns such as ``"logs/*.parquet"``; folders, whose files are the parts. Parts follow each other in the
        order given, those of a pattern or folder in the order of their names. Links that lead out of a folder are
        refused.
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
    given: list[PathLike] = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if len(given) == 1 and str(given[0]) == "-":
        return read_table("-", **reading)
    found = find_parts(given)
    if len(found) == 1 and (table_format(found[0]) != ".parquet" or _count_values(found) <= WHOLE_VALUES):
        return read_table(found[0], **reading)
    name = _part_name(given, found)
    columns, named = _columns(found[0], reading)
    parts = TableParts(tuple(found), name, columns, named, reading=reading)
    return parts if _count_values(found) > WHOLE_VALUES else parts.take(columns)


def find_parts(given: Iterable[PathLike]) -> list[Path]:
    """Return the files that paths, patterns and folders stand for; raise if there are none, or of several kinds."""
    found: list[Path] = []
    for path in given:
        text = str(path)
        if text == "-":
            raise TableError("Standard input cannot be one of several tables; give files.")
        pattern = glob.has_magic(text) and not os.path.lexists(text)
        if not pattern and not os.path.isdir(text):
            found.append(Path(path))
            continue
        found += _inside(*_matches(text) if pattern else _files_of(text))
    repeated = [str(path) for path, count in Counter(map(os.path.realpath, found)).items() if count > 1]
    if repeated:
        raise TableError(f"{printable(repeated[0])} is given more than once; give every part once.")
    if len(found) > 1:
        kinds = Counter(table_format(path) for path in found)
        if len(kinds) > 1:
            told = " and ".join(f"{kind} ({count})" for kind, count in sorted(kinds.items()))
            raise TableError(f"The parts are of different kinds, {told}; give those of one kind, such as '*.parquet'.")
    return found


def _matches(pattern: str) -> tuple[str, list[str]]:
    """Return the folder that a pattern looks into, and the files it finds there."""
    fixed = pattern
    while glob.has_magic(fixed):
        fixed = os.path.dirname(fixed)
    files = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    if not files:
        raise TableError(f"No file matches {printable(pattern)}; check the pattern.")
    return fixed or ".", files


def _files_of(folder: str) -> tuple[str, list[str]]:
    """Return a folder and the tables in it."""
    names = [entry.name for entry in os.scandir(folder) if not entry.is_dir() and entry.name[0] not in "._"]
    tables = sorted(os.path.join(folder, name) for name in names if name.lower().endswith(FORMATS))
    if not tables:
        raise TableError(
            f"{printable(folder)} is a folder without tables ({', '.join(FORMATS)}); check the path, or give a pattern "
            f"such as '{printable(folder.rstrip('/'))}/**/*.csv'."
        )
    return folder, tables


def _inside(folder: str, files: list[str]) -> list[Path]:
    """Return the files; raise if one is a link that leads out of the folder."""
    root = os.path.realpath(folder)
    for path in files:
        if os.path.commonpath([root, os.path.realpath(path)]) != root:
            raise TableError(f"{printable(path)} leads out of the folder {printable(folder)}; give the file itself.")
    return [Path(path) for path in files]


def _part_name(given: list[PathLike], found: list[Path]) -> str:
    text = str(given[0]) if len(given) == 1 else f"{found[0].name} and {len(found) - 1} more"
    return (os.path.basename(text.rstrip(os.sep)) or text).encode(errors="backslashreplace").decode()


def _count_values(paths: Iterable[Path]) -> float:
    """Return about how many values the files hold, without reading them."""
    total = 0.0
    for path in paths:
        if table_format(path) == ".parquet":
            with _parquet(path) as file:
                total += file.metadata.num_rows * file.metadata.num_columns
        else:
            total += os.stat(path).st_size / 8
    return total


def _columns(path: Path, reading: dict[str, Any]) -> tuple[list[str], bool]:
    if table_format(path) == ".parquet":
        with _parquet(path) as file:
            return list(file.schema_arrow.names), True
    table = read_table(path, **reading)
    return table.columns, table.named


def _read_pieces(
    path: Path, columns: list[str], expected: list[str], first: str, reading: dict[str, Any]
) -> Iterator[Table]:
    """Yield the named columns of a part: one piece after another of a Parquet file, else all rows at once."""
    if table_format(path) != ".parquet":
        table = read_table(path, **reading)
        _check_names(table.columns, expected, table.name, first)
        yield Table(table.data.select(columns), table.name, table.named)
        return
    with _parquet(path) as file:
        _check_names(list(file.schema_arrow.names), expected, path.name, first)
        if not file.metadata.num_rows:
            raise TableError(f"{printable(path.name)} is empty (0 rows); leave this part out.")
        batches = file.iter_batches(max(1024, _PIECE_VALUES // max(1, len(columns))), columns=columns)
        while True:
            with read_failures(path.name, ".parquet"):
                batch = next(batches, None)
                if batch is None:
                    return
                piece = pa.Table.from_batches([batch]).select(columns).replace_schema_metadata(None)
                piece.validate(full=True)
            yield Table(piece, path.name)


@contextmanager
def _parquet(path: Path) -> Iterator[pa.parquet.ParquetFile]:
    with open_table_file(path) as stream:
        with read_failures(path.name, ".parquet"):
            file = pa.parquet.ParquetFile(stream)
        with file:
            yield file


def _check_names(names: list[str], expected: list[str], part: str, first: str) -> None:
    """Raise if a part does not have the columns of the first; their order is free."""
    lacking, other = [name for name in expected if name not in {*names}], [n for n in names if n not in {*expected}]
    if lacking or other:
        told = [f"lacks {listed(lacking)}"] * bool(lacking) + [f"has {listed(other)} besides"] * bool(other)
        raise TableError(
            f"The part {printable(part)} {' and '.join(told)}, unlike {printable(first)}; check its names."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(f"{printable(part)} has more than one column named {listed(repeated)}; rename one of them.")


def _check_types(piece: Table, first: pa.Schema, name: str, verbatim: set[str]) -> None:
    """Raise if a column holds numbers in one part and something else in another."""
    for field_, before in zip(piece.data.schema, first, strict=True):
        kinds = [_kind(type_) for type_ in (field_.type, before.type)]
        if kinds[0] != kinds[1] and "nothing" not in kinds and field_.name not in verbatim:
            raise TableError(
                f"In the part {printable(piece.name)} the column {quoted(field_.name)} holds {kinds[0]}, in "
                f"{printable(name)} {kinds[1]}; give both the same type."
            )


def _kind(type_: pa.DataType) -> str:
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if pa.types.is_null(type_):
        return "nothing"
    return "numbers" if is_number(type_) or pa.types.is_decimal(type_) else "text" if is_text(type_) else str(type_)


@contextmanager
def _named_part(name: str) -> Iterator[None]:
    """Let errors about a piece name the part it is of."""
    try:
        yield
    except TableError as error:
        raise type(error)(f"{printable(name)}: {error}") from error


def _joined(pieces: list[Table], verbatim: set[str]) -> pa.Table:
    tables = [piece.data for piece in pieces]
    for name in verbatim & {*tables[0].column_names}:
        # Identifiers that are whole numbers in one part and text in another ("007") stay as they are written.
        if any(is_text(table.schema.field(name).type) for table in tables):
            tables = [_with_text(table, name) for table in tables]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(
            f"The parts cannot be joined ({' '.join(str(error).split())[:160].rstrip('. ')}); check their types."
        ) from error


def _with_text(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))

"""Delimited text, read the way it is written; a quote that is not closed is found in the cells that were read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from .._files import printable
from ._style import Layout, TextError, TextStyle, recognised
from ._tables import NA_WORDS, Table, TableError, is_number, is_text, number_pattern

_BLOCK_BYTES = 1 << 26
"""A row must fit in one block, so this bounds the width of a text file: 64 MiB, some five million values."""
_HEAD_BYTES = 1 << 20
"""What is looked at to recognise how a file is written."""
_EMPTY_LAST = "\0"
"""What an empty column without a name is called until it is left out."""


def read_text(
    begin: Callable[[], BinaryIO],
    name: str,
    marks: str,
    style: TextStyle,
    *,
    header: bool = True,
    verbatim: Iterable[str] = (),
) -> Table:
    """Read delimited text; types are inferred over the whole file.

    Parameters
    ----------
    begin : callable
        Opens the file anew.
    name : str
        The file's name, for messages.
    marks : str
        The separators it may have; the first is the one where none is said or recognised.
    style : TextStyle
        What is known of how the file is written.
    header : bool
        Whether the first row names the columns.
    verbatim : iterable of str
        Columns to keep as written.

    Returns
    -------
    Table
    """
    with begin() as stream:
        head = stream.read(_HEAD_BYTES)
    if not head.strip():
        raise TableError(f"{printable(name)} is empty (0 rows and 0 columns); expected at least one of each.")
    default = marks[0]
    try:
        known, layout = recognised(head, marks, style, header)
    except TextError as error:
        raise TextError(f"{printable(name)}: {error}") from None
    except UnicodeError as error:
        said = printable(style.encoding or "")
        raise TextError(f"{printable(name)} is not text in {said} ({error}); name its encoding.") from error
    if known.separator == known.decimal:
        raise TextError(f"{printable(name)} has commas between its columns, so none can be a decimal mark.")
    try:
        table = _read(begin, known, header, set(verbatim), layout)
        if known.encoding == "utf-8" and style.encoding is None and any(map(pa.types.is_binary, table.schema.types)):
            raise UnicodeDecodeError("utf-8", b"", 0, 1, "found further down")
    except UnicodeError as error:
        if style.encoding is not None:
            encoding = printable(style.encoding)
            raise TextError(f"{printable(name)} is not text in {encoding}; name its encoding.") from error
        if known.encoding == "utf-8":
            again = replace(style, encoding="windows-1252")
            read = read_text(begin, name, marks, again, header=header, verbatim=verbatim)
            note = f"{printable(name)} was read with encoding windows-1252."
            return read if any("encoding" in note for note in read.notes) else replace(read, notes=(note, *read.notes))
        raise TextError(f"{printable(name)} is not UTF-8 text, nor Latin-1; name its encoding.") from error
    except pa.ArrowException as error:
        reason = printable(" ".join(str(error).split()))[:120].rstrip(". ")
        taken = known.told("") + ("" if known.decimal == "," else ", decimal point")
        kind = {",": "CSV", "\t": "TSV"}.get(default, "text")
        raise TextError(
            f"{printable(name)} cannot be read as {kind} with {taken} ({reason}); check the file."
        ) from error
    if row := _unclosed_quote(begin, table, known.separator or default, known.decimal or "."):
        raise TextError(
            f"{printable(name)} has a quote that is not closed, about row {row}: a cell holds the rows behind it; "
            "close the quote, or take it out."
        )
    told = known.told(default)
    notes = [f"{printable(name)} was read with {told}."] * bool(told and told != style.told(default))
    ids = (layout.row_names,) if layout.row_names else ()
    if layout.empty_last:
        if table.columns[-1].null_count < table.num_rows:
            raise TextError(f"{printable(name)} has no name for its last column; give it one in the header.")
        table = table.remove_column(table.num_columns - 1)
    notes += layout.notes()
    return Table(table, name, header, tuple(notes), ids, known.decimal or "")


def _read(
    begin: Callable[[], BinaryIO], style: TextStyle, header: bool, verbatim: set[str], layout: Layout
) -> pa.Table:
    # Without a header pyarrow calls the columns f0, f1, ..., and here they are c0, c1, ....
    types = {name if header else "f" + name.removeprefix("c"): pa.string() for name in verbatim}
    if layout.row_names:
        types[layout.row_names] = pa.string()
    names = None
    if layout.names:
        names = [*[layout.row_names] * bool(layout.row_names), *layout.names, *[_EMPTY_LAST] * layout.empty_last]
    encoding = "utf8" if style.encoding == "utf-8" else style.encoding
    with begin() as stream:
        table = pa.csv.read_csv(
            stream,
            # One thread, for only then does the error for a ragged row say which row it is.
            read_options=pa.csv.ReadOptions(
                block_size=_BLOCK_BYTES,
                use_threads=False,
                autogenerate_column_names=not header,
                column_names=names,
                skip_rows=layout.skipped + (names is not None),
                encoding=encoding,
            ),
            parse_options=pa.csv.ParseOptions(delimiter=style.separator, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types=types, decimal_point=style.decimal or ".", null_values=[*NA_WORDS, *style.na]
            ),
        )
    if not header:
        table = table.rename_columns([f"c{j}" for j in range(table.num_columns)])
    for j, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if name in verbatim and pa.types.is_string(column.type):
            table = table.set_column(j, name, _restore_integers(column))
        elif name not in verbatim and style.na and is_text(column.type):
            table = table.set_column(j, name, pc.if_else(pc.is_in(column, pa.array(style.na)), None, column))
    return table


def _restore_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a text column as int64 where that loses nothing, not even a leading zero."""
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowException:
        return column
    return numbers if pc.all(pc.equal(numbers.cast(pa.string()), column)).as_py() else column


def _unclosed_quote(begin: Callable[[], BinaryIO], table: pa.Table, separator: str, decimal: str) -> int:
    """Return the row, from 1, of a cell that holds other rows, as a quote that is not closed makes it; 0 if none does.

    Such a cell goes on to the end of the file, or its lines are split as rows are and have numbers where rows have
    them. Cells may have line breaks otherwise.
    """
    numbers = [is_number(type_) for type_ in table.schema.types]
    for j, column in enumerate(table.columns):
        if not is_text(column.type):
            continue
        breaks, marks = (pc.fill_null(pc.count_substring(column, mark), 0) for mark in ("\n", separator))
        broken = pc.and_(pc.greater(breaks, 0), pc.greater_equal(marks, table.num_columns - 1))
        for row in pc.indices_nonzero(broken).to_pylist():
            if _are_rows(column[row].as_py().splitlines(), numbers, j, separator, decimal):
                return row + 1
        last = j == table.num_columns - 1 and table.num_rows and breaks[-1].as_py()
        if last and not _end(begin).endswith(b'"'):
            return int(table.num_rows)
    return 0


def _are_rows(lines: Sequence[str], numbers: list[bool], column: int, separator: str, decimal: str) -> bool:
    """Tell whether lines are rows, the first from ``column`` on and the last up to there; numbers must show it."""
    found = 0
    for place, line in enumerate(lines):
        begin = column if not place else 0
        end = column + 1 if place == len(lines) - 1 else len(numbers)
        cells = line.split(separator)
        if line and len(cells) != end - begin:
            return False
        held = [cell for cell, number in zip(cells, numbers[begin:end], strict=False) if number and cell]
        if not all(cell in NA_WORDS or re.fullmatch(number_pattern(decimal), cell) for cell in held):
            return False
        found += len(held)
    return found > 0


def _end(begin: Callable[[], BinaryIO]) -> bytes:
    """Return the last bytes of a file without white space, whatever its encoding."""
    end = b""
    with begin() as stream:
        while piece := stream.read(1 << 20):
            end = (end + piece)[-256:]
    return end.rstrip(b"\0 \t\r\n")

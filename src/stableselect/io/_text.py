"""Delimited text: which separator, decimal mark and encoding it has, said or recognised, and its columns."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from io import StringIO
from itertools import islice
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from .._files import printable
from ._quotes import unclosed_quote
from ._tables import NA_WORDS, Table, TableError, is_text

_BLOCK_BYTES = 1 << 26
"""A row must fit in one block, so this bounds the width of a text file: 64 MiB, some five million values."""
_HEAD_BYTES = 1 << 20
_HEAD_ROWS = 50
"""What is looked at to recognise how a file is written."""
_EMPTY_LAST = "\0"
"""What an empty column without a name is called until it is left out."""
_WORDS = {"\t": "tab", " ": "space"}
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


class TextError(TableError):
    """A text file that cannot be read the way it was taken to be written."""


@dataclass(frozen=True)
class TextStyle:
    r"""How a text file is written; what is None is recognised from its beginning.

    Parameters
    ----------
    separator : str, optional
        The character between columns.
    decimal : {".", ","}, optional
        The mark before decimals.
    encoding : str, optional
        Name of the encoding, as Python knows it. Recognised: UTF-8, UTF-16 with a byte order mark, Windows-1252 (which
        has Latin-1 in it).
    na : tuple of str
        Words for missing values, besides the usual ones.

    Examples
    --------
    >>> TextStyle(";", ",").told()
    "separator ';', decimal comma"
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise ValueError(f"The separator must be one character, such as ';', but is {self.separator!r}.")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"The decimal mark must be '.' or ',', but is {self.decimal!r}.")
        try:
            "".encode(self.encoding or "utf-8")
            codecs.getincrementaldecoder(self.encoding or "utf-8")
        except (LookupError, ValueError):
            raise ValueError(f"There is no encoding {printable(repr(self.encoding))}; try latin-1.") from None

    def told(self, default: str = ",") -> str:
        """Return in words what is not as it is in most files."""
        separator = self.separator or default
        marks = [f"separator {_WORDS.get(separator, repr(separator))}"] * (separator != default)
        marks += ["decimal comma"] * (self.decimal == ",")
        marks += [f"encoding {printable(self.encoding or '')}"] * (self.encoding not in (None, "utf-8"))
        return ", ".join(marks)


@dataclass(frozen=True)
class _Layout:
    """What is around the columns that a header names.

    Attributes
    ----------
    skipped : int
        Lines before the table.
    row_names : str
        What the first column is called, where the header lacks its name.
    empty_last : bool
        Whether all rows, but not the header, end in a separator.
    """

    skipped: int = 0
    row_names: str = ""
    empty_last: bool = False

    def notes(self) -> list[str]:
        notes = []
        if self.skipped:
            lines = "The first line was" if self.skipped == 1 else f"The first {self.skipped} lines were"
            notes.append(f"{lines} skipped as a comment (#).")
        if self.row_names:
            taken = f"the first column is taken for the names of the rows ('{self.row_names}')"
            notes.append(f"The header lacks one name: {taken}.")
        if self.empty_last:
            notes.append("The rows end in a separator: the empty last column was left out.")
        return notes


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
    known, layout = _recognised(head, marks, style, header)
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
            again = TextStyle(style.separator, style.decimal, "windows-1252", style.na)
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
    if row := unclosed_quote(begin, table, known.separator or default, known.decimal or "."):
        raise TextError(
            f"{printable(name)} has a quote that is not closed, about row {row}: a cell holds the rows behind it; "
            "close the quote, or take it out."
        )
    told = known.told(default)
    said = TextStyle(style.separator, style.decimal, style.encoding).told(default)
    notes = [f"{printable(name)} was read with {told}."] * bool(told and told != said)
    ids = (layout.row_names,) if layout.row_names else ()
    if layout.empty_last:
        if table.columns[-1].null_count < table.num_rows:
            raise TextError(f"{printable(name)} has no name for its last column; give it one in the header.")
        table = table.remove_column(table.num_columns - 1)
    notes += layout.notes()
    return Table(table, name, header, tuple(notes), ids, known.decimal or ".")


def _read(
    begin: Callable[[], BinaryIO], style: TextStyle, header: bool, verbatim: set[str], layout: _Layout
) -> pa.Table:
    # Without a header pyarrow calls the columns f0, f1, ..., and here they are c0, c1, ....
    types = {name if header else "f" + name.removeprefix("c"): pa.string() for name in verbatim}
    if layout.row_names:
        types[layout.row_names] = pa.string()
    names = None
    if layout.row_names or layout.empty_last:
        first, last = [layout.row_names] * bool(layout.row_names), [_EMPTY_LAST] * layout.empty_last
        names = [*first, *_names(begin, style, layout.skipped), *last]
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
                column_types=types, decimal_point=style.decimal, null_values=[*NA_WORDS, *style.na]
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


def _recognised(head: bytes, marks: str, style: TextStyle, header: bool) -> tuple[TextStyle, _Layout]:
    """Return how a file is written, and what is around the columns that its header names."""
    encoding = style.encoding or _encoding(head)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head).removeprefix("\ufeff")
    lines = list(islice(StringIO(text, newline=""), _HEAD_ROWS))
    skipped = _comments(lines, style.separator or marks)
    lines = lines[skipped:]
    separator = style.separator or _separator(lines, [*marks])
    rows = _split(lines, separator)
    cells = [cell.strip() for row in rows[header:] for cell in row]
    decimal = style.decimal
    if decimal is None:
        commas, points = (sum(map(bool, map(mark.fullmatch, cells))) for mark in (_WITH_COMMA, _WITH_POINT))
        decimal = "," if separator != "," and commas > points else "."
    layout = _Layout(skipped)
    if header and len(rows) > 1 and {len(row) for row in rows[1:]} == {len(rows[0]) + 1}:
        if any(row[-1].strip() for row in rows[1:]):
            row_names = next(name for name in ("row", "row_name", "row_names", "row ") if name not in rows[0])
            layout = replace(layout, row_names=row_names)
        else:
            layout = replace(layout, empty_last=True)
    return TextStyle(separator, decimal, encoding, style.na), layout


def _comments(lines: list[str], marks: str) -> int:
    """Return how many lines before the table begin with a hash; the last may be the header, if it is split like one."""
    count = next((j for j, line in enumerate(lines) if not line.startswith("#")), 0)
    if not count:
        return 0
    widths = [{len(row) for row in _split(lines[count - 1 :], mark)} for mark in marks if mark in lines[count]]
    return count - 1 if any(len(found) == 1 for found in widths) else count


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _separator(lines: list[str], marks: list[str]) -> str:
    """Return the first mark that splits all lines alike; where none does, the first mark if it is in the header."""
    alike = [mark for mark in marks if _splits(lines, mark)]
    if ";" in alike and "," in alike and any(_WITH_COMMA.fullmatch(cell) for row in _split(lines, ";") for cell in row):
        return ";"  # between numbers with a decimal comma
    if alike:
        return alike[0]
    return marks[0] if marks[0] in lines[0] else max(marks, key=lines[0].count)


def _splits(lines: list[str], mark: str) -> bool:
    """Tell whether a mark splits all lines into the same number of cells; a header may lack the row names'."""
    widths = [len(row) for row in _split(lines, mark)]
    return bool(widths) and widths[0] > 1 and len({*widths[1:]}) <= 1 and widths[-1] - widths[0] in (0, 1)


def _split(lines: list[str], mark: str) -> list[list[str]]:
    try:
        rows = [row for row in csv.reader(lines, delimiter=mark) if row]
    except csv.Error:  # a cell of more than 128 KiB, which no number has
        return []
    return rows[:-1] if len(rows) > 2 else rows  # the last one may go on


def _names(begin: Callable[[], BinaryIO], style: TextStyle, skipped: int) -> list[str]:
    with begin() as stream:
        head = stream.read(_HEAD_BYTES)
    text = codecs.getincrementaldecoder(style.encoding or "utf-8")(errors="replace").decode(head)
    first = next(islice(StringIO(text.removeprefix("\ufeff"), newline=""), skipped, None))
    return _split([first], style.separator or ",")[0]

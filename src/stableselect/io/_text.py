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
    known, row_names, skipped = _recognised(head, marks, style, header)
    if known.separator == known.decimal:
        raise TextError(f"{printable(name)} has commas between its columns, so none can be a decimal mark.")
    try:
        table = _read(begin, known, header, set(verbatim), row_names, skipped)
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
    if skipped:
        lines = "The first line was" if skipped == 1 else f"The first {skipped} lines were"
        notes.append(f"{lines} skipped as a comment (#).")
    if row_names:
        notes.append(f"The header lacks one name: the first column is taken for the names of the rows ('{row_names}').")
    ids = (row_names,) if row_names else ()
    return Table(table, name, header, tuple(notes), ids, known.decimal or ".")


def _read(
    begin: Callable[[], BinaryIO], style: TextStyle, header: bool, verbatim: set[str], row_names: str, skipped: int
) -> pa.Table:
    # Without a header pyarrow calls the columns f0, f1, ..., and here they are c0, c1, ....
    types = {name if header else "f" + name.removeprefix("c"): pa.string() for name in verbatim | ({row_names} - {""})}
    encoding = "utf8" if style.encoding == "utf-8" else style.encoding
    with begin() as stream:
        table = pa.csv.read_csv(
            stream,
            # One thread, for only then does the error for a ragged row say which row it is.
            read_options=pa.csv.ReadOptions(
                block_size=_BLOCK_BYTES,
                use_threads=False,
                autogenerate_column_names=not header,
                column_names=[row_names, *_names(begin, style, skipped)] if row_names else None,
                skip_rows=skipped + bool(row_names),
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


def _recognised(head: bytes, marks: str, style: TextStyle, header: bool) -> tuple[TextStyle, str, int]:
    """Return how a file is written, what its row names are called if its header does not say, and lines to skip."""
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
    row_names = ""
    if header and len(rows) > 1 and {len(row) for row in rows[1:]} == {len(rows[0]) + 1}:
        row_names = next(name for name in ("row", "row_name", "row_names", "row ") if name not in rows[0])
    return TextStyle(separator, decimal, encoding, style.na), row_names, skipped


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

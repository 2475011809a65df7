"""How delimited text is written, as far as it can be recognised from its beginning."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass, replace
from io import StringIO
from itertools import islice

from .._files import printable
from ._tables import TableError

_HEAD_ROWS = 50
"""How many lines are looked at."""
_WORDS = {"\t": "tab", " ": "space"}
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_DECLARED = re.compile(r'"?sep=([!-~\t ])"?\s*', re.IGNORECASE)
_UNCLEAR = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""A number in which the mark may be one of thousands."""


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
        if self.separator is not None and (
            len(self.separator) != 1 or self.separator in '"\r\n' or not self.separator.isascii()
        ):
            raise ValueError(f"The separator must be one character of ASCII, such as ';', but is {self.separator!r}.")
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
class Layout:
    """What is around the columns that a header names.

    Attributes
    ----------
    skipped : int
        Lines before the table.
    declared : bool
        Whether the first of them names the separator, as Excel writes it.
    hashed : bool
        Whether the header begins with a hash.
    row_names : str
        What the first column is called, where the header lacks its name.
    empty_last : bool
        Whether all rows, but not the header, end in a separator.
    names : tuple of str
        The names that the header has, where it has fewer than the rows have cells.
    """

    skipped: int = 0
    declared: bool = False
    hashed: bool = False
    row_names: str = ""
    empty_last: bool = False
    names: tuple[str, ...] = ()

    def notes(self) -> list[str]:
        notes = []
        if comments := self.skipped - self.declared:
            lines = "The first line was" if comments == 1 else f"The first {comments} lines were"
            notes.append(f"{lines} skipped as a comment (#).")
        if self.hashed:
            notes.append("The line that begins with # was taken for the header: the # is part of its first name.")
        if self.row_names:
            taken = f"the first column is taken for the names of the rows ('{self.row_names}')"
            notes.append(f"The header lacks one name: {taken}.")
        if self.empty_last:
            notes.append("The rows end in a separator: the empty last column was left out.")
        return notes


def recognised(head: bytes, marks: str, style: TextStyle, header: bool) -> tuple[TextStyle, Layout]:
    """Return how a file is written, and what is around the columns that its header names."""
    encoding = style.encoding or _encoding(head)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head).removeprefix("\ufeff")
    lines = list(islice(StringIO(text, newline=""), _HEAD_ROWS))
    declared = _DECLARED.fullmatch(lines[0]) if lines else None
    lines = lines[declared is not None :]
    skipped = _comments(lines, style.separator or marks)
    lines = lines[skipped:]
    separator = style.separator or (declared[1] if declared else _separator(lines, [*marks]))
    rows = split_rows(lines, separator)
    if header and not style.separator and not declared and style.decimal != "." and _is_one_column(rows, separator):
        separator = ";"
        rows = split_rows(lines, separator)
    decimal = style.decimal or _decimal(rows[header:], separator)
    hashed = header and bool(lines) and lines[0].startswith("#")
    layout = Layout(skipped + (declared is not None), declared is not None, hashed)
    if header and len(rows) > 1 and {len(row) for row in rows[1:]} == {len(rows[0]) + 1}:
        if len(rows[0]) == 1 and separator == "," and all(row[0].strip().isdigit() for row in rows[1:]):
            pass  # more likely thousands than names, which would be lost
        elif any(row[-1].strip() for row in rows[1:]):
            row_names = next(name for name in ("row", "row_name", "row_names", "row ") if name not in rows[0])
            layout = replace(layout, row_names=row_names, names=tuple(rows[0]))
        else:
            layout = replace(layout, empty_last=True, names=tuple(rows[0]))
    return TextStyle(separator, decimal, encoding, style.na), layout


def _is_one_column(rows: list[list[str]], separator: str) -> bool:
    """Tell whether all rows below a header of one name are numbers, some with a comma, which is then no separator."""
    cells = [",".join(row).strip() for row in rows[1:]]
    if separator != "," or not any("," in cell for cell in cells) or len(rows[0]) > 1:
        return False
    return all(_WITH_COMMA.fullmatch(cell) or cell.isdigit() for cell in cells)


def _decimal(rows: list[list[str]], separator: str) -> str | None:
    """Return the decimal mark that numbers show; None where none does. 1,234 and 1.234 may have one for thousands."""
    rows = [[cell.strip() for cell in row] for row in rows]
    cells = [cell for row in rows for cell in row]
    unclear = [cell for cell in cells if _UNCLEAR.fullmatch(cell)]
    commas, points = (sum(map(bool, map(mark.fullmatch, cells))) for mark in (_WITH_COMMA, _WITH_POINT))
    if separator == ",":
        return "." if points else None
    commas -= sum("," in cell for cell in unclear)
    points -= sum("." in cell for cell in unclear)
    if commas != points:
        return "," if commas > points else "."
    if not commas and not unclear:
        return None
    columns = zip(*rows, strict=False)
    # Three decimals are usual; whole numbers beside them in a column are not.
    mixed = any(any(map(str.isdigit, column)) and any(map(_UNCLEAR.fullmatch, column)) for column in columns)
    if not commas and not mixed and separator != ";" and not any("," in cell for cell in unclear):
        return "."
    example = next(cell for cell in (*unclear, *cells) if _WITH_COMMA.fullmatch(cell) or _WITH_POINT.fullmatch(cell))
    raise TextError(f"The mark in numbers such as {example!r} may be decimal or not; say which is decimal, '.' or ','.")


def _comments(lines: list[str], marks: str) -> int:
    """Return how many lines before the table begin with a hash; the last may be the header, if it is split like one."""
    count = next((j for j, line in enumerate(lines) if not line.startswith("#")), 0)
    if not count:
        return 0
    widths = [{len(row) for row in split_rows(lines[count - 1 :], mark)} for mark in marks if mark in lines[count]]
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
    if (
        ";" in alike
        and "," in alike
        and any(_WITH_COMMA.fullmatch(cell) for row in split_rows(lines, ";") for cell in row)
    ):
        return ";"  # between numbers with a decimal comma
    if alike:
        return alike[0]
    cells = [max(map(len, split_rows(lines[:1], mark)), default=1) for mark in marks]
    return marks[0] if cells[0] > 1 else marks[cells.index(max(cells))]


def _splits(lines: list[str], mark: str) -> bool:
    """Tell whether a mark splits all lines into the same number of cells; a header may lack the row names'."""
    widths = [len(row) for row in split_rows(lines, mark)]
    return bool(widths) and widths[0] > 1 and len({*widths[1:]}) <= 1 and widths[-1] - widths[0] in (0, 1)


def split_rows(lines: list[str], mark: str) -> list[list[str]]:
    try:
        rows = [row for row in csv.reader(lines, delimiter=mark) if row]
    except csv.Error:  # a cell of more than 128 KiB, which no number has
        return []
    return rows[:-1] if len(rows) > 2 else rows  # the last one may go on

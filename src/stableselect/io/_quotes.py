"""Quotes that are not closed: what they swallow is found in the cells that were read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from ._tables import NA_WORDS, is_number, is_text


def unclosed_quote(begin: Callable[[], BinaryIO], table: pa.Table, separator: str, decimal: str) -> int:
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
        if not all(_is_number(cell.replace(decimal, ".")) for cell in held):
            return False
        found += len(held)
    return found > 0


def _is_number(cell: str) -> bool:
    try:
        return cell in NA_WORDS or float(cell) is not None
    except ValueError:
        return False


def _end(begin: Callable[[], BinaryIO]) -> bytes:
    """Return the last bytes of a file without white space, whatever its encoding."""
    end = b""
    with begin() as stream:
        while piece := stream.read(1 << 20):
            end = (end + piece)[-256:]
    return end.rstrip(b"\0 \t\r\n")

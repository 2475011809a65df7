"""The first sheet of an Excel workbook."""

from __future__ import annotations

import warnings
import zipfile
from itertools import zip_longest
from typing import Any, BinaryIO

import pyarrow as pa

from .._files import printable
from ._tables import NA_WORDS, TableError, quoted

_SHEET_LIMIT = 1 << 30
"""The largest sheet, in bytes of its XML, that is read; texts that sheets share are held, and take a quarter of it."""
_CELL_LIMIT = 1 << 26
"""The most cells that are read; a sheet can name places without filling those before them."""


def read_excel(stream: BinaryIO, name: str, header: bool) -> tuple[pa.Table, list[str]]:
    """Return the first sheet of a workbook, and notes; values of formulas are those that were last computed."""
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(f'{printable(name)} needs openpyxl: pip install "stableselect[excel]"') from error
    with zipfile.ZipFile(stream) as archive:
        sizes = [info.file_size * (1 if "worksheets/" in info.filename else 4) for info in archive.infolist()]
        if max(sizes, default=0) > _SHEET_LIMIT:
            raise TableError(f"{printable(name)} holds a sheet of more than 1 GiB; save it as .csv or .parquet.")
    stream.seek(0)
    with warnings.catch_warnings(action="ignore"):  # about styles and extensions, which are not read
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        try:
            sheets = book.worksheets
            if not sheets:
                raise TableError(f"{printable(name)} has no sheet of cells; save the table as .csv or .parquet.")
            rows = _rows(sheets[0], name)
        finally:
            book.close()
    notes = []
    if len(sheets) > 1:
        notes.append(f"{printable(name)} has {len(sheets)} sheets; the first, {quoted(sheets[0].title)}, was read.")
    return _as_table(rows, header), notes


def _rows(sheet: Any, name: str) -> list[list[Any]]:
    """Return the rows that have a value, without empty cells behind the last one."""
    sheet.reset_dimensions()  # what the file says of its size need not be so
    rows, cells = [], 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row) + 1
        if cells > _CELL_LIMIT:
            raise TableError(f"{printable(name)} has more than {_CELL_LIMIT} cells; save it as .csv or .parquet.")
        values = list(row)
        while values and values[-1] is None:
            values.pop()
        if values:
            rows.append(values)
    return rows


def _as_table(rows: list[list[Any]], header: bool) -> pa.Table:
    columns = [list(column) for column in zip_longest(*rows)]
    names = [f"c{j}" for j in range(len(columns))]
    if header:
        first = [column.pop(0) for column in columns]
        names = ["" if cell is None else str(cell) for cell in first]
    return pa.Table.from_arrays([_column(values) for values in columns], names=names)


def _column(values: list[Any]) -> pa.Array:
    """Return cells as one type: numbers where all are, else what they all are, else text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError):
        known = [value for value in values if value is not None and value not in NA_WORDS]
        if all(isinstance(value, int | float) for value in known):
            return pa.array([float(value) if isinstance(value, int | float) else None for value in values])
        return pa.array([None if value is None else str(value) for value in values])

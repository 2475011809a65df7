"""Text that a spreadsheet would run as a formula when it opens a CSV file."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from ._tables import is_text, plain

_START = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""What begins like a formula and is none."""


def formulas(table: pa.Table) -> tuple[list[str], int]:
    """Return the column names, and the number of cells of text, that a spreadsheet would run as formulas.

    They begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and are no numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> formulas(pa.table({"=1+1": [-5, 3], "-2": ["@SUM(A1)", "-7"]}))
    (['=1+1'], 1)
    """
    cells = sum(pc.sum(_begins(column)).as_py() or 0 for column in plain(table).columns if is_text(column.type))
    return [name for name in table.column_names if _is_formula(name)], cells


def quote_formulas(table: pa.Table) -> pa.Table:
    """Return the table with an apostrophe before column names and cells of text that :func:`formulas` finds.

    Examples
    --------
    >>> import pyarrow as pa
    >>> quote_formulas(pa.table({"=1+1": ["@SUM(A1)", "-7"]})).to_pydict()
    {"'=1+1": ["'@SUM(A1)", '-7']}
    """
    columns = [
        pc.if_else(_begins(column), pc.replace_substring_regex(column, _START, r"'\0"), column)
        if is_text(column.type)
        else column
        for column in plain(table).columns
    ]
    return pa.table(columns, names=[f"'{name}" if _is_formula(name) else name for name in table.column_names])


def _is_formula(text: str) -> bool:
    return re.match(_START, text) is not None and re.match(_NUMBER, text) is None


def _begins(column: pa.ChunkedArray) -> pa.ChunkedArray:
    number = pc.match_substring_regex(column, _NUMBER)
    return pc.and_not(pc.match_substring_regex(column, _START), number)

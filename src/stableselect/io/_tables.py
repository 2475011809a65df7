"""A table as it was read: its column names in messages, and its columns as a matrix of finite numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from .._files import printable

NA_WORDS = (*pa.csv.ConvertOptions().null_values, "-", "?", ".", "--", "na", "NAN", "None", "none", "<NA>", "missing")
"""What a missing value is in a column of numbers."""
_NUMBER = r"^\s*[+-]?((\d+([MARK]\d*)?|[MARK]\d+)([eE][+-]?\d+)?|inf|nan)\s*$"
EMPTY = "no values"
"""What a column without any value holds."""
_LONGEST = 60
"""How many characters of a name a message shows."""
_LISTED = 5
"""How many names a message lists before it counts the rest."""


class TableError(ValueError):
    """A table or file that cannot be used; the message is one sentence for the person who gave it.

    Examples
    --------
    >>> issubclass(TableError, ValueError)
    True
    """


class NotNumericError(TableError):
    """Columns that do not hold numbers."""


class NotFiniteError(TableError):
    """Columns with missing or infinite values."""


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Parameters
    ----------
    data : pyarrow.Table
        The columns, in file order and with the file's types.
    name : str
        File name without its folder.
    named : bool, default=True
        False where the file has no column names: columns are then known by position and called c0, c1, ...
    notes : tuple of str
        What the person who gave the file should know of how it was read.
    ids : tuple of str
        Columns that are identifiers by the file's own account, such as the names of its rows.
    decimal : str, default=""
        The decimal mark that the numbers of a text file show; empty where none does.

    Examples
    --------
    >>> import pyarrow as pa
    >>> Table(pa.table({"a": [1, 2], "b": [3, 4]}), "small.csv").columns
    ['a', 'b']
    """

    data: pa.Table
    name: str
    named: bool = True
    notes: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    decimal: str = ""

    @property
    def columns(self) -> list[str]:
        """Column names in file order."""
        return list(self.data.column_names)

    def take(self, columns: Iterable[str]) -> Table:
        """Return a table of the named columns alone."""
        return replace(self, data=self.data.select(list(columns)))

    def head(self, columns: Iterable[str]) -> Table:
        """Return the first rows of the named columns."""
        return replace(self, data=self.data.select(list(columns)).slice(0, 1))

    def not_numbers(self, columns: Sequence[str]) -> dict[str, str]:
        """Return those of the columns that do not hold numbers, each with what it holds instead."""
        _check_separator(self, columns)
        data = plain(self.data.select(list(columns)))
        other = {field.name: j for j, field in enumerate(data.schema) if not is_number(field.type)}
        return {name: _held(data.column(j), self.decimal or ".") for name, j in other.items()}


def quoted(name: str) -> str:
    """Return ``name`` as messages show it; the empty header of a row index gets words of its own."""
    if not name:
        return "'' (the column without a name)"
    text = printable(name)
    return f"'{text}'" if len(text) <= _LONGEST else f"'{text[: _LONGEST - 3]}...'"


def listed(names: Iterable[str]) -> str:
    """Return quoted names for a message, five at most and then a count.

    Examples
    --------
    >>> listed("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    names = list(names)
    rest = len(names) - _LISTED
    return ", ".join(quoted(name) for name in names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def number_pattern(decimal: str) -> str:
    """Return a regular expression for what text files have for a number, with this decimal mark."""
    return _NUMBER.replace("MARK", decimal)


def check_unique(names: Sequence[str], source: str) -> None:
    """Raise if two columns have one name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        hint = "if the first row is data, read it without a header" if looks_like_data(names) else "rename one of them"
        raise TableError(f"{printable(source)} has more than one column named {listed(repeated)}; {hint}.")


def looks_like_data(names: Sequence[str]) -> bool:
    """Tell whether a header row is all numbers, which is what a file without a header looks like."""
    try:
        return len([float(name) for name in names]) > 1
    except ValueError:
        return False


def headerless(names: Sequence[str]) -> str:
    """Return advice for names that look like data, to end a sentence with; nothing for others."""
    return "; if the first row is data, read the table without a header" * looks_like_data(names)


def is_number(type_: pa.DataType) -> bool:
    """Tell whether a column type counts as numbers: integers, floats and booleans (as 0 and 1)."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))


def is_text(type_: pa.DataType) -> bool:
    """Tell whether a column type is text."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def numeric_matrix(table: Table, columns: Sequence[str], *, missing: bool = False) -> np.ndarray:
    """Return the named columns as float64, rows x columns, or raise if some are not finite numbers.

    ``missing`` lets NaN stand for missing values.
    """
    _check_separator(table, columns)
    data = plain(table.data.select(list(columns)))
    _check_numbers(data)
    X = np.empty((data.num_rows, data.num_columns), order="F")
    for j, column in enumerate(data.columns):
        X[:, j] = column.to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        doubtful = np.flatnonzero(~np.isfinite(X.sum(axis=0)))  # what is not finite, or overflows, shows in the sum
    if doubtful.size and not missing:
        _check_present(data)
    infinite = [columns[j] for j in doubtful.tolist() if np.isinf(X[:, j]).any()]
    if infinite:
        raise NotFiniteError(f"Infinite values in {listed(infinite)}; replace them first.")
    return X


def plain(data: pa.Table) -> pa.Table:
    """Return decimals as floats and dictionaries as their values."""
    columns = data.columns
    for j, column in enumerate(columns):
        if pa.types.is_dictionary(column.type):
            columns[j] = column.cast(column.type.value_type)
        elif pa.types.is_decimal(column.type):
            columns[j] = column.cast(pa.float64())
    return pa.table(columns, names=data.column_names)


def _check_numbers(data: pa.Table) -> None:
    other = [j for j, field in enumerate(data.schema) if not (is_number(field.type) or pa.types.is_null(field.type))]
    if not other:
        return
    columns = data.column_names  # made anew each time that it is asked for
    names = [columns[j] for j in other]
    example = f"{quoted(names[0])}: {_held(data.column(other[0]))}"
    raise NotNumericError(f"Not numbers: {listed(names)} ({example}); only columns of numbers can be used.")


def _check_separator(table: Table, columns: Sequence[str]) -> None:
    """Raise if a file was read as one column because it separates its columns by something else."""
    if len(columns) != 1 or is_number(table.data.schema.field(columns[0]).type):
        return
    if any(mark in columns[0] for mark in ",;\t|"):
        raise TableError(
            f"{printable(table.name)} has one column, {_excerpt(columns[0])}, and seems to use another separator than "
            "the one it was read with; name it, or leave it to be recognised."
        )


def _held(column: pa.ChunkedArray, decimal: str = ".") -> str:
    """Return what a column holds that is not a number: how often, the first such value, and its row."""
    if pa.types.is_null(column.type):
        return EMPTY
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type) or pa.types.is_time(column.type):
        return "dates or times"
    if not is_text(column.type):
        return printable(str(column.type))
    known = pc.or_(pc.match_substring_regex(column, number_pattern(decimal)), pc.is_in(column, pa.array(NA_WORDS)))
    other = pc.invert(pc.fill_null(known, True))
    count, filled = pc.sum(other).as_py() or 0, len(column) - column.null_count
    if not count:
        return "text"
    row = pc.index(other, True).as_py()
    first = f"{_excerpt(column[row])} in row {row + 1}"
    return f"text, such as {first}" if 2 * count > filled else f"{count} of {filled} values, first {first}"


def _excerpt(value: pa.Scalar | str) -> str:
    text = printable(str(value))
    return f"'{text}'" if len(text) <= 24 else f"'{text[:21]}...'"


def _check_present(data: pa.Table) -> None:
    counts = {}
    for name, column in zip(data.column_names, data.columns, strict=True):
        if missing := pc.sum(pc.is_null(column, nan_is_null=True)).as_py():
            counts[name] = missing
    if counts:
        worst = sorted(counts, key=lambda name: -counts[name])
        told = ", ".join(f"{quoted(name)} ({counts[name]})" for name in worst[:5])
        more = f" and {len(worst) - 5} more columns" if len(worst) > 5 else ""
        raise NotFiniteError(
            f"Missing values in {told}{more}; fill them first (for example with scikit-learn's SimpleImputer)."
        )

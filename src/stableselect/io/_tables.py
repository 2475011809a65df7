"""From table columns to a matrix of finite numbers, with errors that name the columns at fault."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from .._files import printable
from ._names import NotFiniteError, NotNumericError, TableError, listed, quoted
from ._read import Table


def is_number(type_: pa.DataType) -> bool:
    """Tell whether a column type counts as numbers: integers, floats and booleans (as 0 and 1)."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))


def is_text(type_: pa.DataType) -> bool:
    """Tell whether a column type is text."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def numeric_matrix(table: Table, columns: Sequence[str]) -> np.ndarray:
    """Return the named columns as float64, rows x columns, or raise if some are not finite numbers."""
    _check_separator(table, columns)
    data = plain(table.data.select(list(columns)))
    _check_numbers(data)
    _check_present(data)
    X = np.empty((data.num_rows, data.num_columns), order="F")
    for j, column in enumerate(data.columns):
        X[:, j] = column.to_numpy()
    infinite = [name for name, column in zip(columns, X.T, strict=True) if not np.isfinite(column).all()]
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
    raise NotNumericError(
        f"Not numbers: {listed(names)}{_example(data, other[0])}; only columns of numbers can be used."
    )


def _check_separator(table: Table, columns: Sequence[str]) -> None:
    """Raise if a file was read as one column because it separates its columns by something else."""
    if len(columns) != 1 or is_number(table.data.schema.field(columns[0]).type):
        return
    if any(mark in columns[0] for mark in ";\t|"):
        raise TableError(
            f"{printable(table.name)} has one column, {_excerpt(columns[0])}, and seems to use another separator; save "
            "it with commas (.csv) or tabs (.tsv)."
        )


def _example(data: pa.Table, j: int) -> str:
    """Return a value of a column that is not a number, for a message; nothing where the column is empty."""
    column = data.column(j).drop_null()
    if not len(column):
        return ""
    culprit = next((value for value in column if not _reads_as_number(value)), column[0])
    return f" (for example {_excerpt(culprit)} in {quoted(data.column_names[j])})"


def _reads_as_number(value: pa.Scalar) -> bool:
    """Tell whether a value is a number, or a word that a column of numbers would read as missing."""
    try:
        float(value.as_py())
    except (TypeError, ValueError):
        return value.as_py() in pa.csv.ConvertOptions().null_values
    return True


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

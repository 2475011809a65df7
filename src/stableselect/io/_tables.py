"""From table columns to a matrix of finite numbers, with errors that name the columns at fault."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._names import TableError, listed, quoted, shown
from ._read import Table


def is_number(type_: pa.DataType) -> bool:
    """Tell whether a column type counts as numbers: integers, floats and booleans (as 0 and 1)."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))


def numeric_matrix(table: Table, columns: Sequence[str]) -> np.ndarray:
    """Return the named columns as float64, rows x columns, or refuse text, missing and infinite values by name."""
    data = plain(table.data.select(list(columns)))
    _check_numbers(data)
    _check_present(data)
    X = np.empty((data.num_rows, data.num_columns), order="F")
    for j, column in enumerate(data.columns):
        X[:, j] = column.to_numpy()
    infinite = [name for name, column in zip(columns, X.T, strict=True) if not np.isfinite(column).all()]
    if infinite:
        raise TableError(
            f"Infinite values in {listed(infinite)}; clean them first or leave them out by --drop-columns."
        )
    return X


def plain(data: pa.Table) -> pa.Table:
    """Return decimals as floats and dictionaries as the values they stand for."""
    for j, field in enumerate(data.schema):
        if pa.types.is_dictionary(field.type):
            data = data.set_column(j, field.name, data.column(j).cast(field.type.value_type))
        elif pa.types.is_decimal(field.type):
            data = data.set_column(j, field.name, data.column(j).cast(pa.float64()))
    return data


def _check_numbers(data: pa.Table) -> None:
    other = [j for j, field in enumerate(data.schema) if not (is_number(field.type) or pa.types.is_null(field.type))]
    if not other:
        return
    names = [data.column_names[j] for j in other]
    column = data.column(other[0]).drop_null()
    example = f" (for example {_excerpt(column[0])} in {quoted(names[0])})" if len(column) else ""
    if data.num_columns == 1 and any(mark in names[0] for mark in ";\t|"):
        hint = "the file seems to use another separator, so save it with commas (.csv) or tabs (.tsv)"
    else:
        hint = "leave them out by --drop-columns, or carry them along by --id-column"
    raise TableError(f"Not numbers: {listed(names)}{example}; {hint}.")


def _excerpt(value: pa.Scalar) -> str:
    text = shown(str(value))
    return f"'{text}'" if len(text) <= 24 else f"'{text[:21]}...'"


def _check_present(data: pa.Table) -> None:
    counts = {}
    for name, column in zip(data.column_names, data.columns, strict=True):
        missing = column.null_count
        if pa.types.is_floating(column.type):
            missing = pc.sum(pc.is_null(column, nan_is_null=True)).as_py()
        if missing:
            counts[name] = missing
    if counts:
        worst = sorted(counts, key=lambda name: -counts[name])
        told = ", ".join(f"{quoted(name)} ({counts[name]})" for name in worst[:5])
        more = f" and {len(worst) - 5} more columns" if len(worst) > 5 else ""
        raise TableError(
            f"Missing values in {told}{more}; fill them first (for example with scikit-learn's SimpleImputer) "
            "or leave those columns out by --drop-columns."
        )

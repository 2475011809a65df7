"""Tables whose columns are rows, as where every row is a gene: recognised, and turned."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._files import printable
from ._tables import Table, TableError, is_number, is_text, listed, plain, quoted

_ROWS = "row"
"""What the names of the rows of a turned table are called, unless a column has that name."""
_FEWEST_ROWS = 20
_FEWEST_COLUMNS = 3
_LOOKED_AT = 2000
"""Of larger tables so many rows and columns are looked at."""


def transposed(table: Table, ids: Iterable[str] = ()) -> Table:
    """Return a table with rows for columns.

    Parameters
    ----------
    table : Table
        The table. Its first column of text names its rows; the other columns of text are left out.
    ids : iterable of str
        Where the table has one of these columns, that one names its rows.

    Returns
    -------
    Table
        The names of the rows have become column names, and the column names are in the column ``row``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> genes = pa.table({"gene": ["BRCA1", "TP53"], "s1": [1.5, 2.5], "s2": [0.5, 3.5], "s3": [0, 1]})
    >>> transposed(Table(genes, "genes.csv")).data.to_pydict()
    {'row': ['s1', 's2', 's3'], 'BRCA1': [1.5, 0.5, 0.0], 'TP53': [2.5, 3.5, 1.0]}
    """
    data = plain(table.data)
    text = [field.name for field in data.schema if not (is_number(field.type) or pa.types.is_null(field.type))]
    chosen = [name for name in data.column_names if name in {*ids, *table.ids}]
    names = (chosen or [name for name in text if is_text(data.schema.field(name).type)] or [None])[0]
    values = [name for name in data.column_names if name != names and name not in text]
    if not values:
        raise TableError(f"{printable(table.name)} has no columns of numbers to turn into rows; check the file.")
    columns = _labels(data, names, table.name)
    X = np.column_stack([data[name].to_numpy() for name in values])
    rows = _ROWS
    while rows in columns:
        rows += "_"
    turned = pa.Table.from_arrays([pa.array(row, from_pandas=True) for row in X], names=columns)
    if table.named:
        turned = turned.add_column(0, rows, pa.array(values, pa.string()))
    notes = [*table.notes]
    if rest := [name for name in text if name != names]:
        notes.append(f"Left out of the transposed table, not numbers: {listed(rest)}.")
    return Table(turned, table.name, names is not None, tuple(notes), (rows,) if table.named else ())


def _labels(data: pa.Table, names: str | None, source: str) -> list[str]:
    """Return the names of the rows, or their positions."""
    if names is None:
        return [f"c{j}" for j in range(data.num_rows)]
    labels = pc.fill_null(data[names].cast(pa.string()), "").to_pylist()
    if len({*labels}) < len(labels):
        seen: set[str] = set()
        again = next(label for label in labels if label in seen or seen.add(label))  # type: ignore[func-returns-value]
        raise TableError(
            f"{printable(source)} names more than one row {quoted(again)} in {quoted(names)}, and columns need "
            "different names; give every row a name of its own."
        )
    return labels


def looks_transposed(table: Table, features: list[str]) -> bool:
    """Tell whether the rows of a table seem to be what is measured, and its columns the samples.

    That is so where the first column is text that names every row differently, there are more rows than columns, and
    rows have levels of their own while columns share one: after an inverse hyperbolic sine, the means of the rows make
    up at least half of the variance of all values, and those of the columns at most a twentieth.
    """
    data = table.data
    n, m = data.num_rows, len(features)
    first = data.column(0) if data.num_columns > m else None
    if first is None or not is_text(first.type) or n < _FEWEST_ROWS or m < _FEWEST_COLUMNS or n <= m:
        return False
    if pc.count_distinct(first).as_py() < n:
        return False
    rows, columns = (np.linspace(0, size - 1, min(size, _LOOKED_AT)).astype(int) for size in (n, m))
    X = np.column_stack([np.asarray(data[features[j]].to_numpy(), dtype=float)[rows] for j in columns])
    X = np.arcsinh(X)
    total = X.var()
    return bool(total > 0 and X.mean(axis=1).var() >= total / 2 and X.mean(axis=0).var() <= total / 20)

"""A selection: the kept columns, where they came from, and the map that rebuilds the others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ._held_out import HeldOutErrors
from ._names import TableError, listed, shown
from ._read import Table
from ._tables import numeric_matrix


@dataclass(frozen=True)
class Chosen:
    """One kept column: its name, its position in the table it came from, and its score (larger is better).

    Examples
    --------
    >>> Chosen("weight", 3, 0.8).name
    'weight'
    """

    name: str
    index: int
    score: float


@dataclass(frozen=True, eq=False)
class Selection:
    """The result of choosing columns of a table, with all that is needed to use it on another one.

    Parameters
    ----------
    selected : tuple of Chosen
        The kept columns, in order of selection.
    columns : tuple of str
        Every column of the table the choice was made from.
    id_columns : tuple of str
        Columns that were carried along and not used.
    features : tuple of str
        The columns that could be chosen, in table order; those the map rebuilds.
    coefficients : ndarray of shape (k, m)
        Rows follow the kept columns in table order, columns follow ``features``; in the table's own units.
    intercept : ndarray of shape (m,)
        Added to the product of kept columns and coefficients.
    method, settings, scaling, seed
        How the choice was made.
    source : str
        Name of the file.
    rows : int
        Number of rows.
    errors : HeldOutErrors or None
        Errors on held-out rows; None where there were too few rows.
    notes : tuple of str
        What the person who runs this should know, one sentence each.
    explanation : dict or None
        Which kept columns stand for which dropped ones.
    versions : dict
        Versions of the software that made the choice.
    path : dict or None
        Where the number of columns was chosen too: explained shares of every number, as in
        :class:`~stableselect.SelectionPath`, with column names for positions.
    stability : dict or None
        Where stability was asked for: that of the choice on parts of the rows with its standard error, the setting of
        the search, and its held-out error beside the least of all settings.

    See Also
    --------
    select_table : Make a selection.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stableselect.io import Table
    >>> from stableselect.workflow import select_table
    >>> table = Table(pa.table({"a": [1.0, 2, 3], "b": [2.0, 4, 6], "c": [5, 5, 5]}), "small.csv")
    >>> selection = select_table(table, 1, ridge=0.0)
    >>> selection.reconstruct(Table(selection.apply(table), "kept.csv"))["b"].to_numpy().round(6).tolist()
    [2.0, 4.0, 6.0]
    """

    selected: tuple[Chosen, ...]
    columns: tuple[str, ...]
    id_columns: tuple[str, ...]
    features: tuple[str, ...]
    coefficients: np.ndarray
    intercept: np.ndarray
    method: str
    settings: dict[str, Any]
    scaling: str
    seed: int
    source: str
    rows: int
    errors: HeldOutErrors | None
    notes: tuple[str, ...]
    explanation: dict[str, Any] | None
    versions: dict[str, str]
    path: dict[str, Any] | None = None
    stability: dict[str, Any] | None = None

    @property
    def kept(self) -> list[str]:
        """Names of the kept columns in table order."""
        chosen = {column.name for column in self.selected}
        return [name for name in self.features if name in chosen]

    def apply(self, table: Table) -> pa.Table:
        """Return the identifier columns that ``table`` has, then the kept columns, as they are.

        Other columns and the order of columns do not matter. A table without column names must have the columns of
        the table the choice was made from, in that order.
        """
        table = _name_columns(table, [*self.columns], "all columns of the table the selection was made from")
        return table.data.select(self._present(table))

    def reconstruct(self, table: Table) -> pa.Table:
        """Return the identifier columns that ``table`` has, then every column the choice was made from.

        Kept columns are passed through as they are; the others are rebuilt from them.
        """
        table = _name_columns(table, [*self.id_columns, *self.kept], "the kept columns")
        present = self._present(table)
        kept = self.kept
        X = numeric_matrix(table, kept)
        # Not X @ coefficients at once: kept columns need no arithmetic and a wide table no second n x m array.
        position = {name: j for j, name in enumerate(kept)}
        arrays = [table.data[name] for name in present[: len(present) - len(kept)]]
        for j, name in enumerate(self.features):
            if name in position:
                arrays.append(table.data[name])
            else:
                arrays.append(pa.chunked_array([X @ self.coefficients[:, j] + self.intercept[j]]))
        return pa.Table.from_arrays(arrays, names=[*present[: len(present) - len(kept)], *self.features])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the selection to a JSON file, replacing one of that name."""
        from ._selection_file import to_json
        from ._write import replacing

        with replacing(Path(path)) as (temporary,):
            temporary.write_text(to_json(self), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Selection:
        """Read a selection from a JSON file; a foreign, damaged or newer one is refused."""
        from ._selection_file import read_json

        return read_json(Path(path))

    def _present(self, table: Table) -> list[str]:
        """Return the identifier columns that ``table`` has and the kept ones, which it must have."""
        have = set(table.columns)
        missing = [name for name in self.kept if name not in have]
        if missing:
            raise TableError(
                f"{shown(table.name)} lacks {len(missing)} of the {len(self.kept)} selected columns: {listed(missing)}."
            )
        return [name for name in self.id_columns if name in have] + self.kept


def _name_columns(table: Table, names: list[str], what: str) -> Table:
    """Give a table without column names those of ``names``, by position."""
    if table.named:
        return table
    if len(table.columns) != len(names):
        raise TableError(
            f"{shown(table.name)} has no column names and {len(table.columns)} columns; expected {what}, {len(names)}."
        )
    return Table(table.data.rename_columns(names), table.name)

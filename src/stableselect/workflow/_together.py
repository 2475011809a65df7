"""Columns that say which rows belong together: they decide what is held out and compared, and are never selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.model_selection import GroupKFold

from .._core import BlockKFold, time_blocks
from ..io import Table, TableParts, is_number, is_text, plain, quoted
from ._prepare import RequestError, SelectionRequest

N_FOLDS = 5
"""Groups or times are held out in so many folds."""


@dataclass(frozen=True)
class Together:
    """Rows that belong together.

    Attributes
    ----------
    groups : ndarray of shape (n,) or None
        The number of every row's group, or the rank of its time.
    timed : bool
        Whether they are times.
    batch : ndarray of shape (n,) or None
        Labels of the batches.
    """

    groups: np.ndarray | None = None
    timed: bool = False
    batch: np.ndarray | None = None

    def splitter(self, n_folds: int, gaps: bool = True) -> Any:
        """Return what holds groups out whole, or blocks of time; None without either."""
        if self.groups is None:
            return None
        if self.timed:
            return BlockKFold(n_folds) if gaps else BlockKFold(n_folds, gap=0.0)
        return GroupKFold(min(n_folds, int(self.groups.max()) + 1))

    def folds(self, n_folds: int) -> np.ndarray | None:
        """Return the fold of every row; groups and blocks of time are in one each."""
        if self.groups is None:
            return None
        if self.timed:
            return time_blocks(self.groups, n_folds)
        found = np.empty(len(self.groups), dtype=np.intp)
        for fold, (_, test) in enumerate(self.splitter(n_folds).split(found, groups=self.groups)):
            found[test] = fold
        return found

    def parts(self) -> np.ndarray | None:
        """Return labels of up to ten parts of the rows to hold out whole; None where rows do not belong together."""
        return None if self.groups is None else self.folds(min(10, int(self.groups.max()) + 1))

    def take(self, rows: np.ndarray) -> Together:
        """Return the same for some of the rows."""
        groups, batch = (None if given is None else given[rows] for given in (self.groups, self.batch))
        ranks = None if groups is None else np.unique(groups, return_inverse=True)[1]
        return Together(ranks, self.timed, batch)


def rows_together(table: Table | TableParts, request: SelectionRequest, fewest: int = 2) -> Together:
    """Read the columns that say which rows belong together.

    Parameters
    ----------
    table : Table or TableParts
        The table.
    request : SelectionRequest
        The columns.
    fewest : int
        Groups, or different times, that are needed.
    """
    groups = batch = None
    timed = request.time_column is not None
    if request.time_column is not None:
        groups = _times(table, request.time_column)
    elif request.group_column is not None:
        groups = np.unique(labels_of(table, request.group_column, "group_column"), return_inverse=True)[1]
    if groups is not None and groups.max(initial=-1) + 1 < fewest:
        parameter, what = ("time_column", "different times") if timed else ("group_column", "groups")
        name = quoted(getattr(request, parameter))
        raise RequestError(parameter, f"{name} has {groups.max(initial=-1) + 1} {what} and {fewest} are needed.")
    if request.batch is not None:
        batch = labels_of(table, request.batch, "batch")
        _, counts = np.unique(batch, return_counts=True)
        if counts.min(initial=2) < 2:
            alone = np.unique(batch)[np.argmin(counts)]
            raise RequestError(
                "batch", f"{quoted(str(alone))} has one row, in which nothing varies; join it to another batch."
            )
    return Together(groups, timed, batch)


def labels_of(table: Table | TableParts, name: str, parameter: str) -> np.ndarray:
    """Return a column as text; raise where a row has none."""
    column = plain(table.take([name]).data)[name].combine_chunks().dictionary_encode(null_encoding="encode")
    values = column.dictionary.to_pylist()  # each once
    if any(value is None or value == "" or value != value for value in values):
        raise RequestError(parameter, f"{quoted(name)} has empty cells; fill them or leave out these rows.")
    return np.array([str(value) for value in values])[column.indices.to_numpy()]


def _times(table: Table | TableParts, name: str) -> np.ndarray:
    """Return the ranks of the rows by a column of numbers, dates or times."""
    column = plain(table.take([name]).data)[name]
    if is_text(column.type):
        column = _parsed(column, name)
    if pc.any(pc.is_null(column, nan_is_null=True)).as_py():
        raise RequestError("time_column", f"{quoted(name)} has empty cells; fill them or leave out these rows.")
    if not is_number(column.type):
        try:
            column = column.cast(
                pa.int32() if pa.types.is_date32(column.type) or pa.types.is_time32(column.type) else pa.int64()
            )
        except pa.ArrowException:
            raise RequestError(
                "time_column", f"{quoted(name)} holds {column.type}, not numbers, dates or times; name another column."
            ) from None
    return np.unique(column.to_numpy(), return_inverse=True)[1]


def _parsed(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    for type_ in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.float64()):
        try:
            return column.cast(type_)
        except pa.ArrowException:
            continue
    example = next((value for value in column.to_pylist() if value), "")
    raise RequestError(
        "time_column",
        f"{quoted(name)} holds text such as {quoted(example)}, which may sort otherwise than time does; write times as "
        "numbers or as 2026-01-31 12:00:00.",
    )

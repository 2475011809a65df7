"""A selection, or a fitted selector, used on another table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._files import printable
from ..base import BaseSelector, Calibration, NovelSamplesWarning
from ..persistence import TableSelection
from ._parts import TableParts
from ._tables import Table, TableError, headerless, listed, numeric_matrix, quoted

Made = TableSelection | BaseSelector


@dataclass(frozen=True)
class _Plan:
    """What a selection and a selector have in common.

    Attributes
    ----------
    columns : list of str
        Every column of the table it was made from.
    ids, selected, features : list of str
        Identifiers, selected columns, and all columns that can be reconstructed.
    named : bool
        False where columns are known by position alone.
    made : TableSelection or BaseSelector
        What it is the plan of.
    fills : bool
        Whether missing values of selected columns are filled in.
    calibration : Calibration or None
        How sure the reconstruction is.
    """

    columns: list[str]
    ids: list[str]
    selected: list[str]
    features: list[str]
    named: bool
    made: Made
    fills: bool
    calibration: Calibration | None

    def rebuilt(self, values: np.ndarray) -> np.ndarray:
        """Return all features for values of the selected columns, whatever rows these are."""
        # What is unlike those selected on is told by check, in the words of tables.
        with warnings.catch_warnings(action="ignore", category=NovelSamplesWarning):
            return np.asarray(self.made.reconstruct(values))

    def added(
        self, values: np.ndarray, interval: float | None = None, noise: Any = None, score: str | None = None
    ) -> dict[str, np.ndarray]:
        """Return the columns to add, by name: the ends of intervals, and how unlike those selected on rows are."""
        found: dict[str, np.ndarray] = {}
        if interval is not None:
            with warnings.catch_warnings(action="ignore", category=NovelSamplesWarning):
                low, high = self.made.reconstruct_interval(values, interval, noise=noise)
            exact = {*self.selected} if noise is None else set()
            for j, name in enumerate(self.features):
                if name not in exact:
                    found |= {f"{name}_low": low[:, j], f"{name}_high": high[:, j]}
        if score is not None:
            found[score] = self.made.novelty(values)
        return found

    def check(self, values: np.ndarray) -> None:
        """Warn of rows that are unlike those selected on."""
        if told := self.calibration and self.calibration.unlike(values, self.selected, "rows"):
            warnings.warn(told, NovelSamplesWarning, stacklevel=3)


def id_columns(made: Made, *, header: bool = True, selected_only: bool = False) -> list[str]:
    """Return what the identifier columns are called in a table to be read, which may lack a header.

    ``selected_only`` is for a table that has the identifiers and the selected columns, and no others.
    """
    plan = plan_of(made)
    layout = [*plan.ids, *plan.selected] if selected_only else plan.columns
    return plan.ids if header else [f"c{layout.index(name)}" for name in plan.ids]


def needed(made: Made, table: Table | TableParts) -> Table:
    """Return those columns of a table that a selection uses; where the columns have no names, all."""
    plan = plan_of(made)
    if not (plan.named and table.named):
        return table.take(table.columns)
    wanted = {*plan.ids, *plan.selected}
    # The table's own columns if none is: an error will tell what is missing.
    return table.take([name for name in table.columns if name in wanted] or table.columns[:2])


def apply(made: Made, table: Table, *, score: str | None = None) -> pa.Table:
    """Return the identifier columns that ``table`` has, then the selected columns, as they are.

    Other columns and the order of columns do not matter. Where the table or the selector has no column names, the
    table must have the columns of the one the selection was made from, in that order. Rows that are unlike those
    selected on give a ``NovelSamplesWarning``, where the columns are numbers without gaps.

    Parameters
    ----------
    made : TableSelection or BaseSelector
        The selection, or a fitted selector.
    table : Table
        The table.
    score : str, optional
        Name of a column to add: how unlike those selected on every row is; above 1 it is unlike them.

    Returns
    -------
    pyarrow.Table
    """
    plan = plan_of(made)
    if plan.named:
        table = _name_columns(table, plan.columns, "all columns of the table the selection was made from")
        made_of = table.data.select(_present(plan, table))
    else:
        _check_width(table, len(plan.columns), "the columns that the selector was fitted on")
        made_of = table.data.select([table.columns[plan.columns.index(name)] for name in plan.selected])
    if score is None and plan.calibration is None:
        return _filled(plan, made_of)
    names = made_of.column_names[-len(plan.selected) :]
    try:
        values = numeric_matrix(Table(made_of, table.name), names, missing=plan.fills)
    except TableError:
        if score is None:
            return made_of
        raise
    plan.check(values)
    made_of = _filled(plan, made_of)
    return _with_columns(made_of, plan.added(values, score=score))


def reconstruct(
    made: Made, table: Table, *, interval: float | None = None, noise: Any = None, score: str | None = None
) -> pa.Table:
    """Return the identifier columns that ``table`` has, then every column that the selection was made from.

    Selected columns are passed through as they are; the others are reconstructed from them. Rows that are unlike those
    selected on give a ``NovelSamplesWarning``.

    Parameters
    ----------
    made : TableSelection or BaseSelector
        The selection, or a fitted selector.
    table : Table
        The selected columns, with identifiers or without.
    interval : float, optional
        Add two columns for every one that is reconstructed, NAME_low and NAME_high, the ends of an interval that holds
        the value with this probability. With ``noise`` for selected columns too.
    noise : float, array of shape (k,) or dict, optional
        Standard deviation of the noise that the selected columns have here beyond that of the table selected on.
    score : str, optional
        Name of a column to add: how unlike those selected on every row is; above 1 it is unlike them.

    Returns
    -------
    pyarrow.Table
    """
    plan = plan_of(made)
    table = Table(table.data, table.name, table.named and plan.named)
    table = _name_columns(table, [*plan.ids, *plan.selected], "the selected columns")
    ids = _present(plan, table)[: -len(plan.selected)]
    values = numeric_matrix(table, plan.selected, missing=plan.fills)
    rebuilt, added = plan.rebuilt(values), plan.added(values, interval, noise, score)
    plan.check(values)
    table = Table(_filled(plan, table.data, rebuilt), table.name)
    kept = set(plan.selected)
    arrays: list[Any] = [table.data[name] for name in ids]
    for name, column in zip(plan.features, rebuilt.T, strict=True):
        arrays.append(table.data[name] if name in kept else pa.chunked_array([column]))
    return _with_columns(pa.Table.from_arrays(arrays, names=[*ids, *plan.features]), added)


def _filled(plan: _Plan, data: pa.Table, rebuilt: np.ndarray | None = None) -> pa.Table:
    """Return a table whose last columns are the selected ones, with missing values filled in where that can be done."""
    names = data.column_names[-len(plan.selected) :]
    gaps = [j for j, name in enumerate(names) if pc.any(pc.is_null(data[name], nan_is_null=True)).as_py()]
    if not (plan.fills and gaps):
        return data
    if rebuilt is None:
        rebuilt = plan.rebuilt(numeric_matrix(Table(data, ""), names, missing=True))
    for j in gaps:
        values = rebuilt[:, plan.features.index(plan.selected[j])]
        data = data.set_column(data.column_names.index(names[j]), names[j], pa.chunked_array([values]))
    return data


def _with_columns(table: pa.Table, added: dict[str, np.ndarray]) -> pa.Table:
    """Return a table with more columns; raise if it has one of that name."""
    for name, values in added.items():
        if name in table.column_names:
            raise TableError(f"There is a column {quoted(name)} already; rename it, or call the new one otherwise.")
        table = table.append_column(name, pa.array(values))
    return table


def plan_of(made: Made) -> _Plan:
    if isinstance(made, TableSelection):
        known = (list(made.columns), list(made.id_columns), made.selected_names, list(made.features), True)
        return _Plan(*known, made, made.completion is not None, made.calibration)
    names = getattr(made, "feature_names_in_", None)
    features = [f"c{j}" for j in range(made.n_features_in_)] if names is None else [str(name) for name in names]
    kept, calibration = [features[j] for j in np.flatnonzero(made.support_)], getattr(made, "calibration_", None)
    return _Plan(features, [], kept, features, names is not None, made, hasattr(made, "location_"), calibration)


def _present(plan: _Plan, table: Table) -> list[str]:
    """Return the identifier columns that ``table`` has and the selected ones, which it must have."""
    have = set(table.columns)
    missing = [name for name in plan.selected if name not in have]
    if missing:
        lacks = f"{len(missing)} of the {len(plan.selected)} selected columns"
        raise TableError(f"{printable(table.name)} lacks {lacks}: {listed(missing)}{headerless(table.columns)}.")
    return [name for name in plan.ids if name in have] + plan.selected


def _name_columns(table: Table, names: list[str], what: str) -> Table:
    """Give a table without column names those of ``names``, by position."""
    if table.named:
        return table
    _check_width(table, len(names), what)
    return Table(table.data.rename_columns(names), table.name)


def _check_width(table: Table, width: int, what: str) -> None:
    if len(table.columns) != width:
        raise TableError(
            f"{printable(table.name)} has {len(table.columns)} columns, matched by position; expected {what}, {width}."
        )

"""A selection, or a fitted selector, used on another table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._files import printable
from ..base import BaseSelector
from ..persistence import TableSelection
from ._parts import TableParts
from ._tables import Table, TableError, headerless, listed, numeric_matrix

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
    reconstruct : callable
        From the values of the selected columns to those of all features.
    fills : bool
        Whether missing values of selected columns are filled in.
    """

    columns: list[str]
    ids: list[str]
    selected: list[str]
    features: list[str]
    named: bool
    reconstruct: Callable[[np.ndarray], np.ndarray]
    fills: bool = False


def id_columns(made: Made, *, header: bool = True, selected_only: bool = False) -> list[str]:
    """Return what the identifier columns are called in a table to be read, which may lack a header.

    ``selected_only`` is for a table that has the identifiers and the selected columns, and no others.
    """
    plan = _plan(made)
    layout = [*plan.ids, *plan.selected] if selected_only else plan.columns
    return plan.ids if header else [f"c{layout.index(name)}" for name in plan.ids]


def needed(made: Made, table: Table | TableParts) -> Table:
    """Return those columns of a table that a selection uses; where the columns have no names, all."""
    plan = _plan(made)
    if not (plan.named and table.named):
        return table.take(table.columns)
    wanted = {*plan.ids, *plan.selected}
    # The table's own columns if none is: an error will tell what is missing.
    return table.take([name for name in table.columns if name in wanted] or table.columns[:2])


def apply(made: Made, table: Table) -> pa.Table:
    """Return the identifier columns that ``table`` has, then the selected columns, as they are.

    Other columns and the order of columns do not matter. Where the table or the selector has no column names, the
    table must have the columns of the one the selection was made from, in that order.

    Parameters
    ----------
    made : TableSelection or BaseSelector
        The selection, or a fitted selector.
    table : Table
        The table.

    Returns
    -------
    pyarrow.Table
    """
    plan = _plan(made)
    if not plan.named:
        _check_width(table, len(plan.columns), "the columns that the selector was fitted on")
        names = [table.columns[plan.columns.index(name)] for name in plan.selected]
        table = Table(table.data.select(names).rename_columns(plan.selected), table.name)
        return _filled(plan, table).rename_columns(names)
    table = _name_columns(table, plan.columns, "all columns of the table the selection was made from")
    return _filled(plan, table.take(_present(plan, table)))


def reconstruct(made: Made, table: Table) -> pa.Table:
    """Return the identifier columns that ``table`` has, then every column that the selection was made from.

    Selected columns are passed through as they are; the others are reconstructed from them.

    Parameters
    ----------
    made : TableSelection or BaseSelector
        The selection, or a fitted selector.
    table : Table
        The selected columns, with identifiers or without.

    Returns
    -------
    pyarrow.Table
    """
    plan = _plan(made)
    if not plan.named:
        _check_width(table, len(plan.selected), "the selected columns")
        table = Table(table.data.rename_columns(plan.selected), table.name)
    table = _name_columns(table, [*plan.ids, *plan.selected], "the selected columns")
    ids = _present(plan, table)[: -len(plan.selected)]
    rebuilt = plan.reconstruct(numeric_matrix(table, plan.selected, missing=plan.fills))
    table = Table(_filled(plan, table), table.name)
    kept = set(plan.selected)
    arrays: list[Any] = [table.data[name] for name in ids]
    for name, values in zip(plan.features, rebuilt.T, strict=True):
        arrays.append(table.data[name] if name in kept else pa.chunked_array([values]))
    return pa.Table.from_arrays(arrays, names=[*ids, *plan.features])


def _filled(plan: _Plan, table: Table) -> pa.Table:
    """Return a table of identifiers and selected columns, with missing values filled in where that can be done."""
    data = table.data
    gaps = [name for name in plan.selected if pc.any(pc.is_null(data[name], nan_is_null=True)).as_py()]
    if not (plan.fills and gaps):
        return data
    whole = plan.reconstruct(numeric_matrix(table, plan.selected, missing=True))
    for name in gaps:
        values = whole[:, plan.features.index(name)]
        data = data.set_column(data.column_names.index(name), name, pa.chunked_array([values]))
    return data


def _plan(made: Made) -> _Plan:
    if isinstance(made, TableSelection):
        features, ids = list(made.features), list(made.id_columns)
        return _Plan(
            list(made.columns), ids, made.selected_names, features, True, made.reconstruct, made.completion is not None
        )
    names = getattr(made, "feature_names_in_", None)
    features = [f"c{j}" for j in range(made.n_features_in_)] if names is None else [str(name) for name in names]
    kept = [features[j] for j in np.flatnonzero(made.support_)]
    return _Plan(features, [], kept, features, names is not None, made.reconstruct, hasattr(made, "location_"))


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

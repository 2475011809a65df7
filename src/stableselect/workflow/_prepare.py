"""From a table and what a person asks for to a selector and the numbers it works on; what every choice starts with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import resolve_k
from ..io import SCALINGS, Table, TableError, check_separator, listed, looks_like_data, numeric_matrix, resolve
from ._methods import make_selector


@dataclass(frozen=True)
class Prepared:
    """A table ready to choose from.

    Attributes
    ----------
    X : ndarray of shape (n, m)
        The columns that can be chosen, not scaled.
    features : list of str
        Their names.
    ids : list of str
        Columns that are carried along.
    forced, barred : list of int
        Positions in ``features`` of columns that must or must not be kept.
    k : int or None
        Columns to keep; None where that is left open.
    method : str
        Registered name of the selector.
    selector : BaseSelector
        The selector, not fitted.
    notes : list of str
        What the person should know of the table.
    """

    X: np.ndarray
    features: list[str]
    ids: list[str]
    forced: list[int]
    barred: list[int]
    k: int | None
    method: str
    selector: Any
    notes: list[str]

    def has_choice(self, k: int) -> bool:
        """Tell whether there is more than one way to keep k columns."""
        return len(self.forced) < k < len(self.features) - len(self.barred)


def prepare(
    table: Table,
    n_features_to_select: int | float | str | None,
    *,
    method: str,
    include: Iterable[str],
    exclude: Iterable[str],
    drop_columns: Iterable[str],
    id_columns: Iterable[str],
    scale: str,
    seed: int,
    settings: dict[str, Any],
) -> Prepared:
    """Check a table and what is asked of it; parameters as for :func:`~stableselect.io.select_table`.

    ``settings`` are the method's own; those that are None are left to it.
    """
    columns, include, exclude = table.columns, list(include), list(exclude)
    dropped = resolve(drop_columns, columns, "--drop-columns")
    ids = resolve(id_columns, columns, "--id-column")
    features = [name for name in columns if name not in {*dropped, *ids}]
    if not features:
        raise TableError("No column is left to choose from; drop fewer columns.")
    check_separator(table, features)
    if both := sorted(set(dropped) & set(ids)):
        raise TableError(f"{listed(both)} cannot be both dropped and an id column; say one of the two.")
    if unused := sorted({*include, *exclude} & {*dropped, *ids}):
        raise TableError(f"{listed(unused)} cannot be included or excluded: it is dropped or an id column.")
    if scale not in SCALINGS:
        raise TableError(f"--scale must be one of {', '.join(SCALINGS)}, not '{scale}'.")
    if not 0 <= seed < 2**32:
        raise TableError(f"--seed must be from 0 to 2**32 - 1, not {seed}.")
    k = _number_to_keep(n_features_to_select, len(features))
    forced, barred = _forced_and_barred(include, exclude, features, k)
    wanted = {"n_features_to_select": "auto" if k is None else k, "include": forced or None, "exclude": barred or None}
    name, selector = make_selector(method, {**wanted, **settings, "random_state": seed})
    if k is None and "min_explained_variance" not in selector.get_params():
        raise TableError(f"-k auto works with ColumnSubset and ScorerSelector only; say how many columns {name} keeps.")
    X = numeric_matrix(table, features)
    return Prepared(X, features, ids, forced, barred, k, name, selector, _table_notes(table, features))


def _number_to_keep(wanted: int | float | str | None, m: int) -> int | None:
    """Return how many columns to keep; None where that is left open."""
    if wanted == "auto":
        return None
    if isinstance(wanted, int) and wanted > m:
        raise TableError(f"-k asks for {wanted} columns and the table has {m} to choose from; ask for {m} or fewer.")
    return resolve_k(wanted, m)


def _forced_and_barred(
    include: Iterable[str], exclude: Iterable[str], features: list[str], k: int | None
) -> tuple[list[int], list[int]]:
    """Return the positions of included and excluded columns, after checking that k columns can be chosen with them.

    Where k is None, one column at least has to be left.
    """
    forced, barred = resolve(include, features, "--include"), resolve(exclude, features, "--exclude")
    if both := sorted(set(forced) & set(barred)):
        raise TableError(f"{listed(both)} is both included and excluded; say one of the two.")
    k = max(1, len(forced)) if k is None else k
    if len(forced) > k:
        raise TableError(f"--include names {len(forced)} columns and only {k} are kept; raise -k or include fewer.")
    if len(features) - len(barred) < k:
        left = len(features) - len(barred)
        raise TableError(f"--exclude leaves {left} columns and {k} are to be kept; lower -k or exclude fewer.")
    position = {name: j for j, name in enumerate(features)}
    return [position[name] for name in forced], [position[name] for name in barred]


def _table_notes(table: Table, features: list[str]) -> list[str]:
    notes = []
    if "" in features:
        notes.append("One column has no name; if it numbers the rows, leave it out by --drop-columns ''.")
    if table.named and looks_like_data(table.columns):
        notes.append("All column names are numbers; if the first row is data, say --no-header.")
    return notes

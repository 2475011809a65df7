"""The numbers of a table, and what its other columns say of the rows: classes, and which rows belong together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..io import Table, numeric_matrix, quoted
from ._notes import left_out_note
from ._numbers import Scaler, fitted_scaler
from ._prepare import RequestError, SelectionRequest, check_known, prepare
from ._together import labels_of, rows_together


@dataclass(frozen=True, eq=False)
class LabelledNumbers:
    """Result of :func:`labelled_numbers`.

    Attributes
    ----------
    features : list of str
        Names of the columns that can be selected.
    X : ndarray of shape (rows, columns)
        Their values.
    labels, groups : ndarray of shape (rows,) or None
        The class of every row, and the number of its group or the rank of its time.
    scaler : transformer or None
        For the scaling of the request, fitted to X.
    notes : tuple of str
        What the person who gave the table should know of it.
    """

    features: list[str]
    X: np.ndarray
    labels: np.ndarray | None
    groups: np.ndarray | None
    scaler: Scaler
    notes: tuple[str, ...]


def labelled_numbers(
    table: Table, request: SelectionRequest, *, labels: str | None = None, folds: int = 2
) -> LabelledNumbers:
    """Check a request against a table that is to be judged on held-out rows, and return the numbers.

    Parameters
    ----------
    table : Table
        The table, as :func:`~stableselect.io.read_table` gives it.
    request : SelectionRequest
        What to select.
    labels : str, optional
        Column of classes, which is not selected.
    folds : int, default=2
        Number of folds, which need as many rows and groups.

    Returns
    -------
    LabelledNumbers

    Raises
    ------
    RequestError
        If the table cannot be used so; it names the parameter at fault.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stableselect.io import Table
    >>> from stableselect.workflow import SelectionRequest, labelled_numbers
    >>> data = pa.table({"kind": ["x", "y", "x", "y"], "a": [1.0, 2, 4, 3], "b": [2.0, 4, 8, 1]})
    >>> found = labelled_numbers(Table(data, "small.csv"), SelectionRequest(k=1), labels="kind")
    >>> found.features, found.labels.tolist()
    (['a', 'b'], ['x', 'y', 'x', 'y'])
    """
    if labels is not None:
        check_known("labels", labels, table.columns)
    asked = prepare(table, request if labels is None else replace(request, drop=[*request.drop, labels]))
    X = numeric_matrix(table, asked.features)
    if len(X) < folds:
        raise RequestError("folds", f"{folds} folds need as many rows and the table has {len(X)}; lower it.")
    classes = None if labels is None else _classes(table, labels)
    together = rows_together(table, request)
    groups = together.groups
    if groups is not None and (found := groups.max() + 1) < folds:
        what = "times" if together.timed else "groups"
        raise RequestError("folds", f"{folds} folds need as many {what} and there are {found}; lower it.")
    notes = (*asked.table.notes, *left_out_note(asked.left_out))
    return LabelledNumbers(asked.features, X, classes, groups, fitted_scaler(request.scale, X), notes)


def _classes(table: Table, name: str) -> np.ndarray:
    """Return a column as text; raise where a row has none, or where hardly two rows agree."""
    classes = labels_of(table, name, "labels")
    if 2 * (found := np.unique(classes).size) > classes.size:
        raise RequestError(
            "labels", f"{quoted(name)} has {found} different values in {classes.size} rows; name a column of classes."
        )
    return classes

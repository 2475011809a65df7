"""What the person who gave a table should know of it: short sentences, each once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._core import BlockKFold
from ..base import BaseSelector
from ..io import Table, listed, looks_like_data, looks_transposed, quoted
from ._prepare import Prepared, SelectionRequest

_NEARLY_ALL = 0.9
"""The share of the variance from which on one column decides nearly alone."""
_ALIKE = 0.25
"""Neighbouring rows are alike where their correlation exceeds that of distant ones by so much."""
_LISTED = 3
"""How many columns that were left out are listed with what they hold."""


def left_out_note(reasons: Mapping[str, str]) -> list[str]:
    """Return which columns were left out since they do not hold numbers, and what they hold."""
    if not reasons:
        return []
    told = "; ".join(f"{quoted(name)} ({held})" for name, held in list(reasons.items())[:_LISTED])
    rest = [name for name in reasons][_LISTED:]
    return [f"Left out, not numbers: {told}{f'; and {listed(rest)}' if rest else ''}."]


def header_notes(names: list[str], named: bool) -> list[str]:
    """Return a note where the names look like a row of data; wavelengths and the like rise or fall."""
    if not named or not looks_like_data(names):
        return []
    steps = np.diff([float(name) for name in names])
    if len(names) > 4 and ((steps > 0).all() or (steps < 0).all()):
        return []
    return ["All column names are numbers; if the first row is data, read the table without a header."]


def turned_notes(asked: Prepared) -> list[str]:
    """Return a note where the rows seem to be what is measured, as in tables of genes by cells."""
    named = len(asked.table.columns) > len(asked.features)  # columns of numbers alone name no rows
    if not (named and isinstance(asked.table, Table) and looks_transposed(asked.table, asked.features)):
        return []
    return ["Rows have levels of their own and columns share one, as where genes are rows: if so, transpose the table."]


def value_notes(asked: Prepared, X: np.ndarray, request: SelectionRequest) -> list[str]:
    """Return notes on the values of the columns, of all rows or a sample of them, before they are scaled."""
    names, (n, m) = asked.features, X.shape
    if n == 1:
        return ["The table has one row, so every column is constant and the choice means nothing."]
    notes = []
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    numbering = [names[j] for j in np.flatnonzero(high - low == n - 1) if _counts_rows(X[:, j])]
    if numbering:
        notes.append(f"Row numbers? {listed(numbering)} goes up by one from row to row; drop it if so.")
    elif "" in names:
        notes.append("One column has no name; if it numbers the rows, drop it.")
    constant = low == high
    if constant.any():
        told = listed([names[j] for j in np.flatnonzero(constant)])
        notes.append(f"Constant: {told}.")
    copies = _copies(X, np.flatnonzero(~constant))
    if copies:
        first, again = copies[0]
        more = f" ({len(copies)} such columns)" if len(copies) > 1 else ""
        notes.append(f"{quoted(names[again])} repeats {quoted(names[first])}{more}; copies count again in the error.")
    if request.scale == "none" and m > 2 and not constant.all():
        notes += _unequal(names, X)
    return notes


def order_notes(X: np.ndarray, request: SelectionRequest) -> list[str]:
    """Return a note where rows that follow each other are alike, as in time, and held-out rows are drawn at random."""
    if request.time_column is not None or request.group_column is not None:
        return []
    alike = neighbour_excess(X)
    if alike is None:
        return []
    return [
        f"Rows that follow each other are alike (correlation {alike:.2f} above that of distant ones), so errors of "
        "rows held out at random are lower than those of rows to come; hold rows out by their time."
    ]


def neighbour_excess(X: np.ndarray) -> float | None:
    """Return how much more alike neighbouring rows are than rows far apart; None where that may be chance.

    It is the correlation of a column with itself one row later, less that with itself a tenth of the table later,
    averaged over the columns, and must exceed 0.25 and, for small tables, 5 times ``sqrt(2 / n)``. In rows of random
    order its standard deviation is at most about ``sqrt(2 / n)``, however the columns depend on each other.
    """
    n = len(X)
    lag = n // 10
    if lag < 2:
        return None
    mean = np.nanmean if np.isnan(X).any() else np.mean  # the first copies the table
    with np.errstate(all="ignore"):
        Z = X - mean(X, axis=0)
        Z = np.nan_to_num(Z / np.sqrt(mean(Z**2, axis=0)), posinf=0.0, neginf=0.0)
    if not (varies := Z.any(axis=0)).any():
        return None

    def alike(step: int) -> float:
        return float(np.einsum("ij,ij->", Z[step:], Z[:-step])) / ((n - step) * np.count_nonzero(varies))

    excess = alike(1) - alike(lag)
    return excess if excess > max(_ALIKE, 5 * np.sqrt(2 / n)) else None


def together_notes(request: SelectionRequest) -> list[str]:
    """Return how rows were held out, where a column decides."""
    if request.time_column is not None:
        apart = (
            ""
            if request.asks_for_stability
            else f"; {BlockKFold().gap:.0%} of the rows on either side are not fitted on"
        )
        return [f"Held out: blocks of rows that follow each other by {quoted(request.time_column)}{apart}."]
    if request.group_column is not None:
        return [f"Held out: rows with the same {quoted(request.group_column)} together."]
    return []


def map_notes(selector: BaseSelector, request: SelectionRequest) -> list[str]:
    """Return what the map of a selection is not, and what it cannot do."""
    own = (
        f"{type(selector).__name__} has a map that is not linear: the errors, and the map in a selection file, "
        "are those of a linear one refitted to the selected columns; in Python reconstruct uses its own, and save() "
        "keeps it."
    )
    notes = [] if selector._maps_linearly() else [own]
    if request.batch is None:
        return notes
    return [
        *notes,
        "The selection does not say how sure a reconstruction is, for the batch of a new row is not known to it, so it "
        "gives no intervals and tells of no unlike rows.",
    ]


def _counts_rows(column: np.ndarray) -> bool:
    return column.size > 4 and bool((np.diff(column) == 1).all())


def _copies(X: np.ndarray, columns: np.ndarray) -> list[tuple[int, int]]:
    """Return pairs of equal columns: the first, and one that repeats it."""
    # Most columns differ in their first values, which are compared before the rest.
    starts: dict[bytes, list[int]] = {}
    for j in columns.tolist():
        starts.setdefault(X[:8, j].tobytes(), []).append(j)
    pairs = []
    for alike in starts.values():
        first: dict[bytes, int] = {}
        if len(alike) > 1:
            pairs += [(original, j) for j in alike if (original := first.setdefault(X[:, j].tobytes(), j)) != j]
    return sorted(pairs, key=lambda pair: pair[1])


def _unequal(names: list[str], X: np.ndarray) -> list[str]:
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.nanvar(X, axis=0)
        share = variances / variances.sum()
    j = int(np.argmax(share))
    if not np.isfinite(share).all() or share[j] < _NEARLY_ALL:
        return []
    return [f"{quoted(names[j])} has {share[j]:.1%} of the variance and decides nearly alone; scale the columns."]

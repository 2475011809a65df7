"""Leave-one-out certificate of a column subset: for every row, is the set still a 1-swap optimum without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._core import EXHAUSTED, TIE
from ..base import check_count
from ..subset import ColumnSubset
from ._row_removal import State, Task, judge

_ROUNDING = 1e-13
"""A gain below this share of the total variance is rounding, as in the exchange search."""


@dataclass(frozen=True)
class Certificate:
    """Result of :func:`leave_one_out_certificate`; entry i of every array belongs to row ``rows[i]`` of the table.

    Attributes
    ----------
    rows : ndarray of int, shape (r,)
        The rows left out in turn.
    is_optimal : ndarray of bool, shape (r,)
        Whether no swap of a kept for a dropped column lowers the loss of the other rows.
    margin : ndarray of float, shape (r,)
        By what share of the loss the best swap would raise it. Negative: the swap lowers it. Infinite: there is no
        swap to make, or the kept columns leave nothing to gain.
    swaps : ndarray of int, shape (r, 2)
        The best swap: column dropped, column added; -1 where there is none.
    table_margin : float
        The same margin with no row left out. Where it is negative the set is no 1-swap optimum to begin with.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.inspection import leave_one_out_certificate
    >>> certificate = leave_one_out_certificate(load_iris().data, [0, 2])
    >>> certificate.influential(3)
    array([106, 135,  50])
    """

    rows: np.ndarray
    is_optimal: np.ndarray
    margin: np.ndarray
    swaps: np.ndarray
    table_margin: float

    @property
    def fraction_optimal(self) -> float:
        """Share of the rows that leave the set standing."""
        return float(np.mean(self.is_optimal))

    def influential(self, n: int = 10) -> np.ndarray:
        """Return the n rows with the smallest margin, smallest first; ties go to the row given first.

        Parameters
        ----------
        n : int, default=10
            How many rows; all of them when there are fewer.

        Returns
        -------
        ndarray of int
        """
        return self.rows[np.argsort(self.margin, kind="stable")[: check_count(n, "n", 1)]]


def leave_one_out_certificate(
    X: ArrayLike,
    selected: ArrayLike,
    *,
    ridge: float = 0.0,
    rows: ArrayLike | None = None,
    include: Iterable[str | int] | None = None,
    exclude: Iterable[str | int] | None = None,
) -> Certificate:
    """Tell for every row whether the set is still a 1-swap optimum of :class:`~stableselect.ColumnSubset` without it.

    All k (m - k) swaps are tried for every row, so the answer is a proof for this table (to rounding), not an
    estimate. A set that stands need not be the one a search from scratch returns: read
    :func:`leave_one_out_change_rate` beside it.

    Parameters
    ----------
    X : array-like of shape (n, m)
        The table the set was chosen from, of at least three rows.
    selected : array-like
        The selected columns: integer indices, or a Boolean mask of length m. Their order does not matter.
    ridge : float, default=0.0
        The selector's ``ridge_``, relative to the mean variance of all rows. The weight this gives is held fixed in
        absolute terms when a row goes.
    rows : array-like of int, optional
        The rows to leave out in turn; all by default.
    include, exclude : sequence of str or int, optional
        Columns, by name or index, that no swap may drop or add.

    Returns
    -------
    Certificate

    See Also
    --------
    leave_one_out_change_rate : How often a search from scratch returns another set.

    Notes
    -----
    The loss, its swaps and the tolerance are those of the exchange search: a swap counts when it lowers the loss by
    more than 1e-10 of it, so a set with an interchangeable column outside has margin zero and stands. Where kept
    columns are combinations of each other, dropping a superfluous one costs nothing. Like the search, this works from
    second moments: where the set leaves less than about 1e-5 of the variance, margins lose digits, and below 1e-10
    nothing counts as left.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.inspection import leave_one_out_certificate
    >>> certificate = leave_one_out_certificate(load_iris().data, [0, 2])
    >>> certificate.rows[~certificate.is_optimal], round(certificate.fraction_optimal, 3)
    (array([106]), 0.993)
    >>> certificate.swaps[106]  # without that row, column 1 would do better than column 0
    array([0, 1])
    """
    task = Task(X, selected, ridge, include, exclude)
    left_out = _check_rows(rows, task.n)
    parts = list(judge(task, left_out))
    gain, loss, total = (np.concatenate([part[i] for part in parts]) for i in range(3))
    stands, margin = _verdict(gain, loss, total)
    swaps = np.concatenate([part[3] for part in parts])
    swaps[np.isinf(margin)] = -1
    whole = State(task.gram, task, task.ridge)
    table = _verdict(*(np.array([value]) for value in (whole.best()[0], whole.loss, task.gram.trace())))
    return Certificate(left_out, stands, margin, swaps, float(table[1][0]))


def leave_one_out_change_rate(
    X: ArrayLike,
    selected: ArrayLike,
    *,
    ridge: float = 0.0,
    rows: ArrayLike | int = 20,
    include: Iterable[str | int] | None = None,
    exclude: Iterable[str | int] | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> float:
    """Share of rows without which a search from scratch returns another set.

    Every row tried costs a whole search of the others, so this is meant for a sample of rows.

    Parameters
    ----------
    X, selected, ridge, include, exclude
        As for :func:`leave_one_out_certificate`; the ridge weight is held fixed in the same way.
    rows : array-like of int, or int, default=20
        The rows to leave out in turn, or how many to draw at random (all where there are fewer).
    random_state : int, RandomState instance or None, default=0
        Decides the rows drawn.

    Returns
    -------
    float
        The share, from 0 to 1.

    See Also
    --------
    leave_one_out_certificate : Whether the set is still a 1-swap optimum, for all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.inspection import leave_one_out_change_rate
    >>> leave_one_out_change_rate(load_iris().data, [0, 2], rows=10)
    0.0
    """
    task = Task(X, selected, ridge, include, exclude)
    if isinstance(rows, Integral):
        size = min(check_count(rows, "rows", 1), task.n)
        rows = np.sort(check_random_state(random_state).choice(task.n, size, replace=False))
    left_out = _check_rows(rows, task.n)
    k, differs = task.chosen.size, 0
    for row in left_out:
        others = np.delete(task.X, row, axis=0)
        spread = float(np.sum(np.var(others, axis=0)))
        relative = task.ridge * task.unit * task.m / spread if spread > 0 else task.ridge
        selector = ColumnSubset(k, ridge=relative, include=task.fixed, exclude=task.barred).fit(others)
        differs += set(selector.selected_.tolist()) != set(task.chosen.tolist())
    return differs / left_out.size


def _verdict(gain: np.ndarray, loss: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the set stands, by the rule that ends the exchange search, and the margin."""
    left = loss > EXHAUSTED * total
    stands = ~left | (gain <= np.maximum(TIE * loss, _ROUNDING * total))
    return stands, np.where(left, -gain / np.where(left, loss, 1.0), np.inf)


def _check_rows(rows: ArrayLike | None, n: int) -> np.ndarray:
    if rows is None:
        return np.arange(n)
    asked = np.asarray(rows)
    if asked.ndim != 1 or asked.dtype.kind not in "iu" or not asked.size:
        raise ValueError(f"rows must be a list of row numbers but is {rows!r}; count the rows from 0.")
    if asked.min() < 0 or asked.max() >= n:
        raise ValueError(
            f"rows must hold numbers from 0 to {n - 1} but holds {asked.min()} to {asked.max()}; count the rows from 0."
        )
    return asked.astype(np.intp)

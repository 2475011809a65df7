"""Groups of features that are nearly copies of one another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..base import check_number, check_table, resolve_columns

_BLOCK = 256
"""Features whose correlations with all others are computed at a time."""


def correlated_groups(
    X: ArrayLike, *, threshold: float = 0.9, first: Sequence[int] = ()
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Group features that are alike: each group has a leader, with which all others in it are correlated.

    Features become leaders in turn, and each takes those that no earlier one has taken. Unlike with chains of
    neighbours, a group holds nothing that is unlike its leader.

    Parameters
    ----------
    X : array-like of shape (n, m)
        The table.
    threshold : float, default=0.9
        Least absolute correlation with the leader.
    first : sequence of int, default=()
        Features to take as leaders before the others, such as the selected ones; the others follow in table order.

    Returns
    -------
    list of (members, correlations)
        Groups of two or more, in the order of their leaders. The members, leader first, are by decreasing absolute
        correlation with it; constant features are in no group.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import correlated_groups
    >>> [members.tolist() for members, _ in correlated_groups(load_iris().data)]
    [[2, 3]]
    """
    threshold = check_number(threshold, "threshold", 0, 1)
    X = check_table(X, "X")
    m = X.shape[1]
    largest = np.abs(X).max(axis=0)
    unit = X / np.where(largest > 0, largest, 1.0)  # squares stay in range
    unit -= unit.mean(axis=0)
    length = np.sqrt(np.einsum("ij,ij->j", unit, unit))
    varies = (length > 1e-12 * np.sqrt(len(X))) & (X != X[0]).any(axis=0)
    # Single precision is enough to tell what is alike, and halves the time of wide tables.
    unit = (unit / np.where(varies, length, 1.0)).astype(np.float32)
    leading = resolve_columns(first, m, None, "first")
    order = [*leading, *np.setdiff1d(np.arange(m), leading).tolist()]
    free = varies.copy()
    groups: list[tuple[np.ndarray, np.ndarray]] = []
    for start in range(0, m, _BLOCK):
        leaders = [j for j in order[start : start + _BLOCK] if free[j]]
        others = np.flatnonzero(free)
        alike = unit[:, leaders].T @ unit[:, others]
        for row, j in zip(alike, leaders, strict=True):
            if not free[j]:
                continue
            taken = (np.abs(row) >= threshold - 1e-6) & free[others] & (others != j)
            members, strength = others[taken], row[taken]
            free[j] = False
            free[members] = False
            if members.size:
                by = np.argsort(-np.abs(strength), kind="stable")
                correlations = np.clip(np.concatenate([[1.0], strength[by]]), -1.0, 1.0)
                groups.append((np.concatenate([[j], members[by]]), correlations))
    return groups

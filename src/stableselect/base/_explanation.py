"""Why these columns: what stands for every dropped column, and what could stand in for every kept one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DiscardedFeature:
    """A column left out: how well the kept ones predict it, and which of them do the most.

    Attributes
    ----------
    feature : str or int
        Its name, or its index where the table has no names.
    r2 : float
        Share of its variance the kept columns explain together (nan for a constant column).
    explained_by : list of (column, share)
        Up to three kept columns with the largest share of that, largest first. The shares of all kept columns add up
        to ``r2`` (Pratt's decomposition: coefficient times covariance over variance); a share may be negative.
    """

    feature: str | int
    r2: float
    explained_by: list[tuple[str | int, float]]


@dataclass(frozen=True)
class SelectedFeature:
    """A kept column and what to measure instead if it cannot be had.

    Attributes
    ----------
    feature : str or int
        Its name, or its index where the table has no names.
    replacement : str, int or None
        The left-out column that replaces it at the smallest loss; None when no column is left.
    error_increase : float
        By how much the unexplained share of the table's variance then rises (nan without a substitute).
    """

    feature: str | int
    replacement: str | int | None
    error_increase: float


@dataclass(frozen=True)
class Explanation:
    """What :meth:`BaseSelector.explain` returns.

    Attributes
    ----------
    selected : list of SelectedFeature
        In order of selection.
    discarded : list of DiscardedFeature
        Worst represented first.
    """

    selected: list[SelectedFeature]
    discarded: list[DiscardedFeature]

    def __str__(self) -> str:
        """Return both lists as plain text."""
        lines = ["kept column: best substitute (rise of the unexplained share)"]
        for kept in self.selected:
            other = "none left" if kept.replacement is None else f"{kept.replacement} (+{kept.error_increase:.2%})"
            lines.append(f"  {kept.feature}: {other}")
        lines.append("dropped column: R2, kept columns that stand for it")
        for dropped in self.discarded:
            names = ", ".join(f"{name} {share:.2f}" for name, share in dropped.explained_by)
            lines.append(f"  {dropped.feature}: {dropped.r2:.3f}, {names}")
        return "\n".join(lines)


def build_explanation(
    names: Sequence[str] | None,
    selected: np.ndarray,
    r2: np.ndarray,
    shares: np.ndarray,
    substitutes: np.ndarray,
    costs: np.ndarray,
) -> Explanation:
    """Put the arrays of :func:`stableselect._core._roles.column_roles` into words."""

    def label(j: int) -> str | int:
        return int(j) if names is None else str(names[j])

    kept = [
        SelectedFeature(label(j), None if s < 0 else label(s), float(c))
        for j, s, c in zip(selected, substitutes, costs, strict=True)
    ]
    out = np.setdiff1d(np.arange(len(r2)), selected)
    out = out[np.argsort(np.nan_to_num(r2[out], nan=np.inf), kind="stable")]
    dropped = []
    for j in out:
        strongest = np.argsort(-np.abs(shares[:, j]), kind="stable")[:3]
        explained_by = [(label(selected[a]), float(shares[a, j])) for a in strongest if shares[a, j] != 0]
        dropped.append(DiscardedFeature(label(j), float(r2[j]), explained_by))
    return Explanation(kept, dropped)

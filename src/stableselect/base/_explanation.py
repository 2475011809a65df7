"""Why these columns: what stands for every dropped column, and what could stand in for every kept one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Dropped:
    """A column left out: how well the kept ones predict it, and which of them do the most.

    Attributes
    ----------
    column : str or int
        Its name, or its index where the table has no names.
    r2 : float
        Share of its variance the kept columns explain together (nan for a constant column).
    stand_ins : list of (column, share)
        Up to three kept columns with the largest share of that, largest first. The shares of all kept columns add up
        to ``r2`` (Pratt's decomposition: coefficient times covariance over variance); a share may be negative.
    """

    column: str | int
    r2: float
    stand_ins: list[tuple[str | int, float]]


@dataclass(frozen=True)
class Kept:
    """A kept column and what to measure instead if it cannot be had.

    Attributes
    ----------
    column : str or int
        Its name, or its index where the table has no names.
    substitute : str, int or None
        The left-out column that replaces it at the smallest loss; None when no column is left.
    loss_increase : float
        By how much the unexplained share of the table's variance then rises (nan without a substitute).
    """

    column: str | int
    substitute: str | int | None
    loss_increase: float


@dataclass(frozen=True)
class Explanation:
    """What :meth:`BaseSelector.explain` returns.

    Attributes
    ----------
    kept : list of Kept
        In order of selection.
    dropped : list of Dropped
        Worst represented first.
    """

    kept: list[Kept]
    dropped: list[Dropped]

    def __str__(self) -> str:
        """Return both lists as plain text."""
        lines = ["kept column: best substitute (rise of the unexplained share)"]
        for kept in self.kept:
            other = "none left" if kept.substitute is None else f"{kept.substitute} (+{kept.loss_increase:.2%})"
            lines.append(f"  {kept.column}: {other}")
        lines.append("dropped column: R2, kept columns that stand for it")
        for dropped in self.dropped:
            names = ", ".join(f"{name} {share:.2f}" for name, share in dropped.stand_ins)
            lines.append(f"  {dropped.column}: {dropped.r2:.3f}, {names}")
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
        Kept(label(j), None if s < 0 else label(s), float(c))
        for j, s, c in zip(selected, substitutes, costs, strict=True)
    ]
    out = np.setdiff1d(np.arange(len(r2)), selected)
    out = out[np.argsort(np.nan_to_num(r2[out], nan=np.inf), kind="stable")]
    dropped = []
    for j in out:
        strongest = np.argsort(-np.abs(shares[:, j]), kind="stable")[:3]
        stand_ins = [(label(selected[a]), float(shares[a, j])) for a in strongest if shares[a, j] != 0]
        dropped.append(Dropped(label(j), float(r2[j]), stand_ins))
    return Explanation(kept, dropped)

"""Why these features: which of them explain each discarded one, and what could replace each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ._figures import data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

_EXPLAINING = 3
"""Selected features listed for a discarded one."""
_SHOWN = 10
"""Features of each kind in the printed summary."""


@dataclass(frozen=True)
class DiscardedFeature:
    """A feature that was not selected: how well the selected ones predict it, and which of them contribute most.

    Attributes
    ----------
    feature : str or int
        Its name, or its index where the samples have no feature names.
    r2 : float
        Fraction of its variance that the selected features explain together (nan for a constant feature).
    explained_by : list of (feature, fraction)
        Up to three selected features that contribute most to that, largest first. The fractions of all selected
        features add up to ``r2`` (Pratt's decomposition: coefficient times covariance over variance); one may be
        negative.
    """

    feature: str | int
    r2: float
    explained_by: list[tuple[str | int, float]]


@dataclass(frozen=True)
class SelectedFeature:
    """A selected feature and its best replacement.

    Attributes
    ----------
    feature : str or int
        Its name, or its index where the samples have no feature names.
    replacement : str, int or None
        The discarded feature that replaces it at the smallest loss; None when none is left.
    error_increase : float
        By how much the unexplained fraction of the total variance then rises (nan without a replacement).
    """

    feature: str | int
    replacement: str | int | None
    error_increase: float


@dataclass(frozen=True)
class Explanation:
    """What :meth:`BaseSelector.explain` returns; printing it gives a summary.

    Attributes
    ----------
    selected : list of SelectedFeature
        In order of selection.
    discarded : list of DiscardedFeature
        Worst explained first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> print(ColumnSubset(2).fit(load_iris(as_frame=True).data).explain())
    selected feature: best replacement (rise of the unexplained variance)
      petal length (cm): petal width (cm) (+4.26%)
      sepal length (cm): sepal width (cm) (+0.16%)
    discarded feature: R2, selected features that explain it
      sepal width (cm): 0.455, petal length (cm) 0.55, sepal length (cm) -0.10
      petal width (cm): 0.929, petal length (cm) 0.99, sepal length (cm) -0.06
    """

    selected: list[SelectedFeature]
    discarded: list[DiscardedFeature]

    def __str__(self) -> str:
        """Return the first ten of both lists as plain text."""
        lines = ["selected feature: best replacement (rise of the unexplained variance)"]
        for kept in self.selected[:_SHOWN]:
            other = "none left" if kept.replacement is None else f"{kept.replacement} ({kept.error_increase:+.2%})"
            lines.append(f"  {kept.feature}: {other}")
        lines += _more(self.selected, "selected")
        lines.append("discarded feature: R2, selected features that explain it")
        for lost in self.discarded[:_SHOWN]:
            names = ", ".join(f"{name} {fraction:.2f}" for name, fraction in lost.explained_by)
            lines.append(f"  {lost.feature}: {lost.r2:.3f}, {names}")
        lines += _more(self.discarded, "discarded")
        return "\n".join(lines)

    def to_frame(self, which: Literal["selected", "discarded"] = "discarded") -> DataFrame:
        """Return one of the two lists as a pandas data frame.

        Parameters
        ----------
        which : {"selected", "discarded"}, default="discarded"
            The list.

        Returns
        -------
        pandas.DataFrame
            "selected": the columns feature, replacement, error_increase. "discarded": feature, r2 and, for the three
            selected features that explain it best, explained_by_1, fraction_1 and so on.
        """
        if which == "selected":
            names = ("feature", "replacement", "error_increase")
            return data_frame({name: [getattr(kept, name) for kept in self.selected] for name in names})
        if which != "discarded":
            raise ValueError(f"which must be 'selected' or 'discarded', got {which!r}.")
        columns: dict[str, list] = {
            name: [getattr(lost, name) for lost in self.discarded] for name in ("feature", "r2")
        }
        for place in range(_EXPLAINING):
            best = [
                lost.explained_by[place] if place < len(lost.explained_by) else (None, np.nan)
                for lost in self.discarded
            ]
            columns[f"explained_by_{place + 1}"] = [name for name, _ in best]
            columns[f"fraction_{place + 1}"] = [fraction for _, fraction in best]
        return data_frame(columns)


def _more(items: Sequence[object], which: str) -> Iterator[str]:
    if len(items) > _SHOWN:
        yield f"  ... and {len(items) - _SHOWN} more; to_frame({which!r}) has them all"


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
    discarded = []
    for j in out:
        strongest = np.argsort(-np.abs(shares[:, j]), kind="stable")[:_EXPLAINING]
        explained_by = [(label(selected[a]), float(shares[a, j])) for a in strongest if shares[a, j] != 0]
        discarded.append(DiscardedFeature(label(j), float(r2[j]), explained_by))
    return Explanation(kept, discarded)

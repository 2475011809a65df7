"""Why these features: which of them explain each discarded one, and what could replace each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ._figures import data_frame, html_table

if TYPE_CHECKING:
    from pandas import DataFrame

_EXPLAINING = 3
"""Selected features listed for a discarded one."""
_FIGURES = ("error_increase", "correlation")
"""What is known of a replacement."""
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
class Replacement:
    """A discarded feature that can take the place of a selected one.

    Attributes
    ----------
    feature : str or int
        Its name, or its index where the samples have no feature names.
    error_increase : float
        By how much the unexplained fraction of the total variance then rises.
    correlation : float
        With the feature it replaces; near 0 where it makes up for the loss by explaining others.
    """

    feature: str | int
    error_increase: float
    correlation: float


@dataclass(frozen=True)
class SelectedFeature:
    """A selected feature, its best replacements, and what it represents.

    Attributes
    ----------
    feature : str or int
        Its name, or its index where the samples have no feature names.
    replacement : str, int or None
        The discarded feature that replaces it at the smallest loss; None when none is left.
    error_increase : float
        By how much the unexplained fraction of the total variance then rises (nan without a replacement).
    replacements : list of Replacement
        The best three, that one first.
    joint_replacement : Replacement or None
        The one to take when several selected features fail: no two of them have the same. Together these cost least,
        each taken by itself; of those within 0.1 % of the variance the more correlated one is taken. None when too
        few are left.
    represents : list of (feature, fraction)
        Up to three discarded features to whose ``r2`` it contributes most, largest first.
    """

    feature: str | int
    replacement: str | int | None
    error_increase: float
    replacements: list[Replacement]
    joint_replacement: Replacement | None
    represents: list[tuple[str | int, float]]


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
    selected feature: best replacements (rise of the unexplained variance, correlation)
      petal length (cm): petal width (cm) (+4.26%, 0.96), sepal width (cm) (+10.36%, -0.43)
      sepal length (cm): sepal width (cm) (+0.16%, -0.12), petal width (cm) (+3.54%, 0.82)
    discarded feature: R2, selected features that explain it
      sepal width (cm): 0.455, petal length (cm) 0.55, sepal length (cm) -0.10
      petal width (cm): 0.929, petal length (cm) 0.99, sepal length (cm) -0.06
    """

    selected: list[SelectedFeature]
    discarded: list[DiscardedFeature]

    def __str__(self) -> str:
        """Return the first ten of both lists as plain text."""
        lines = ["selected feature: best replacements (rise of the unexplained variance, correlation)"]
        for kept in self.selected[:_SHOWN]:
            others = [f"{one.feature} ({one.error_increase:+.2%}, {one.correlation:.2f})" for one in kept.replacements]
            lines.append(f"  {kept.feature}: {', '.join(others) or 'none left'}")
        lines += _more(self.selected, "selected")
        lines.append("discarded feature: R2, selected features that explain it")
        for lost in self.discarded[:_SHOWN]:
            names = ", ".join(f"{name} {fraction:.2f}" for name, fraction in lost.explained_by)
            lines.append(f"  {lost.feature}: {lost.r2:.3f}, {names}")
        lines += _more(self.discarded, "discarded")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        kept: dict[str, list] = {
            "selected feature": [one.feature for one in self.selected],
            "represents": [[name for name, _ in one.represents] for one in self.selected],
            "best replacements": [[other.feature for other in one.replacements] for one in self.selected],
            "rise of the unexplained variance": [f"{one.error_increase:+.2%}" for one in self.selected],
            "if several fail": [one.joint_replacement and one.joint_replacement.feature for one in self.selected],
        }
        lost: dict[str, list] = {
            "discarded feature": [one.feature for one in self.discarded],
            "R2": [one.r2 for one in self.discarded],
            "explained by": [[name for name, _ in one.explained_by] for one in self.discarded],
        }
        return html_table("Selected features", kept) + html_table("Discarded features, worst explained first", lost)

    def named(self, names: Sequence[str]) -> Explanation:
        """Return an explanation with names for indices.

        Parameters
        ----------
        names : sequence of str
            Name of every feature.

        Returns
        -------
        Explanation
        """

        def name(one: str | int) -> str:
            return one if isinstance(one, str) else str(names[one])

        def renamed(one: Replacement) -> Replacement:
            return replace(one, feature=name(one.feature))

        selected = [
            replace(
                kept,
                feature=name(kept.feature),
                replacement=None if kept.replacement is None else name(kept.replacement),
                replacements=[renamed(one) for one in kept.replacements],
                joint_replacement=None if kept.joint_replacement is None else renamed(kept.joint_replacement),
                represents=[(name(j), part) for j, part in kept.represents],
            )
            for kept in self.selected
        ]
        discarded = [
            replace(lost, feature=name(lost.feature), explained_by=[(name(j), part) for j, part in lost.explained_by])
            for lost in self.discarded
        ]
        return Explanation(selected, discarded)

    def to_frame(self, which: Literal["selected", "discarded"] = "discarded") -> DataFrame:
        """Return one of the two lists as a pandas data frame.

        Parameters
        ----------
        which : {"selected", "discarded"}, default="discarded"
            The list.

        Returns
        -------
        pandas.DataFrame
            "selected": the columns feature, replacement, error_increase, correlation, the next two replacements as
            replacement_2, error_increase_2, correlation_2 and so on, the same for joint_replacement, and what it
            represents as represents_1, fraction_1 and so on. "discarded": feature, r2 and, for the three selected
            features that explain it best, explained_by_1, fraction_1 and so on.
        """
        if which == "selected":
            found: dict[str, list] = {"feature": [kept.feature for kept in self.selected]}
            for place in range(_EXPLAINING):
                at = [kept.replacements[place] if place < len(kept.replacements) else None for kept in self.selected]
                found |= _as_columns(at, "replacement", f"_{place + 1}" if place else "")
            found |= _as_columns([kept.joint_replacement for kept in self.selected], "joint_replacement", "_joint")
            return data_frame(found | _in_places("represents", [kept.represents for kept in self.selected]))
        if which != "discarded":
            raise ValueError(f"which must be 'selected' or 'discarded', got {which!r}.")
        columns: dict[str, list] = {
            name: [getattr(lost, name) for lost in self.discarded] for name in ("feature", "r2")
        }
        return data_frame(columns | _in_places("explained_by", [lost.explained_by for lost in self.discarded]))


def _as_columns(replacements: Sequence[Replacement | None], name: str, ends: str) -> dict[str, list]:
    """Return replacements as three columns."""
    columns: dict[str, list] = {
        name + (ends if name == "replacement" else ""): [one and one.feature for one in replacements]
    }
    for figure in _FIGURES:
        columns[figure + ends] = [np.nan if one is None else getattr(one, figure) for one in replacements]
    return columns


def _in_places(name: str, lists: Sequence[list[tuple[str | int, float]]]) -> dict[str, list]:
    """Return lists of features and fractions as columns, two for each place."""
    columns: dict[str, list] = {}
    for place in range(_EXPLAINING):
        best = [entries[place] if place < len(entries) else (None, np.nan) for entries in lists]
        columns[f"{name}_{place + 1}"] = [feature for feature, _ in best]
        columns[f"fraction_{place + 1}"] = [fraction for _, fraction in best]
    return columns


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
    likeness: np.ndarray,
) -> Explanation:
    """Put the arrays of :func:`stableselect._core._roles.column_roles` into words."""

    def label(j: int) -> str | int:
        return int(j) if names is None else str(names[j])

    out = np.setdiff1d(np.arange(len(r2)), selected)
    kept = []
    for a, j in enumerate(selected):
        offered = [
            Replacement(label(s), float(cost), float(alike)) if s >= 0 else None
            for s, cost, alike in zip(substitutes[a], costs[a], likeness[a], strict=True)
        ]
        others = [one for one in offered[:-1] if one is not None]
        largest = out[np.argsort(-shares[a, out], kind="stable")[:_EXPLAINING]]
        represents = [(label(i), float(shares[a, i])) for i in largest if shares[a, i] > 0]
        best = others[0] if others else Replacement(-1, float("nan"), float("nan"))
        kept.append(
            SelectedFeature(
                label(j), best.feature if others else None, best.error_increase, others, offered[-1], represents
            )
        )
    out = out[np.argsort(np.nan_to_num(r2[out], nan=np.inf), kind="stable")]
    discarded = []
    for j in out:
        strongest = np.argsort(-np.abs(shares[:, j]), kind="stable")[:_EXPLAINING]
        explained_by = [(label(selected[a]), float(shares[a, j])) for a in strongest if shares[a, j] != 0]
        discarded.append(DiscardedFeature(label(j), float(r2[j]), explained_by))
    return Explanation(kept, discarded)

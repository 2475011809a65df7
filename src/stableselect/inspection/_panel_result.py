"""What a panel is worth: the comparison, the members, the other features and advice, in print and as data frames."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..base import data_frame, html_table
from ._panel_folds import Structure

if TYPE_CHECKING:
    from pandas import DataFrame

_SHOWN = 5
"""Members, and worst explained features, in the printed summary."""


@dataclass(frozen=True)
class PanelRow:
    """One row of the comparison: a way to reconstruct the table, measured on the same held-out samples as the others.

    Attributes
    ----------
    name : str
        "panel"; "selected": as many features, selected on the other samples by ``ColumnSubset``; "random": the mean
        over random panels of that size; "components": as many principal components of the other samples; "all": all
        features; "none": no features, which leaves the mean.
    explained_variance : float
        Fraction of the held-out variance that the ridge map explains.
    neighbor_overlap : float
        Fraction of a held-out sample's nearest neighbours, by all features, that are also its nearest neighbours by
        these; nan for none.
    accuracy : float
        Fraction of held-out labels that extra trees get right from these features; nan without labels and for
        components. For "none", by always saying the most frequent label.
    """

    name: str
    explained_variance: float
    neighbor_overlap: float
    accuracy: float


@dataclass(frozen=True)
class PanelMember:
    """A feature of the panel.

    Attributes
    ----------
    feature : str or int
        Its name, or its index where the samples have no feature names.
    worth : float
        By how much the explained fraction of the held-out variance falls without it.
    r2_from_others : float
        Fraction of its own held-out variance that the other members explain; nan for a constant feature.
    redundant : bool
        Whether that is 0.95 or more.
    selection_frequency : float
        Fraction of the runs in which ``ColumnSubset``, asked for as many features, selects it: one run for each fold,
        without its samples, or one for each of ``n_resamples``.
    """

    feature: str | int
    worth: float
    r2_from_others: float
    redundant: bool
    selection_frequency: float


@dataclass(frozen=True)
class PanelChange:
    """A change of the panel, and what it gains.

    Attributes
    ----------
    drop : str, int or None
        The member that goes; None where a feature is only added.
    add : str or int
        The feature that comes.
    gain : float
        By how much the explained fraction of the held-out variance rises; negative where it falls.
    """

    drop: str | int | None
    add: str | int
    gain: float


@dataclass(frozen=True, eq=False, repr=False)
class PanelEvaluation:
    """Result of :func:`evaluate`; print it for a summary.

    Attributes
    ----------
    panel : list of str or int
        The features judged, in table order: names, or indices where the samples have no feature names.
    n_samples, n_features, n_splits : int
        Of the table and of the folds.
    comparison : list of PanelRow
        The panel beside what it should be read beside.
    random : ndarray of shape (n,)
        Explained variance of each random panel. All other panels of this size where there are no more than asked for.
    members : list of PanelMember
        In table order.
    r2 : ndarray of shape (m,)
        Fraction of each feature's held-out variance that the panel explains; nan for constant features.
    feature_names : list of str or int
        All features.
    swap : PanelChange or None
        The swap of a member for another feature that lowers the training loss on all samples most, and its gain on
        held-out samples; None where no swap lowers that loss.
    additions : list of PanelChange
        The next three features of a forward search on all samples, in order; each gain is that beside those before it.
    structure : Structure or None
        Whether the table has anything to select; None where ``n_permutations`` is 0.
    n_neighbors : int
        Neighbours compared by ``neighbor_overlap``.
    random_state : int or None
        Seed of the folds and the random panels; None where it was no integer.
    """

    panel: list[str | int]
    n_samples: int
    n_features: int
    n_splits: int
    comparison: list[PanelRow]
    random: np.ndarray
    members: list[PanelMember]
    r2: np.ndarray
    feature_names: list[str | int]
    swap: PanelChange | None
    additions: list[PanelChange]
    structure: Structure | None
    n_neighbors: int
    random_state: int | None

    @property
    def explained_variance(self) -> float:
        """Fraction of the variance of held-out samples that the panel explains, its own features included."""
        return self.comparison[0].explained_variance

    @property
    def n_beaten(self) -> int:
        """Number of random panels that explain less."""
        return int(np.sum(self.random < self.explained_variance))

    @property
    def nothing_to_select(self) -> bool:
        """Whether the features explain each other no better than shuffled ones; False where that was not measured."""
        return self.structure is not None and self.structure.nothing_to_select

    @property
    def discarded(self) -> list[tuple[str | int, float]]:
        """The features outside the panel and their ``r2``, worst explained first; constant ones are left out."""
        inside = set(self.panel)
        outside = [j for j, name in enumerate(self.feature_names) if name not in inside and not np.isnan(self.r2[j])]
        return [(self.feature_names[j], float(self.r2[j])) for j in sorted(outside, key=lambda j: self.r2[j])]

    @property
    def verdict(self) -> str:
        """What the figures come to, in a sentence or two."""
        return self.verdict_on("features", "samples")

    def verdict_on(self, features: str, samples: str) -> str:
        """Return the verdict in words of the caller's.

        Parameters
        ----------
        features, samples : str
            What they are called, such as "columns" and "rows".

        Returns
        -------
        str
        """
        if self.structure is not None and self.nothing_to_select:
            return (
                f"Nothing to select: the {features} explain each other no better than {features} shuffled one by one "
                f"({self.structure.explained_variance:.1%} of the held-out variance, shuffled "
                f"{self.structure.shuffled.mean():.1%}), so any panel is as good as another."
            )
        selected = next(row.explained_variance for row in self.comparison if row.name == "selected")
        place = f"better than {self.n_beaten} of {self.random.size} random panels"
        return (
            f"The panel explains {self.explained_variance:.1%} of the held-out variance, {place}; "
            f"as many {features} selected on the other {samples} explain {selected:.1%}."
        )

    def to_frame(self, which: Literal["comparison", "members", "features", "changes"] = "comparison") -> DataFrame:
        """Return one part as a pandas data frame.

        Parameters
        ----------
        which : {"comparison", "members", "features", "changes"}, default="comparison"
            "comparison": the rows of :class:`PanelRow`. "members": the panel's features. "features": every feature,
            its r2 and whether it is in the panel. "changes": the best swap and the next features to add.

        Returns
        -------
        pandas.DataFrame
        """
        if which == "features":
            inside = set(self.panel)
            in_panel = [name in inside for name in self.feature_names]
            return data_frame({"feature": self.feature_names, "r2": self.r2, "in_panel": in_panel})
        changes = [*([] if self.swap is None else [self.swap]), *self.additions]
        parts: dict[str, tuple[Any, list]] = {
            "comparison": (PanelRow, self.comparison),
            "members": (PanelMember, self.members),
            "changes": (PanelChange, changes),
        }
        if which not in parts:
            raise ValueError(f"which must be one of {', '.join([*parts, 'features'])} but is {which!r}; choose one.")
        kind, rows = parts[which]
        names = [field.name for field in fields(kind)]
        return data_frame({name: [getattr(row, name) for row in rows] for name in names})

    def _repr_html_(self) -> str:
        compared: dict[str, list] = {
            "reconstructed from": [row.name for row in self.comparison],
            "explained variance": [row.explained_variance for row in self.comparison],
            "neighbours kept": [row.neighbor_overlap for row in self.comparison],
            "accuracy": [row.accuracy for row in self.comparison],
        }
        members = sorted(self.members, key=lambda one: -one.worth)
        worth: dict[str, list] = {
            "member": [one.feature for one in members],
            "worth": [one.worth for one in members],
            "explained by the others": [one.r2_from_others for one in members],
        }
        return html_table(self.verdict, compared) + html_table("Members", worth)

    def __repr__(self) -> str:
        return f"<PanelEvaluation of {len(self.panel)} of {self.n_features} features: {self.verdict}>"

    def __str__(self) -> str:
        """Return the verdict and the main figures as plain text."""
        lines = [self.verdict, "explained variance of held-out samples, neighbours kept, accuracy"]
        for row in self.comparison:
            shown = [row.explained_variance, row.neighbor_overlap, row.accuracy]
            lines.append(f"  {row.name:<10} " + " ".join(f"{_percent(x):>6}" for x in shown))
        lines.append("members worth most: loss without it, explained by the other members")
        best = sorted(self.members, key=lambda member: -member.worth)
        lines += [f"  {one.feature}: {one.worth:.2%}, {_percent(one.r2_from_others)}" for one in best[:_SHOWN]]
        if redundant := [str(one.feature) for one in self.members if one.redundant]:
            lines.append(f"redundant: {', '.join(redundant[:_SHOWN])}" + " ..." * (len(redundant) > _SHOWN))
        worst = [f"{name} {r2:.1%}" for name, r2 in self.discarded[:_SHOWN]]
        lines.append(f"explained worst: {', '.join(worst)}")
        swap = "none lowers the loss" if self.swap is None else f"{self.swap.drop} for {self.swap.add}"
        lines.append("best swap: " + swap + ("" if self.swap is None else f" ({self.swap.gain:+.2%})"))
        lines.append("add next: " + ", ".join(f"{one.add} ({one.gain:+.2%})" for one in self.additions))
        return "\n".join(lines)


def _percent(fraction: float) -> str:
    return "-" if np.isnan(fraction) else f"{fraction:.1%}"

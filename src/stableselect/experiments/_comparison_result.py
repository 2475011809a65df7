"""What a comparison of methods found: one row for each, in print and as a data frame."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from .._files import printable
from ..base import data_frame, html_table

if TYPE_CHECKING:
    from pandas import DataFrame

_WIDTH, _SHORTEST = 80, 12
"""Characters of a line, and of a method's name at least, that are printed."""


@dataclass(frozen=True)
class MethodRow:
    """One method of a comparison, or a reference. A number that there is not is nan.

    All figures are over the splits and seeds that the methods share, and on held-out samples.

    Attributes
    ----------
    name : str
        The method. References are called "random" (features drawn at random), "PCA" (as many principal components),
        "mean" (no features) and, with labels, "all" (all features).
    kind : {"method", "reference"}
        Whether it is compared, or there to compare with.
    error, error_se : float
        Mean squared reconstruction error, and its standard error over the splits.
    explained_variance : float
        One minus that error over that of the mean.
    ratio, ratio_low, ratio_high : float
        Error over that of the method with the lowest one, split by split: geometric mean and 95 % interval (Student's
        t). Splits share samples, so that the interval is a little too narrow.
    accuracy, accuracy_se : float
        Fraction of held-out labels that extra trees get right from the selected features.
    stability : float
        Agreement of the sets selected on different splits, each with a seed of its own (Nogueira's measure, mean over
        the seeds).
    seed_stability : float
        Agreement of the sets selected on the same samples with different seeds, mean over the splits; 1 for a method
        that depends on no seed.
    seconds : float
        Median time to select, on one thread.
    n_selected : float
        Mean number of features selected.
    n_runs, n_failed : int
        Runs in these figures, and runs that failed.
    note : str
        Why there are no figures, or what sets them apart.
    """

    name: str
    kind: Literal["method", "reference"]
    error: float = math.nan
    error_se: float = math.nan
    explained_variance: float = math.nan
    ratio: float = math.nan
    ratio_low: float = math.nan
    ratio_high: float = math.nan
    accuracy: float = math.nan
    accuracy_se: float = math.nan
    stability: float = math.nan
    seed_stability: float = math.nan
    seconds: float = math.nan
    n_selected: float = math.nan
    n_runs: int = 0
    n_failed: int = 0
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class MethodComparison:
    """Result of :func:`~stableselect.compare`; print it for the table.

    Attributes
    ----------
    rows : list of MethodRow
        Methods by their error, lowest first and those without figures last; then the references.
    n_features_to_select : int
        Features that every method was asked for.
    n_samples, n_features : int
        Of the table.
    n_splits, n_seeds : int
        Splits and seeds that all methods with figures share.
    fingerprint : str
        Of the table, the labels and the scaling.
    feature_names : list of str or None
        Names of the features, where the table has them.
    selections : dict of str to list of list of int
        By method: the features selected in each of its runs.
    """

    rows: list[MethodRow]
    n_features_to_select: int
    n_samples: int
    n_features: int
    n_splits: int
    n_seeds: int
    fingerprint: str
    feature_names: list[str] | None
    selections: dict[str, list[list[int]]]

    @property
    def best(self) -> MethodRow:
        """The method with the lowest error; the first row."""
        return self.rows[0]

    @property
    def labelled(self) -> bool:
        """Whether accuracy was measured."""
        return any(not math.isnan(row.accuracy) for row in self.rows)

    def row(self, name: str) -> MethodRow:
        """Return the row of a method.

        Parameters
        ----------
        name : str
            The method, as in the table.

        Returns
        -------
        MethodRow
        """
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise ValueError(f"There is no row {name!r}; the rows are {', '.join(found)}.")
        return found[name]

    def to_frame(self) -> DataFrame:
        """Return the rows as a data frame (needs pandas).

        Returns
        -------
        pandas.DataFrame
            One column for each attribute of :class:`~stableselect.experiments.MethodRow`.
        """
        names = [field.name for field in fields(MethodRow)]
        return data_frame({name: [getattr(row, name) for row in self.rows] for name in names})

    def cells(self) -> list[list[str]]:
        """Return the printed table: the headings, then one list of texts for each row.

        Returns
        -------
        list of list of str
        """
        labelled = ["accuracy"] if self.labelled else []
        table = [["method", "error", "vs best", *labelled, "explained", "stable", "seeds", "seconds"]]
        for row in self.rows:
            if math.isnan(row.error) and math.isnan(row.accuracy):
                continue
            accuracy = [_percent(row.accuracy)] if self.labelled else []
            error = "-" if math.isnan(row.error) else f"{row.error:.4g}"
            figures = [error, _ratio(row), *accuracy, _percent(row.explained_variance)]
            agreement = [_two(row.stability), _two(row.seed_stability)]
            table.append([printable(row.name), *figures, *agreement, _time(row.seconds)])
        return table

    def notes(self) -> list[str]:
        """Return what there is to say of single rows, one sentence each.

        Returns
        -------
        list of str
        """
        return [f"{printable(row.name)}: {printable(row.note)}" for row in self.rows if row.note]

    def lines(self) -> list[str]:
        """Return the lines of the table, headings first, in at most 80 columns.

        Returns
        -------
        list of str
        """
        names, *figures = zip(*self.cells(), strict=True)
        right = [[cell.rjust(max(map(len, column))) for cell in column] for column in figures]
        lines = [" ".join(cells) for cells in zip(*right, strict=True)]
        room = max(_SHORTEST, min(max(map(len, names)), _WIDTH - 1 - len(lines[0])))
        return [f"{_cut(name, room):<{room}} {line}" for name, line in zip(names, lines, strict=True)]

    def __str__(self) -> str:
        first = (
            f"{self.n_features_to_select} of {self.n_features} features, {self.n_samples} samples: "
            f"{_count(self.n_splits, 'split')}, {_count(self.n_seeds, 'seed')}"
        )
        notes = [textwrap.fill(note, _WIDTH, subsequent_indent="  ") for note in self.notes()]
        return "\n".join([first, *self.lines(), *notes])

    def _repr_html_(self) -> str:
        head, *rows = self.cells()
        columns = dict(zip(head, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(head, ())
        return html_table(str(self).splitlines()[0], columns, most=40)

    def __repr__(self) -> str:
        methods = sum(row.kind == "method" for row in self.rows)
        best = f"lowest error: {self.best.name}" if not math.isnan(self.best.error) else "none has an error"
        return (
            f"<MethodComparison: {_count(methods, 'method')}, {self.n_features_to_select} of {self.n_features} "
            f"features, {_count(self.n_splits, 'split')}; {best}>"
        )


def _ratio(row: MethodRow) -> str:
    """Return how far an error is from the best, with half the width of its interval where there is one."""
    if math.isnan(row.ratio):
        return "-"
    if row.ratio == 1 == row.ratio_low:
        return "best"
    if row.ratio > 10:
        return f"x{row.ratio:.3g}" if row.ratio < 1000 else ">x1000"
    half = 50 * (row.ratio_high - row.ratio_low)
    shown = f"{100 * (row.ratio - 1):+.0f}%"
    return shown if math.isnan(half) or half >= 1000 else f"{shown} ±{half:.0f}"


def _percent(fraction: float) -> str:
    return "-" if math.isnan(fraction) else f"{round(100 * fraction, 1) + 0.0:.1f}%"


def _two(number: float) -> str:
    return "-" if math.isnan(number) else f"{round(number, 2) + 0.0:.2f}"


def _time(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    if seconds < 0.001:
        return "<0.001"
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _cut(name: str, room: int) -> str:
    return name if len(name) <= room else name[: room - 3] + "..."

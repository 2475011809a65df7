"""Rows of text as they come: one is read, one is written."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._apply import Made, plan_of
from ._tables import NA_WORDS, TableError, check_unique, listed, number_pattern, quoted


@dataclass(frozen=True)
class Live:
    r"""What to do with rows as they come.

    Parameters
    ----------
    how : {"apply", "reconstruct"}
        Whether to write the selected columns, or all.
    interval, noise, score
        As for :func:`~stableselect.io.reconstruct`.
    separator, decimal : str
        How the rows are written.
    na : tuple of str
        Words for missing values besides the usual ones.
    header : bool
        Whether the first line names the columns. Without one, a row has those of the table selected on (apply), or the
        identifiers and the selected columns (reconstruct), in that order.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> X = load_iris(as_frame=True).data.set_axis(["a", "b", "c", "d"], axis=1)
    >>> selector = ColumnSubset(2).fit(X).calibrate(X)
    >>> lines = Live("reconstruct", score="novelty").rows(selector, ["c,a\n", "1.4,5.1\n"], print)
    >>> [line.count(",") for line in lines]
    [4, 4]
    """

    how: Literal["apply", "reconstruct"]
    interval: float | None = None
    noise: Any = None
    score: str | None = None
    separator: str = ","
    decimal: str = "."
    na: tuple[str, ...] = ()
    header: bool = True

    def __post_init__(self) -> None:
        if self.separator == self.decimal:
            raise ValueError(
                f"{quoted(self.decimal)} is both between columns and before decimals; name another separator, such as "
                "';'."
            )

    def rows(self, made: Made, lines: Iterable[str], tell: Callable[[str], object]) -> Iterator[str]:
        """Yield a line for the header, then one for every row that is read, at once.

        A row that cannot be used gets empty cells, and is told of.

        Parameters
        ----------
        made : TableSelection or BaseSelector
            The selection, or a fitted selector.
        lines : iterable of str
            The text, line by line.
        tell : callable
            Called with a sentence about a row.
        """
        plan = plan_of(made)
        incoming = iter(lines)
        names = self._names(next(incoming, "")) if self.header else None
        if self.header and not names:
            raise TableError("Standard input is empty; expected a line with the names of the columns.")
        if names is None:
            names = [*plan.ids, *plan.selected] if self.how == "reconstruct" else plan.columns
        elif not plan.named:
            names = plan.selected if self.how == "reconstruct" else plan.columns
        missing = [name for name in plan.selected if name not in names]
        if missing:
            raise TableError(f"Standard input lacks {len(missing)} of the selected columns: {listed(missing)}.")
        ids = [name for name in plan.ids if name in names]
        asked = (self.interval, self.noise, self.score)
        added = plan.added(np.full((1, len(plan.selected)), 0.0), *asked)
        all_of_it = plan.features if self.how == "reconstruct" else plan.selected
        titles = [*ids, *all_of_it, *added]
        if len(set(titles)) < len(titles):
            raise TableError("Two columns would have one name; call the score otherwise, or rename a column.")
        yield self._joined(titles)
        place = {name: j for j, name in enumerate(names)}
        number, novel, was_novel = 0, 0, False
        for line in incoming:
            if not line.strip():
                continue
            number += 1
            try:
                cells = self._split(line)
                wrong = f"has {len(cells)} cells and {len(names)} are expected" * (len(cells) != len(names))
            except csv.Error as error:
                wrong = f"cannot be read ({error})"
            if wrong:
                tell(f"Row {number} {wrong}; its cells stay empty.")
                yield self._joined([""] * len(titles))
                continue
            known = {name: cells[place[name]] for name in (*ids, *plan.selected)}
            values = np.array([[self._number(known[name]) for name in plan.selected]])
            gaps = [name for name, value in zip(plan.selected, values[0], strict=True) if np.isnan(value)]
            made_of: dict[str, Any] = {}
            if np.isinf(values).any():
                wrong = next(name for name, value in zip(plan.selected, values[0], strict=True) if np.isinf(value))
                tell(f"Row {number}: {quoted(wrong)} is {known[wrong]!r:.40}, not a number; nothing is made of it.")
            else:
                try:
                    rebuilt = plan.rebuilt(values)[0] if self.how == "reconstruct" else ()
                    made_of = {name: column[0] for name, column in plan.added(values, *asked).items()}
                    made_of |= dict(zip(plan.features, rebuilt, strict=False))
                except ValueError as error:
                    tell(f"Row {number}: {error}")
                else:
                    if gaps and not plan.fills and self.how == "reconstruct":
                        tell(f"Row {number}: no value of {listed(gaps)}; nothing is reconstructed from it.")
                told = plan.calibration and plan.calibration.unlike(values, plan.selected, "rows")
                novel += bool(told)
                if told and not was_novel:
                    tell(f"Row {number}: {told}")
                was_novel = bool(told)
            # What is there is written as it came; what is missing, as it is estimated, if it is.
            there = {name: cell for name, cell in known.items() if name in ids or not self._missing(cell)}
            yield self._joined([there[name] if name in there else self._text(made_of.get(name)) for name in titles])
        if novel:
            tell(f"{novel} of {number} rows are unlike those selected on.")

    def _number(self, cell: str) -> float:
        """Return the number in a cell: NaN where it is missing, infinity where it is none."""
        if self._missing(cell):
            return np.nan
        if not re.fullmatch(number_pattern(self.decimal), cell.strip(), re.ASCII):
            return np.inf
        return float(cell.strip().replace(self.decimal, "."))

    def _missing(self, cell: str) -> bool:
        return cell.strip() in NA_WORDS or cell.strip() in self.na

    def _text(self, value: float | None) -> str:
        if value is None or np.isnan(value):
            return ""
        return repr(float(value)).replace(".", self.decimal)

    def _names(self, line: str) -> list[str]:
        try:
            names = self._split(line)
        except csv.Error as error:
            raise TableError(f"The names of the columns cannot be read ({error}); check the first line.") from error
        check_unique(names, "Standard input")
        return names

    def _split(self, line: str) -> list[str]:
        return next(csv.reader([line.lstrip("\ufeff")], delimiter=self.separator), [])

    def _joined(self, cells: list[str]) -> str:
        line = io.StringIO()
        csv.writer(line, delimiter=self.separator, lineterminator="\n").writerow(cells)
        return line.getvalue()

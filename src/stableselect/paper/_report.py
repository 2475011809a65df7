"""What an experiment shows: tables, pictures and sentences, the CSV file beside them, and how numbers are written."""

from __future__ import annotations

import csv
import io
import json
import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from ..experiments import Run, Value
from ..inspection import PowerLawFit
from ._plots import Picture, picture
from .methods import Options, Protocol, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NONE = "–"  # noqa: RUF001
NO_PICTURES = 'Pictures are left out: they need matplotlib and Pillow (pip install "stableselect[plot]").'
FAST_NOTE = "A fast run: small tables, a few points, few steps. Not for comparison."


@dataclass
class Table:
    """A table of texts.

    Attributes
    ----------
    title : str
        What it shows.
    header : list of str
        Column heads.
    rows : list of list of str
        One text a column.
    notes : list of str
        Sentences below it.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """Return the table as Markdown, its columns aligned."""
        cells = [[_escaped(text) for text in row] for row in (self.header, *self.rows)]
        widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(self.header))]

        def line(row: list[str]) -> str:
            padded = [
                row[0].ljust(widths[0]),
                *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)),
            ]
            return "| " + " | ".join(padded) + " |"

        rule = "|" + "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]) + "|"
        text = [f"**{self.title}**", "", line(cells[0]), rule, *map(line, cells[1:])]
        return "\n".join([*text, *(f"\n{note}" for note in self.notes)])


Block = str | Table | Picture
Line = dict[str, Any]
"""A row of the CSV file."""


@dataclass
class Document:
    """What an experiment shows.

    Attributes
    ----------
    name, title : str
        Of the experiment.
    blocks : list
        Sentences, tables and pictures in order.
    data : list of dict
        The same figures in full precision, one row each, for the CSV file.
    """

    name: str
    title: str
    blocks: list[Block] = field(default_factory=list)
    data: list[Line] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """Add sentences and tables."""
        self.blocks += blocks

    def table(self, title: str, header: list[str], rows: list[list[str]], notes: Sequence[str] = ()) -> None:
        """Add a table."""
        self.blocks.append(Table(title, header, rows, list(notes)))

    def cell(self, line: Line, value: Value | None, measure: str, otherwise: str = NONE, *, spread: bool = True) -> str:
        """Add a value to the CSV file, beside what ``line`` says of it, and return it for a table."""
        self.data.append(line | csv_value(value))
        return written(value, measure, otherwise, spread=spread)

    def draw(
        self,
        name: str,
        caption: str,
        size: tuple[float, float],
        fill: Callable[[Figure], Any],
        layout: Literal["constrained", "compressed"] = "constrained",
    ) -> None:
        """Add a picture that ``fill`` draws, or a sentence in its place where pictures cannot be drawn."""
        if not can_draw():
            self.blocks.append(NO_PICTURES)
            return
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout=layout)
        fill(figure)
        self.blocks.append(picture(name, caption, figure))

    @property
    def empty(self) -> bool:
        """Whether no row of the CSV file is of a finished run."""
        return not any(line.get("repeats") or line.get("runs") for line in self.data)

    def markdown(self) -> str:
        """Return the document as Markdown; pictures are links to the files beside it."""
        parts = [f"# {self.title}"]
        for block in self.blocks:
            if isinstance(block, Table):
                parts.append(block.markdown())
            elif isinstance(block, Picture):
                parts.append(f"![{_escaped(block.caption)}]({block.name}.png)\n\n{block.caption}")
            else:
                parts.append(block)
        return "\n\n".join(parts) + "\n"

    def csv(self) -> str:
        """Return the figures as CSV."""
        stream = io.StringIO()
        columns = list(dict.fromkeys(key for row in self.data for key in row))
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.data)
        return stream.getvalue()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Attributes
    ----------
    name, title : str
        For the command line and for the reader.
    runs : callable
        From a protocol and the options to the runs it needs; shared runs are computed once.
    fill : callable
        Puts on a document what the results show; copes with runs that are missing.
    """

    name: str
    title: str
    runs: Callable[[Protocol, Options], list[Run]]
    fill: Callable[[Document, Results], None]

    def render(self, results: Results) -> Document:
        """Return what the results show, below a warning where they are those of a fast run."""
        document = Document(self.name, self.title, [FAST_NOTE] if results.mode == "fast" else [])
        self.fill(document, results)
        return document


def experiment(
    name: str, title: str, runs: Callable[[Protocol, Options], list[Run]]
) -> Callable[[Callable[[Document, Results], None]], Experiment]:
    """Make an experiment of the function that fills its document."""
    return lambda fill: Experiment(name, title, runs, fill)


@cache
def texts() -> dict[str, dict[str, str]]:
    """Return the prose of the pages, by room and name: paragraphs, parted by blank lines."""
    found: dict[str, dict[str, str]] = {}
    for file in ("texts.toml", "sentences.toml"):
        content = tomllib.loads(resources.files(__package__).joinpath(file).read_text(encoding="utf-8"))
        for room, part in content.items():
            joined = {name: [" ".join(piece.split()) for piece in text.split("\n\n")] for name, text in part.items()}
            found.setdefault(room, {}).update({name: "\n\n".join(pieces) for name, pieces in joined.items()})
    return found


def prose(key: str, **values: Any) -> str:
    """Return a text by "room.name", with its {names} filled in."""
    room, name = key.split(".")
    return texts()[room][name].format(**values)


@cache
def published() -> dict[str, Any]:
    """Return the published figures."""
    return json.loads(resources.files(__package__).joinpath("published.json").read_text(encoding="utf-8"))


def can_draw() -> bool:
    """Tell whether the packages that pictures need are here."""
    return find_spec("matplotlib") is not None and find_spec("PIL") is not None


def number(value: float | None, measure: str) -> str:
    """Write a number of a measure."""
    if value is None:
        return NONE
    if measure.endswith("accuracy"):
        return f"{100 * value:.1f}"
    if measure == "seconds":
        return f"{value:.2g}" if value < 10 else f"{value:.0f}"
    return f"{value:.4f}" if value < 1 else f"{value:.4g}" if value < 1e4 else f"{value:.2g}"


def written(value: Value | None, measure: str, otherwise: str = NONE, *, spread: bool = True) -> str:
    """Write a value, its spread, and what sets it apart from the others: "(3 of 5 splits)", "(10 seeds)"."""
    if value is None:
        return otherwise
    beside = f" ± {number(value.spread, measure)}" if spread and value.spread is not None else ""
    return number(value.mean, measure) + beside + _mark(value)


def csv_value(value: Value | None) -> Line:
    """Return a value in full for the CSV file, with what it is over; empty where there is none."""
    found = value or Value(math.nan, None, 0)
    return {
        "mean": "" if value is None else found.mean,
        "spread": "" if found.spread is None else found.spread,
        "splits": found.splits,
        "seeds": found.seeds,
        "mark": found.mark,
        "runs": found.count,
        "failed": found.failed,
    }


def compact(value: Value | None, otherwise: str = NONE, unit: float = 1.0) -> str:
    """Write a value with three digits, whatever its size, its spread, and what sets it apart: "(4 of 5 splits)"."""
    if value is None:
        return otherwise
    spread = "" if value.spread is None else f" ± {value.spread * unit:.2g}"
    return f"{value.mean * unit:.3g}{spread}{_mark(value)}"


def csv_repeats(value: Value | None, name: str = "mean", spread: str = "sd", unit: float = 1.0) -> Line:
    """Return a value over repeats for the CSV file."""
    return {
        name: "" if value is None else value.mean * unit,
        spread: "" if value is None or value.spread is None else value.spread * unit,
        "repeats": 0 if value is None else value.count,
    }


def interval(value: float, ends: tuple[float, float], digits: int = 2, end_digits: int = 2) -> str:
    """Write a number and its interval, where there is one."""
    low, high = (f"{end:.{end_digits}f}" for end in ends)
    return f"{value:.{digits}f}" + ("" if math.isnan(ends[0]) else f" [{low}, {high}]")


def written_rate(fitted: PowerLawFit | None, digits: int = 2) -> str:
    """Write a slope and its interval where there is one."""
    return NONE if fitted is None else interval(fitted.slope, fitted.interval, digits, digits)


def span(numbers: Sequence[float], digits: str = ".2f") -> str:
    """Write the least and the largest of some numbers."""
    low, high = (format(number, digits) for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def _mark(value: Value) -> str:
    return f" ({value.mark})" if value.mark else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")

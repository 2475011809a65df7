"""An experiment and what it shows: tables, pictures and sentences, and how numbers are written in them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...experiments import Run, Value
from ..methods import Options, Protocol, Results

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

NONE = "–"  # noqa: RUF001
NO_PICTURES = 'Pictures are left out: they need matplotlib and Pillow (pip install "stableselect[plot]").'
_DECADES = 4
"""Of a logarithmic axis that have room for three numbers each."""


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


@dataclass
class Picture:
    """A picture in two formats.

    Attributes
    ----------
    name : str
        File name without extension.
    caption : str
        What it shows.
    png, svg : bytes
        The files.
    """

    name: str
    caption: str
    png: bytes
    svg: bytes


Block = str | Table | Picture


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
    blocks: list[Block]
    data: list[dict[str, Any]] = field(default_factory=list)

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
    render : callable
        From the results to what is shown; copes with runs that are missing.
    """

    name: str
    title: str
    runs: Callable[[Protocol, Options], list[Run]]
    render: Callable[[Results], Document]


def can_draw() -> bool:
    """Tell whether the packages that pictures need are here."""
    return find_spec("matplotlib") is not None and find_spec("PIL") is not None


def drawn(draw: Callable[[], Picture]) -> Block:
    """Return a picture, or a sentence in its place where pictures cannot be drawn."""
    return draw() if can_draw() else NO_PICTURES


def picture(name: str, caption: str, figure: Figure) -> Picture:
    """Draw a matplotlib figure in both formats, with nothing in the files that changes from run to run."""
    from matplotlib import rc_context
    from PIL import Image

    drawn, vector, png = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(drawn, format="png", dpi=110)
        figure.savefig(vector, format="svg", dpi=110, metadata={"Date": None})
    # A palette makes the file a third of the size.
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(png, format="png", optimize=True)
    return Picture(name, caption, png.getvalue(), vector.getvalue())


def plotted(
    data: list[dict[str, Any]], name: str, caption: str, size: tuple[float, float], draw: Callable[[Figure], None]
) -> list[Block]:
    """Return a picture that ``draw`` fills, or a sentence in its place; nothing where no row of the data has a mean."""
    if all(row["mean"] == "" for row in data):
        return []
    if not can_draw():
        return [NO_PICTURES]
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure)
    return [picture(name, caption, figure)]


def plain_ticks(axis: Axis) -> None:
    """Write a logarithmic axis without powers of ten: 1, 2 and 5 in every decade, 1 alone where there are many."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    wide = low > 0 and math.log10(high / low) > _DECADES
    axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


def number(value: float | None, measure: str) -> str:
    """Write a number of a measure."""
    if value is None:
        return NONE
    if measure.endswith("accuracy"):
        return f"{100 * value:.1f}"
    if measure == "seconds":
        return f"{value:.2g}" if value < 10 else f"{value:.0f}"
    return f"{value:.4f}" if value < 1 else f"{value:.4g}" if value < 1e4 else f"{value:.2g}"


def with_spread(value: Value | None, measure: str, otherwise: str = NONE) -> str:
    """Write a value, its spread, and what sets it apart from the others: "(3 of 5 splits)", "(10 seeds)"."""
    if value is None:
        return otherwise
    spread = "" if value.spread is None else f" ± {number(value.spread, measure)}"
    return number(value.mean, measure) + spread + _mark(value)


def without_spread(value: Value | None, measure: str, otherwise: str = NONE) -> str:
    """Write a value, and what sets it apart from the others."""
    return otherwise if value is None else number(value.mean, measure) + _mark(value)


def csv_value(value: Value | None) -> dict[str, Any]:
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


def _mark(value: Value) -> str:
    return f" ({value.mark})" if value.mark else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")

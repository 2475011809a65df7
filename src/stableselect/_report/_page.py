"""What a page is made of, and from that to HTML: one file without a single link to the outside.

Everything that comes from a table is escaped by Jinja2 (``autoescape`` is on for all of it) or written into the page as
JSON, from which the script makes text nodes and nothing else. A Content-Security-Policy allows the page's own style and
script, by their hashes, and no other; nothing can be loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from .. import __version__
from ..persistence import software_versions

Kind = Literal["text", "name", "names", "number", "percent", "count"]
_SHOWN = 25
"""Rows of a table on a page of it."""
_DIGITS = 4
"""Significant digits of numbers in the page."""


@dataclass(frozen=True)
class Column:
    """A column of a grid: its heading, what its cells are, and a sentence that explains it."""

    title: str
    kind: Kind = "text"
    about: str = ""
    choices: bool = False
    """Whether the rows can be filtered by its values, which are few."""


@dataclass(frozen=True)
class Grid:
    """A table that can be sorted, filtered and copied.

    Its rows are lists of text, numbers or None; cells of the kind "names" are lists of names, or of names with a
    fraction. The script gets such names, and choices, as numbers of words, so that many rows stay small.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    sorted_by: int | None = None

    @property
    def shown(self) -> list[list[list[str]]]:
        """The rows of the first page: the lines of each cell."""
        return [
            [cell_lines(value, column.kind) for value, column in zip(row, self.columns, strict=True)]
            for row in self.rows[:_SHOWN]
        ]

    @property
    def data(self) -> dict[str, Any]:
        """What the script needs."""
        words: dict[str, int] = {}

        def coded(value: Any, column: Column) -> Any:
            if column.choices:
                return words.setdefault(str(_plain(value)), len(words))
            if column.kind == "names":
                return [
                    entry if isinstance(entry, str) else [words.setdefault(entry[0], len(words)), _plain(entry[1], 3)]
                    for entry in value
                ]
            return _plain(value)

        rows = [[coded(value, column) for value, column in zip(row, self.columns, strict=True)] for row in self.rows]
        return {
            "kinds": ["choice" if column.choices else column.kind for column in self.columns],
            "shown": _SHOWN,
            "words": list(words),
            "rows": rows,
        }

    @property
    def plain(self) -> bool:
        """Whether the table is so short that nobody needs to sort it."""
        return len(self.rows) <= 3

    @property
    def short(self) -> bool:
        """Whether all rows are seen at a glance, so that nobody needs to filter them."""
        return len(self.rows) <= 8

    @property
    def filters(self) -> list[tuple[int, str, list[str]]]:
        """Columns to filter by: number, heading and values."""
        return [
            (i, column.title, sorted({str(_plain(row[i])) for row in self.rows}))
            for i, column in enumerate(self.columns)
            if column.choices
        ]


@dataclass(frozen=True)
class Chart:
    """A picture, what it shows in words, and the numbers behind it."""

    svg: Markup
    caption: str
    numbers: Grid | None
    """None where they stand below it."""


@dataclass(frozen=True)
class Facts:
    """Short facts: pairs of a label and a value."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Notes:
    """Sentences that the reader should not miss."""

    sentences: Sequence[str]


@dataclass(frozen=True)
class Section:
    """A part of the page under a heading: sentences, then blocks."""

    name: str
    title: str
    sentences: Sequence[str] = ()
    blocks: Sequence[Grid | Chart | Facts | Notes] = ()


@dataclass(frozen=True)
class Page:
    """A page: its title, a line below it, the main figures, and its sections."""

    title: str
    subtitle: str
    figures: Sequence[tuple[str, str, str]]
    """The main figures: value, label, and what it means."""
    sections: Sequence[Section]
    version: str = __version__
    """Of the package, when the result was made."""


def data_section(pairs: Sequence[tuple[str, str]], notes: Sequence[str]) -> Section:
    """Return what a result was made from and with, and what there is to say of it."""
    blocks: list[Any] = [Facts(pairs), Facts([*software_versions().items()]), *([Notes(notes)] if notes else [])]
    return Section("data", "Data, settings and versions", [], blocks)


def render(page: Page) -> str:
    """Return the page as HTML."""
    source = {name: files(__package__).joinpath(name).read_text(encoding="utf-8") for name in _PARTS}
    environment = Environment(
        loader=DictLoader(source), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    environment.tests["instance"] = lambda value, kind: type(value).__name__ == kind
    # Both are ours and hold nothing of a table.
    style, script = Markup(source["page.css"]), Markup(source["page.js"])
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # Policies have no characters that HTML would read otherwise but the apostrophes.
    return environment.get_template("page.html").render(page=page, style=style, script=script, policy=Markup(policy))


_PARTS = ("page.html", "page.css", "page.js")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _plain(value: Any, digits: int = _DIGITS) -> Any:
    """Return a cell as JSON has it, with few digits."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    return None if value is None else str(value)


def percent(value: float) -> str:
    """Return a fraction in percent."""
    return f"{100 * value:.1f}%"


def counted(n: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{n:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") + f" {what}{'' if n == 1 else 's'}"


def cell_lines(value: Any, kind: Kind) -> list[str]:
    """Return the lines of a cell as the script would write them."""
    if kind == "names" and value:
        return [entry if isinstance(entry, str) else f"{entry[0]} ({percent(entry[1])})" for entry in value]
    value = _plain(value)
    if value is None or value in ("", "[]"):
        return ["\N{EN DASH}"]
    if isinstance(value, str):
        return [value]
    if kind == "percent":
        return [percent(value)]
    return [f"{value:d}" if isinstance(value, int) else f"{value:.{_DIGITS}g}"]

"""Results as data frames, and what those of a few numbers share: a short text and a frame of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(columns: Mapping[str, Any]) -> DataFrame:
    """Return a pandas data frame; pandas is imported here only, and an error names it where it is missing.

    Parameters
    ----------
    columns : mapping of str to sequence
        Names and values of its columns.

    Returns
    -------
    pandas.DataFrame
    """
    try:
        from pandas import DataFrame
    except ImportError:
        raise ImportError("to_frame needs pandas; install it with: pip install pandas") from None
    return DataFrame(dict(columns))


def html_table(title: str, columns: Mapping[str, Sequence[Any]], *, most: int = 10) -> str:
    """Return a compact table of HTML for notebooks, every text escaped.

    Parameters
    ----------
    title : str
        What it shows.
    columns : mapping of str to sequence
        Headings and cells, all of one length.
    most : int, default=10
        More rows than this are left out, and counted.

    Returns
    -------
    str
    """
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in rows[:most])
    rest = f"<p>... and {len(rows) - most} more</p>" if len(rows) > most else ""
    caption = f'<caption style="text-align: left">{escape(title)}</caption>'
    return f"<div><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"


def _cell(value: Any) -> str:
    if isinstance(value, Real) and not isinstance(value, Integral):
        return "" if value != value else f"{float(value):.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(entry) for entry in value)
    return "" if value is None else str(value)


class Figures:
    """Base of a data class of single numbers: printed one a line, and one row of a data frame."""

    def to_frame(self) -> DataFrame:
        """Return the numbers as a data frame of one row (needs pandas).

        Returns
        -------
        pandas.DataFrame
        """
        return data_frame({name: [value] for name, value in self._figures().items()})

    def __str__(self) -> str:
        figures = self._figures()
        width = max(map(len, figures))
        return "\n".join(f"{name.replace('_', ' '):<{width}}  {_shown(value)}" for name, value in figures.items())

    def _repr_html_(self) -> str:
        figures = self._figures()
        named = [name.replace("_", " ") for name in figures]
        return html_table(type(self).__name__, {"figure": named, "value": list(figures.values())}, most=30)

    def _figures(self) -> dict[str, Any]:
        """Return the fields that hold numbers, by name; an interval as its two ends."""
        found: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                found |= {f"{field.name}_low": value[0], f"{field.name}_high": value[1]}
            elif isinstance(value, Real):
                found[field.name] = value
        return found


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

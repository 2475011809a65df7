"""Charts as inline SVG: a few marks each, coloured by the page's style, with a title and a description.

Every text passes through :class:`markupsafe.Markup`, which escapes what is put into it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from ._page import percent

WIDTH = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 26, 12, 46
_LONGEST = 24
"""Characters of a name in a chart; the whole name is in its tooltip."""


@dataclass(frozen=True)
class Line:
    """A line of a chart: its name, its values, and the spread around them."""

    name: str
    values: np.ndarray
    spread: np.ndarray | None = None


def line_chart(
    title: str, x: np.ndarray, lines: Sequence[Line], *, x_title: str, y_title: str, here: float, here_title: str
) -> Markup:
    """Draw lines over a common axis of percent; ``here`` marks a place on the horizontal one."""
    height = 300
    low, high = float(x.min()), float(x.max())
    highest = max([float(np.nanmax(line.values)) for line in lines] + [1e-9])
    top = _nice_top(highest)
    across = _Axis(low, high if high > low else low + 1, _LEFT, WIDTH - _RIGHT)
    up = _Axis(0.0, top, height - _BOTTOM, _TOP + 18)
    parts = _frame(across, up, _ticks(low, high, whole=True), _ticks(0.0, top), x_title, y_title, percent_y=True)

    def points(a: np.ndarray, b: np.ndarray) -> str:
        return " ".join(f"{across(one):.1f},{up(other):.1f}" for one, other in zip(a, b, strict=True))

    for number, line in enumerate(lines, 1):
        if line.spread is not None:
            upper, lower = np.minimum(line.values + line.spread, top), np.maximum(line.values - line.spread, 0.0)
            around = points(np.concatenate([x, x[::-1]]), np.concatenate([upper, lower[::-1]]))
            parts.append(_tag("polygon", class_=f"band f{number}", points=around))
        parts.append(_tag("polyline", class_=f"line s{number} dash{number}", points=points(x, line.values)))
        parts += [_mark(number, across(a), up(b)) for a, b in zip(x, line.values, strict=True)]
    at = across(here)
    parts.append(_tag("path", class_="here", d=f"M{at:.1f} {_TOP + 18}V{height - _BOTTOM}"))
    side, shift = ("end", -4) if at > WIDTH / 2 else ("start", 4)
    parts.append(_tag("text", here_title, class_="tick", x=at + shift, y=_TOP + 30, text_anchor=side))
    place = float(_LEFT)
    for number, line in enumerate(lines, 1):  # their names, above them
        parts.append(_tag("path", class_=f"line s{number} dash{number}", d=f"M{place:.1f} 9h22"))
        parts.append(_mark(number, place + 11, 9))
        parts.append(_tag("text", line.name, class_="tick", x=place + 27, y=13))
        place += 27 + 6.4 * len(line.name) + 14
    return _svg(title, height, parts)


def bar_chart(title: str, names: Sequence[str], values: Sequence[float], *, marked: Sequence[int] = ()) -> Markup:
    """Draw horizontal bars of fractions; those marked are in the main colour."""
    step, label = 30, 160
    longest = max([value for value in values if math.isfinite(value)] + [1e-9])
    along = _Axis(0.0, longest, label, WIDTH - 62)
    parts = []
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        y = 4 + i * step
        parts.append(_name(name, label - 8, y + step / 2))
        if math.isfinite(value):
            end, colour = along(max(value, 0.0)), f"f{1 if i in marked else 4}"
            width = max(end - label, 1.0)
            parts.append(_tag("rect", class_=colour, x=label, y=y + 5, width=width, height=step - 10))
            parts.append(_tag("text", percent(value), x=end + 6, y=y + step / 2, dominant_baseline="central"))
    return _svg(title, step * len(names) + 8, parts)


def histogram(
    title: str, edges: np.ndarray, counts: np.ndarray, *, x_title: str, y_title: str, here: float | None = None
) -> Markup:
    """Draw how many values fall between edges, which are fractions; ``here`` marks one of them."""
    height = 220
    across = _Axis(float(edges[0]), float(edges[-1]), _LEFT, WIDTH - _RIGHT)
    most = max(int(counts.max(initial=1)), 1)
    ticks = [tick for tick in _ticks(0.0, float(most)) if tick == int(tick)]
    up = _Axis(0.0, float(most), height - _BOTTOM, _TOP)
    x_ticks = _ticks(float(edges[0]), float(edges[-1]))
    parts = _frame(across, up, x_ticks, ticks, x_title, y_title, percent_x=True)
    for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True):
        if count:
            x, y = across(float(left)), up(float(count))
            told = _tag("title", f"{100 * left:.1f} to {100 * right:.1f}%: {count}")
            width = max(across(float(right)) - x - 1, 0.5)
            parts.append(_tag("rect", told, class_="f4", x=x + 0.5, y=y, width=width, height=height - _BOTTOM - y))
    if here is not None:
        parts.append(_tag("path", class_="line s1", d=f"M{across(here):.1f} {_TOP - 6}V{height - _BOTTOM}"))
    return _svg(title, height, parts)


def heat_map(title: str, names: Sequence[str], cells: np.ndarray, *, x_title: str) -> Markup:
    """Draw a line of fields for each name: dark where ``cells`` is true, with the fraction of them at the end."""
    step, label = 17, 170
    lines, runs = cells.shape
    height = step * lines + 30
    width = (WIDTH - label - 52) / runs
    parts = []
    for i, (name, row) in enumerate(zip(names, cells, strict=True)):
        y = i * step + 2
        parts.append(_name(name, label - 8, y + step / 2, "tick"))
        for value in (False, True):
            path = "".join(
                f"M{label + j * width:.1f} {y}h{max(width - 1, 0.5):.1f}v{step - 2}h-{max(width - 1, 0.5):.1f}z"
                for j in np.flatnonzero(row == value)
            )
            if path:
                parts.append(_tag("path", class_=f"cell{int(value)}", d=path))
        fraction = f"{100 * row.mean():.0f}%"
        parts.append(_tag("text", fraction, class_="tick", x=WIDTH - 46, y=y + step / 2, dominant_baseline="central"))
    parts.append(_tag("text", x_title, class_="soft", x=label, y=height - 8))
    return _svg(title, height, parts)


def scatter(
    title: str,
    x: np.ndarray,
    y: np.ndarray,
    names: Sequence[str],
    *,
    x_title: str,
    y_title: str,
    marked: int,
    low: np.ndarray,
) -> Markup:
    """Draw points with tooltips; one is marked, and ``low`` says which are of lesser interest."""
    height = 300
    spread = [float(np.nanmin(x)), float(np.nanmax(x))]
    gap = 0.06 * (spread[1] - spread[0]) or 0.05 * abs(spread[0]) or 0.05
    across = _Axis(spread[0] - gap, spread[1] + gap, _LEFT, WIDTH - _RIGHT)
    bottom, top = min(0.0, float(np.nanmin(y))), max(1.0, float(np.nanmax(y)))
    up = _Axis(bottom, top, height - _BOTTOM, _TOP)
    parts = _frame(across, up, _ticks(spread[0], spread[1]), _ticks(bottom, top), x_title, y_title)
    for i in (*(i for i in range(len(x)) if i != marked), marked):
        if math.isfinite(x[i]) and math.isfinite(y[i]):
            colour, size = (2, 7) if i == marked else (4 if low[i] else 1, 4)
            told, cx, cy = _tag("title", names[i]), across(float(x[i])), up(float(y[i]))
            parts.append(_tag("circle", told, class_=f"f{colour}", cx=cx, cy=cy, r=size))
    return _svg(title, height, parts)


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)


def _frame(
    across: _Axis,
    up: _Axis,
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    x_title: str,
    y_title: str,
    *,
    percent_x: bool = False,
    percent_y: bool = False,
) -> list[Markup]:
    """Draw the axes, their ticks and their titles."""
    left, right, bottom = across.start, across.end, up.start
    parts = []
    for tick in y_ticks:
        parts.append(_tag("path", class_="rule", d=f"M{left} {up(tick):.1f}H{right}"))
        text, where = _tick_text(tick, percent_y), {"text_anchor": "end", "dominant_baseline": "central"}
        parts.append(_tag("text", text, class_="tick", x=left - 6, y=up(tick), **where))
    for tick in x_ticks:
        text = _tick_text(tick, percent_x)
        parts.append(_tag("text", text, class_="tick", x=across(tick), y=bottom + 15, text_anchor="middle"))
    parts.append(_tag("path", class_="axis", d=f"M{left} {bottom}H{right}"))
    parts.append(_tag("text", x_title, x=(left + right) / 2, y=bottom + 34, text_anchor="middle"))
    turned = f"translate(12 {(bottom + up.end) / 2:.1f}) rotate(-90)"
    return [*parts, _tag("text", y_title, transform=turned, text_anchor="middle")]


def _mark(number: int, x: float, y: float) -> Markup:
    """Draw a mark whose shape tells the lines apart without colour."""
    shapes = {
        1: f"M{x - 3:.1f} {y:.1f}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
        2: f"M{x - 3:.1f} {y - 3:.1f}h6v6h-6z",
        3: f"M{x:.1f} {y - 3.5:.1f}l3.5 6.5h-7z",
    }
    return _tag("path", class_=f"f{number}", d=shapes.get(number, shapes[1]))


def _name(name: str, x: float, y: float, style: str | None = None) -> Markup:
    """Write a name that ends at a place, shortened where it is long."""
    short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    whole = _tag("title", name)
    return _tag("text", short, whole, class_=style, x=x, y=y, text_anchor="end", dominant_baseline="central")


def _svg(title: str, height: float, parts: Sequence[Markup]) -> Markup:
    view = f"0 0 {WIDTH} {round(height)}"
    return _tag("svg", _tag("title", title), *parts, viewBox=view, role="img", aria_label=title)


def _tag(kind: str, *inside: str, **attributes: Any) -> Markup:
    """Return an element; attributes that are None are left out, and numbers have one decimal if any."""
    told = Markup("").join(
        Markup(' {}="{}"').format(
            name.rstrip("_").replace("_", "-"), f"{value:.1f}" if isinstance(value, float) else value
        )
        for name, value in attributes.items()
        if value is not None
    )
    if not inside:
        return Markup("<{}{}/>").format(kind, told)
    return Markup("<{0}{1}>{2}</{0}>").format(kind, told, Markup("").join(inside))


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return about five round numbers from low to high."""
    span = high - low
    if not span > 0:
        return [low]
    rough = span / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999)
    if whole:
        step = max(1.0, math.ceil(step))
    first = math.ceil(low / step - 1e-9)
    found = [round(first * step + i * step, 12) for i in range(12)]
    return [tick for tick in found if tick <= high * (1 + 1e-9) + 1e-12]


def _nice_top(value: float) -> float:
    ticks = _ticks(0.0, value)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else value
    return float(step * math.ceil(value / step - 1e-9))


def _tick_text(value: float, percent: bool) -> str:
    return f"{100 * value:g}%" if percent else f"{value:g}"

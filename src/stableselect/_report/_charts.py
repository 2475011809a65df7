"""Charts as inline SVG: a few marks each, coloured by the page's style, with a title and a description.

Every text passes through :class:`markupsafe.Markup`, which escapes what is put into it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
    title: str,
    x: np.ndarray,
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    here: float | None = None,
    here_title: str = "",
) -> Markup:
    """Draw lines over a common axis of percent; ``here`` marks a place on the horizontal one."""
    height = 300
    low, high = float(x.min()), float(x.max())
    highest = max([float(np.nanmax(line.values)) for line in lines] + [1e-9])
    top = _nice_top(highest)
    across = _Axis(low, high if high > low else low + 1, _LEFT, WIDTH - _RIGHT)
    up = _Axis(0.0, top, height - _BOTTOM, _TOP + 18)
    parts = [_frame(across, up, _ticks(low, high, whole=True), _ticks(0.0, top), x_title, y_title, percent=True)]
    for number, line in enumerate(lines, 1):
        if line.spread is not None:
            upper, lower = np.minimum(line.values + line.spread, top), np.maximum(line.values - line.spread, 0.0)
            around = [*zip(x, upper, strict=True), *zip(x[::-1], lower[::-1], strict=True)]
            points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in around)
            parts.append(Markup('<polygon class="band f{}" points="{}"/>').format(number, points))
        points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in zip(x, line.values, strict=True))
        parts.append(Markup('<polyline class="line s{0} dash{0}" points="{1}"/>').format(number, points))
        parts += [_mark(number, across(a), up(b)) for a, b in zip(x, line.values, strict=True)]
    if here is not None:
        at = across(here)
        parts.append(Markup('<path class="here" d="M{:.1f} {}V{}"/>').format(at, _TOP + 18, height - _BOTTOM))
        side = "end" if at > WIDTH / 2 else "start"
        parts.append(
            Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
                at + (-4 if side == "end" else 4), _TOP + 30, side, here_title
            )
        )
    parts.append(_legend([line.name for line in lines]))
    return _svg(title, height, parts)


def bar_chart(title: str, names: Sequence[str], values: Sequence[float], *, marked: Sequence[int] = ()) -> Markup:
    """Draw horizontal bars of fractions; those marked are in the main colour."""
    step, label = 30, 160
    height = step * len(names) + 8
    longest = max([value for value in values if math.isfinite(value)] + [1e-9])
    along = _Axis(0.0, longest, label, WIDTH - 62)
    parts = []
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        y = 4 + i * step
        colour = 1 if i in marked else 4
        parts.append(_name(name, label - 8, y + step / 2, "end"))
        if math.isfinite(value):
            end = along(max(value, 0.0))
            parts.append(
                Markup('<rect class="f{}" x="{}" y="{}" width="{:.1f}" height="{}"/>').format(
                    colour, label, y + 5, max(end - label, 1.0), step - 10
                )
            )
            parts.append(
                Markup('<text x="{:.1f}" y="{}" dominant-baseline="central">{}</text>').format(
                    end + 6, y + step / 2, percent(value)
                )
            )
    return _svg(title, height, parts)


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
    parts = [_frame(across, up, x_ticks, ticks, x_title, y_title, percent=False, percent_x=True)]
    for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True):
        if count:
            x, y = across(float(left)), up(float(count))
            parts.append(
                Markup(
                    '<rect class="f4" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
                ).format(
                    x + 0.5,
                    y,
                    max(across(float(right)) - x - 1, 0.5),
                    height - _BOTTOM - y,
                    f"{100 * left:.1f} to {100 * right:.1f}%: {count}",
                )
            )
    if here is not None:
        parts.append(
            Markup('<path class="line s1" d="M{:.1f} {}V{}"/>').format(across(here), _TOP - 6, height - _BOTTOM)
        )
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
        parts.append(_name(name, label - 8, y + step / 2, "end", small=True))
        for value in (False, True):
            path = "".join(
                f"M{label + j * width:.1f} {y}h{max(width - 1, 0.5):.1f}v{step - 2}h-{max(width - 1, 0.5):.1f}z"
                for j in np.flatnonzero(row == value)
            )
            if path:
                parts.append(Markup('<path class="cell{}" d="{}"/>').format(int(value), path))
        parts.append(
            Markup('<text class="tick" x="{}" y="{}" dominant-baseline="central">{}</text>').format(
                WIDTH - 46, y + step / 2, f"{100 * row.mean():.0f}%"
            )
        )
    parts.append(Markup('<text class="soft" x="{}" y="{}">{}</text>').format(label, height - 8, x_title))
    return _svg(title, height, parts)


def scatter(
    title: str,
    x: np.ndarray,
    y: np.ndarray,
    names: Sequence[str],
    *,
    x_title: str,
    y_title: str,
    marked: int | None = None,
    low: np.ndarray | None = None,
) -> Markup:
    """Draw points with tooltips; one may be marked, and ``low`` says which are of lesser interest."""
    height = 300
    spread = [float(np.nanmin(x)), float(np.nanmax(x))]
    gap = 0.06 * (spread[1] - spread[0]) or 0.05 * abs(spread[0]) or 0.05
    across = _Axis(spread[0] - gap, spread[1] + gap, _LEFT, WIDTH - _RIGHT)
    bottom, top = min(0.0, float(np.nanmin(y))), max(1.0, float(np.nanmax(y)))
    up = _Axis(bottom, top, height - _BOTTOM, _TOP)
    x_ticks = _ticks(spread[0], spread[1])
    parts = [_frame(across, up, x_ticks, _ticks(bottom, top), x_title, y_title, percent=False)]
    order = [i for i in range(len(x)) if i != marked] + ([] if marked is None else [marked])
    for i in order:
        if not (math.isfinite(x[i]) and math.isfinite(y[i])):
            continue
        colour, size = (2, 7) if i == marked else (4 if low is not None and low[i] else 1, 4)
        parts.append(
            Markup('<circle class="f{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>').format(
                colour, across(float(x[i])), up(float(y[i])), size, names[i]
            )
        )
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
    percent: bool,
    percent_x: bool = False,
) -> Markup:
    """Draw the axes, their ticks and their titles."""
    bottom = up.start
    parts = []
    for tick in y_ticks:
        parts.append(Markup('<path class="rule" d="M{} {:.1f}H{}"/>').format(across.start, up(tick), across.end))
        parts.append(
            Markup(
                '<text class="tick" x="{}" y="{:.1f}" text-anchor="end" dominant-baseline="central">{}</text>'
            ).format(across.start - 6, up(tick), _tick_text(tick, percent))
        )
    for tick in x_ticks:
        parts.append(
            Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
                across(tick), bottom + 15, _tick_text(tick, percent_x)
            )
        )
    parts.append(Markup('<path class="axis" d="M{} {}H{}"/>').format(across.start, bottom, across.end))
    middle = (across.start + across.end) / 2
    parts.append(Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(middle, bottom + 34, x_title))
    middle = (up.start + up.end) / 2
    parts.append(
        Markup('<text transform="translate(12 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>').format(
            middle, y_title
        )
    )
    return Markup("").join(parts)


def _legend(names: Sequence[str]) -> Markup:
    """Draw the names of lines above them."""
    parts, x = [], float(_LEFT)
    for number, name in enumerate(names, 1):
        parts.append(Markup('<path class="line s{0} dash{0}" d="M{1:.1f} 9h22"/>').format(number, x))
        parts.append(_mark(number, x + 11, 9))
        parts.append(Markup('<text class="tick" x="{:.1f}" y="13">{}</text>').format(x + 27, name))
        x += 27 + 6.4 * len(name) + 14
    return Markup("").join(parts)


def _mark(number: int, x: float, y: float) -> Markup:
    """Draw a mark whose shape tells the lines apart without colour."""
    shapes = {
        1: f"M{x - 3:.1f} {y:.1f}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
        2: f"M{x - 3:.1f} {y - 3:.1f}h6v6h-6z",
        3: f"M{x:.1f} {y - 3.5:.1f}l3.5 6.5h-7z",
    }
    return Markup('<path class="f{}" d="{}"/>').format(number, shapes.get(number, shapes[1]))


def _name(name: str, x: float, y: float, anchor: str, *, small: bool = False) -> Markup:
    short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    kind = Markup(' class="tick"') if small else ""
    return Markup(
        '<text{} x="{}" y="{}" text-anchor="{}" dominant-baseline="central">{}<title>{}</title></text>'
    ).format(kind, x, y, anchor, short, name)


def _svg(title: str, height: float, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>{}</svg>').format(
        WIDTH, round(height), title, title, Markup("").join(parts)
    )


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

"""Figure 3 a to d: error difference and test error against n, lambda1 and k, and the size of the weights against k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from ...datasets import info
from .._plots import BLACK, GREY, drawn_legend, protocol_panels
from .._report import NONE, Document, Experiment, compact, prose, span
from ..methods import PROTOCOLS, Protocol, Results, rate
from ._gap import METHODS, SWEEPS, Gaps, Setting, Sweep, sweep_runs
from ._shared import BOUNDED, NETWORKS, SEARCH, WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DIFFERENCE, _TEST = "difference", "test.selector"
_THOUSAND = 1e3
"""Differences are shown in thousandths."""
_UNITS = {_DIFFERENCE: _THOUSAND, _TEST: 1.0}


_SWEEP = SWEEPS[-1]
_KINDS = {
    "product": "‖W_E W_D‖, the paper's text",
    "norms": "‖[W_E; b_E]‖ ‖[W_D; b_D]‖, its notebooks",
    "map": "‖Φ W_E W_D‖, free of the scores' scale",
}
_PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "all": ("all features", {"linestyle": "-"}),
    "kept": ("selected features", {"linestyle": ":", "markerfacecolor": "none"}),
}
_PRINTED = {"all": 271.3, "kept": 210.4}
"""The second norm, of the authors' notebook with |W| and k = 85."""
_PRINTED_K = 85


def _fill(sweep: Sweep, page: Document, results: Results) -> None:
    gaps = Gaps(results)
    settings = sweep.fast if gaps.fast else sweep.settings
    page.introduce(results, "figure3.curves", dataset=info(gaps.dataset).title, bounded=BOUNDED)
    for protocol in PROTOCOLS:
        _table(page, sweep, gaps, protocol, settings)
    if not page.empty:
        caption = (
            f"{sweep.title}, as two panels instead of two axes of one; error bars: standard deviation over repeats."
        )
        page.draw(sweep.name, caption, (10, 7.2), partial(_draw, sweep, gaps, settings))
    page.add(*_reading(sweep, gaps, settings))


def _table(page: Document, sweep: Sweep, gaps: Gaps, protocol: Protocol, settings: Sequence[Setting]) -> None:
    rows, notes = [], []
    for setting in settings:
        row = [_written(sweep, setting)]
        for method, (measure, unit) in product(METHODS, _UNITS.items()):
            line = {sweep.symbol: sweep.tick(setting), "measure": measure}
            row.append(gaps.cell(page, line, method, protocol, setting, measure, unit))
        rows.append(row)
    header = [sweep.symbol]
    for method in METHODS:
        header += [f"{WORDS[method]}: difference × 1000", "test error"]  # noqa: RUF001
    if protocol == "paper" and not gaps.fast:
        header.append("printed: difference × 1000, test error")  # noqa: RUF001
        rows = [[*row, _printed(sweep, place)] for place, row in enumerate(rows)]
        notes.append("Printed: those with a network's name from the authors' notebooks; ~ read off their figure.")
    page.table(f"{info(gaps.dataset).title}, {protocol}", header, rows, notes)


def _written(sweep: Sweep, setting: Setting) -> str:
    return f"{sweep.tick(setting)} %" if sweep.symbol == "n" else sweep.tick(setting)


def _printed(sweep: Sweep, place: int) -> str:
    texts = [
        f"{method} {_THOUSAND * (test - train):.2f}, {test:.4f}"
        for method, (where, train, test) in sweep.printed.items()
        if where == place
    ]
    if not texts and place in sweep.read_off:
        difference, test = sweep.read_off[place]
        texts = [f"~{NONE if difference is None else f'{_THOUSAND * difference:.2g}'}, {test:.4f}"]
    return "; ".join(texts) or NONE


def _reading(sweep: Sweep, gaps: Gaps, settings: Sequence[Setting]) -> list[str]:
    """Say what the runs show."""
    texts = []
    ends = settings[0], settings[-1]
    for protocol in PROTOCOLS:
        found = []
        differences, tests = ([gaps.values(protocol, end, measure) for end in ends] for measure in (_DIFFERENCE, _TEST))
        for method in METHODS:
            if any(values[method] is None for values in (*differences, *tests)):
                continue
            changes = " to ".join(compact(values[method], unit=_THOUSAND) for values in differences)
            errors = " to ".join(compact(values[method]) for values in tests)
            power = _rate(gaps, method, protocol, settings) if sweep.symbol == "n" else ""
            found.append(f"{WORDS[method]}: difference {changes} thousandths{power}, test error {errors}")
        if found:
            first, last = (_written(sweep, settings[i]) for i in (0, -1))
            texts.append(f"{protocol.capitalize()}, from {sweep.symbol} = {first} to {last}. {'; '.join(found)}.")
        if found and sweep.symbol == "n" and protocol == PROTOCOLS[0]:
            texts.append(prose("figure3.bound"))
        texts += _against_search(gaps, protocol, settings)
        if sweep.symbol == "lambda1" and protocol == "paper":
            texts += _role_of_the_scorer(gaps, settings)
    return texts


def _rate(gaps: Gaps, method: str, protocol: Protocol, settings: Sequence[Setting]) -> str:
    """Return the power of n by which the difference changes, and what its interval is over."""
    items = [gaps.of(method, protocol, setting) for setting in settings]
    found = rate([setting.share for setting in settings], items, _DIFFERENCE)
    if found is None:
        return ""
    interval = ""
    if not math.isnan(found.interval[0]):
        what = "seeds on the same samples" if protocol == "paper" else "draws of samples"
        low, high = found.interval
        interval = f" (95 % {low:.2f} to {high:.2f}, over {len(found.slopes)} {what})"
    return f", {'falling' if found.slope < 0 else 'growing'} as n to the {found.slope:.2f}{interval}"


def _against_search(gaps: Gaps, protocol: Protocol, settings: Sequence[Setting]) -> list[str]:
    """Compare the networks' test errors with the search's."""
    ratios = []
    for setting in settings:
        for method in NETWORKS:
            pair = gaps.values(protocol, setting, _TEST, (method, SEARCH))
            trained, searched = pair[method], pair[SEARCH]
            if searched is not None and trained is not None:
                ratios.append(trained.mean / searched.mean)
    if not ratios:
        return []
    return [
        f"{protocol.capitalize()}: the networks' test error is {span(ratios)} times the search's at the same setting."
    ]


def _role_of_the_scorer(gaps: Gaps, settings: Sequence[Setting]) -> list[str]:
    """Set the change of the test error from lambda1 = 0 to the best lambda1 beside the spread over seeds."""
    texts = []
    for method in METHODS:
        means = {
            setting: value
            for setting in settings
            if (value := gaps.values("paper", setting, _TEST)[method]) is not None
        }
        if len(means) < 2 or settings[0] not in means:
            continue
        best = min(means, key=lambda setting: means[setting].mean)
        texts.append(
            f"{WORDS[method]}: test error {compact(means[settings[0]])} without the scorer (lambda1 = 0), least "
            f"at lambda1 = {best.weight:g} with {compact(means[best])}"
        )
    return [f"Does the scorer help? {'; '.join(texts)}."] if texts else []


def _draw(sweep: Sweep, gaps: Gaps, settings: Sequence[Setting], figure: Figure) -> None:
    panels = protocol_panels(figure, 2)
    places = {setting: float(place) for place, setting in enumerate(settings)}
    for protocol, row in zip(PROTOCOLS, panels, strict=True):
        for axis, (measure, unit) in zip(row, _UNITS.items(), strict=True):
            gaps.curves(axis, protocol, {measure: ("", {})}, places, 0.07, unit)
            if protocol == "paper" and len(settings) == len(sweep.settings):
                _stars(axis, sweep, measure)
            axis.grid(alpha=0.3)
            words = "error difference, test - training" if measure == _DIFFERENCE else "test error"
            axis.set_title(f"{protocol}: {words}")
        row[0].set_ylabel("error difference, thousandths")
        row[1].set_ylabel("test error (mean squared error)")
    for axis in panels[-1]:
        axis.set_xticks(range(len(settings)), [sweep.tick(setting) for setting in settings])
        axis.set_xlabel(sweep.label)
    drawn_legend(figure, ncols=6)


def _stars(axis: Axes, sweep: Sweep, measure: str) -> None:
    """Draw the printed values, and the few points read off the printed curves, which say nothing of what is between."""
    unit, which = _UNITS[measure], list(_UNITS).index(measure)
    read = {place: unit * value for place, pair in sweep.read_off.items() if (value := pair[which]) is not None}
    looks: dict[str, Any] = {"color": GREY, "marker": "x", "markersize": 8, "zorder": 3}
    axis.plot(list(read), list(read.values()), linestyle="none", label="read off the printed figure", **looks)
    for method, (place, train, test) in sweep.printed.items():
        value = unit * (test - train if measure == _DIFFERENCE else test)
        fill = BLACK if method == "|W|" else "none"
        looks = {"color": BLACK, "markerfacecolor": fill, "markersize": 10, "zorder": 4}
        axis.plot([place], [value], linestyle="none", marker="*", label=f"printed {method}", **looks)


def _fill_norms(page: Document, results: Results) -> None:
    gaps = Gaps(results)
    settings = _SWEEP.fast if gaps.fast else _SWEEP.settings
    page.introduce(results, "figure3.norms", dataset=info(gaps.dataset).title)
    for protocol, kind in product(PROTOCOLS, _KINDS):
        rows = []
        for method, (part, (features, _)) in product(METHODS, _PARTS.items()):
            row = [f"{WORDS[method]}, {features}"]
            for setting in settings:
                line = {"k": setting.k, "norm": kind, "columns": part}
                row.append(gaps.cell(page, line, method, protocol, setting, f"norms.{kind}.{part}", 1.0))
            rows.append(row)
        notes = [
            f"Printed for |W| and k = {_PRINTED_K}: {_PRINTED['all']} for all features, {_PRINTED['kept']} for the "
            "selected ones."
        ]
        shown = kind == "norms" and protocol == "paper" and not gaps.fast
        header = ["method", *(f"k = {setting.k}" for setting in settings)]
        page.table(f"{_KINDS[kind]}, {protocol}", header, rows, notes if shown else [])
    if not page.empty:
        caption = "Size of the weights against k, in three ways; error bars: standard deviation over repeats."
        page.draw("figure3d", caption, (11, 7), partial(_draw_norms, gaps, settings))
    page.add(*_read_norms(gaps, settings))


def _read_norms(gaps: Gaps, settings: Sequence[Setting]) -> list[str]:
    """Say by what factor the error difference and each norm of the selected features change over k."""
    texts = []
    for protocol in PROTOCOLS:
        found = []
        for method in METHODS:
            ratios = {}
            for measure in ("difference", *(f"norms.{kind}.{part}" for kind in _KINDS for part in _PARTS)):
                first, last = (
                    gaps.values(protocol, setting, measure)[method] for setting in (settings[0], settings[-1])
                )
                if first is not None and last is not None and first.mean > 0:
                    ratios[measure] = last.mean / first.mean
            if "difference" in ratios and len(ratios) == 1 + len(_KINDS) * len(_PARTS):
                sizes = ", ".join(
                    f"{words.split(',')[0]} {ratios[f'norms.{kind}.kept']:.3g}" for kind, words in _KINDS.items()
                )
                found.append(f"{WORDS[method]}: error difference {ratios['difference']:.3g}, {sizes}")
        if found:
            over = f"from k = {settings[0].k} to {settings[-1].k}"
            texts.append(
                f"{protocol.capitalize()}, selected features, last over first value {over}. {'; '.join(found)}."
            )
    return texts


def _draw_norms(gaps: Gaps, settings: Sequence[Setting], figure: Figure) -> None:
    from matplotlib.ticker import LogFormatter, StrMethodFormatter

    panels = protocol_panels(figure, 3)
    places = {setting: float(setting.k) for setting in settings}
    for protocol, row in zip(PROTOCOLS, panels, strict=True):
        for axis, (kind, words) in zip(row, _KINDS.items(), strict=True):
            curves = {f"norms.{kind}.{part}": (f", {features}", looks) for part, (features, looks) in _PARTS.items()}
            gaps.curves(axis, protocol, curves, places, 0.8, 1.0)
            if kind == "norms" and protocol == "paper" and len(settings) == len(_SWEEP.settings):
                for part, (features, looks) in _PARTS.items():
                    stars = {"color": BLACK, "markersize": 11, "zorder": 4} | looks | {"linestyle": "none"}
                    axis.plot([_PRINTED_K], [_PRINTED[part]], marker="*", label=f"printed |W|, {features}", **stars)
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
            axis.set_title(f"{protocol}:\n{words}", fontsize="medium")
            axis.grid(alpha=0.3)
        row[0].set_ylabel("Frobenius norm, log scale")
    for axis in panels[-1]:
        axis.set_xticks([setting.k for setting in settings])
        axis.set_xlabel("selected features k")
    drawn_legend(figure, ncols=4)


EXPERIMENTS = (
    *(Experiment(sweep.name, sweep.title, partial(sweep_runs, sweep), partial(_fill, sweep)) for sweep in SWEEPS),
    Experiment("figure3d", "Figure 3d: size of the weights against k", partial(sweep_runs, _SWEEP), _fill_norms),
)

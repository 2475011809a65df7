"""Figure 3 a to d: error difference and test error against n, lambda1 and k, and the size of the weights against k."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from ...datasets import info
from .._plots import BLACK, GREY, drawn_legend, protocol_panels
from .._report import NONE, Document, Experiment, compact, prose, published, span
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
_KINDS = {
    "product": "‖W_E W_D‖, the paper's text",
    "norms": "‖[W_E; b_E]‖ ‖[W_D; b_D]‖, its notebooks",
    "map": "‖Φ W_E W_D‖, free of the scores' scale",
}
_PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "all": ("all features", {"linestyle": "-"}),
    "kept": ("selected features", {"linestyle": ":", "markerfacecolor": "none"}),
}


def _fill(sweep: Sweep, page: Document, results: Results) -> None:
    gaps = Gaps(results, sweep)
    page.add(prose("figure3.curves", dataset=info(gaps.dataset).title, bounded=BOUNDED))
    for protocol in PROTOCOLS:
        _table(page, gaps, protocol)
    if not page.empty:
        caption = (
            f"{sweep.title}, as two panels instead of two axes of one; error bars: standard deviation over repeats."
        )
        page.draw(sweep.name, caption, (10, 7.2), partial(_draw, gaps))
    page.add(*_reading(gaps))


def _table(page: Document, gaps: Gaps, protocol: Protocol) -> None:
    rows, notes, sweep = [], [], gaps.sweep
    for setting in gaps.settings:
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
    found = published()["figure3"][sweep.name]
    texts = [
        f"{method} {_THOUSAND * (test - train):.2f}, {test:.4f}"
        for method, (where, train, test) in found["printed"].items()
        if where == place
    ]
    return "; ".join(texts) or next(
        (
            f"~{NONE if difference is None else f'{_THOUSAND * difference:.2g}'}, {test:.4f}"
            for where, difference, test in found["read_off"]
            if where == place
        ),
        NONE,
    )


def _reading(gaps: Gaps) -> list[str]:
    """Say what the runs show."""
    texts, sweep = [], gaps.sweep
    ends = gaps.settings[0], gaps.settings[-1]
    for protocol in PROTOCOLS:
        found = []
        differences, tests = ([gaps.values(protocol, end, measure) for end in ends] for measure in (_DIFFERENCE, _TEST))
        for method in METHODS:
            if any(values[method] is None for values in (*differences, *tests)):
                continue
            changes = " to ".join(compact(values[method], unit=_THOUSAND) for values in differences)
            errors = " to ".join(compact(values[method]) for values in tests)
            power = _rate(gaps, method, protocol) if sweep.symbol == "n" else ""
            found.append(f"{WORDS[method]}: difference {changes} thousandths{power}, test error {errors}")
        if found:
            first, last = (_written(sweep, end) for end in ends)
            texts.append(f"{protocol.capitalize()}, from {sweep.symbol} = {first} to {last}. {'; '.join(found)}.")
        if found and sweep.symbol == "n" and protocol == PROTOCOLS[0]:
            texts.append(prose("figure3.bound"))
        texts += _against_search(gaps, protocol)
        if sweep.symbol == "lambda1" and protocol == "paper":
            texts += _role_of_the_scorer(gaps)
    return texts


def _rate(gaps: Gaps, method: str, protocol: Protocol) -> str:
    """Return the power of n by which the difference changes, and what its interval is over."""
    items = [gaps.of(method, protocol, setting) for setting in gaps.settings]
    found = rate([setting.share for setting in gaps.settings], items, _DIFFERENCE)
    if found is None:
        return ""
    interval = ""
    if not math.isnan(found.interval[0]):
        what = "seeds on the same samples" if protocol == "paper" else "draws of samples"
        low, high = found.interval
        interval = f" (95 % {low:.2f} to {high:.2f}, over {len(found.slopes)} {what})"
    return f", {'falling' if found.slope < 0 else 'growing'} as n to the {found.slope:.2f}{interval}"


def _against_search(gaps: Gaps, protocol: Protocol) -> list[str]:
    """Compare the networks' test errors with the search's."""
    ratios = []
    for setting, method in product(gaps.settings, NETWORKS):
        trained, searched = gaps.values(protocol, setting, _TEST, (method, SEARCH)).values()
        if searched is not None and trained is not None:
            ratios.append(trained.mean / searched.mean)
    if not ratios:
        return []
    return [
        f"{protocol.capitalize()}: the networks' test error is {span(ratios)} times the search's at the same setting."
    ]


def _role_of_the_scorer(gaps: Gaps) -> list[str]:
    """Set the change of the test error from lambda1 = 0 to the best lambda1 beside the spread over seeds."""
    texts, settings = [], gaps.settings
    for method in METHODS:
        values = {setting: gaps.values("paper", setting, _TEST)[method] for setting in settings}
        means = {setting: value for setting, value in values.items() if value is not None}
        if len(means) < 2 or settings[0] not in means:
            continue
        best = min(means, key=lambda setting: means[setting].mean)
        texts.append(
            f"{WORDS[method]}: test error {compact(means[settings[0]])} without the scorer (lambda1 = 0), least "
            f"at lambda1 = {best.weight:g} with {compact(means[best])}"
        )
    return [f"Does the scorer help? {'; '.join(texts)}."] if texts else []


def _draw(gaps: Gaps, figure: Figure) -> None:
    panels, sweep = protocol_panels(figure, 2), gaps.sweep
    places = {setting: float(place) for place, setting in enumerate(gaps.settings)}
    for protocol, row in zip(PROTOCOLS, panels, strict=True):
        for axis, (measure, unit) in zip(row, _UNITS.items(), strict=True):
            gaps.curves(axis, protocol, {measure: ("", {})}, places, 0.07, unit)
            if protocol == "paper" and not gaps.fast:
                _stars(axis, sweep, measure)
            axis.grid(alpha=0.3)
            axis.set_title(f"{protocol}: {'error difference, test - training' if unit > 1 else 'test error'}")
        row[0].set_ylabel("error difference, thousandths")
        row[1].set_ylabel("test error (mean squared error)")
    for axis in panels[-1]:
        axis.set_xticks(range(len(places)), map(sweep.tick, places))
        axis.set_xlabel(sweep.label)
    drawn_legend(figure, ncols=6)


def _stars(axis: Axes, sweep: Sweep, measure: str) -> None:
    """Draw the printed values, and the few points read off the printed curves, which say nothing of what is between."""
    unit, which, found = _UNITS[measure], list(_UNITS).index(measure), published()["figure3"][sweep.name]
    read = {place: unit * pair[which] for place, *pair in found["read_off"] if pair[which] is not None}
    looks: dict[str, Any] = {"color": GREY, "marker": "x", "markersize": 8, "zorder": 3}
    axis.plot(list(read), list(read.values()), linestyle="none", label="read off the printed figure", **looks)
    for method, (place, train, test) in found["printed"].items():
        value = unit * (test - train if measure == _DIFFERENCE else test)
        fill = BLACK if method == "|W|" else "none"
        looks = {"color": BLACK, "markerfacecolor": fill, "markersize": 10, "zorder": 4}
        axis.plot([place], [value], linestyle="none", marker="*", label=f"printed {method}", **looks)


def _fill_norms(page: Document, results: Results) -> None:
    gaps, printed = Gaps(results, SWEEPS[-1]), published()["figure3"]["norms"]
    settings = gaps.settings
    page.add(prose("figure3.norms", dataset=info(gaps.dataset).title))
    for protocol, kind in product(PROTOCOLS, _KINDS):
        rows = []
        for method, (part, (features, _)) in product(METHODS, _PARTS.items()):
            row = [f"{WORDS[method]}, {features}"]
            for setting in settings:
                line = {"k": setting.k, "norm": kind, "columns": part}
                row.append(gaps.cell(page, line, method, protocol, setting, f"norms.{kind}.{part}", 1.0))
            rows.append(row)
        notes = []
        if kind == "norms" and protocol == "paper" and not gaps.fast:
            words = "{all} for all features, {kept} for the selected ones.".format(**printed)
            notes = [f"Printed for |W| and k = {printed['k']}: {words}"]
        page.table(
            f"{_KINDS[kind]}, {protocol}", ["method", *(f"k = {setting.k}" for setting in settings)], rows, notes
        )
    if not page.empty:
        caption = "Size of the weights against k, in three ways; error bars: standard deviation over repeats."
        page.draw("figure3d", caption, (11, 7), partial(_draw_norms, gaps))
    page.add(*_read_norms(gaps))


def _read_norms(gaps: Gaps) -> list[str]:
    """Say by what factor the error difference and each norm of the selected features change over k."""
    texts, ends = [], (gaps.settings[0], gaps.settings[-1])
    measures = {"error difference": _DIFFERENCE}
    measures |= {words.split(",")[0]: f"norms.{kind}.kept" for kind, words in _KINDS.items()}
    for protocol in PROTOCOLS:
        found = []
        for method in METHODS:
            ratios = []
            for words, measure in measures.items():
                first, last = (gaps.values(protocol, end, measure)[method] for end in ends)
                if first is not None and last is not None and first.mean > 0:
                    ratios.append(f"{words} {last.mean / first.mean:.3g}")
            if len(ratios) == len(measures):
                found.append(f"{WORDS[method]}: {', '.join(ratios)}")
        if found:
            over = f"last over first value from k = {ends[0].k} to {ends[1].k}"
            texts.append(f"{protocol.capitalize()}, selected features, {over}. {'; '.join(found)}.")
    return texts


def _draw_norms(gaps: Gaps, figure: Figure) -> None:
    from matplotlib.ticker import LogFormatter, StrMethodFormatter

    panels, printed = protocol_panels(figure, 3), published()["figure3"]["norms"]
    places = {setting: float(setting.k) for setting in gaps.settings}
    for protocol, row in zip(PROTOCOLS, panels, strict=True):
        for axis, (kind, words) in zip(row, _KINDS.items(), strict=True):
            curves = {f"norms.{kind}.{part}": (f", {features}", looks) for part, (features, looks) in _PARTS.items()}
            gaps.curves(axis, protocol, curves, places, 0.8, 1.0)
            if kind == "norms" and protocol == "paper" and not gaps.fast:
                for part, (features, looks) in _PARTS.items():
                    stars = {"color": BLACK, "markersize": 11, "zorder": 4} | looks | {"linestyle": "none"}
                    axis.plot([printed["k"]], [printed[part]], marker="*", label=f"printed |W|, {features}", **stars)
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
            axis.set_title(f"{protocol}:\n{words}", fontsize="medium")
            axis.grid(alpha=0.3)
        row[0].set_ylabel("Frobenius norm, log scale")
    for axis in panels[-1]:
        axis.set_xticks(list(places.values()))
        axis.set_xlabel("selected features k")
    drawn_legend(figure, ncols=4)


EXPERIMENTS = (
    *(Experiment(sweep.name, sweep.title, partial(sweep_runs, sweep), partial(_fill, sweep)) for sweep in SWEEPS),
    Experiment("figure3d", "Figure 3d: size of the weights against k", partial(sweep_runs, SWEEPS[-1]), _fill_norms),
)

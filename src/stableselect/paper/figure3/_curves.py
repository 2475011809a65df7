"""Figure 3 a to c: error difference and test error against n, lambda1 and k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ...datasets import info
from ...experiments import Run
from ..methods import Options, Protocol, Results
from ..report import BLACK, GREY, NONE, Document, Experiment, Picture, Table, picture
from ._gap import KS, METHODS, SHARES, WEIGHTS, Gaps, Setting, gap_runs
from ._shared import BOUNDED, NETWORKS, PROTOCOLS, SEARCH, WORDS, compact, drawn_legend, protocol_panels, rate, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIFFERENCE, _TEST = "difference", "test.selector"
_THOUSAND = 1e3
"""Differences are shown in thousandths."""
_UNITS = {_DIFFERENCE: _THOUSAND, _TEST: 1.0}


@dataclass(frozen=True)
class Sweep:
    """One of the three panels.

    Attributes
    ----------
    name, title : str
        Of the experiment.
    symbol, label : str
        What is varied, for the table and for the axis.
    settings, fast : tuple of Setting
        The published grid, and that of a fast run.
    ticks : tuple of str
        How the settings are written.
    printed : dict
        From a network to the place in the grid, the printed training and the printed test error.
    read_off : dict
        From places in the grid to the difference and the test error read off the printed figure.
    """

    name: str
    title: str
    symbol: str
    label: str
    settings: tuple[Setting, ...]
    fast: tuple[Setting, ...]
    ticks: tuple[str, ...]
    printed: dict[str, tuple[int, float, float]]
    read_off: dict[int, tuple[float | None, float]]

    def tick(self, setting: Setting) -> str:
        """Write a setting of the grid."""
        return self.ticks[self.settings.index(setting)]


SWEEPS = (
    Sweep(
        "figure3a",
        "Figure 3a: error difference and test error against the number of samples",
        "n",
        "training samples, % (100 %: 5,400 images of MNIST-Fashion)",
        tuple(Setting(share=share) for share in SHARES),
        (Setting(share=SHARES[0]), Setting(share=SHARES[-1])),
        tuple(str(share) for share in SHARES),
        {"|W|": (9, 0.02088, 0.02156), "W^2": (9, 0.02144, 0.02226)},
        {0: (2.5e-3, 0.0275), 9: (7e-4, 0.0215)},
    ),
    Sweep(
        "figure3b",
        "Figure 3b: error difference and test error against lambda1",
        "lambda1",
        "scorer's weight lambda1 (steps of the grid, not to scale)",
        tuple(Setting(weight=weight) for weight in WEIGHTS),
        (Setting(weight=WEIGHTS[0]), Setting(weight=WEIGHTS[4])),
        tuple(f"{weight:g}" for weight in WEIGHTS),
        {"|W|": (2, 0.02121, 0.02193), "W^2": (2, 0.02161, 0.02237)},
        {0: (9e-4, 0.025), 2: (None, 0.022), 8: (1.7e-4, 0.034)},
    ),
    Sweep(
        "figure3c",
        "Figure 3c: error difference and test error against k",
        "k",
        "selected features k",
        tuple(Setting(k=k) for k in KS),
        tuple(Setting(k=k) for k in KS[:2]),
        tuple(str(k) for k in KS),
        {"|W|": (5, 0.01932, 0.02024), "W^2": (5, 0.01915, 0.02010)},
        {0: (2.8e-4, 0.043), 5: (9.3e-4, 0.020)},
    ),
)
"""Printed errors are those of the one notebook that is kept of each sweep; the rest is read off the printed figure."""


def sweep_runs(sweep: Sweep, protocol: Protocol, options: Options) -> list[Run]:
    """Return the runs of a panel."""
    return gap_runs(sweep.fast if options.fast else sweep.settings, protocol, options)


def _render(sweep: Sweep, results: Results) -> Document:
    gaps = Gaps(results)
    settings = sweep.fast if gaps.fast else sweep.settings
    text = (
        f"{info(gaps.dataset).title}. Mean squared error (averaged over samples and features) of the network's own "
        "output through its selected features. Error difference: on the test samples minus on the samples fitted on. "
        "Paper: the first samples, as published, repeated over seeds; the search does not depend on a seed and has one "
        f"value. Corrected: samples drawn at random, {BOUNDED}, and another seed for each repeat. ± and error bars: "
        "standard deviation over the repeats."
    )
    data: list[dict[str, Any]] = []
    tables = [_table(sweep, gaps, protocol, settings, data) for protocol in PROTOCOLS]
    reading = _reading(sweep, gaps, settings)
    return gaps.page(sweep.name, sweep.title, [text, *tables], data, lambda: _draw(sweep, gaps, settings), reading)


def _table(
    sweep: Sweep, gaps: Gaps, protocol: Protocol, settings: Sequence[Setting], data: list[dict[str, Any]]
) -> Table:
    rows, notes = [], []
    for setting in settings:
        row = [_written(sweep, setting)]
        for method in METHODS:
            for measure, unit in _UNITS.items():
                text, values = gaps.cell(method, protocol, setting, measure, unit)
                row.append(text)
                line = {"protocol": protocol, "method": method, sweep.symbol: sweep.tick(setting), "measure": measure}
                data.append(line | values)
        rows.append(row)
    header = [sweep.symbol]
    for method in METHODS:
        header += [f"{WORDS[method]}: difference × 1000", "test error"]  # noqa: RUF001
    if protocol == "paper" and not gaps.fast:
        header.append("printed: difference × 1000, test error")  # noqa: RUF001
        rows = [[*row, _printed(sweep, place)] for place, row in enumerate(rows)]
        notes.append("Printed: those with a network's name from the authors' notebooks; ~ read off their figure.")
    return Table(f"{info(gaps.dataset).title}, {protocol}", header, rows, notes)


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
            texts.append(
                "The paper's bound falls as n to the -0.5. Under paper the intervals come from seeds on the same "
                "samples, so they say nothing of other samples."
            )
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


def _draw(sweep: Sweep, gaps: Gaps, settings: Sequence[Setting]) -> Picture:
    figure, panels = protocol_panels(2, 10, 7.2)
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
    caption = f"{sweep.title}, as two panels instead of two axes of one; error bars: standard deviation over repeats."
    return picture(sweep.name, caption, figure)


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


EXPERIMENTS = tuple(
    Experiment(sweep.name, sweep.title, partial(sweep_runs, sweep), partial(_render, sweep)) for sweep in SWEEPS
)

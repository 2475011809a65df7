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
from ..report import BLACK, GREY, NONE, Block, Document, Experiment, Picture, Table, drawn, picture
from ._gap import KS, METHODS, SHARES, WEIGHTS, Setting, compared, dataset, gap_groups, gap_runs
from ._shared import (
    BOUNDED,
    FAST_NOTE,
    LOOKS,
    NETWORKS,
    PROTOCOLS,
    SEARCH,
    WORDS,
    Groups,
    compact,
    csv_value,
    drawn_legend,
    error_bars,
    missing,
    rate,
    span,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIFFERENCE, _TEST = "difference", "test.selector"
_THOUSAND = 1e3
"""Differences are shown in thousandths."""
_ASIDE = (-0.07, 0.07, 0.0)
"""The two networks are so alike that their marks would cover each other."""


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


def _runs(sweep: Sweep, protocol: Protocol, options: Options) -> list[Run]:
    return gap_runs(sweep.fast if options.fast else sweep.settings, protocol, options)


def _render(sweep: Sweep, results: Results) -> Document:
    gaps, fast = gap_groups(results), results.mode == "fast"
    name, settings = dataset(fast=fast), sweep.fast if fast else sweep.settings
    blocks: list[Block] = [
        f"{info(name).title}. Mean squared error (averaged over samples and features) of the network's own output "
        "through its selected features. Error difference: on the test samples minus on the samples fitted on. Paper: "
        "the first samples, as published, repeated over seeds; the search does not depend on a seed and has one value. "
        f"Corrected: samples drawn at random, {BOUNDED}, and another seed for each repeat. ± and error bars: standard "
        "deviation over the repeats."
    ]
    data: list[dict[str, Any]] = []
    for protocol in PROTOCOLS:
        blocks.append(_table(sweep, results, gaps, protocol, settings, data))
    if any(row["mean"] != "" for row in data):
        blocks.append(drawn(lambda: _draw(sweep, gaps, settings)))
    blocks += _reading(sweep, gaps, settings)
    if fast:
        blocks.insert(0, FAST_NOTE)
    return Document(sweep.name, sweep.title, blocks, data)


def _table(
    sweep: Sweep,
    results: Results,
    gaps: Groups,
    protocol: Protocol,
    settings: Sequence[Setting],
    data: list[dict[str, Any]],
) -> Table:
    rows = []
    for place, setting in enumerate(settings):
        row = [_written(sweep, setting)]
        found = {measure: compared(gaps, protocol, setting, measure) for measure in (_DIFFERENCE, _TEST)}
        for method in METHODS:
            why = missing(results, dataset(fast=results.mode == "fast"), gaps[method, protocol, setting])
            for measure, unit in ((_DIFFERENCE, _THOUSAND), (_TEST, 1.0)):
                value = found[measure][method]
                row.append(compact(value, why, unit))
                line = {"protocol": protocol, "method": method, sweep.symbol: sweep.tick(setting), "measure": measure}
                data.append(line | csv_value(value))
        rows.append([*row, *(_printed(sweep, place) if protocol == "paper" and results.mode == "full" else ())])
    header = [sweep.symbol]
    for method in METHODS:
        header += [f"{WORDS[method]}: difference × 1000", "test error"]  # noqa: RUF001
    notes = []
    if protocol == "paper" and results.mode == "full":
        header.append("printed: difference × 1000, test error")  # noqa: RUF001
        notes.append("Printed: those with a network's name from the authors' notebooks; ~ read off their figure.")
    return Table(f"{info(dataset(fast=results.mode == 'fast')).title}, {protocol}", header, rows, notes)


def _written(sweep: Sweep, setting: Setting) -> str:
    return f"{sweep.tick(setting)} %" if sweep.symbol == "n" else sweep.tick(setting)


def _printed(sweep: Sweep, place: int) -> list[str]:
    texts = [
        f"{method} {_THOUSAND * (test - train):.2f}, {test:.4f}"
        for method, (where, train, test) in sweep.printed.items()
        if where == place
    ]
    if not texts and place in sweep.read_off:
        difference, test = sweep.read_off[place]
        texts = [f"~{NONE if difference is None else f'{_THOUSAND * difference:.2g}'}, {test:.4f}"]
    return ["; ".join(texts) or NONE]


def _reading(sweep: Sweep, gaps: Groups, settings: Sequence[Setting]) -> list[Block]:
    """Say what the runs show."""
    texts: list[Block] = []
    ends = settings[0], settings[-1]
    for protocol in PROTOCOLS:
        found = []
        differences, tests = (
            [compared(gaps, protocol, end, measure) for end in ends] for measure in (_DIFFERENCE, _TEST)
        )
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


def _rate(gaps: Groups, method: str, protocol: Protocol, settings: Sequence[Setting]) -> str:
    """Return the power of n by which the difference changes, and what its interval is over."""
    items = [gaps[method, protocol, setting] for setting in settings]
    found = rate([setting.share for setting in settings], items, _DIFFERENCE)
    if found is None:
        return ""
    interval = ""
    if not math.isnan(found.interval[0]):
        what = "seeds on the same samples" if protocol == "paper" else "draws of samples"
        low, high = found.interval
        interval = f" (95 % {low:.2f} to {high:.2f}, over {len(found.slopes)} {what})"
    return f", {'falling' if found.slope < 0 else 'growing'} as n to the {found.slope:.2f}{interval}"


def _against_search(gaps: Groups, protocol: Protocol, settings: Sequence[Setting]) -> list[str]:
    """Compare the networks' test errors with the search's."""
    ratios = []
    for setting in settings:
        for method in NETWORKS:
            pair = compared(gaps, protocol, setting, _TEST, (method, SEARCH))
            trained, searched = pair[method], pair[SEARCH]
            if searched is not None and trained is not None:
                ratios.append(trained.mean / searched.mean)
    if not ratios:
        return []
    return [
        f"{protocol.capitalize()}: the networks' test error is {span(ratios)} times the search's at the same setting."
    ]


def _role_of_the_scorer(gaps: Groups, settings: Sequence[Setting]) -> list[str]:
    """Set the change of the test error from lambda1 = 0 to the best lambda1 beside the spread over seeds."""
    texts = []
    for method in METHODS:
        means = {
            setting: value
            for setting in settings
            if (value := compared(gaps, "paper", setting, _TEST)[method]) is not None
        }
        if len(means) < 2 or settings[0] not in means:
            continue
        best = min(means, key=lambda setting: means[setting].mean)
        texts.append(
            f"{WORDS[method]}: test error {compact(means[settings[0]])} without the scorer (lambda1 = 0), least "
            f"at lambda1 = {best.weight:g} with {compact(means[best])}"
        )
    return [f"Does the scorer help? {'; '.join(texts)}."] if texts else []


def _draw(sweep: Sweep, gaps: Groups, settings: Sequence[Setting]) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7.2), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey="col", squeeze=False)
    for protocol, row in zip(PROTOCOLS, panels, strict=True):
        for axis, measure in zip(row, (_DIFFERENCE, _TEST), strict=True):
            _curves(axis, gaps, protocol, settings, measure)
            if protocol == "paper" and len(settings) == len(sweep.settings):
                _stars(axis, sweep, measure)
            axis.grid(alpha=0.3)
            axis.set_title(
                f"{protocol}: " + ("error difference, test - training" if measure == _DIFFERENCE else "test error")
            )
        row[0].set_ylabel("error difference, thousandths")
        row[1].set_ylabel("test error (mean squared error)")
    for axis in panels[-1]:
        axis.set_xticks(range(len(settings)), [sweep.tick(setting) for setting in settings])
        axis.set_xlabel(sweep.label)
    drawn_legend(figure, ncols=6)
    caption = f"{sweep.title}, as two panels instead of two axes of one; error bars: standard deviation over repeats."
    return picture(sweep.name, caption, figure)


def _curves(axis: Axes, gaps: Groups, protocol: Protocol, settings: Sequence[Setting], measure: str) -> None:
    unit = _THOUSAND if measure == _DIFFERENCE else 1.0
    for aside, method in zip(_ASIDE, METHODS, strict=True):
        values = [compared(gaps, protocol, setting, measure)[method] for setting in settings]
        places = [place + aside for place in range(len(settings))]
        error_bars(axis, places, values, unit, label=WORDS[method], **LOOKS[method])


def _stars(axis: Axes, sweep: Sweep, measure: str) -> None:
    """Draw the printed values, and the few points read off the printed curves, which say nothing of what is between."""
    unit, which = (_THOUSAND, 0) if measure == _DIFFERENCE else (1.0, 1)
    read = {place: pair[which] for place, pair in sweep.read_off.items() if pair[which] is not None}
    axis.plot(
        list(read),
        [unit * value for value in read.values() if value is not None],
        color=GREY,
        linestyle="none",
        marker="x",
        markersize=8,
        zorder=3,
        label="read off the printed figure",
    )
    for method, (place, train, test) in sweep.printed.items():
        value = unit * (test - train if measure == _DIFFERENCE else test)
        fill = BLACK if method == "|W|" else "none"
        looks: dict[str, Any] = {"color": BLACK, "markerfacecolor": fill, "markersize": 10, "zorder": 4}
        axis.plot([place], [value], linestyle="none", marker="*", label=f"printed {method}", **looks)


EXPERIMENTS = tuple(
    Experiment(sweep.name, sweep.title, partial(_runs, sweep), partial(_render, sweep)) for sweep in SWEEPS
)

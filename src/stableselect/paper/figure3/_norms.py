"""Figure 3 d: the size of the weights against k, from the runs of Figure 3 c."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...datasets import info
from ...experiments import Run
from ..methods import Options, Protocol, Results
from ..report import BLACK, Block, Document, Experiment, Picture, Table, drawn, picture
from ._curves import SWEEPS
from ._gap import METHODS, Setting, compared, dataset, gap_groups, gap_runs
from ._shared import (
    FAST_NOTE,
    LOOKS,
    PROTOCOLS,
    WORDS,
    Groups,
    compact,
    csv_value,
    drawn_legend,
    error_bars,
    missing,
)

_SWEEP = SWEEPS[-1]
_KINDS = {
    "product": "‖W_E W_D‖, the paper's text",
    "norms": "‖[W_E; b_E]‖ ‖[W_D; b_D]‖, its notebooks",
    "map": "‖Φ W_E W_D‖, free of the scores' scale",
}
_PARTS = {"all": ("all features", "-"), "kept": ("selected features", ":")}
_PRINTED = {("norms", "all"): 271.3, ("norms", "kept"): 210.4}
"""Of the authors' notebook with |W| and k = 85."""
_PRINTED_K = 85
_ASIDE = (-0.8, 0.8, 0.0)
"""Steps in k, so that the marks do not cover each other."""


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    return gap_runs(_SWEEP.fast if options.fast else _SWEEP.settings, protocol, options)


def _render(results: Results) -> Document:
    gaps, fast = gap_groups(results), results.mode == "fast"
    settings = _SWEEP.fast if fast else _SWEEP.settings
    blocks: list[Block] = [
        f"{info(dataset(fast=fast)).title}, the networks of Figure 3c. The paper's text speaks of the Frobenius norm "
        "of W_E W_D, and of the same with the rows of discarded features set to zero; its notebooks plot the product "
        "of the two norms, with the bias as one more row of each. Neither is fixed by the model: a factor can move "
        "from the scores Phi to the encoder and leave every output as it is. The search's scores have a scale by "
        "convention, under which features of hardly any variance get long encoder rows. The third norm, that of "
        "Phi W_E W_D, is the one that compares. ± and error bars: standard deviation over the repeats."
    ]
    data: list[dict[str, Any]] = []
    for protocol in PROTOCOLS:
        for kind, words in _KINDS.items():
            blocks.append(_table(results, gaps, protocol, settings, kind, words, data))
    if any(row["mean"] != "" for row in data):
        blocks.append(drawn(lambda: _draw(gaps, settings)))
    blocks += _reading(gaps, settings)
    if fast:
        blocks.insert(0, FAST_NOTE)
    return Document("figure3d", EXPERIMENT.title, blocks, data)


def _table(
    results: Results,
    gaps: Groups,
    protocol: Protocol,
    settings: Sequence[Setting],
    kind: str,
    words: str,
    data: list[dict[str, Any]],
) -> Table:
    rows = []
    for method in METHODS:
        for part, (features, _) in _PARTS.items():
            row = [f"{WORDS[method]}, {features}"]
            for setting in settings:
                value = compared(gaps, protocol, setting, f"norms.{kind}.{part}")[method]
                why = missing(results, dataset(fast=results.mode == "fast"), gaps[method, protocol, setting])
                row.append(compact(value, why))
                line = {"protocol": protocol, "method": method, "k": setting.k, "norm": kind, "columns": part}
                data.append(line | csv_value(value))
            rows.append(row)
    notes = []
    if kind == "norms" and protocol == "paper" and results.mode == "full":
        notes.append(
            f"Printed for |W| and k = {_PRINTED_K}: {_PRINTED[kind, 'all']} for all features, {_PRINTED[kind, 'kept']} "
            "for the selected ones."
        )
    return Table(f"{words}, {protocol}", ["method", *(f"k = {setting.k}" for setting in settings)], rows, notes)


def _reading(gaps: Groups, settings: Sequence[Setting]) -> list[str]:
    """Say by what factor the error difference and each norm of the selected features change over k."""
    texts = []
    for protocol in PROTOCOLS:
        found = []
        for method in METHODS:
            ratios = {}
            for measure in ("difference", *(f"norms.{kind}.{part}" for kind in _KINDS for part in _PARTS)):
                first, last = (
                    compared(gaps, protocol, setting, measure)[method] for setting in (settings[0], settings[-1])
                )
                if first is not None and last is not None and first.mean > 0:
                    ratios[measure] = last.mean / first.mean
            if "difference" in ratios and len(ratios) == 1 + len(_KINDS) * len(_PARTS):
                sizes = ", ".join(
                    f"{words.split(',')[0]} {ratios[f'norms.{kind}.kept']:.3g}" for kind, words in _KINDS.items()
                )
                found.append(f"{WORDS[method]}: error difference {ratios['difference']:.3g}, {sizes}")
        if found:
            span = f"from k = {settings[0].k} to {settings[-1].k}"
            texts.append(
                f"{protocol.capitalize()}, selected features, last over first value {span}. {'; '.join(found)}."
            )
    return texts


def _draw(gaps: Groups, settings: Sequence[Setting]) -> Picture:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter, StrMethodFormatter

    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey="col", squeeze=False)
    for protocol, row in zip(PROTOCOLS, panels, strict=True):
        for axis, (kind, words) in zip(row, _KINDS.items(), strict=True):
            for aside, method in zip(_ASIDE, METHODS, strict=True):
                for part, (features, dashes) in _PARTS.items():
                    measure = f"norms.{kind}.{part}"
                    error_bars(
                        axis,
                        [setting.k + aside for setting in settings],
                        [compared(gaps, protocol, setting, measure)[method] for setting in settings],
                        label=f"{WORDS[method]}, {features}",
                        linestyle=dashes,
                        markerfacecolor=LOOKS[method]["color"] if part == "all" else "none",
                        **LOOKS[method],
                    )
            if kind == "norms" and protocol == "paper" and len(settings) == len(_SWEEP.settings):
                for part, (features, _) in _PARTS.items():
                    fill = BLACK if part == "all" else "none"
                    looks: dict[str, Any] = {"color": BLACK, "markerfacecolor": fill, "markersize": 11, "zorder": 4}
                    label = f"printed |W|, {features}"
                    axis.plot([_PRINTED_K], [_PRINTED[kind, part]], "*", label=label, **looks)
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
    caption = "Size of the weights against k, in three ways; error bars: standard deviation over repeats."
    return picture("figure3d", caption, figure)


EXPERIMENT = Experiment("figure3d", "Figure 3d: size of the weights against k", _runs, _render)

"""Figure 3 d: the size of the weights against k, from the runs of Figure 3 c."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...datasets import info
from ..methods import Protocol, Results
from ..report import BLACK, Document, Experiment, Picture, Table, picture
from ._curves import SWEEPS, sweep_runs
from ._gap import METHODS, Gaps, Setting
from ._shared import PROTOCOLS, WORDS, drawn_legend, protocol_panels

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


def _render(results: Results) -> Document:
    gaps = Gaps(results)
    settings = _SWEEP.fast if gaps.fast else _SWEEP.settings
    text = (
        f"{info(gaps.dataset).title}, the networks of Figure 3c. The paper's text speaks of the Frobenius norm "
        "of W_E W_D, and of the same with the rows of discarded features set to zero; its notebooks plot the product "
        "of the two norms, with the bias as one more row of each. Neither is fixed by the model: a factor can move "
        "from the scores Phi to the encoder and leave every output as it is. The search's scores have a scale by "
        "convention, under which features of hardly any variance get long encoder rows. The third norm, that of "
        "Phi W_E W_D, is the one that compares. ± and error bars: standard deviation over the repeats."
    )
    data: list[dict[str, Any]] = []
    tables = [_table(gaps, protocol, settings, kind, data) for protocol in PROTOCOLS for kind in _KINDS]
    reading = _reading(gaps, settings)
    return gaps.page("figure3d", EXPERIMENT.title, [text, *tables], data, lambda: _draw(gaps, settings), reading)


def _table(gaps: Gaps, protocol: Protocol, settings: Sequence[Setting], kind: str, data: list[dict[str, Any]]) -> Table:
    rows = []
    for method in METHODS:
        for part, (features, _) in _PARTS.items():
            row = [f"{WORDS[method]}, {features}"]
            for setting in settings:
                text, values = gaps.cell(method, protocol, setting, f"norms.{kind}.{part}")
                row.append(text)
                line = {"protocol": protocol, "method": method, "k": setting.k, "norm": kind, "columns": part}
                data.append(line | values)
            rows.append(row)
    notes = []
    if kind == "norms" and protocol == "paper" and not gaps.fast:
        notes.append(
            f"Printed for |W| and k = {_PRINTED_K}: {_PRINTED['all']} for all features, {_PRINTED['kept']} for the "
            "selected ones."
        )
    return Table(f"{_KINDS[kind]}, {protocol}", ["method", *(f"k = {setting.k}" for setting in settings)], rows, notes)


def _reading(gaps: Gaps, settings: Sequence[Setting]) -> list[str]:
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
            span = f"from k = {settings[0].k} to {settings[-1].k}"
            texts.append(
                f"{protocol.capitalize()}, selected features, last over first value {span}. {'; '.join(found)}."
            )
    return texts


def _draw(gaps: Gaps, settings: Sequence[Setting]) -> Picture:
    from matplotlib.ticker import LogFormatter, StrMethodFormatter

    figure, panels = protocol_panels(3, 11, 7)
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
    caption = "Size of the weights against k, in three ways; error bars: standard deviation over repeats."
    return picture("figure3d", caption, figure)


EXPERIMENT = Experiment("figure3d", "Figure 3d: size of the weights against k", partial(sweep_runs, _SWEEP), _render)

"""Errors against one setting: the number of selected features (Supplementary Figure 8), and the scorer's weight."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from ...datasets import info
from ...experiments import Run, Value, by_repeat
from .._plots import BLUE, GREY, VERMILION, error_bars, line_style
from .._report import NONE, Document, experiment, number, prose, published
from ..methods import METHODS, NOT_AVAILABLE, PROTOCOLS, WEIGHTS, Options, Protocol, Results, fraction, plan, weighted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BY_K = "isolet"
_KS = (10, 25, 40, 55, 70, 85)
_SPLITS = 2
_MEASURES = {"least_squares": "reconstruction error", "accuracy": "accuracy"}
_BY_WEIGHT = "mnist_fashion"
_SOLVERS = {"|W|": ("published network", VERMILION), "ScorerSelector": ("search", BLUE)}
_ERRORS = {
    "validation.own": ("own output", "-", "o"),
    "validation.least_squares": ("least squares", "--", "s"),
}


def _runs_by_k(protocol: Protocol, options: Options) -> list[Run]:
    """Return all methods at every k: two splits, one seed; none in a fast run, which leaves ISOLET out."""
    methods = tuple(METHODS)
    runs = [run for k in _KS for run in plan(protocol, options, (_BY_K,), methods=methods, k=k, splits=_SPLITS)]
    return [run for run in runs if run.seed == 0]


@experiment("supp_figure8", "Supplementary Figure 8: error and accuracy against k on ISOLET", _runs_by_k)
def supp_figure8(page: Document, results: Results) -> None:
    """Show error and accuracy against the number of selected features."""
    page.add(prose("figures.supp_figure8"))
    for measure, protocol in product(_MEASURES, PROTOCOLS):
        _table(page, results, protocol, measure)
    if not page.empty:
        page.draw("supp_figure8", "ISOLET under corrected, mean over splits.", (9, 8), partial(_draw_by_k, results))


def _table(page: Document, results: Results, protocol: Protocol, measure: str) -> None:
    printed = published()["isolet_by_k"][measure]
    rows = []
    for method in METHODS:
        row = [method]
        for k in _KS:
            value = results.value(_BY_K, method, protocol, measure, k)
            missing = "n/a" if results.reason(_BY_K, method, protocol, k) == NOT_AVAILABLE else NONE
            line = {"k": k, "method": method, "protocol": protocol, "measure": measure}
            row.append(page.cell(line, value, measure, missing, spread=False))
        rows.append(row)
        if protocol == "paper" and method in printed:
            share = 100 if measure == "accuracy" else 1
            rows.append([f"{method} as printed", *(number(value / share, measure) for value in printed[method])])
    page.table(f"ISOLET, {_MEASURES[measure]}, {protocol}", ["method", *(f"k = {k}" for k in _KS)], rows)


def _draw_by_k(results: Results, figure: Figure) -> None:
    from matplotlib.ticker import StrMethodFormatter

    panels = figure.subplots(2, 1, sharex=True)
    for axis, measure in zip(panels, _MEASURES, strict=True):
        for method in METHODS:
            unit = 100 if measure == "accuracy" else 1
            points = [(k, unit * v.mean) for k in _KS if (v := results.value(_BY_K, method, "corrected", measure, k))]
            if points:
                axis.plot(*zip(*points, strict=True), label=method, **line_style(method))
        axis.grid(alpha=0.3)
    panels[0].set(yscale="log", ylabel="reconstruction error (mean square)")
    panels[0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panels[0].yaxis.set_minor_formatter(StrMethodFormatter("{x:g}"))
    panels[1].set(ylabel="accuracy, %", xlabel="selected features k", xticks=_KS)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")


def _runs_by_weight(protocol: Protocol, options: Options) -> list[Run]:
    """Return the grid on the published split; one seed, unless more are asked for than a run has by default."""
    if protocol != "paper":
        return []
    seeds = options.seeds if options.seeds > Options().seeds else 1
    names = tuple(weighted(solver, weight) for solver in _SOLVERS for weight in WEIGHTS)
    return [run for run in plan(protocol, options, (_BY_WEIGHT,), methods=names) if run.seed < seeds]


@experiment("lambda_search", "Search for lambda: the weight of the scorer's term", _runs_by_weight)
def lambda_search(page: Document, results: Results) -> None:
    """Show the error on validation samples over the published grid of the scorer's weight."""
    page.add(prose("figures.lambda_search"))
    rows: list[list[str]] = []
    for weight in WEIGHTS:
        row = [fraction(weight)]
        for solver, (words, _) in _SOLVERS.items():
            name = weighted(solver, weight)
            for measure in _ERRORS:
                value = results.value(_BY_WEIGHT, name, "paper", measure)
                line = {"weight": weight, "solver": words, "measure": measure.removeprefix("validation.")}
                row.append(page.cell(line, value, "error", results.reason(_BY_WEIGHT, name, "paper")))
            if solver == "|W|":
                row.append(NONE if value is None else str(value.count))
        rows.append(row)
    header = ["weight", "network own", "network refit", "seeds", "search own", "search refit"]
    notes = ["± is the standard deviation over seeds, where there are several.", *_reading(results)]
    page.table(f"{info(_BY_WEIGHT).title}, validation error", header, rows, notes)
    if not page.empty:
        caption = "Validation error on MNIST-Fashion against the scorer's weight."
        page.draw("lambda_search", caption, (8, 4.2), partial(_draw_by_weight, results))


def _reading(results: Results) -> list[str]:
    """Say which weight is best, and how far apart the seeds of one weight are beside all weights."""
    text = []
    for solver, (words, _) in _SOLVERS.items():
        found = {weight: value.mean for weight, value in _values(results, solver, "validation.own").items()}
        if found:
            best = min(found, key=lambda weight: found[weight])
            least, most = (number(end, "error") for end in (found[best], max(found.values())))
            text.append(prose("figures.least_error", solver=words, least=least, weight=fraction(best), most=most))
    seeds = by_repeat(results.stored(_BY_WEIGHT, "|W|", "paper"), "validation.own").values()
    if len(seeds) > 1:
        least, most = (number(end, "error") for end in (min(seeds), max(seeds)))
        text.append(prose("figures.seeds", number=len(seeds), least=least, most=most))
    return text


def _values(results: Results, solver: str, measure: str) -> dict[float, Value]:
    """Return a measure by weight, where there is one."""
    found = {weight: results.value(_BY_WEIGHT, weighted(solver, weight), "paper", measure) for weight in WEIGHTS}
    return {weight: value for weight, value in found.items() if value}


def _draw_by_weight(results: Results, figure: Figure) -> None:
    axis = figure.subplots()
    for solver, (words, colour) in _SOLVERS.items():
        for measure, (kind, dashes, mark) in _ERRORS.items():
            points = _values(results, solver, measure)
            looks: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": mark, "markersize": 5}
            error_bars(axis, list(points), list(points.values()), label=f"{words}, {kind}", **looks)
    axis.axvline(1 / 128, color=GREY, linestyle=":", label="published choice")
    axis.set_xscale("log", base=2)
    axis.set_xticks(WEIGHTS, map(fraction, WEIGHTS))
    axis.minorticks_off()
    axis.set(xlabel="weight of the scorer's term, lambda", ylabel="validation error (mean square)")
    axis.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3, fontsize="small")

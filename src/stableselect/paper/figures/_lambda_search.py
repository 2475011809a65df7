"""Search for lambda: the scorer's weight over the published grid, judged on MNIST-Fashion's validation samples."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...datasets import info
from ...experiments import Run, Value, by_repeat
from ..methods import WEIGHTS, Options, Protocol, Results, plan, weighted
from ..report import BLUE, GREY, NONE, VERMILION, Document, Experiment, Table, csv_value, number, plotted, with_spread

_DATASET = "mnist_fashion"
_SOLVERS = {"|W|": ("published network", VERMILION), "ScorerSelector": ("search", BLUE)}
_MEASURES = {
    "validation.own": ("own output", "-", "o"),
    "validation.least_squares": ("least squares", "--", "s"),
}


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return the grid on the published split; one seed, unless more are asked for than a run has by default."""
    if protocol != "paper":
        return []
    seeds = options.seeds if options.seeds > Options().seeds else 1
    names = tuple(weighted(solver, weight) for solver in _SOLVERS for weight in WEIGHTS)
    return [run for run in plan(protocol, options, (_DATASET,), methods=names) if run.seed < seeds]


def _render(results: Results) -> Document:
    text = (
        "Mean squared error on the 600 validation samples of the published split of MNIST-Fashion, 50 of 784 pixels, "
        "for each weight of the scorer's term. Own output: what the network itself makes of its selected features. "
        "Least squares: a linear map fitted to the same features on the 5,400 training samples. The published choice "
        "is 1/128."
    )
    rows: list[list[str]] = []
    data: list[dict[str, Any]] = []
    for weight in WEIGHTS:
        row = [_fraction(weight)]
        for solver, (words, _) in _SOLVERS.items():
            name = weighted(solver, weight)
            for measure in _MEASURES:
                value = results.value(_DATASET, name, "paper", measure)
                row.append(with_spread(value, "error", results.reason(_DATASET, name, "paper")))
                line = {"weight": weight, "solver": words, "measure": measure.removeprefix("validation.")}
                data.append(line | csv_value(value))
            if solver == "|W|":
                row.append(NONE if value is None else str(value.count))
        rows.append(row)
    header = ["weight", "network own", "network refit", "seeds", "search own", "search refit"]
    notes = ["± is the standard deviation over seeds, where there are several.", *_reading(results)]
    table = Table(f"{info(_DATASET).title}, validation error", header, rows, notes)
    caption = "Validation error on MNIST-Fashion against the scorer's weight."
    plot = plotted(data, "lambda_search", caption, (8, 4.2), partial(_draw, results))
    return Document("lambda_search", EXPERIMENT.title, [text, table, *plot], data)


def _reading(results: Results) -> list[str]:
    """Say which weight is best, and how far apart the seeds of one weight are beside all weights."""
    text = []
    for solver, (words, _) in _SOLVERS.items():
        found = {weight: value.mean for weight, value in _values(results, solver, "validation.own").items()}
        if found:
            best = min(found, key=lambda weight: found[weight])
            text.append(
                f"Least own error, {words}: {number(found[best], 'error')} at {_fraction(best)}; over the weights it "
                f"goes up to {number(max(found.values()), 'error')}."
            )
    seeds = by_repeat(results.stored(_DATASET, "|W|", "paper"), "validation.own").values()
    if len(seeds) > 1:
        text.append(
            f"At the published weight alone, {len(seeds)} seeds of the network go from {number(min(seeds), 'error')} "
            f"to {number(max(seeds), 'error')}: differences of that size say nothing about the weight."
        )
    return text


def _values(results: Results, solver: str, measure: str) -> dict[float, Value]:
    """Return a measure by weight, where there is one."""
    found = {weight: results.value(_DATASET, weighted(solver, weight), "paper", measure) for weight in WEIGHTS}
    return {weight: value for weight, value in found.items() if value}


def _fraction(weight: float) -> str:
    return f"{weight:.0f}" if weight >= 1 else f"1/{1 / weight:.0f}"


def _draw(results: Results, figure: Any) -> None:
    axis = figure.subplots()
    for solver, (words, colour) in _SOLVERS.items():
        for measure, (kind, dashes, mark) in _MEASURES.items():
            points = _values(results, solver, measure)
            axis.errorbar(
                list(points),
                [value.mean for value in points.values()],
                yerr=[math.nan if value.spread is None else value.spread for value in points.values()],
                label=f"{words}, {kind}",
                color=colour,
                linestyle=dashes,
                marker=mark,
                markersize=5,
                capsize=3,
            )
    axis.axvline(1 / 128, color=GREY, linestyle=":", label="published choice")
    axis.set_xscale("log", base=2)
    axis.set_xticks(WEIGHTS, [_fraction(weight) for weight in WEIGHTS])
    axis.minorticks_off()
    axis.set_xlabel("weight of the scorer's term, lambda")
    axis.set_ylabel("validation error (mean square)")
    axis.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3, fontsize="small")


EXPERIMENT = Experiment("lambda_search", "Search for lambda: the weight of the scorer's term", _runs, _render)

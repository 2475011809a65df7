"""Tables 2 and 3: for each dataset the published error or accuracy and ours under both protocols, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from ...datasets import info, names
from ...experiments import Run, by_repeat
from .._report import (
    NONE,
    Document,
    Line,
    Table,
    csv_value,
    experiment,
    number,
    prose,
    published,
    texts,
    written,
)
from ..methods import (
    FAULTY,
    METHODS,
    NOT_AVAILABLE,
    PROTOCOLS,
    WITH_FAULT,
    Options,
    Protocol,
    Results,
    cap,
    is_other,
    plan,
)

_COPIED = ("LS", "AEFS", "UDFS", "MCFS", "PFA", "CAE")
_FACTOR = 1.25
_POINTS = 5.0
_ROUNDING = 0.0005
"""Errors are printed with three decimals."""

CAUSES = texts()["causes"]
"""What may lie behind a large difference, by letter; A to H as in the project's notes on the published notebooks."""
_LEGEND = ("The letters:", *(f"{letter}: {text}." for letter, text in CAUSES.items()))
_ERRORS = {"least_squares": "", "ridge": " ridge"}
_ACCURACY = "accuracy"
_TOLERANCE = 0.15
_FAULT_PLACE = 3
"""Column of the figures with fault A: after method, published and the first measure under "paper"."""


def all_runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return every method on every dataset; under "corrected" also the others that are asked for by name."""
    asked = [] if protocol == "paper" else [name for name in options.methods or () if is_other(name)]
    own = [] if protocol == "paper" else [name for name in options.datasets or () if name not in names()]
    datasets = (*names(), *own)
    return plan(protocol, options, datasets) + plan(protocol, options, datasets, methods=tuple(asked))


@experiment("table2", "Table 2: linear reconstruction error", all_runs)
def table2(page: Document, results: Results) -> None:
    """Show the reconstruction error of the selected features, and the published network's own errors."""
    page.add(
        prose("tables.introduction"),
        prose("tables.table2"),
        _overview(results, "ridge", "Error after a ridge refit, corrected"),
        *(_dataset_table(results, name, _ERRORS, "least_squares") for name in results.tables),
        _own_errors(results),
        _limits(results),
        *_LEGEND,
    )
    page.data = _tidy(results, _ERRORS)


@experiment("table3", "Table 3: classification accuracy", all_runs)
def table3(page: Document, results: Results) -> None:
    """Show the accuracy of a classifier that sees the selected features, with the mean over datasets."""
    page.add(
        prose("tables.introduction"),
        prose("tables.table3"),
        _overview(results, _ACCURACY, "Accuracy in per cent, corrected"),
        _averages(results),
        *(_dataset_table(results, name, {_ACCURACY: ""}, _ACCURACY) for name in results.tables),
        *_LEGEND,
    )
    page.data = _tidy(results, [_ACCURACY])


def _overview(results: Results, measure: str, title: str) -> Table:
    """Return methods by datasets, under "corrected"."""
    shown = results.tables

    def cell(dataset: str, method: str) -> str:
        missing = "n/a" if results.reason(dataset, method, "corrected") == NOT_AVAILABLE else NONE
        return written(results.value(dataset, method, "corrected", measure), measure, missing, spread=False)

    rows = [[method, *(cell(name, method) for name in shown)] for method in (*METHODS, *results.others)]
    notes = [prose("tables.overview_note"), *about_others(results)]
    return Table(title, ["method", *(info(name).title for name in shown)], rows, notes)


def _dataset_table(results: Results, dataset: str, measures: dict[str, str], compared: str) -> Table:
    """Return one dataset's table.

    Parameters
    ----------
    results : Results
        The runs.
    dataset : str
        Which.
    measures : dict
        Measure to the words that follow the protocol in a column's head.
    compared : str
        The measure that was published; the first of them.

    Returns
    -------
    Table
        A row a method; a dataset whose file is missing keeps its published column.
    """
    found = info(dataset)
    faulty = any(results.value(dataset, name + FAULTY, "paper", compared) for name in WITH_FAULT)
    columns = [(protocol, measure) for protocol in PROTOCOLS for measure in measures]
    header = ["method", "published", *(f"{protocol}{measures[measure]}" for protocol, measure in columns), "why"]
    if faulty:
        header.insert(_FAULT_PLACE, "fault A")
    missing = results.reason(dataset) == NOT_AVAILABLE
    rows = []
    for method in (*METHODS, *results.others):
        theirs = published_value(dataset, method, compared)
        row = [method, printed(dataset, method, compared)]
        if missing and row[1] == NONE:
            continue
        for protocol, measure in columns:
            value = results.value(dataset, method, protocol, measure)
            # Nothing was selected, so there is no accuracy to have.
            empty = value is None and bool(results.records(dataset, method, protocol))
            empty |= method in results.others and protocol == "paper"
            row.append(NONE if empty else written(value, measure, results.reason(dataset, method, protocol)))
        if faulty:
            fault = results.value(dataset, method + FAULTY, "paper", compared) if method in WITH_FAULT else None
            row.insert(_FAULT_PLACE, written(fault, compared))
        ours = results.value(dataset, method, "paper", compared)
        large = ours is not None and theirs is not None and differs(ours.mean, theirs, compared)
        rows.append([*row, causes(dataset, method, compared) if large else ""])
    title = f"{found.title}, {found.k} of {found.n_columns:,} features" + (" (not available here)" if missing else "")
    return Table(title, header, rows, unable(results, [dataset]))


def about_others(results: Results) -> list[str]:
    """Say what the methods beside those of the tables are, and why they have no figure on some dataset."""
    if not results.others:
        return []
    here = [name for name in results.tables if results.reason(name) != NOT_AVAILABLE]
    gaps = {
        method: [info(name).title for name in here if not results.stored(name, method, "corrected")]
        for method in results.others
    }
    not_run = [f"{method} has not been run on {', '.join(titles)}." for method, titles in gaps.items() if titles]
    return [prose("tables.others_note"), *unable(results, here), *not_run]


def unable(results: Results, datasets: Iterable[str]) -> list[str]:
    """Say where and why a method beside those of the tables could not select k features."""
    notes = (
        f"{info(dataset).title}: {record['note']}"
        for dataset, method in product(datasets, results.others)
        for _, record in results.records(dataset, method, "corrected")
        if "note" in record
    )
    return list(dict.fromkeys(notes))


def _limits(results: Results) -> Table:
    """Return where steps were limited, and where a method says itself that it did not converge."""
    rows = []
    for method, protocol in product(METHODS, PROTOCOLS):
        capped, unsettled = [], []
        for dataset in results.datasets:
            found, title = results.records(dataset, method, protocol), info(dataset).title
            capped += [f"{title} {run.cap}" for run, _ in found[:1] if run.cap is not None]
            open_ = sum(record.get("converged") is False for _, record in found)
            unsettled += [f"{title} {open_} of {len(found)}"] if open_ else []
        if capped or unsettled:
            rows.append([f"{method}, {protocol}", ", ".join(capped) or NONE, ", ".join(unsettled) or NONE])
    notes = ["Limits are epochs; for annealed full-batch steps and for NDFS updates."]
    return Table("Step limits, and runs that did not converge", ["method", "limit", "not converged"], rows, notes)


def _tidy(results: Results, measures: Iterable[str]) -> list[Line]:
    """Return every figure in full, one row each."""
    data: list[Line] = []
    faulty = [name + FAULTY for name in WITH_FAULT]
    methods = (*METHODS, *faulty, *results.others)
    for dataset, method, protocol, measure in product(results.tables, methods, PROTOCOLS, measures):
        value = results.value(dataset, method, protocol, measure)
        if value is None and (method in faulty or (method in results.others and protocol == "paper")):
            continue
        comparable = measure in ("least_squares", "accuracy") and method not in faulty
        theirs = published_value(dataset, method, measure) if comparable else None
        line = {"dataset": dataset, "k": info(dataset).k, "method": method, "protocol": protocol, "measure": measure}
        missing = "" if value else results.reason(dataset, method, protocol)
        data.append(line | csv_value(value) | {"published": "" if theirs is None else theirs, "missing": missing})
    return data


def _own_errors(results: Results) -> Table:
    """Return the errors of the network itself beside the printed ones."""
    rows = []
    for dataset in results.datasets:
        for method, theirs in published()["network"][dataset].items():
            for path in ("scorer", "selector"):
                ours = results.value(dataset, method, "paper", f"own.{path}")
                ratio = None if ours is None else ours.mean / theirs[path]
                within = "yes" if ratio and abs(ratio - 1) <= _TOLERANCE else "NO"
                missing = NOT_AVAILABLE if results.reason(dataset, method, "paper") == NOT_AVAILABLE else NONE
                seeds = by_repeat(results.stored(dataset, method, "paper"), f"own.{path}").values()
                row = [f"{info(dataset).title} {method} {path}", number(theirs[path], "own")]
                compared = [NONE, NONE] if ratio is None else [f"{ratio:.2f}", within]
                row += [written(ours, "own", missing), *compared]
                rows.append([*row, f"{max(seeds) / min(seeds):.2f}" if len(seeds) > 1 and min(seeds) > 0 else NONE])
    notes = [prose("tables.own_errors_note")]
    header = ["path", "printed", "ours, paper", "ratio", "within 15 %", "largest / smallest seed"]
    return Table("The published network's own errors", header, rows, notes)


def _averages(results: Results) -> Table:
    """Return the mean over datasets ± the standard deviation between them, as the paper's last row."""
    means = published()["average_accuracy"]
    rows = []
    begun = {p: sum(bool(results.compared(name, p, _ACCURACY).labels) for name in results.datasets) for p in PROTOCOLS}
    for method in (*METHODS, *results.others):
        here = [name for name in results.datasets if results.value(name, method, "paper", _ACCURACY)]
        theirs = [value for name in here if (value := published_value(name, method, _ACCURACY)) is not None]
        row = [method, "{:.1f} ± {:.1f}".format(*means[method]) if method in means else NONE, _spread(theirs)]
        row += [_over_datasets(results, method, protocol, number) for protocol, number in begun.items()]
        rows.append(row)
    notes = [prose("tables.averages_note")]
    return Table("Mean over datasets", ["method", "published", "of these", "paper", "corrected"], rows, notes)


def _over_datasets(results: Results, method: str, protocol: Protocol, begun: int) -> str:
    found = [results.value(name, method, protocol, _ACCURACY) for name in results.datasets]
    shares = [value.mean for value in found if value is not None]
    return _spread(shares) + (f" ({len(shares)} of {begun} datasets)" if 0 < len(shares) != begun else "")


def _spread(shares: list[float]) -> str:
    if not shares:
        return NONE
    return f"{100 * np.mean(shares):.1f} ± {100 * np.std(shares):.1f}"


def published_value(dataset: str, method: str, measure: str, *, earlier: bool = False) -> float | None:
    """Return a figure of Table 2 ("least_squares") or 3 ("accuracy", as a fraction); None where there is none.

    With ``earlier`` it is that of the authors' earlier paper.
    """
    paper = published()["fae"] if earlier else published()
    value = paper[measure].get(dataset, {}).get(method)
    return value / 100 if value is not None and measure == "accuracy" else value


def printed(dataset: str, method: str, measure: str) -> str:
    """Return a figure as the paper prints it: "stopped" for a run that was given up, a dash for no such entry."""
    row = published()[measure].get(dataset, {})
    if method not in row:
        return NONE
    value = row[method]
    return "stopped" if value is None else f"{value:.1f}" if measure == "accuracy" else f"{value:.3f}"


def differs(ours: float, theirs: float, measure: str) -> bool:
    """Tell whether two figures differ by much: a quarter of an error, or five points of accuracy."""
    if measure == "accuracy":
        return abs(ours - theirs) * 100 > _POINTS
    return ours > (theirs + _ROUNDING) * _FACTOR or ours < (theirs - _ROUNDING) / _FACTOR


def causes(dataset: str, method: str, measure: str) -> str:
    """Return the letters of what may lie behind a difference from the published figure."""
    place = names().index(dataset) + 1
    early = place <= 5
    copied = method in _COPIED and early
    limited = cap(method, "paper", dataset, fast=False) is not None
    least_squares = measure == "least_squares"
    possible = {
        "A": method in ("SPEC", "NDFS", "Inf-FS") or (method in ("LS", "MCFS") and not early),
        "B": copied,
        "C": dataset in ("glioma", "prostate_ge") and least_squares,
        "P": dataset == "glioma" and method == "LS" and least_squares,
        "D": method in ("|W|", "W^2"),
        "F": method == "CAE" and place >= 7,
        "G": method == "AgnoS-S" and place <= 4,
        "H": method in ("SPEC", "NDFS") or (method in ("LS", "UDFS", "MCFS", "AEFS") and not early),
        "U": method == "UDFS" and not early,
        "L": method in ("AEFS", "AgnoS-S", "CAE") and not copied and limited,
        "S": dataset == "usps" or (method == "Inf-FS" and dataset in ("mice_protein", "isolet", "mnist_fashion")),
    }
    return "".join(letter for letter, holds in possible.items() if holds) or "?"

"""What Tables 2 and 3 share: for each dataset the published figure and ours under both protocols, side by side."""

from __future__ import annotations

from typing import Any

from ...datasets import info, names
from ...experiments import Run
from ..methods import FAULTY, METHODS, NOT_AVAILABLE, WITH_FAULT, Options, Protocol, Results, plan
from ..report import NONE, Table, csv_value, with_spread, without_spread
from ._causes import CAUSES, causes, differs, printed, published_value

PROTOCOLS: tuple[Protocol, ...] = ("paper", "corrected")
_FAULT_PLACE = 3
"""Column of the figures with fault A: after method, published and the first measure under "paper"."""


def all_runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return every method on every dataset."""
    return plan(protocol, options, tuple(names()))


def overview(results: Results, measure: str, title: str) -> Table:
    """Return methods by datasets, under "corrected"."""
    shown = results.datasets
    rows = []
    for method in METHODS:
        row = [method]
        for dataset in shown:
            value = results.value(dataset, method, "corrected", measure)
            reason = results.reason(dataset, method, "corrected")
            row.append(without_spread(value, measure, "n/a" if reason == NOT_AVAILABLE else NONE))
        rows.append(row)
    notes = [
        "n/a: not available. Mean over splits of the mean over seeds, on the splits and seeds that all methods of a "
        'dataset share; the spread is in the tables below. "3 of 5 splits" after a figure: some method has finished '
        'three of the five only, and all figures of the dataset are over these three. "10 seeds": random features are '
        "the mean of ten draws for each split, other methods of as many seeds as all of them have (two).",
        "SPEC by phi2 on the graph of LS is LS: with default settings, as here, both are one ranking.",
    ]
    return Table(title, ["method", *(info(name).title for name in shown)], rows, notes)


def dataset_table(results: Results, dataset: str, measures: dict[str, str], compared: str) -> Table:
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
    for method in METHODS:
        theirs = published_value(dataset, method, compared)
        row = [method, printed(dataset, method, compared)]
        if missing and row[1] == NONE:
            continue
        for protocol, measure in columns:
            value = results.value(dataset, method, protocol, measure)
            # Nothing was selected, so there is no accuracy to have.
            empty = value is None and bool(results.records(dataset, method, protocol))
            row.append(NONE if empty else with_spread(value, measure, results.reason(dataset, method, protocol)))
        if faulty:
            fault = results.value(dataset, method + FAULTY, "paper", compared) if method in WITH_FAULT else None
            row.insert(_FAULT_PLACE, with_spread(fault, compared))
        ours = results.value(dataset, method, "paper", compared)
        large = ours is not None and theirs is not None and differs(ours.mean, theirs, compared)
        rows.append([*row, causes(dataset, method, compared) if large else ""])
    title = f"{found.title}, {found.k} of {found.n_columns:,} features" + (" (not available here)" if missing else "")
    return Table(title, header, rows)


def legend() -> list[str]:
    """Say what the letters mean."""
    return ["The letters:", *(f"{letter}: {text}." for letter, text in CAUSES.items())]


def limits(results: Results) -> Table:
    """Return where steps were limited, and where a method says itself that it did not converge."""
    rows = []
    for method in METHODS:
        for protocol in PROTOCOLS:
            capped, unsettled = [], []
            for dataset in results.datasets:
                found = results.records(dataset, method, protocol)
                title = info(dataset).title
                capped += [f"{title} {run.cap}" for run, _ in found[:1] if run.cap is not None]
                open_ = sum(record.get("converged") is False for _, record in found)
                unsettled += [f"{title} {open_} of {len(found)}"] if open_ else []
            if capped or unsettled:
                rows.append([f"{method}, {protocol}", ", ".join(capped) or NONE, ", ".join(unsettled) or NONE])
    notes = ["Limits are epochs; for annealed full-batch steps and for NDFS updates."]
    return Table("Step limits, and runs that did not converge", ["method", "limit", "not converged"], rows, notes)


def tidy(results: Results, measures: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return every figure in full, one row each."""
    data: list[dict[str, Any]] = []
    for dataset in results.datasets:
        for method in (*METHODS, *(name + FAULTY for name in WITH_FAULT)):
            for protocol in PROTOCOLS:
                for measure in measures:
                    value = results.value(dataset, method, protocol, measure)
                    if method.endswith(FAULTY) and value is None:
                        continue
                    comparable = measure in ("least_squares", "accuracy") and not method.endswith(FAULTY)
                    theirs = published_value(dataset, method, measure) if comparable else None
                    line = {"dataset": dataset, "k": info(dataset).k, "method": method, "protocol": protocol}
                    rest = {
                        "published": "" if theirs is None else theirs,
                        "missing": "" if value else results.reason(dataset, method, protocol),
                    }
                    data.append(line | {"measure": measure} | csv_value(value) | rest)
    return data


def introduction(results: Results) -> list[str]:
    """Say what the columns mean."""
    text = [
        "published: as printed. paper: the published split, scaling and settings, faults left out; ± is the standard "
        "deviation over seeds. corrected: scaling fitted on training samples, several splits, default settings for the "
        "baselines; ± is the standard error over splits.",
        "Under corrected all methods of a dataset are compared on the same splits and seeds; a figure that is not is "
        'marked in brackets: "3 of 5 splits", or "10 seeds". Under paper there is one split, and "3 seeds" marks a '
        'figure over several seeds. "2 of 3 runs": of three runs one failed.',
        "The letters say what may lie behind a large difference between the published figure and ours under paper (a "
        "quarter of an error, five points of accuracy), ? that no cause is known; they are listed at the end.",
    ]
    if results.mode == "fast":
        text.append("A fast run: four tables, at most 2,000 samples, one split, few steps. Not for comparison.")
    return text

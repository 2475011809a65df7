"""Timing: the seconds of every selection there is, and an epoch of the network beside a plain autoencoder's."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any

from ...datasets import info
from ...experiments import Run, stalled
from .._report import NONE, Document, experiment, number, prose
from ..methods import EPOCH, METHODS, NETWORKS, NOT_AVAILABLE, PLAIN, PROTOCOLS, Options, Protocol, Results, plan
from ._comparison import all_runs

_EPOCH_DATASETS = ("coil20", "mnist_fashion")


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return the runs of the tables, and under "paper", whose batch sizes are meant, those of an epoch."""
    epochs = plan(protocol, options, _EPOCH_DATASETS, methods=(EPOCH.name,)) if protocol == "paper" else []
    return all_runs(protocol, options) + epochs


@experiment("timing", "Timing: seconds to select, and an epoch of the network", _runs)
def timing(page: Document, results: Results) -> None:
    """Show the seconds of every selection, and of an epoch."""
    page.add(prose("tables.timing"))
    for protocol in PROTOCOLS:
        rows = [[method, *_row(page, results, method, protocol)] for method in METHODS if METHODS[method].selector]
        header = ["method", *(info(name).title for name in results.datasets)]
        notes = ["n/a: not available.", *_stalled(results, protocol), _machines(results, protocol)]
        page.table(f"Seconds to select, {protocol}", header, rows, notes)
    _epochs(page, results)


def _stalled(results: Results, protocol: Protocol) -> list[str]:
    """Name the runs that took a hundred times as long as their siblings; the medians do not feel them."""
    found = []
    for name, method in product(results.datasets, METHODS):
        usual = number(results.seconds(name, method, protocol), "seconds")
        found += [
            f"{info(name).title}, {method}, split {item.run.split}, seed {item.run.seed} "
            f"({number(item.record['seconds'], 'seconds')} s, median {usual} s)"
            for item in stalled(results.stored(name, method, protocol))
        ]
    text = "Runs that took more than a hundred times as long as their siblings, since the machine stood still: "
    return [f"{text}{'; '.join(found)}."] if found else []


def _machines(results: Results, protocol: Protocol) -> str:
    """Say on what the runs of a protocol were computed; seconds of different machines do not compare."""
    counts: dict[tuple[Any, ...], int] = defaultdict(int)
    for item in results.everything():
        if item.status == "done" and item.run.protocol == protocol and not item.run.task:
            machine, versions = item.record.get("machine", {}), item.record.get("versions", {})
            counts[machine.get("cores"), versions.get("python"), versions.get("numpy")] += 1
    parts = [
        f"{count} runs on a machine with {cores} cores (Python {python}, NumPy {numpy})"
        for (cores, python, numpy), count in sorted(counts.items(), key=lambda entry: -entry[1])
    ]
    return f"Computed: {'; '.join(parts)}." if parts else "Nothing computed yet."


def _row(page: Document, results: Results, method: str, protocol: Protocol) -> list[str]:
    texts = []
    for name in results.datasets:
        compared = results.compared(name, protocol, "seconds")
        median = compared.median(method)
        reason = results.reason(name, method, protocol)
        texts.append("n/a" if median is None and reason == NOT_AVAILABLE else number(median, "seconds"))
        line = {"what": "selection", "dataset": name, "method": method, "protocol": protocol}
        page.data.append(line | {"seconds": "" if median is None else median, "runs": len(compared.numbers(method))})
    return texts


def _epochs(page: Document, results: Results) -> None:
    """Show the seconds of an epoch and the ratios; the paper says about twice a plain autoencoder's."""
    rows = []
    for name in _EPOCH_DATASETS:
        title = info(name).title
        reason = results.reason(name, EPOCH.name, "paper")
        for network in (PLAIN, *NETWORKS):
            seconds = results.value(name, EPOCH.name, "paper", f"epoch.seconds.{network}")
            ratio = results.value(name, EPOCH.name, "paper", f"epoch.ratio.{network}")
            milliseconds = reason if seconds is None else f"{1000 * seconds.mean:.1f}"
            rows.append([f"{title}, {network}", milliseconds, NONE if ratio is None else f"{ratio.mean:.2f}"])
            line = {"what": "epoch", "dataset": name, "method": network, "protocol": "paper"}
            mean, runs = ("", 0) if seconds is None else (seconds.mean, seconds.count)
            page.data.append(line | {"seconds": mean, "runs": runs})
    notes = [prose("tables.epochs_note")]
    header = ["network", "ms an epoch", "ratio to plain"]
    page.table("An epoch beside a plain autoencoder's", header, rows, notes)

"""FAE, the authors' earlier method: its published figures beside those of the scorer-selector paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...datasets import info, names
from .._report import NONE, Document, Table, experiment, number, prose, published, written
from ..methods import NOT_AVAILABLE, Protocol, Results
from ._comparison import printed, published_value

_earlier = partial(published_value, earlier=True)
"""A figure of the earlier paper."""
FORMS = ("FAE, no bias", "FAE, bias")
"""The two forms of the earlier paper."""
NETWORKS = ("|W|", "W^2")
UNLIKE = ("mice_protein",)
"""Datasets that the two papers scale differently, so that errors are not comparable."""
_REFERENCES = ("random", "mean predictor", "PCA, k components")
_MEASURES = {"least_squares": "Error", "accuracy": "Accuracy in per cent"}
_PAPER: Protocol = "paper"
_LARGE = 2.0
"""Printed errors that are further apart than this factor are named."""
_NAMED = 5
_ROUNDING = 0.0005
"""Errors are printed with three decimals, accuracies in per cent with one."""
_DIVERGED = 1e20
"""Errors above are of a refit that diverged."""


@experiment("fae", "FAE: the authors' earlier method, as published", lambda protocol, options: [])
def fae(page: Document, results: Results) -> None:
    """Show what the two papers print of the same datasets, and where they disagree."""
    page.add(prose("tables.fae"))
    for measure, title in _MEASURES.items():
        here = {"FAE, run here": "FAE", **{method: method for method in _REFERENCES}}
        page.add(_networks(results, measure, f"{title}, as printed and under paper here", here))
    page.add("**Where the two papers disagree**", *disagreements())
    for measure, title in _MEASURES.items():
        page.add(_baselines(measure, title))
    for dataset in _by_k()["datasets"]:
        page.add(_curves(results, dataset))
    page.data = _tidy()


def printed_beside(results: Results, measure: str) -> Table:
    """Return what both papers print of their networks, beside what is selected here under "paper"."""
    here = {f"{method}, run here": method for method in ("FAE", "ScorerSelector", "ColumnSubset", "random")}
    title = f"Published figures of FAE and of the network: {_MEASURES[measure].lower()}"
    return _networks(results, measure, title, here)


def _networks(results: Results, measure: str, title: str, here: dict[str, str]) -> Table:
    """Return both networks of each paper, methods that are run here, and what to compare with."""
    rows = []
    for dataset in names():
        found = info(dataset)
        row = [f"{found.title}, {found.k}", *(printed(dataset, method, measure) for method in NETWORKS)]
        row += [number(_earlier(dataset, form, measure), measure) for form in FORMS]
        for method in here.values():
            missing = "n/a" if results.reason(dataset) == NOT_AVAILABLE else NONE
            row.append(written(results.value(dataset, method, _PAPER, measure), measure, missing))
        rows.append(row)
    header = ["dataset, k", *NETWORKS, *FORMS, *here]
    return Table(title, header, rows, [prose("tables.fae_note")])


def _baselines(measure: str, title: str) -> Table:
    """Return methods by datasets: the figure of the later paper, and that of the earlier one."""
    rows = []
    for method in _shared():
        pairs = ((printed(dataset, method, measure), _earlier(dataset, method, measure)) for dataset in names())
        rows.append([method, *(f"{later} / {number(value, measure)}" for later, value in pairs)])
    header = ["method", *(info(dataset).title for dataset in names())]
    notes = [prose("tables.fae_baselines_note")] if measure == "least_squares" else []
    return Table(f"{title} of the same methods, later / earlier paper", header, rows, notes)


def _curves(results: Results, dataset: str) -> Table:
    """Return error and accuracy against k, with the later paper's and those of references where there are any."""
    ks, curves = _by_k()["k"], _by_k()["datasets"][dataset]
    rows = [[method, *_cells(curves, method)] for method in curves["least_squares"]]
    if dataset == "isolet":
        rows += [[f"{method} (later paper)", *_cells(published()["isolet_by_k"], method)] for method in NETWORKS]
    for method in ("FAE", *_REFERENCES):
        cells = []
        for k in ks:
            values = {measure: results.value(dataset, method, _PAPER, measure, k) for measure in _MEASURES}
            texts = [written(value, measure, spread=False) for measure, value in values.items()]
            cells.append(" / ".join(texts) if values["least_squares"] else NONE)
        if set(cells) != {NONE}:
            rows.append([f"{method}, run here", *cells])
    header = ["method", *(f"k = {k}" for k in ks)]
    return Table(f"{info(dataset).title}: error / accuracy in per cent against k", header, rows)


def _cells(curves: dict[str, Any], method: str) -> list[str]:
    pairs = zip(curves["least_squares"][method], curves["accuracy"][method], strict=True)
    return [f"{number(error, 'least_squares')} / {accuracy:.1f}" for error, accuracy in pairs]


def disagreements() -> list[str]:
    """Say where the figures of the two papers contradict each other, or rank the methods otherwise."""
    alike = [dataset for dataset in names() if dataset not in UNLIKE]
    pairs = [
        (max(later, before) / min(later, before), dataset, method, later, before)
        for dataset in alike
        for method in _shared()
        if (later := published_value(dataset, method, "least_squares")) is not None
        and (before := _earlier(dataset, method, "least_squares")) is not None
        and before < _DIVERGED
    ]
    far = sorted((pair for pair in pairs if pair[0] > _LARGE), reverse=True)
    usual = [pair for pair in far if pair[2] in ("AEFS", "PFA", "CAE")]
    named = ", ".join(
        f"{method} on {info(dataset).title} {printed(dataset, method, 'least_squares')} and "
        f"{number(before, 'least_squares')}"
        for _, dataset, method, _, before in usual[:_NAMED]
    )
    errors = {dataset: _best(dataset, "least_squares") for dataset in alike}
    accuracies = {dataset: _best(dataset, "accuracy") for dataset in names()}
    lower, higher = _won(errors, "least_squares"), _won(accuracies, "accuracy")
    first = [dataset for dataset in alike if _is_first(dataset, published_value)]
    still = [dataset for dataset in alike if _is_first(dataset, _earlier)]
    counts = {"far": len(far), "pairs": len(pairs), "alike": len(alike), "first": len(first), "still": len(still)}
    (network_error, fae_error), (network_accuracy, fae_accuracy) = (map(_titles, won) for won in (lower, higher))
    text = prose(
        "tables.disagreements",
        **counts,
        factor=_LARGE,
        named=named,
        accuracies=len(accuracies),
        fae_error=fae_error,
        network_error=network_error,
        fae_accuracy=fae_accuracy,
        network_accuracy=network_accuracy,
        still_titles=_titles(still),
    )
    return text.split("\n\n")


def _best(dataset: str, measure: str) -> tuple[float, float]:
    """Return the better network of the later paper and the better form of FAE."""
    best = max if measure == "accuracy" else min
    networks = (published_value(dataset, method, measure) for method in NETWORKS)
    forms = (_earlier(dataset, form, measure) for form in FORMS)
    return best(value for value in networks if value is not None), best(value for value in forms if value is not None)


def _won(best: dict[str, tuple[float, float]], measure: str) -> tuple[list[str], list[str]]:
    """Return the datasets where the network is better, and those where FAE is, by more than rounding."""
    sign = -1 if measure == "accuracy" else 1
    gaps = {dataset: sign * (form - network) for dataset, (network, form) in best.items()}
    network, fae = ([name for name, gap in gaps.items() if side * gap > _ROUNDING] for side in (1, -1))
    return network, fae


def _is_first(dataset: str, baseline: Any) -> bool:
    """Tell whether the network's error is the lowest, with baselines by this function; FAE is one of the earlier."""
    rivals = (*_shared(), *(FORMS if baseline is _earlier else ()))
    found = [value for method in rivals if (value := baseline(dataset, method, "least_squares")) is not None]
    return _best(dataset, "least_squares")[0] < min(found)


def _shared() -> list[str]:
    """Return the methods of both papers, in their order."""
    return [method for method in published()["fae"]["least_squares"]["isolet"] if method not in FORMS]


def _by_k() -> dict[str, Any]:
    return published()["fae"]["by_k"]


def _titles(datasets: Sequence[str]) -> str:
    return ", ".join(info(dataset).title for dataset in datasets) or "none"


def _tidy() -> list[dict[str, Any]]:
    """Return every figure of the earlier paper as its files give it, and that of the later one beside it."""
    data: list[tuple[Any, ...]] = []
    for measure in _MEASURES:
        for dataset, row in published()["fae"][measure].items():
            for method in (*row, *NETWORKS):
                later = published()[measure][dataset].get(method)
                data.append((dataset, info(dataset).k, method, measure, row.get(method), later))
        for dataset, curves in _by_k()["datasets"].items():
            for method, values in curves[measure].items():
                pairs = zip(_by_k()["k"], values, strict=True)
                data += [(dataset, k, method, measure, value, None) for k, value in pairs]
    columns = ("dataset", "k", "method", "measure", "earlier", "later")
    return [dict(zip(columns, line, strict=True)) for line in data]

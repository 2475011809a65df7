"""What the summary says before its tables: what this package does not win, and which method to use when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...datasets import info
from ...experiments import geometric_mean
from .._report import Line, Table, number, prose
from ..methods import METHODS, STABLE, Results
from ..stability import find

DEFAULT = "ColumnSubset"
OURS = tuple(STABLE)
"""The default and the other search, which finds nearly the same features: neither counts as a loss of the other."""
_BETTER = {"ridge": "Lower error than ColumnSubset", "accuracy": "Higher accuracy than ColumnSubset"}
_NEAR = 1.05
"""Times our error up to which a quicker method is named."""


@dataclass(frozen=True)
class Loss:
    """A method that is better than the default on a dataset.

    Attributes
    ----------
    dataset, method : str
        Where, and which.
    ours, theirs : float
        Error or accuracy of the default and of the method.
    better, splits : int
        Splits on which the method is better, and all that both have.
    """

    dataset: str
    method: str
    ours: float
    theirs: float
    better: int
    splits: int


class Standing:
    """What the stored runs say of every method beside the default.

    Parameters
    ----------
    results : Results
        The runs.
    lines : sequence of dict
        The rows of the summary's CSV file.

    Attributes
    ----------
    rows : dict
        These rows by measure and method.
    """

    def __init__(self, results: Results, lines: Sequence[Line]) -> None:
        self.results = results
        self.rows = {measure: {row["method"]: row for row in lines if row["measure"] == measure} for measure in _BETTER}
        self._methods = [name for name, method in METHODS.items() if method.selector is not None] + results.others

    def figures(self, dataset: str, measure: str) -> dict[str, float]:
        """Return the figure of every method on a dataset, as in Tables 2 and 3."""
        found = {method: self.results.value(dataset, method, "corrected", measure) for method in self._methods}
        return {method: value.mean for method, value in found.items() if value is not None}

    def losses(self, measure: str) -> list[Loss]:
        """Return every method that is better than the default, the best on a dataset first."""
        sign = -1.0 if measure == "accuracy" else 1.0
        found = []
        for dataset in self.datasets(measure):
            figures = self.figures(dataset, measure)
            ours = figures[DEFAULT]
            for method in sorted(figures, key=lambda name: sign * figures[name]):
                if method not in OURS and sign * figures[method] < sign * ours:
                    both = tuple(dict.fromkeys((*METHODS, method)))
                    pair = self.results.compared(dataset, "corrected", measure, methods=both)
                    own, other = (pair.by_split(name) for name in (DEFAULT, method))
                    better = sum(sign * other[split] < sign * own[split] for split in other)
                    found.append(Loss(dataset, method, ours, figures[method], better, len(other)))
        return found

    def firsts(self, measure: str) -> list[Loss]:
        """Return the best of these on each dataset."""
        found: dict[str, Loss] = {}
        for loss in self.losses(measure):
            found.setdefault(loss.dataset, loss)
        return list(found.values())

    def datasets(self, measure: str) -> list[str]:
        """Return the datasets on which the default has a figure."""
        return [name for name in self.results.tables if DEFAULT in self.figures(name, measure)]

    def seconds(self, method: str) -> float:
        """Return the median time to select of a method in :attr:`rows`."""
        return float(self.rows["ridge"][method]["median_seconds"])

    @cached_property
    def steady(self) -> dict[str, tuple[float, float]]:
        """Mean stability over the datasets, samples and seed varied, and error relative to random, by method.

        Only methods that have been run on every dataset of the experiment on stability.
        """
        found = find(self.results, alike=False)
        pairs: dict[str, list[tuple[float, float]]] = {}
        for item in (item for items in found.values() for item in items):
            if item.both is not None and item.relative is not None:
                pairs.setdefault(item.method, []).append((item.both.nogueira, item.relative.mean))
        return {
            method: (float(np.mean([one for one, _ in values])), geometric_mean(ratio for _, ratio in values))
            for method, values in pairs.items()
            if len(values) == len(found)
        }


def not_won(standing: Standing) -> list[str | Table]:
    """Return the sentences and tables on what this package does not win; none without a run of the default."""
    parts = [_errors, _ranks, _accuracies, _stabilities, _times, _components]
    sentences = [f"- {text}" for part in parts if (text := part(standing))]
    if not sentences:
        return []
    tables = [_table(standing, measure) for measure in _BETTER if standing.losses(measure)]
    return ["## What we do not win", prose("tables.not_won"), "\n".join(sentences), *tables]


def which_when(standing: Standing) -> list[str]:
    """Return what to use when, with the figures behind it; nothing until the methods have been compared."""
    error = standing.rows["ridge"]
    ours = error.get(DEFAULT)
    if ours is None or ours["ratio_to_random"] == "" or not standing.steady:
        return []
    parts = (_to_reconstruct, _not_linear, _few_samples, _to_repeat, _to_classify, _in_a_hurry, _not_for_this)
    return ["## Which method when", "\n".join(f"- {text}" for part in parts if (text := part(standing)))]


def _table(standing: Standing, measure: str) -> Table:
    sign = 1 if measure == "accuracy" else -1
    rows = []
    for loss in standing.losses(measure):
        gap = loss.theirs - loss.ours if measure == "accuracy" else 1 - loss.theirs / loss.ours
        row = [info(loss.dataset).title, loss.method, number(loss.theirs, measure), number(loss.ours, measure)]
        unit = "points" if measure == "accuracy" else "%"
        rows.append([*row, f"{sign * 100 * gap:+.2f} {unit}", f"{loss.better} of {loss.splits}"])
    header = ["dataset", "method", "its figure", DEFAULT, "difference", "better on splits"]
    return Table(_BETTER[measure], header, rows, [prose("tables.not_won_note")])


def _errors(standing: Standing) -> str:
    first, datasets = standing.firsts("ridge"), standing.datasets("ridge")
    if not datasets:
        return ""
    text = f"Error: {DEFAULT} is not the best on {len(first)} of {len(datasets)} datasets"
    words = []
    for loss in first:
        theirs, ours = (number(value, "ridge") for value in (loss.theirs, loss.ours))
        less, title = 100 * (1 - loss.theirs / loss.ours), info(loss.dataset).title
        words.append(prose("losses.error", title=title, loss=loss, less=less, theirs=theirs, ours=ours))
    return f"{text}{': ' if words else ''}{'; '.join(words)}."


def _ranks(standing: Standing) -> str:
    """Say which methods the ranks of these few datasets cannot tell from the default."""
    rows = {name: row for name, row in standing.rows["ridge"].items() if row["average_rank"] != ""}
    if DEFAULT not in rows or rows[DEFAULT]["critical_difference"] == "":
        return ""
    ours, width = rows[DEFAULT]["average_rank"], rows[DEFAULT]["critical_difference"]
    near = [name for name, row in rows.items() if name not in OURS and abs(row["average_rank"] - ours) < width]
    return prose("losses.ranks", number=len(near), default=DEFAULT, width=width, names=", ".join(near))


def _accuracies(standing: Standing) -> str:
    first, datasets = standing.firsts("accuracy"), standing.datasets("accuracy")
    if not datasets:
        return ""
    gaps = {f"{info(loss.dataset).title} {loss.method}": 100 * (loss.theirs - loss.ours) for loss in first}
    words = "; ".join(f"{name}, by {gap:.2g} points" for name, gap in gaps.items())
    best = f" (the best on each: {words})" if words else ""
    text = prose("losses.accuracy", number=len(first), datasets=len(datasets), best=best)
    ranked = {name: row["average_rank"] for name, row in standing.rows["accuracy"].items() if row["average_rank"] != ""}
    before = [f"{name} {rank:.2f}" for name, rank in ranked.items() if rank < ranked.get(DEFAULT, 0.0)]
    if before:
        text += f" By average rank {', '.join(before)} stand before {DEFAULT} ({ranked[DEFAULT]:.2f})."
    return text


def _stabilities(standing: Standing) -> str:
    steady = standing.steady
    if DEFAULT not in steady:
        return ""
    ours = steady[DEFAULT][0]
    order = sorted((name for name in steady if steady[name][0] > ours), key=lambda name: -steady[name][0])
    useful = [name for name in order if steady[name][1] < 1]
    others = [name for name in order if steady[name][1] >= 1]
    text = prose("losses.stability", default=DEFAULT, ours=ours, more=len(order), others=len(steady) - 1)
    for kind, names in (("better than random features", useful), ("not", others)):
        if names:
            text += f" Of those that are {kind}: {', '.join(f'{name} {steady[name][0]:.2f}' for name in names)}."
    return text


def _times(standing: Standing) -> str:
    rows = {name: row for name, row in standing.rows["ridge"].items() if row["median_seconds"] != ""}
    if DEFAULT not in rows:
        return ""
    ours = standing.seconds(DEFAULT)
    quicker = [name for name in rows if name != "random" and standing.seconds(name) < ours]
    text = f"Time: {DEFAULT} takes {number(ours, 'seconds')} s in the median of the datasets, and {len(quicker)} of "
    text += f"{len(rows) - 1 - ('random' in rows)} others take less: {_timed(standing, quicker)}."
    near = [name for name in quicker if _ratio(rows[name]) < _NEAR * _ratio(rows[DEFAULT])]
    if near:
        text += f" With an error within {100 * (_NEAR - 1):.0f} % of ours on average: {', '.join(near)}."
    return text


def _components(standing: Standing) -> str:
    """Say how much better as many principal components are, which need all features."""
    ratios = []
    for name in standing.datasets("ridge"):
        value = standing.results.value(name, "PCA, k components", "corrected", "ridge")
        if value is not None:
            ratios.append(value.mean / standing.figures(name, "ridge")[DEFAULT])
    if not ratios:
        return ""
    return prose("losses.components", ratio=geometric_mean(ratios), default=DEFAULT, datasets=len(ratios))


def _to_reconstruct(standing: Standing) -> str:
    rows = standing.rows["ridge"]
    ranked = [name for name, row in rows.items() if row["average_rank"] != "" and name not in OURS]

    def about(method: str) -> Line:
        seconds = number(standing.seconds(method), "seconds")
        return {"method": method, "row": rows[method], "ratio": _ratio(rows[method]), "seconds": seconds}

    text = prose("losses.reconstruct", **about(DEFAULT))
    return text + (" " + prose("losses.next", **about(ranked[0])) if ranked else "")


def _not_linear(standing: Standing) -> str:
    return prose("losses.not_linear") if "KernelSubset" in standing.rows["ridge"] else ""


def _few_samples(standing: Standing) -> str:
    """Say how much less is gained where there are fewer samples than features."""
    few: dict[str, float] = {}
    many: dict[str, float] = {}
    for name in standing.datasets("ridge"):
        figures, found = standing.figures(name, "ridge"), info(name)
        if figures.get("random", 0.0) > 0:
            (few if found.n_rows < found.n_columns else many)[found.title] = figures[DEFAULT] / figures["random"]
    if not few or not many:
        return ""
    words = ", ".join(f"{ratio:.2f} on {title}" for title, ratio in few.items())
    mean = geometric_mean(many.values())
    return prose("losses.few_samples", default=DEFAULT, few=words, mean=mean, others=len(many))


def _to_repeat(standing: Standing) -> str:
    asked, steady = STABLE[DEFAULT], standing.steady
    if DEFAULT not in steady or asked not in steady:
        return ""
    return prose("losses.repeat", default=DEFAULT, plain=steady[DEFAULT], stable=steady[asked])


def _to_classify(standing: Standing) -> str:
    rows = standing.rows["accuracy"]
    if DEFAULT not in rows:
        return ""
    level = [
        name
        for name, row in rows.items()
        if name not in OURS
        and row["compared"] == rows[DEFAULT]["compared"] == row["wins"]
        and row.get(f"difference_to_{DEFAULT}_high", "") != ""
        and row[f"difference_to_{DEFAULT}_low"] <= 0 <= row[f"difference_to_{DEFAULT}_high"]
    ]
    if not level:
        return prose("losses.classify_alone", default=DEFAULT)
    words = ", ".join(f"{name} ({100 * rows[name][f'difference_to_{DEFAULT}']:+.1f} points)" for name in level)
    return prose("losses.classify", default=DEFAULT, names=words, datasets=rows[DEFAULT]["compared"])


def _in_a_hurry(standing: Standing) -> str:
    rows = {
        name: row for name, row in standing.rows["ridge"].items() if row["median_seconds"] != "" and row["compared"]
    }
    ours = rows.get(DEFAULT)
    if ours is None:
        return ""
    safe = [name for name, row in rows.items() if row["compared"] == ours["compared"] == row["wins"]]
    quick = min(safe, key=standing.seconds, default=DEFAULT)
    if quick == DEFAULT:
        return ""
    seconds = number(standing.seconds(quick), "seconds")
    return prose("losses.hurry", method=quick, seconds=seconds, ratio=_ratio(rows[quick]))


def _not_for_this(standing: Standing) -> str:
    rows = standing.rows["ridge"]
    poor = [name for name, row in rows.items() if name != "random" and row["lost"] > row["won"]]
    if not poor:
        return ""
    words = ", ".join(f"{name} ({rows[name]['lost']} of {rows[name]['compared']})" for name in poor)
    return prose("losses.poor", names=words)


def _timed(standing: Standing, methods: Iterable[str]) -> str:
    ordered = sorted(methods, key=standing.seconds)
    return ", ".join(f"{name} {number(standing.seconds(name), 'seconds')}" for name in ordered) or "none"


def _ratio(row: Line) -> float:
    return float(row["ratio_to_random"]) if row["ratio_to_random"] != "" else float("inf")

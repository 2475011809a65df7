"""The page of `make bench-unseen`, made from stored runs and the committed figures of Tables 2 and 3."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau, rankdata

from _unseen_tables import TABLES
from stableselect.datasets import info
from stableselect.experiments import Comparison, Store, Stored, geometric_mean, has_results, stale_words
from stableselect.paper._report import NONE, Document, Table, number
from stableselect.paper._revisions import current
from stableselect.paper.methods import METHODS, OTHERS, find_method

DEFAULT, RANDOM = "ColumnSubset", "random"
SELECTING = [name for name in (*METHODS, *OTHERS) if find_method(name).selector or find_method(name).outside]
REFERENCES = ("mean predictor", "PCA, k components")
OURS = (DEFAULT, "ScorerSelector")
"""This package's searches, which find nearly the same features."""
SPLITS, SEEDS, DRAWS = 5, 2, 10
"""Of every table, as in the paper's comparison here; random features are drawn more often."""
FIRST = 5
"""So many of the best methods are named."""
NOT_FINISHED = "not finished"
_FILES = {"ridge": "table2", "accuracy": "table3"}
Figures = dict[str, float]
"""By method."""


@dataclass(frozen=True)
class Agreement:
    """How far two sets of figures order the methods alike.

    Attributes
    ----------
    tau, p : float
        Kendall's rank correlation (tau-b) and its p-value.
    methods : int
        Methods that both have.
    """

    tau: float
    p: float
    methods: int

    @classmethod
    def of(cls, one: Mapping[str, float], other: Mapping[str, float]) -> Agreement:
        """Compare two orders; methods that are the same in both count once."""
        pairs = list(dict.fromkeys((one[method], other[method]) for method in one if method in other))
        found = kendalltau(*zip(*pairs, strict=True))
        return cls(float(found.statistic), float(found.pvalue), len(pairs))

    def __str__(self) -> str:
        return f"{self.tau:.2f} ({'p below 0.001' if self.p < 0.001 else f'p {self.p:.3f}'}, {self.methods} methods)"


class Measured:
    """One measure of every method: on the paper's tables, and on the new ones.

    Parameters
    ----------
    measure : {"ridge", "accuracy"}
        Which.
    stored : dict of str to list of Stored
        The runs by new table.
    folder : Path
        Of the committed tables.

    Attributes
    ----------
    known : dict of str to dict
        The figure of each method over that of random features, by table of the paper.
    new : dict of str to dict
        The same on the new tables; methods that have not finished every split and seed are left out.
    beside : dict of str to dict
        The same of the references that select nothing, on both.
    """

    def __init__(self, measure: str, stored: Mapping[str, list[Stored]], folder: Path) -> None:
        self.sign = -1 if measure == "accuracy" else 1
        printed: dict[str, Figures] = defaultdict(dict)
        with open(folder / f"{_FILES[measure]}.csv", encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                if line["protocol"] == "corrected" and line["measure"] == measure and line["mean"]:
                    printed[line["dataset"]][line["method"]] = float(line["mean"])
        new = {name: found for name, runs in stored.items() if RANDOM in (found := _means(runs, measure))}
        self.known = {name: _relative(found, SELECTING) for name, found in printed.items()}
        self.new = {name: _relative(found, SELECTING) for name, found in new.items()}
        self.beside = {name: _relative(found, REFERENCES) for name, found in (printed | new).items()}

    def overall(self, left_out: str = "") -> Figures:
        """Return the geometric mean over the paper's tables, but for one, of the methods that all of these have."""
        tables = [found for name, found in self.known.items() if name != left_out]
        shared = [method for method in SELECTING if all(method in found for found in tables)]
        return {method: geometric_mean(found[method] for found in tables) for method in shared}

    def carried(self) -> dict[str, Agreement]:
        """Return how far each new table agrees with the paper's tables."""
        overall = self.overall()
        return {name: Agreement.of(overall, found) for name, found in self.new.items()}

    def usual(self) -> dict[str, Agreement]:
        """Return how far each of the paper's tables agrees with the others."""
        return {name: Agreement.of(self.overall(name), found) for name, found in self.known.items()}

    def places(self, figures: Figures) -> dict[str, float]:
        """Return the rank of each method, 1 for the best."""
        return dict(zip(figures, rankdata([self.sign * value for value in figures.values()]), strict=True))


def stored_runs(folder: Path) -> dict[str, list[Stored]]:
    """Return the runs of a store by table; every table is there, though perhaps without a run."""
    found: dict[str, list[Stored]] = {name: [] for name in TABLES}
    for item in Store(folder, current=current).runs() if has_results(folder) else []:
        if item.run.dataset in found and item.run.k == TABLES[item.run.dataset].k:
            found[item.run.dataset].append(item)
    return found


def render(store: Path, results: Path) -> str:
    """Return the page.

    Parameters
    ----------
    store : Path
        Folder of the runs on the new tables.
    results : Path
        Folder of the paper's tables.

    Returns
    -------
    str
        Markdown.
    """
    stored = stored_runs(store)
    errors, accuracies = (Measured(measure, stored, results) for measure in _FILES)
    page = Document("unseen", "Tables nobody tuned on")
    page.add(_INTRODUCTION, "\n".join(_about(name) for name in TABLES))
    if not errors.new:
        page.add("Nothing has been run yet: `make bench-unseen`.")
        return page.markdown()
    page.add("## Does the order carry over?", " ".join(_verdict(errors)), "\n".join(_points(errors, accuracies)))
    page.add("## Every method", *_tables(stored, errors, accuracies), *_made(stored))
    return page.markdown()


def _relative(figures: Figures, methods: Iterable[str]) -> Figures:
    return {method: figures[method] / figures[RANDOM] for method in methods if method in figures}


def _means(runs: list[Stored], measure: str) -> Figures:
    compared = _compared(runs, measure)
    return {method: value.mean for method in compared.labels if (value := compared.value(method)) is not None}


def _compared(runs: list[Stored], measure: str) -> Comparison[str]:
    every = (*SELECTING, *REFERENCES)
    by_method = {method: [item for item in runs if item.run.method == method] for method in every}
    finished = {method: items for method, items in by_method.items() if _finished(method, items)}
    seedless = [method for method in finished if not find_method(method).seeded]
    return Comparison(finished, measure, seedless=seedless, every_seed=[RANDOM])


def _finished(method: str, runs: list[Stored]) -> bool:
    """Tell whether a method has all its splits and seeds: what was stopped halfway is not compared."""
    seeds = DRAWS if method == RANDOM else SEEDS if find_method(method).seeded else 1
    done = (item.status == "done" and "note" not in item.record for item in runs)
    return sum(done) >= SPLITS * seeds


def _about(name: str) -> str:
    table = TABLES[name]
    return f"- {table.title}: {table.about}; {table.k} are selected. In {table.package.replace('==', ' ')}."


def _verdict(errors: Measured) -> list[str]:
    """Answer the question in plain words."""
    carried, usual = errors.carried(), errors.usual()
    low, high = (pick(usual, key=lambda name: usual[name].tau) for pick in (min, max))
    middle = float(np.median([found.tau for found in usual.values()]))
    reached = [sum(found.tau >= bound for found in carried.values()) for bound in (middle, usual[low].tau)]
    answer = "Yes" if reached[0] == len(carried) else "No" if not reached[1] else "In part"
    words = ", ".join(f"{TABLES[name].title} {found}" for name, found in carried.items())
    return [
        f"{answer}. Kendall's rank correlation of the order by error with that on the paper's eight tables is {words}; "
        "1 is the same order, 0 no relation.",
        f"For comparison: each of the eight has {usual[low].tau:.2f} ({info(low).title}) to {usual[high].tau:.2f} "
        f"({info(high).title}) with the other seven, {middle:.2f} in the median. That median is reached on "
        f"{reached[0]} of {len(carried)} new tables, the least of the eight on {reached[1]}.",
        *_ends(errors),
    ]


def _ends(errors: Measured) -> list[str]:
    """Say what stays at the head of the order, and who changes sides against random features."""
    tables, overall = errors.new.values(), errors.overall()
    least = sum(min(found, key=lambda method: found[method]) in OURS for found in tables)
    up = {method for found in tables for method in found if overall.get(method, 0.0) > 1 > found[method]}
    down = {method for found in tables for method in found if overall.get(method, 2.0) < 1 < found[method]}
    return [
        f"At the head: {' or '.join(OURS)} errs least on {least} of {len(tables)}. The {FIRST} that err least on the "
        f"eight are {', '.join(_first(overall))}.",
        f"Further down: {len(up)} methods that are worse than random features on the eight are better than these on "
        f"some new table, and {len(down)} the other way round.",
    ]


def _points(errors: Measured, accuracies: Measured) -> list[str]:
    """Say of each table how the default does and who changes places, and what becomes of the accuracies."""
    text, overall = [], errors.overall()
    for name, found in errors.new.items():
        words = f"- {TABLES[name].title}:"
        if DEFAULT in found:
            best = min(found, key=lambda method: found[method])
            less = 100 * (1 - found[best] / found[DEFAULT])
            words += f" {DEFAULT} has {found[DEFAULT]:.2f} of the error of random features, rank "
            words += f"{errors.places(found)[DEFAULT]:.3g} of {len(found)}"
            words += f"; {best} errs least, {less:.2g} % less." if less > 0 else "."
        here = _first(found)
        kept = [method for method in _first(overall) if method in here]
        beside = ", ".join(method for method in here if method not in kept)
        words += f" Of the {FIRST} that err least on the eight, {len(kept)} are among the {FIRST} that do so here"
        words += f", beside {beside}." if beside else "."
        lost = [method for method in found if overall.get(method, 2.0) < 1 < found[method]]
        won = [method for method in found if overall.get(method, 0.0) > 1 > found[method]]
        sides = [f"worse now {', '.join(lost)}"] * bool(lost) + [f"better now {', '.join(won)}"] * bool(won)
        words += f" Against random features: {'; '.join(sides) or 'every method is on its side of before'}."
        text.append(words)
    words = ", ".join(f"{TABLES[name].title} {found}" for name, found in accuracies.carried().items())
    usual = [found.tau for found in accuracies.usual().values()]
    text.append(
        f"- Ordered by accuracy: {words}; each of the eight with the others {min(usual):.2f} to {max(usual):.2f}. "
        f"{DEFAULT} ranks "
        + ", ".join(
            f"{accuracies.places(found)[DEFAULT]:.3g} of {len(found)} on {TABLES[name].title}"
            for name, found in accuracies.new.items()
            if DEFAULT in found
        )
        + "."
    )
    return text


def _first(figures: Figures) -> list[str]:
    """Return the methods that err least."""
    return sorted(figures, key=lambda method: figures[method])[:FIRST]


def _tables(stored: Mapping[str, list[Stored]], errors: Measured, accuracies: Measured) -> list[Table]:
    header = ["method", "the paper's eight", *(table.title for table in TABLES.values())]
    shown = []
    for title, measured, note in (
        ("Error (ridge refit), relative to random features", errors, _ERROR_NOTE),
        ("Accuracy, relative to random features", accuracies, _ACCURACY_NOTE),
    ):
        overall = measured.overall()
        columns = [(overall, measured.places(overall)), *((f, measured.places(f)) for f in measured.new.values())]
        order = sorted(SELECTING, key=lambda method: columns[0][1].get(method, np.inf))
        rows = [[method, *(_cell(method, *column) for column in columns)] for method in order]
        for reference in REFERENCES:
            known = [found[reference] for name in measured.known if reference in (found := measured.beside[name])]
            cells = [measured.beside[name].get(reference) for name in measured.new]
            cells.insert(0, geometric_mean(known) if known else None)
            if known:
                rows.append([reference, *(NONE if cell is None else f"{cell:.3f}" for cell in cells)])
        shown.append(Table(title, header[: 2 + len(measured.new)], rows, [note, *_gaps(stored)]))
    times = {name: _compared(stored[name], "seconds") for name in errors.new}
    rows = [[m, *(number(found.median(m), "seconds") for found in times.values())] for m in SELECTING]
    shown.append(Table("Seconds to select", ["method", *(TABLES[name].title for name in times)], rows, [_SECONDS_NOTE]))
    return shown


def _cell(method: str, figures: Figures, places: Mapping[str, float]) -> str:
    return NONE if method not in figures else f"{figures[method]:.3f} ({places[method]:.3g})"


def _gaps(stored: Mapping[str, list[Stored]]) -> list[str]:
    """Name the methods that have no figure on a table, and say why."""
    text = []
    for name, runs in stored.items():
        for method in SELECTING:
            items = [item for item in runs if item.run.method == method]
            if not _finished(method, items):
                reasons = {item.error for item in items if item.status == "failed"}
                reasons |= {item.record["note"] for item in items if "note" in item.record}
                text.append(f"{TABLES[name].title}, {method}: {'; '.join(sorted(reasons)) or NOT_FINISHED}.")
    return text


def _made(stored: Mapping[str, list[Stored]]) -> list[str]:
    done = [item for runs in stored.values() for item in runs if item.status == "done"]
    found: dict[str, set[str]] = defaultdict(set)
    for item in done:
        for name, version in item.record["versions"].items():
            found[name].add(version)
    versions = ", ".join(f"{name} {' or '.join(sorted(found[name]))}" for name in sorted(found))
    failed = sum(item.status == "failed" for runs in stored.values() for item in runs)
    words = f"{len(done)} runs, {failed} failed, one thread each, beside other work on the machine. {stale_words(done)}"
    return [words.rstrip(), f"Versions: {versions}."]


_INTRODUCTION = f"""\
The paper's eight tables have been looked at while defaults were chosen. These have not, and none of them is among the
tables of [How far the choice can be trusted](choice.md); but Yeast begins with the measurements of its "Yeast genes",
probably of some of the same genes. Every method of [Table 2](results/table2.md) and its rivals
select from them under the same corrected protocol: {SPLITS} splits, {SEEDS} seeds, min-max scaling by the training
samples, default settings. `make bench-unseen` downloads the tables, runs the comparison as a user would
([your method, your table](experiments.md#your-method-your-table)) and makes this page from the runs in
`benchmarks/results/unseen`."""
_ERROR_NOTE = (
    "In brackets the rank, 1 for the best. The paper's eight: geometric mean over these tables, of the methods that "
    "all of them have. Methods are compared on all splits and seeds."
)
_ACCURACY_NOTE = "As above; above 1 is better. Accuracy is not what most of these methods optimise."
_SECONDS_NOTE = (
    "Median over splits and seeds. Other programs ran on the machine meanwhile: read them as orders of size."
)

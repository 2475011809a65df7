"""What the fits of ``stability`` show: how far the sets agree, and their errors, for each dataset and method."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...datasets import info
from ...experiments import Comparison, Interval, Stored
from ...metrics import Stability, similarity_stability
from ..methods import Results, agreement, find_method, selector_classes
from ._plan import (
    DATASETS,
    INTERCHANGEABLE,
    NETWORKS,
    RANDOM,
    TASK,
    is_seeded,
    methods,
    steps,
    takes_seed,
    unpacked,
)

_ERRORS = ("ridge", "least_squares")
_FAR = 3.0
"""Errors of the median subsample that make another one stand out."""
_TWINS = 0.9
"""Fraction of equal sets that makes two methods all but one."""
_DRAWS = 500
"""Pairs of random sets behind the chance level; it is off by less than 0.005 of the number of features."""


class Found:
    """A method on a dataset; None for what there are no runs of.

    Parameters
    ----------
    dataset, method : str
        Which.
    runs : dict of str to list of Stored
        All runs on the dataset, by method.
    errors : dict of str to Comparison
        The methods compared by "ridge" and by "least_squares".
    pairs : ndarray of bool or None
        Which features are interchangeable, where that is known.

    Attributes
    ----------
    rows, seed, both : Stability or None
        Agreement of the sets when the samples, the seed, or both vary, as
        :func:`stableselect.inspection.stability_analysis` measures it. ``seed`` is None where the method has none. For
        random features ``rows`` is ``both``: with one seed they are the same features on any samples.
    alike : float or None
        As ``rows``, with interchangeable features counted as the same: the adjusted measure of
        :func:`stableselect.metrics.similarity_stability`.
    ridge, least_squares : Value or None
        Error on the samples left out: mean over ``subsamples`` of the mean over seeds, and its standard error. The
        methods of a dataset share subsamples and seeds, as :class:`stableselect.experiments.Comparison` pairs them.
    subsamples : tuple of int
        Those that every method with runs has on the dataset: subsamples differ many times in their error, so means
        over different ones do not compare.
    relative : Interval or None
        The ridge error over that of random features on the same subsample: geometric mean over all subsamples of the
        method.
    seconds : float or None
        Median time of a fit.
    failed : int
        Runs that failed.
    by_rows : list of Stored
        The runs that ``rows`` is from.
    errors : dict of int to float
        The ridge error by subsample, mean over seeds.
    """

    def __init__(
        self,
        dataset: str,
        method: str,
        runs: dict[str, list[Stored]],
        errors: dict[str, Comparison[str]],
        pairs: np.ndarray | None,
    ) -> None:
        self.dataset, self.method = dataset, method
        items = runs[method]
        done = [item for item in items if item.status == "done"]
        by_both = [item for item in done if item.run.split == item.run.seed]
        by_rows = by_both if method == RANDOM else [item for item in done if item.run.seed == 0]
        by_seed = [item for item in done if item.run.split == 0 and takes_seed(method)]
        self.by_rows, self.failed = by_rows, len(items) - len(done)
        found = agreement(by_rows)
        self.rows, self.seed = None if found is None else found.stability, _stability(by_seed)
        self.both = _stability(by_both) if is_seeded(method) else self.rows
        self.alike = None
        if found is not None and pairs is not None and found.supports.shape[1] == len(pairs):
            self.alike = similarity_stability(found.supports, pairs, threshold=1, n_draws=_DRAWS).adjusted
        self.ridge, self.least_squares = (errors[measure].value(method) for measure in _ERRORS)
        self.subsamples = errors["ridge"].splits
        self.errors = Comparison({method: items}, "ridge").by_split(method)
        self.seconds = Comparison({method: items}, "seconds").median(method)
        beside = Comparison({RANDOM: runs[RANDOM], method: items}, "ridge", every_seed=[RANDOM, method])
        self.relative = beside.ratio(method, RANDOM)


@dataclass(frozen=True)
class Paired:
    """Two methods on the subsamples that both have.

    Attributes
    ----------
    before, after : Stability
        With the samples varied, for the one and for the other.
    ratio : Interval
        The ridge error of the other over that of the one: geometric mean over the subsamples.
    """

    before: Stability
    after: Stability
    ratio: Interval


def find(results: Results, *, alike: bool = True) -> dict[str, list[Found]]:
    """Return what is known of every method, by dataset; datasets without a finished run are left out.

    Without ``alike`` features do not count as interchangeable, which takes most of the time to compute.
    """
    runs: dict[tuple[str, str], list[Stored]] = defaultdict(list)
    for item in results.of_task(TASK):
        run = item.run
        # Runs of an earlier limit on the steps stay in the store, but are another experiment.
        if run.k == info(run.dataset).k and run.cap == steps(run.method, run.dataset, fast=run.mode == "fast"):
            runs[run.dataset, run.method].append(item)
    pairs = {
        item.run.dataset: unpacked(item.record["pairs"], item.record["n_columns"])
        for item in results.of_task(INTERCHANGEABLE)
        if alike and item.status == "done" and "pairs" in item.record
    }
    return {
        dataset: _of_dataset(dataset, {method: runs[dataset, method] for method in methods()}, pairs.get(dataset))
        for dataset in DATASETS
        if any(item.status == "done" for place, items in runs.items() if place[0] == dataset for item in items)
    }


def paired(one: Found, other: Found) -> Paired | None:
    """Compare two methods on a dataset over the subsamples that both have, seed 0; None for fewer than two."""
    runs = {found.method: [item for item in found.by_rows if item.run.seed == 0] for found in (one, other)}
    compared = Comparison(runs, "ridge")
    before, after = (
        _stability([item for item in items if item.run.split in compared.splits]) for items in runs.values()
    )
    ratio = compared.ratio(other.method, one.method)
    return None if before is None or after is None or ratio is None else Paired(before, after, ratio)


def twins(found: dict[str, list[Found]]) -> list[tuple[str, str, int, int]]:
    """Return the methods that select the same features in nearly all runs that both have: names, equal sets, runs."""
    kept: dict[str, dict[tuple[str, int], frozenset[int]]] = defaultdict(dict)
    for items in found.values():
        for item in items:
            for run in item.by_rows:
                kept[item.method][item.dataset, run.run.split] = frozenset(run.record["selected"])
    pairs = []
    for first, second in combinations(kept, 2):
        both = kept[first].keys() & kept[second].keys()
        equal = sum(kept[first][run] == kept[second][run] for run in both)
        if both and equal >= _TWINS * len(both):
            pairs.append((first, second, equal, len(both)))
    return pairs


def twin_words(found: dict[str, list[Found]]) -> str:
    """Name the methods that nearly always select the same features, and in how many runs; empty if there are none."""
    return "; ".join(f"{first} and {second} ({equal} of {runs} runs)" for first, second, equal, runs in twins(found))


def far_off(items: list[Found]) -> tuple[list[tuple[int, float]], list[tuple[str, int, float, float]]]:
    """Return the subsamples of a dataset that stand out, for random features and for one method beside them.

    Returns
    -------
    hard : list of (int, float)
        Subsamples where random features err many times as much as on the median one, and how many times.
    strays : list of (str, int, float, float)
        Method and subsample where the error relative to random features is many times the method's median; that ratio,
        and the median.
    """
    errors = {item.method: item.errors for item in items if item.errors}
    random = errors.pop(RANDOM, {})
    usual = float(np.median(list(random.values()))) if random else math.inf
    hard = [(split, error / usual) for split, error in random.items() if error > _FAR * usual]
    strays = []
    for method, by_split in errors.items():
        ratios = {split: error / random[split] for split, error in by_split.items() if random.get(split)}
        middle = float(np.median(list(ratios.values()))) if ratios else math.inf
        strays += [(method, split, ratio, middle) for split, ratio in ratios.items() if ratio > _FAR * middle]
    return hard, strays


def family(method: str) -> str:
    """Return the family of a method: the folder its selector lives in, but for the published networks and random."""
    if method in NETWORKS:
        return "published network"
    selector = find_method(method).selector
    if method == RANDOM or selector is None:
        return RANDOM
    room = selector_classes()[selector].__module__.split(".")[1]
    return "subset" if room == "scorer" else room


def _of_dataset(dataset: str, runs: dict[str, list[Stored]], pairs: np.ndarray | None) -> list[Found]:
    seedless = [method for method in runs if not is_seeded(method)]
    errors = {measure: Comparison(runs, measure, seedless=seedless, every_seed=[RANDOM]) for measure in _ERRORS}
    return [Found(dataset, method, runs, errors, pairs) for method in runs]


def _stability(runs: Sequence[Stored]) -> Stability | None:
    found = agreement(runs)
    return None if found is None else found.stability

"""What the fits of ``stability`` show: how far the sets agree, and their errors, for each dataset and method."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from ...datasets import info
from ...experiments import Cell
from ...metrics import Stability, similarity_stability, stability
from ..methods import Results, Value, find_method, selector_classes
from ._interchangeable import TASK as INTERCHANGEABLE
from ._interchangeable import unpacked
from ._plan import DATASETS, NETWORKS, RANDOM, TASK, is_seeded, methods, steps, takes_seed

Run = tuple[Cell, dict[str, Any]]
_FAR = 3.0
"""Errors of the median subsample that make another one stand out."""
_TWINS = 0.9
"""Fraction of equal sets that makes two methods all but one."""
_DRAWS = 500
"""Pairs of random sets behind the chance level; it is off by less than 0.005 of the number of features."""


@dataclass(frozen=True)
class Found:
    """A method on a dataset; None for what there are no runs of.

    Attributes
    ----------
    dataset, method : str
        Which.
    rows, seed, both : Stability or None
        Agreement of the sets when the samples, the seed, or both vary. ``seed`` is None where the method has none. For
        random features ``rows`` is ``both``: with one seed they are the same features on any samples.
    alike : float or None
        As ``rows``, with interchangeable features counted as the same: the adjusted measure of
        :func:`stableselect.metrics.similarity_stability`.
    ridge, least_squares : Value or None
        Error on the samples left out: mean over ``subsamples`` of the mean over seeds, and its standard error.
    subsamples : tuple of int
        Those that every method with runs has on the dataset: subsamples differ many times in their error, so means
        over different ones do not compare.
    relative : Value or None
        The ridge error over that of random features on the same subsample: geometric mean over the subsamples, and its
        standard error.
    seconds : float or None
        Mean time of a fit.
    failed : int
        Runs that failed.
    by_rows : tuple of Run
        The runs that ``rows`` is from.
    errors : dict of int to float
        The ridge error by subsample, mean over seeds.
    """

    dataset: str
    method: str
    rows: Stability | None = None
    alike: float | None = None
    seed: Stability | None = None
    both: Stability | None = None
    ridge: Value | None = None
    least_squares: Value | None = None
    relative: Value | None = None
    seconds: float | None = None
    failed: int = 0
    subsamples: tuple[int, ...] = ()
    by_rows: tuple[Run, ...] = field(default=(), repr=False)
    errors: dict[int, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Paired:
    """Two methods on the subsamples that both have.

    Attributes
    ----------
    before, after : Stability
        With the samples varied, for the one and for the other.
    ratio : Value
        The ridge error of the other over that of the one: geometric mean over the subsamples, and its standard error.
    """

    before: Stability
    after: Stability
    ratio: Value


def find(results: Results) -> dict[str, list[Found]]:
    """Return what is known of every method, by dataset; datasets without a finished run are left out."""
    runs: dict[tuple[str, str], list[Run]] = defaultdict(list)
    failed: dict[tuple[str, str], int] = defaultdict(int)
    for item in results.of_task(TASK):
        cell = item.cell
        # Runs of an earlier limit on the steps stay in the store, but are another experiment.
        if cell.k != info(cell.dataset).k or cell.cap != steps(cell.method, cell.dataset, fast=cell.mode == "fast"):
            continue
        if item.status == "done":
            runs[cell.dataset, cell.method].append((cell, item.record))
        failed[cell.dataset, cell.method] += item.status == "failed"
    pairs = {
        item.cell.dataset: item.record
        for item in results.of_task(INTERCHANGEABLE)
        if item.status == "done" and "pairs" in item.record
    }
    found = {}
    for dataset in DATASETS:
        if not any(name == dataset for name, _ in runs):
            continue
        record = pairs.get(dataset)
        alike = None if record is None else unpacked(record["pairs"], record["n_columns"])
        random = _by_split(runs[dataset, RANDOM], "ridge")
        begun = [{cell.split for cell, _ in runs[dataset, method]} for method in methods() if runs[dataset, method]]
        shared = tuple(sorted(set.intersection(*begun))) if begun else ()
        found[dataset] = [
            _summed(dataset, method, runs[dataset, method], failed[dataset, method], alike, random, shared)
            for method in methods()
        ]
    return found


def paired(one: Found, other: Found) -> Paired | None:
    """Compare two methods on a dataset over the subsamples that both have, seed 0; None for fewer than two."""
    runs = [{run[0].split: run for run in item.by_rows if run[0].seed == 0} for item in (one, other)]
    both = sorted(runs[0].keys() & runs[1].keys())
    agreements = [agreement([by_split[split] for split in both]) for by_split in runs]
    errors = [[by_split[split][1]["ridge"] for split in both] for by_split in runs]
    ratio = _geometric(after / before for before, after in zip(*errors, strict=True) if before > 0)
    if agreements[0] is None or agreements[1] is None or ratio is None:
        return None
    return Paired(agreements[0], agreements[1], ratio)


def twins(found: dict[str, list[Found]]) -> list[tuple[str, str, int, int]]:
    """Return the methods that select the same features in nearly all runs that both have: names, equal sets, runs."""
    kept: dict[str, dict[tuple[str, int], frozenset[int]]] = defaultdict(dict)
    for items in found.values():
        for item in items:
            for cell, record in item.by_rows:
                kept[item.method][item.dataset, cell.split] = frozenset(record["selected"])
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
    return RANDOM if method == RANDOM or selector is None else selector_classes()[selector].__module__.split(".")[1]


def _summed(
    dataset: str,
    method: str,
    runs: list[Run],
    failed: int,
    alike: np.ndarray | None,
    random: dict[int, float],
    shared: tuple[int, ...],
) -> Found:
    by_both = [run for run in runs if run[0].split == run[0].seed]
    by_rows = by_both if method == RANDOM else [run for run in runs if run[0].seed == 0]
    by_seed = [run for run in runs if run[0].split == 0 and takes_seed(method)]
    errors, least_squares = (_by_split(runs, measure) for measure in ("ridge", "least_squares"))
    return Found(
        dataset,
        method,
        rows=agreement(by_rows),
        alike=_alike(by_rows, alike),
        seed=agreement(by_seed),
        both=agreement(by_both if is_seeded(method) else by_rows),
        ridge=_value(errors[split] for split in shared if split in errors),
        least_squares=_value(least_squares[split] for split in shared if split in least_squares),
        relative=_geometric(error / random[split] for split, error in errors.items() if random.get(split)),
        seconds=float(np.mean([record["seconds"] for _, record in runs])) if runs else None,
        failed=failed,
        subsamples=shared,
        by_rows=tuple(by_rows),
        errors=errors,
    )


def agreement(runs: list[Run]) -> Stability | None:
    """Return how far the sets of runs agree; None for fewer than two, or where there is no choice."""
    masks = _masks(runs)
    return None if len(masks) < 2 or masks.all() else stability(masks)


def _alike(runs: list[Run], alike: np.ndarray | None) -> float | None:
    masks = _masks(runs)
    if alike is None or len(masks) < 2 or masks.all() or masks.shape[1] != len(alike):
        return None
    return similarity_stability(masks, alike, threshold=1, n_draws=_DRAWS).adjusted


def _masks(runs: list[Run]) -> np.ndarray:
    width = max((record.get("n_columns", info(cell.dataset).n_columns) for cell, record in runs), default=0)
    masks = np.zeros((len(runs), width), dtype=bool)
    for mask, (_, record) in zip(masks, runs, strict=True):
        mask[record["selected"]] = True
    return masks


def _by_split(runs: list[Run], measure: str) -> dict[int, float]:
    values: dict[int, list[float]] = defaultdict(list)
    for cell, record in runs:
        values[cell.split].append(record[measure])
    return {split: float(np.mean(found)) for split, found in sorted(values.items())}


def _geometric(ratios: Iterable[float]) -> Value | None:
    """Return the geometric mean of ratios over subsamples and its standard error."""
    # A ratio's logarithm is what has a symmetric spread: one subsample that goes wrong does not hide the others.
    logs = _value(math.log(ratio) for ratio in ratios if ratio > 0)
    if logs is None:
        return None
    mean = math.exp(logs.mean)
    return Value(mean, None if logs.spread is None else mean * logs.spread, logs.count)


def _value(values: Iterable[float]) -> Value | None:
    """Return the mean over subsamples and its standard error."""
    found = list(values)
    if not found:
        return None
    spread = float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None
    return Value(float(np.mean(found)), spread, len(found))

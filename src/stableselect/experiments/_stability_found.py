"""What the fits of ``stability`` come to: how far the sets agree, and their errors, for each dataset and method."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..datasets import info
from ..metrics import stability
from ._cell import Cell
from ._interchangeable import TASK as INTERCHANGEABLE
from ._interchangeable import Interchangeable, unpacked
from ._methods import _selectors, find_method
from ._results import Results, Value
from ._stability import DATASETS, NETWORKS, RANDOM, TASK, is_seeded, methods, steps, takes_seed

Run = tuple[Cell, dict[str, Any]]


@dataclass(frozen=True)
class Agreement:
    """How far the sets of several runs agree.

    Attributes
    ----------
    value : float
        Nogueira's measure.
    low, high : float
        Its 95 % interval; NaN for two runs.
    runs : int
        Number of runs.
    """

    value: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Found:
    """A method on a dataset; None for what there are no cells of.

    Attributes
    ----------
    dataset, method : str
        Which.
    rows, seed, both : Agreement or None
        What was varied. ``seed`` is None where the method has none. For random columns ``rows`` is ``both``: with one
        seed they are the same columns on any rows.
    alike : float or None
        As ``rows``, with interchangeable columns counted as the same.
    ridge, least_squares : Value or None
        Error on the rows left out: mean over subsamples of the mean over seeds, and its standard error.
    relative : Value or None
        The ridge error over that of random columns on the same subsample: geometric mean over the subsamples, and its
        standard error.
    seconds : float or None
        Mean time of a fit.
    failed : int
        Cells that failed.
    """

    dataset: str
    method: str
    rows: Agreement | None = None
    alike: float | None = None
    seed: Agreement | None = None
    both: Agreement | None = None
    ridge: Value | None = None
    least_squares: Value | None = None
    relative: Value | None = None
    seconds: float | None = None
    failed: int = 0


def find(results: Results) -> dict[str, list[Found]]:
    """Return what is known of every method, by dataset; datasets without a finished cell are left out."""
    runs: dict[tuple[str, str], list[Run]] = defaultdict(list)
    failed: dict[tuple[str, str], int] = defaultdict(int)
    for item in results.of_task(TASK):
        cell = item.cell
        # Cells of an earlier limit on the steps stay in the file, but are another experiment.
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
        alike = None if record is None else Interchangeable(unpacked(record["pairs"], record["n_columns"]))
        random = _by_split(runs[dataset, RANDOM], "ridge")
        found[dataset] = [
            _summed(dataset, method, runs[dataset, method], failed[dataset, method], alike, random)
            for method in methods()
        ]
    return found


def family(method: str) -> str:
    """Return the family of a method: the folder its selector lives in, but for the published networks and random."""
    if method in NETWORKS:
        return "published network"
    selector = find_method(method).selector
    return RANDOM if method == RANDOM or selector is None else _selectors()[selector].__module__.split(".")[1]


def _summed(
    dataset: str,
    method: str,
    runs: list[Run],
    failed: int,
    alike: Interchangeable | None,
    random: dict[int, float],
) -> Found:
    by_both = [run for run in runs if run[0].split == run[0].seed]
    by_rows = by_both if method == RANDOM else [run for run in runs if run[0].seed == 0]
    by_seed = [run for run in runs if run[0].split == 0 and takes_seed(method)]
    errors = _by_split(runs, "ridge")
    ratios = [math.log(error / random[split]) for split, error in errors.items() if error > 0 and random.get(split)]
    ratio = _value(ratios)
    if ratio is not None:
        # A ratio's logarithm is what has a symmetric spread: one subsample that goes wrong does not hide the others.
        mean = math.exp(ratio.mean)
        ratio = replace(ratio, mean=mean, spread=None if ratio.spread is None else mean * ratio.spread)
    return Found(
        dataset,
        method,
        rows=agreement(by_rows),
        alike=_alike(by_rows, alike),
        seed=agreement(by_seed),
        both=agreement(by_both if is_seeded(method) else by_rows),
        ridge=_value(errors.values()),
        least_squares=_value(_by_split(runs, "least_squares").values()),
        relative=ratio,
        seconds=float(np.mean([record["seconds"] for _, record in runs])) if runs else None,
        failed=failed,
    )


def agreement(runs: list[Run]) -> Agreement | None:
    """Return how far the sets of runs agree; None for fewer than two, or where there is no choice."""
    masks = _masks(runs)
    if len(masks) < 2 or masks.all():
        return None
    found = stability(masks)
    return Agreement(found.nogueira, *found.confidence_interval, len(masks))


def _alike(runs: list[Run], alike: Interchangeable | None) -> float | None:
    masks = _masks(runs)
    if alike is None or len(masks) < 2 or masks.all() or masks.shape[1] != alike.n_columns:
        return None
    return alike.stability([np.flatnonzero(mask) for mask in masks])


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


def _value(values: Iterable[float]) -> Value | None:
    """Return the mean over subsamples and its standard error."""
    found = list(values)
    if not found:
        return None
    spread = float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None
    return Value(float(np.mean(found)), spread, len(found))

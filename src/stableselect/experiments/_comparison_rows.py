"""From the stored runs of a comparison to its rows."""

from __future__ import annotations

import math
import re
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from ..metrics import NoChoiceWarning, stability
from ._aggregate import Comparison
from ._comparison_result import MethodRow
from ._methods import RANDOM, Method
from ._store import Stored
from ._values import Interval, Value

Runs = Mapping[str, Sequence[Stored]]


def compared(
    methods: Sequence[Method], references: Sequence[Method], stored: Runs, m: int, k: int
) -> tuple[list[MethodRow], int, int]:
    """Return the rows, and the numbers of splits and of seeds that all methods with figures share.

    Parameters
    ----------
    methods, references : sequence of Method
        The rows.
    stored : mapping of str to sequence of Stored
        The runs of each.
    m, k : int
        Features of the table, and features asked for.
    """
    taking_part = _taking_part([one.name for one in methods], stored)
    taken = [one for one in (*methods, *references) if one.name in taking_part or one in references]
    seedless = [one.name for one in taken if not one.seeded]
    runs = {one.name: stored[one.name] for one in taken}
    of = {
        measure: Comparison(runs, measure, seedless=seedless, every_seed=[RANDOM])
        for measure in ("error", "explained", "accuracy", "seconds")
    }
    error = of["error"]
    # More features than the others have is no merit.
    fair = {one.name for one in methods if all(_size(item) <= k for item in stored[one.name])}
    names = [one.name for one in methods if one.name in fair and error.value(one.name) is not None]
    best = min(names, key=lambda name: _mean(error.value(name)), default=None)
    shared = set(error.repeats)

    def row(method: Method) -> MethodRow:
        name, items = method.name, stored[method.name]
        failed = [item for item in items if item.status == "failed"]
        kind: Literal["method", "reference"] = "method" if method in methods else "reference"
        if method not in taken:
            return MethodRow(name, kind, n_failed=len(failed), note=_why(failed, len(items)))
        value, accuracy = error.value(name), of["accuracy"].value(name)
        ratio = None if best is None else error.ratio(name, best)
        whole = method.seeded and name != RANDOM
        kept = [
            item
            for item in items
            if item.status == "done"
            and item.run.split in error.splits
            and (not whole or (item.run.split, item.run.seed) in shared)
        ]
        rows, seeds = _agreement(method, kept, m)
        sizes = [_size(item) for item in kept] if method.selector is not None else []
        seconds = of["seconds"].median(name)
        return MethodRow(
            name,
            kind,
            *_mean_and_spread(value),
            _mean(of["explained"].value(name)),
            *_ends(ratio),
            *_mean_and_spread(accuracy),
            stability=rows,
            seed_stability=seeds,
            seconds=math.nan if seconds is None else seconds,
            n_selected=float(np.mean(sizes)) if sizes else math.nan,
            n_runs=len(kept),
            n_failed=len(failed),
            note=_note(kept, failed, sizes, k),
        )

    # Sorting keeps the order of equal ones.
    rows = sorted(map(row, methods), key=lambda row: (math.isnan(row.error), row.name not in fair, row.error))
    seeds = len({seed for _, seed in shared}) if any(one.seeded for one in methods if one in taken) else 1
    return [*rows, *map(row, references)], len(error.splits), seeds


def _size(item: Stored) -> int:
    """Return how many features a run selected."""
    return len(item.record.get("selected") or ())


def _taking_part(names: Sequence[str], stored: Runs) -> list[str]:
    """Return the methods that did not fail in more than half of their runs; those that never failed if it takes that.

    One that fails here and another that fails there could leave no split for all.
    """
    failed = {name: [item for item in stored[name] if item.status == "failed"] for name in names}
    left = [name for name in names if 2 * len(failed[name]) <= len(stored[name])]
    gone = {item.run.split for name in left for item in failed[name]}
    every = {item.run.split for name in left for item in stored[name]}
    return left if len(every - gone) > 1 else [name for name in left if not failed[name]]


def _agreement(method: Method, kept: Sequence[Stored], m: int) -> tuple[float, float]:
    """Return how far the sets agree over splits, and over seeds."""
    if method.selector is None:
        return math.nan, math.nan
    by_seed: dict[int, list[list[int]]] = defaultdict(list)
    by_split: dict[int, list[list[int]]] = defaultdict(list)
    for item in kept:
        by_seed[item.run.seed].append(item.record["selected"])
        by_split[item.run.split].append(item.record["selected"])
    return _stability(by_seed, m), _stability(by_split, m) if method.seeded else 1.0


def _stability(groups: Mapping[int, list[list[int]]], m: int) -> float:
    """Return the mean stability of several groups of sets; nan where none has two."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoChoiceWarning)
        found = [stability(sets, n_features=m).nogueira for sets in groups.values() if len(sets) > 1]
    return float(np.mean(found)) if found else math.nan


def _note(kept: Sequence[Stored], failed: Sequence[Stored], sizes: Sequence[int], k: int) -> str:
    """Return what sets the figures of a row apart."""
    notes = []
    if failed:
        notes.append(_why(failed, len(kept) + len(failed)))
    if sizes and set(sizes) != {k}:
        low, high = min(sizes), max(sizes)
        notes.append(f"selects {low if low == high else f'{low} to {high}'} instead of {k}")
    if any(item.record.get("labelled") for item in kept):
        notes.append("selects by the labels, which the others do not see")
    return "; ".join(notes)


def _why(failed: Sequence[Stored], number: int) -> str:
    if not failed:
        return "no runs"
    # Where in the code is for those who mend it.
    reason = re.sub(r" \(in \S+, line \d+ of [^)]*\)$", "", failed[0].error)
    runs = f"failed in {len(failed)} of {number} runs" if len(failed) < number else "failed"
    return f"{runs} ({reason:.200})"


def _mean(value: Value | None) -> float:
    return math.nan if value is None else value.mean


def _mean_and_spread(value: Value | None) -> tuple[float, float]:
    return _mean(value), math.nan if value is None or value.spread is None else value.spread


def _ends(ratio: Interval | None) -> tuple[float, float, float]:
    return (math.nan,) * 3 if ratio is None else (ratio.mean, ratio.low, ratio.high)

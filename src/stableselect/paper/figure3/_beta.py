"""Figure 3 e and f, the cells: how far the losses on the test rows move when one training row is left out."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import numpy as np
from sklearn.base import clone

from ...experiments import Cell, Options, Protocol, Stored
from ...inspection import path_losses
from ..methods import Results, find_method, load_rows
from ._gap import WEIGHTS
from ._shared import COIL, FASHION, PUBLISHED_WEIGHT, REPEATS, SEARCH, bounded_test_rows, current, first_cell, repeated

TASK = "beta"
K, BATCH = 50, 8
Sizes = dict[str, tuple[int, ...]]
SIZES: Sizes = {FASHION: (3000, 4000, 5000, 6000), COIL: (100, 300, 500, 700, 900)}
FAST_SIZES: Sizes = {COIL: (100, 300)}
WEIGHT_SIZE = 3000
"""Rows for the panel over lambda1."""
WEIGHT_REPEATS = {"|W|": 3, "W^2": 1}
"""Of the networks there: the panel is not in the paper, and a pair of fits takes a minute."""
ROW, ORDER = "row", "order"
"""What changes between the two fits: a row is left out, or the same rows come in another order."""
SEARCH_ROWS, FAST_SEARCH_ROWS = 10, 2
"""Rows left out in turn in every repeat of the search under "sound"."""


def beta_cells(network: str, protocol: Protocol, options: Options) -> list[Cell]:
    """Return the cells of one network and of the search."""
    return [
        cell
        for name, sizes in (FAST_SIZES if options.fast else SIZES).items()
        for method in (network, SEARCH)
        for cell in _of_method(name, sizes, method, protocol, options)
    ]


def _of_method(name: str, sizes: tuple[int, ...], method: str, protocol: Protocol, options: Options) -> list[Cell]:
    first = first_cell(name, method, protocol, K, options)
    rows = _left_out(first)
    number = 1 if options.fast else max(REPEATS, options.seeds if protocol == "paper" else options.splits)
    cells = [
        cell
        for n in sizes
        for cell in repeated(first.of_task(TASK, n=n, weight=PUBLISHED_WEIGHT, change=ROW, rows=rows), number)
    ]
    if protocol == "paper":
        cells += [first.of_task(TASK, n=n, weight=PUBLISHED_WEIGHT, change=ORDER, rows=1) for n in sizes]
    if (protocol == "paper" or method == SEARCH) and (name == FASHION or options.fast):
        n = min(WEIGHT_SIZE, sizes[0])
        number = min(number, WEIGHT_REPEATS.get(method, number))
        for weight in WEIGHTS[:1] if options.fast else WEIGHTS:
            cells += repeated(first.of_task(TASK, n=n, weight=weight, change=ROW, rows=rows), number)
    return cells


def _left_out(cell: Cell) -> int:
    """Return how many rows a cell leaves out in turn."""
    if cell.method != SEARCH or cell.protocol == "paper":
        return 1
    return FAST_SEARCH_ROWS if cell.mode == "fast" else SEARCH_ROWS


def measure_beta(cell: Cell, data_home: str | None) -> dict[str, Any]:
    """Fit twice, with something changed, and compare the losses on every test row.

    Under "paper" the first n rows are fitted, and the row left out is the last of them. Under "sound" the rows are in
    random order already, those left out are drawn, and the test rows are bounded. Another order of the same rows, with
    the same seed, gives the network the same start but other batches.

    Parameters
    ----------
    cell : Cell
        With ``n``, ``weight``, ``change`` ("row" or "order") and ``rows`` (how many are left out in turn) in its
        details.
    data_home : str or None
        Folder of the datasets.

    Returns
    -------
    dict
        ``n``; ``seconds`` of all fits; ``selected``; ``test``, the mean loss of each path; ``beta`` and ``mean``, the
        largest and the mean change of each path's loss over the test rows, ``shared``, the columns in common, and
        ``unchanged``, the share of kept sets that stayed, each a mean over the second fits; ``largest``, the largest
        change of the total loss over all of them; for the search ``held``, the same where the second fits keep the
        columns of the first.
    """
    rows, details = load_rows(cell, data_home), cell.details
    X, points = rows.X_train[: details["n"]], bounded_test_rows(rows, cell.protocol)
    if len(X) < details["n"]:
        raise ValueError(f"{cell.dataset} has {len(X)} training rows, fewer than n = {details['n']}; take a smaller n.")
    selector: Any = find_method(cell.method).build(cell).set_params(scorer_weight=details["weight"])
    if cell.method != SEARCH:
        selector.set_params(batch_size=BATCH)
    start = time.perf_counter()
    full = clone(selector).fit(X)
    parts = [X[kept] for kept in _changed(cell)]
    others = [clone(selector).fit(part) for part in parts]
    seconds = time.perf_counter() - start
    before = path_losses(full, points)
    shared = [int(np.sum(full.support_ & other.support_)) for other in others]
    record = {
        "n": len(X),
        "seconds": seconds,
        "selected": full.selected_.tolist(),
        "test": {path: float(losses.mean()) for path, losses in before.items()},
        "shared": float(np.mean(shared)),
        "unchanged": float(np.mean([count == cell.k for count in shared])),
    } | _changes(before, others, points)
    if cell.method == SEARCH:
        fixed = clone(selector).set_params(include=full.selected_.tolist(), ridge=full.ridge_)
        record["held"] = _changes(before, [clone(fixed).fit(part) for part in parts], points)
    return record


def _changes(before: dict[str, np.ndarray], others: list[Any], points: np.ndarray) -> dict[str, Any]:
    """Return the largest and the mean change of every loss over the points, and the largest over all of the total's."""
    changes: dict[str, list[np.ndarray]] = {path: [] for path in before}
    for other in others:
        for path, losses in path_losses(other, points).items():
            changes[path].append(np.abs(losses - before[path]))
    return {
        "beta": {path: float(np.mean(np.max(found, axis=1))) for path, found in changes.items()},
        "mean": {path: float(np.mean(found)) for path, found in changes.items()},
        "largest": float(np.max(changes["total"])),
    }


def _changed(cell: Cell) -> list[np.ndarray]:
    """Return the rows of every second fit, as places among the first n."""
    details = cell.details
    n = details["n"]
    rng = np.random.default_rng([cell.split, cell.seed, n])
    if details["change"] == ORDER:
        return [rng.permutation(n)]
    gone = [n - 1] if cell.protocol == "paper" else rng.choice(n, min(details["rows"], n), replace=False).tolist()
    return [np.delete(np.arange(n), row) for row in gone]


class Betas:
    """The stored cells of the task by dataset, method, protocol, number of rows, weight and change."""

    def __init__(self, results: Results) -> None:
        self._items: dict[tuple[Any, ...], list[Stored]] = defaultdict(list)
        for item in current(results, TASK):
            cell, details = item.cell, item.cell.details
            if details["rows"] != _left_out(cell):
                continue  # of an earlier plan
            key = cell.dataset, cell.method, cell.protocol, details["n"], details["weight"], details["change"]
            self._items[key].append(item)

    def of(
        self,
        dataset: str,
        method: str,
        protocol: Protocol,
        n: int,
        *,
        weight: float = PUBLISHED_WEIGHT,
        change: str = ROW,
    ) -> list[Stored]:
        """Return the repeats of a setting."""
        return self._items.get((dataset, method, protocol, n, weight, change), [])

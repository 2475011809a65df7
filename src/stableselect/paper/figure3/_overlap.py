"""Figure 3 g and h, the cells: the columns kept on ten splits, with the seed held fixed and with the seed free."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from ...datasets import Scale, info
from ...experiments import Cell, Options, Protocol, Stored
from ...metrics import Stability, stability
from ..methods import Results, find_method, load_rows
from ._shared import COIL, FASHION, SEARCH, current, first_cell

TASK = "overlap"
KS = {FASHION: 10, COIL: 5}
FAST_KS = {COIL: 5}
SPLITS, FAST_SPLITS = 10, 3
PATIENCE = 20
FIXED, FREE = "fixed", "free"
_TEST_SIZE = 0.1


def overlap_cells(network: str, protocol: Protocol, options: Options) -> list[Cell]:
    """Return the cells of one network, with seed 0 and with the split's number as seed, and of the search."""
    cells = []
    for name, k in (FAST_KS if options.fast else KS).items():
        for split in range(FAST_SPLITS if options.fast else SPLITS):
            for method, seed in dict.fromkeys([(network, 0), (network, split), (SEARCH, 0)]):
                first = first_cell(name, method, protocol, k, options)
                cells.append(replace(first, split=split, seed=seed).of_task(TASK))
    return cells


def measure_overlap(cell: Cell, data_home: str | None) -> dict[str, Any]:
    """Select on nine tenths of the pooled rows.

    The pool is that of the published training and test rows, or under "sound" of one random draw; the cell's split cuts
    it in two, and under "sound" the scaling is fitted on the larger part. The seed of the network is the cell's, and
    nothing else, so that cells of one seed start from the same weights.

    The record holds ``n``, ``seconds``, ``selected``, ``test`` (error of both paths on the other tenth), ``epochs`` and
    ``stopped``.
    """
    rows = load_rows(replace(cell, split=0), data_home)
    pool = np.concatenate([rows.X_train, rows.X_test])
    X, X_test = train_test_split(pool, test_size=_TEST_SIZE, random_state=cell.split)
    if cell.protocol == "sound":
        scale = Scale.minmax(X)
        X, X_test = scale.apply(X), scale.apply(X_test)
    selector: Any = find_method(cell.method).build(cell)
    if cell.method != SEARCH:
        selector.set_params(random_state=cell.seed, patience=PATIENCE, tol=0.0)
    start = time.perf_counter()
    selector.fit(X)
    return {
        "n": len(X),
        "seconds": time.perf_counter() - start,
        "selected": selector.selected_.tolist(),
        "test": {
            path: float(np.mean((X_test - selector.forward(X_test, path)) ** 2)) for path in ("selector", "scorer")
        },
        "epochs": getattr(selector, "n_epochs_", None),
        "stopped": getattr(selector, "stop_reason_", None),
    }


@dataclass(frozen=True)
class Overlap:
    """The kept columns of several splits.

    Attributes
    ----------
    counts : ndarray of int, shape (m,)
        How many splits kept each column.
    runs : int
        Splits.
    measures : Stability or None
        None for a single split.
    items : list of Stored
        The cells.
    """

    counts: np.ndarray
    runs: int
    measures: Stability | None
    items: list[Stored]

    @property
    def distinct(self) -> int:
        """Columns kept at least once."""
        return int(np.sum(self.counts > 0))

    @property
    def always(self) -> int:
        """Columns kept on every split."""
        return int(np.sum(self.counts == self.runs))


class Overlaps:
    """The stored cells of the task by dataset, method and protocol."""

    def __init__(self, results: Results) -> None:
        self._items: dict[tuple[str, str, str], list[Stored]] = defaultdict(list)
        for item in current(results, TASK):
            self._items[item.cell.dataset, item.cell.method, item.cell.protocol].append(item)

    def items(self, dataset: str, method: str, protocol: Protocol, seeds: str) -> list[Stored]:
        """Return the cells with the seed fixed at 0, or with the split's number as seed."""
        return [
            item
            for item in self._items.get((dataset, method, protocol), [])
            if item.cell.seed == (item.cell.split if seeds == FREE else 0)
        ]

    def of(self, dataset: str, method: str, protocol: Protocol, seeds: str) -> Overlap | None:
        """Return the overlap of the finished cells; None where there are none."""
        items = [item for item in self.items(dataset, method, protocol, seeds) if item.status == "done"]
        kept = [item.record["selected"] for item in items if item.record.get("selected")]
        if not kept:
            return None
        m = info(dataset).n_columns
        counts = np.bincount(np.concatenate(kept), minlength=m)
        measures = stability(kept, n_features=m) if len(kept) > 1 else None
        return Overlap(counts, len(kept), measures, items)

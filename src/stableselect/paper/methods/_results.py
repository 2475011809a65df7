"""Look cells up: the mean of a measure over splits and seeds, its spread, and why there is none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...datasets import info, names
from ...experiments import Cell, Mode, Protocol, Stored, Value, geometric_mean
from ._data import is_available
from ._methods import FAST_DATASETS, cap, find_method

NOT_AVAILABLE = "not available"
NOT_RUN = "not run"

__all__ = ["NOT_AVAILABLE", "NOT_RUN", "Results", "Value", "geometric_mean", "record_part"]


class Results:
    """The cells of a results file, of one mode.

    Parameters
    ----------
    stored : sequence of Stored
        All cells of the file.
    mode : {"full", "fast"} or None
        Which to show; None for the full ones, or the fast ones where there are no others.
    data_home : path, optional
        Folder of the datasets.
    """

    def __init__(self, stored: Sequence[Stored], mode: Mode | None = None, data_home: str | Path | None = None) -> None:
        if mode is None:
            mode = "full" if not stored or any(item.cell.mode == "full" for item in stored) else "fast"
        self.mode: Mode = mode
        self.data_home = data_home
        begun = {item.cell.dataset for item in stored if item.cell.mode == mode and item.status == "done"}
        self._here = begun | {name for name in names() if is_available(name, data_home)}
        self._by_row: dict[tuple[str, str, str, int], list[Stored]] = defaultdict(list)
        self._by_task: dict[str, list[Stored]] = defaultdict(list)
        for item in stored:
            cell = item.cell
            if cell.task:
                if cell.mode == mode:
                    self._by_task[cell.task].append(item)
                continue
            # Cells of an earlier limit on the steps stay in the file, but are another experiment.
            current = cap(cell.method, cell.protocol, cell.dataset, fast=cell.mode == "fast")
            if cell.mode == mode and cell.cap == current:
                self._by_row[cell.dataset, cell.method, cell.protocol, cell.k].append(item)

    @property
    def datasets(self) -> list[str]:
        """The datasets a table shows, those that are not at hand included."""
        return [
            name
            for name in names()
            if self.mode == "full" or name in FAST_DATASETS or self.reason(name) == NOT_AVAILABLE
        ]

    def stored(self, dataset: str, method: str, protocol: Protocol, k: int | None = None) -> list[Stored]:
        """Return the cells of a method on a dataset; k is the published one by default."""
        return self._by_row.get((dataset, method, protocol, info(dataset).k if k is None else k), [])

    def everything(self) -> list[Stored]:
        """Return every cell of the mode, tasks included."""
        return [item for rows in (self._by_row, self._by_task) for items in rows.values() for item in items]

    def of_task(self, task: str) -> list[Stored]:
        """Return every cell of a task, of whatever limit on the steps."""
        return self._by_task[task]

    def records(self, dataset: str, method: str, protocol: Protocol, k: int | None = None) -> list[tuple[Cell, dict]]:
        """Return the finished cells and their results."""
        found = self.stored(dataset, method, protocol, k)
        return [(item.cell, item.record) for item in found if item.status == "done"]

    def value(self, dataset: str, method: str, protocol: Protocol, measure: str, k: int | None = None) -> Value | None:
        """Return a measure, named as in the record, with dots for its parts; None where there is none."""
        by_split: dict[int, list[float]] = defaultdict(list)
        for cell, record in self.records(dataset, method, protocol, k):
            number = record_part(record, measure)
            if number is not None:
                by_split[cell.split].append(float(number))
        if not by_split:
            return None
        means = [float(np.mean(by_split[split])) for split in sorted(by_split)]
        count = sum(len(values) for values in by_split.values())
        if protocol == "sound":
            spread = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None
        else:
            spread = float(np.std(by_split[min(by_split)], ddof=1)) if count > 1 else None
        return Value(float(np.mean(means)), spread, count, self.failures(dataset, method, protocol, k))

    def failures(self, dataset: str, method: str, protocol: Protocol, k: int | None = None) -> int:
        """Return how many cells of a method on a dataset failed."""
        return sum(item.status == "failed" for item in self.stored(dataset, method, protocol, k))

    def by_split(self, dataset: str, method: str, measure: str, k: int | None = None) -> dict[int, float]:
        """Return a measure under "sound" by split, mean over the seeds."""
        found: dict[int, list[float]] = defaultdict(list)
        for cell, record in self.records(dataset, method, "sound", k):
            number = record_part(record, measure)
            if number is not None:
                found[cell.split].append(float(number))
        return {split: float(np.mean(values)) for split, values in sorted(found.items())}

    def reason(
        self, dataset: str, method: str | None = None, protocol: Protocol | None = None, k: int | None = None
    ) -> str:
        """Say why there is no value."""
        if dataset not in self._here:
            return NOT_AVAILABLE
        if method is None or protocol is None:
            return NOT_RUN
        if not find_method(method).available():
            return NOT_AVAILABLE
        statuses = {item.status for item in self.stored(dataset, method, protocol, k)}
        return "failed" if "failed" in statuses else "running" if "running" in statuses else NOT_RUN


def record_part(record: dict[str, Any], measure: str) -> Any:
    found: Any = record
    for name in measure.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found

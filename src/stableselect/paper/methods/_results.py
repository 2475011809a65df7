"""Look runs up: which there are of a method on a dataset, how it compares with the others, and why it has none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ...datasets import info, names, own_names
from ...experiments import Comparison, Measure, Mode, Run, Stored, Value
from ...inspection import PowerLawFit, StabilityAnalysis, fit_power_law
from ._data import is_available
from ._methods import FAST_DATASETS, METHODS, OTHERS, cap, find_method
from ._options import Protocol

NOT_AVAILABLE = "not available"
NOT_RUN = "not run"


class Results:
    """The runs of a results file, of one mode.

    Parameters
    ----------
    stored : sequence of Stored
        All runs of the file.
    mode : {"full", "fast"} or None
        Which to show; None for the full ones, or the fast ones where there are no others.
    data_home : path, optional
        Folder of the datasets.
    """

    def __init__(self, stored: Sequence[Stored], mode: Mode | None = None, data_home: str | Path | None = None) -> None:
        if mode is None:
            mode = "full" if not stored or any(item.run.mode == "full" for item in stored) else "fast"
        self.mode: Mode = mode
        self.data_home = data_home
        begun = {item.run.dataset for item in stored if item.run.mode == mode and item.status == "done"}
        self._here = begun | {name for name in names() if is_available(name, data_home)}
        self._own_datasets = [name for name in own_names(data_home) if name in begun]
        self._by_row: dict[tuple[str, str, str, int], list[Stored]] = defaultdict(list)
        self._compared: dict[tuple[Any, ...], Comparison[str]] = {}
        self._by_task: dict[str, list[Stored]] = defaultdict(list)
        self._own = sorted(filter(_is_own, {item.run.method for item in stored if not item.run.task}))
        for item in stored:
            run = item.run
            if run.mode != mode:
                continue
            if run.task:
                self._by_task[run.task].append(item)
            # Runs of an earlier limit on the steps stay in the file, but are another experiment.
            elif run.cap == cap(run.method, run.protocol, run.dataset, fast=mode == "fast"):
                self._by_row[run.dataset, run.method, run.protocol, run.k].append(item)

    @property
    def datasets(self) -> list[str]:
        """The datasets a table shows, those whose files are missing included."""
        return [
            name
            for name in names()
            if self.mode == "full" or name in FAST_DATASETS or self.reason(name) == NOT_AVAILABLE
        ]

    @property
    def tables(self) -> list[str]:
        """The datasets, and the user's own that have been run."""
        return [*self.datasets, *self._own_datasets]

    @cached_property
    def others(self) -> list[str]:
        """The methods beside those of the tables that have been run."""
        found = (*OTHERS, *self._own)
        return [name for name in found if any(self.stored(dataset, name, "corrected") for dataset in self.tables)]

    def stored(self, dataset: str, method: str, protocol: Protocol, k: int | None = None) -> list[Stored]:
        """Return the runs of a method on a dataset; k is the published one by default."""
        return self._by_row.get((dataset, method, protocol, info(dataset).k if k is None else k), [])

    def everything(self) -> list[Stored]:
        """Return every run of the mode, tasks included."""
        return [item for rows in (self._by_row, self._by_task) for items in rows.values() for item in items]

    def of_task(self, task: str) -> list[Stored]:
        """Return every run of a task, of whatever limit on the steps."""
        return self._by_task[task]

    def records(self, dataset: str, method: str, protocol: Protocol, k: int | None = None) -> list[tuple[Run, dict]]:
        """Return the finished runs and their results."""
        found = self.stored(dataset, method, protocol, k)
        return [(item.run, item.record) for item in found if item.status == "done"]

    def compared(
        self,
        dataset: str,
        protocol: Protocol,
        measure: Measure,
        *,
        methods: Sequence[str] = tuple(METHODS),
        k: int | None = None,
    ) -> Comparison[str]:
        """Return methods on the splits and seeds that all of them have; those of the tables by default.

        Random features keep all their draws, and under "paper", which has one split, every method keeps all its seeds;
        such values are marked.
        """
        key = dataset, protocol, measure, tuple(methods), k
        if key not in self._compared:
            drawn = [name for name in methods if find_method(name).selector == "RandomSelector"]
            self._compared[key] = Comparison(
                {name: self.stored(dataset, name, protocol, k) for name in methods},
                measure,
                seedless=[name for name in methods if not find_method(name).seeded],
                every_seed=methods if protocol == "paper" else drawn,
            )
        return self._compared[key]

    def value(
        self,
        dataset: str,
        method: str,
        protocol: Protocol,
        measure: Measure,
        k: int | None = None,
        *,
        methods: Sequence[str] | None = None,
    ) -> Value | None:
        """Return a measure, compared with the other methods of the tables, or with those named; None without a run.

        One of :attr:`others` is compared with the methods of the tables, which keep their splits. Under "paper" the
        spread is the standard deviation over the seeds, otherwise the standard error over the splits.
        """
        if methods is None:
            methods = _beside(method) if method in METHODS or method in self.others else (method,)
        compared = self.compared(dataset, protocol, measure, methods=methods, k=k)
        return compared.value(method, over="repeats" if protocol == "paper" else "splits")

    def seconds(self, dataset: str, method: str, protocol: Protocol) -> float | None:
        """Return the median time to select."""
        return self.compared(dataset, protocol, "seconds", methods=_beside(method)).median(method)

    def reason(
        self, dataset: str, method: str | None = None, protocol: Protocol | None = None, k: int | None = None
    ) -> str:
        """Say why there is no value."""
        if dataset not in self._here:
            return NOT_AVAILABLE
        if method is None or protocol is None:
            return NOT_RUN
        # What a page says of an optional package must not depend on where it is written.
        if method not in self.others and not find_method(method).available():
            return NOT_AVAILABLE
        statuses = {item.status for item in self.stored(dataset, method, protocol, k)}
        return "failed" if "failed" in statuses else NOT_RUN


def _is_own(method: str) -> bool:
    """Tell whether a stored run is of a user's own method, of which this machine may know nothing any more."""
    try:
        return find_method(method).kind == "own"
    except ValueError:
        return False


def _beside(method: str) -> tuple[str, ...]:
    """Return the methods of the tables, and one more where it is not among them."""
    return tuple(dict.fromkeys((*METHODS, method)))


def agreement(runs: Iterable[Stored]) -> StabilityAnalysis | None:
    """Analyse the sets of finished runs on one dataset; None for fewer than two, or where there is no choice."""
    done = [item for item in runs if item.status == "done"]
    widths = [item.record.get("n_columns", info(item.run.dataset).n_columns) for item in done]
    sets = [item.record["selected"] for item in done]
    if len(sets) < 2 or all(len(one) == max(widths) for one in sets):
        return None
    return StabilityAnalysis.from_supports(sets, n_features=max(widths))


def of_one(items: Sequence[Stored], measure: Measure) -> Value | None:
    """Return a measure of one method over its repeats, with its standard deviation."""
    return Comparison({"": items}, measure).value("", over="repeats")


def rate(sizes: Sequence[int], items: Sequence[Iterable[Stored]], measure: Measure) -> PowerLawFit | None:
    """Return the power of n that fits a measure, from the repeats that have every size; None where there are none."""
    return Comparison(dict(zip(sizes, items, strict=True)), measure).fit(sizes, fit_power_law)

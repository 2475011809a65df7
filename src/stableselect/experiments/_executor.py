"""Compute runs in parallel over processes, each on one thread; this process alone writes what comes of them."""

from __future__ import annotations

import os
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from ..base import whole_fits
from ._run import CURRENT, Current, Run
from ._store import Rename, Store, Stored

Evaluate = Callable[[Run, str | None], dict[str, Any]]
Compute = Callable[[Run], Stored | None]

_KILLED = "The process that computed this run was ended from outside; the usual cause is too little memory."


Report = Callable[[Stored, int, int], None]
"""Called with a run that has ended, the number of runs ended and the number of all, as each run ends."""


def execute(
    runs: Sequence[Run],
    folder: str | os.PathLike[str],
    evaluate: Evaluate,
    *,
    jobs: int = 1,
    retry: bool = False,
    data_home: str | None = None,
    report: Report | None = None,
    rename: Rename | None = None,
    current: Current | None = None,
) -> list[Stored]:
    """Compute the runs that a store lacks, or has of an earlier revision.

    Stop it at any time: what has ended is stored, a run that was cut short is not, and the next call goes on.

    Parameters
    ----------
    runs : sequence of Run
        What is wanted.
    folder : path
        The results folder.
    evaluate : callable
        Computes a run.
    jobs : int
        Processes; 1 computes in this one.
    retry : bool
        Compute failed runs again.
    data_home : str or None
        Folder of the datasets.
    report : callable, optional
        Told of every run as it ends.
    rename, current : callable, optional
        See :class:`Store`.

    Returns
    -------
    list of Stored
        One for each run that had to be computed, in the order in which they ended.

    Raises
    ------
    ChildProcessError
        If all processes end before they compute anything.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs must be a whole number of at least 1, got {jobs!r}.")
    with Store(folder, write=True, rename=rename, current=current) as store:
        wanted = [run for run in dict.fromkeys(runs) if _is_open(store.get(run), retry)]
        ended: list[Stored] = []

        def take(item: Stored) -> None:
            revision = CURRENT if current is None else current(item.run)
            item = replace(item, revision=revision, current=revision)
            store.add(item)
            ended.append(item)
            if report is not None:
                report(item, len(ended), len(wanted))

        compute = partial(_compute, evaluate=evaluate, data_home=data_home)
        if jobs == 1:
            for run in wanted:
                take(_whole(compute(run)))
        else:
            _in_processes(wanted, jobs, compute, take)
        return ended


def _is_open(found: Stored | None, retry: bool) -> bool:
    """Tell whether a run has no result of the current revision or a later; a failed one is open with ``retry`` only."""
    return found is None or found.revision < found.current or (retry and found.status == "failed")


def _in_processes(wanted: list[Run], jobs: int, compute: Compute, take: Callable[[Stored], None]) -> None:
    left = dict.fromkeys(wanted)

    def end(item: Stored) -> None:
        del left[item.run]
        take(item)

    while left:
        try:
            for item in _pool(list(left), jobs, compute):
                end(item)
        except BrokenProcessPool:
            # A process that dies takes the others with it. Those that were under way go on one at a time, each in a
            # process of its own, so that the one at fault is found and the rest are not blamed.
            suspects = list(left)[: _dispatched(jobs)]
            dead = []
            for run in suspects:
                try:
                    end(*_pool([run], jobs, compute))
                except BrokenProcessPool:
                    dead.append(Stored(run, "failed", {}, _KILLED))
            if len(dead) == len(suspects) > 1:
                raise ChildProcessError(
                    "Every process ended before it had computed a run; the usual cause is too little memory. Ask for "
                    "fewer jobs: one computes in this process, and shows the error."
                ) from None
            for item in dead:
                end(item)


def _dispatched(jobs: int) -> int:
    """Return how many runs may be under way or waiting in a pool."""
    return 2 * max(2, jobs)


def _pool(runs: Sequence[Run], jobs: int, compute: Compute) -> Iterator[Stored]:
    with parallel_config(backend="loky", inner_max_num_threads=1):
        # Two processes at least: joblib would compute in this one otherwise, and a crash would end it.
        found = Parallel(
            n_jobs=max(2, jobs), batch_size=1, pre_dispatch=_dispatched(jobs), return_as="generator_unordered"
        )(delayed(compute)(run) for run in runs)
        try:
            for item in found:
                yield _whole(item)
        finally:
            # Runs that are still under way after an interruption are given up on purpose.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.close()


def _compute(run: Run, evaluate: Evaluate, data_home: str | None) -> Stored | None:
    """Compute a run; None where it was interrupted, even if what computes it carried on and returned."""
    with _watched() as interrupted:
        try:
            # One thread, so that times compare and processes do not fight.
            with threadpool_limits(1), whole_fits():
                item = Stored(run, "done", evaluate(run, data_home), "")
            # A number that JSON cannot hold is the run's failure.
            item.line()
        except Exception as error:
            item = Stored(run, "failed", {}, _sentence(error))
        except KeyboardInterrupt:
            return None
    return None if interrupted else item


def _whole(item: Stored | None) -> Stored:
    if item is None:
        raise KeyboardInterrupt
    return item


@contextmanager
def _watched() -> Iterator[list[bool]]:
    """Give a list that is no longer empty once Ctrl-C was pressed: other packages may end early, without an error."""
    seen: list[bool] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield seen
        return

    def note(number: int, frame: Any) -> None:
        seen.append(True)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def _sentence(error: Exception) -> str:
    """Return an error in one line: what, and in which function; no paths, since results files travel."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return (
        f"{type(error).__name__}: {text} (in {frame.name}, line {frame.lineno} of {os.path.basename(frame.filename)})"
    )

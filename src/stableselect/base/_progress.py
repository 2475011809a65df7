"""Work on many items, in turn, in threads or in processes: how far it has come, and whether it may stop short.

What iterates writes ``for item in counted(items, "folds")``, or calls what :func:`steps` gives after each step. Nobody
listens unless a selector has ``verbose=True`` (lines on standard error) or a caller says :func:`told_to` (the bar of
the command line).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from numbers import Integral
from threading import Lock
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from .._compat import Interval
from .._core import side_by_side

Item = TypeVar("Item")
Result = TypeVar("Result")
N_JOBS = [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None]
"""What n_jobs may be."""
Report = Callable[[str, int, int | None, float], object]
"""Called with what is counted, how many are done, of how many (None: not known), and the seconds since the first."""

_SECONDS = 0.1
"""Time between two reports."""
_LINE_SECONDS = 2.0
"""Time between two lines."""
_WHOLE = ContextVar("whole", default=False)
"""Whether a fit that is interrupted ends all the work it is part of, or may return what it has."""


class _Listener:
    def __init__(self, report: Report) -> None:
        self.report, self.busy = report, False


_LISTENER: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(report: Report) -> Iterator[None]:
    """Report the steps of all work in here; of loops inside each other those of the outermost."""
    token = _LISTENER.set(_Listener(report))
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def steps(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Give a function to call after each step."""
    listener = _LISTENER.get()
    if listener is None or listener.busy or total == 1:
        yield lambda: None
        return
    done, begin = 0, time.monotonic()
    reported, alone = begin, Lock()

    def advance() -> None:
        nonlocal done, reported
        with alone:  # several threads may be working
            done, now = done + 1, time.monotonic()
            if done == total or now - reported >= _SECONDS:
                reported = now
                listener.report(what, done, total, now - begin)

    listener.busy = True
    try:
        yield advance
    finally:
        listener.busy = False


def counted(items: Collection[Item], what: str) -> Iterator[Item]:
    """Yield the items, and report how many are done."""
    with steps(what, len(items)) as advance:
        for item in items:
            yield item
            advance()


def in_threads(function: Callable[[Item], Result], items: Collection[Item], what: str, at_most: int) -> list[Result]:
    """Return the function of every item, some of them side by side; the same for every number of threads.

    Parameters
    ----------
    function : callable
        What is done; most of it in NumPy, so that other threads can work meanwhile.
    items : collection
        What it is called with.
    what : str
        What the items are, for the report of how many are done.
    at_most : int
        Most threads.

    Returns
    -------
    list
        In the order of the items.
    """
    with steps(what, len(items)) as advance:

        def work(item: Item) -> Result:
            found = function(item)
            advance()
            return found

        return side_by_side(work, items, at_most)


def in_processes(
    function: Callable[[Item], Result], items: Collection[Item], what: str, n_jobs: int | None, most: int = 0
) -> list[Result]:
    """Return the function of every item; the same for every number of processes.

    Parameters
    ----------
    function : callable
        What is done.
    items : collection
        What it is called with.
    what : str
        What the items are, for the report of how many are done.
    n_jobs : int or None
        Processes, as in joblib, each with one thread for linear algebra; None for this process alone. No more are
        started than there are items.
    most : int, default=0
        Where several calls follow each other with few items that take long each: the number of items of the largest.
        They then share their processes (one that a smaller call stops would have to start again for the next), and
        every process gets one item at a time.

    Returns
    -------
    list
        In the order of the items.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 leaves no process to work in; give 1 or more, or -1 for one on every core.")
    nested = bool(get_active_backend()[0].nesting_level)  # the processes of whoever called are enough
    alone = n_jobs is None or nested or len(items) < 2
    jobs = 1 if alone else min(effective_n_jobs(n_jobs), max(most, len(items)))
    found = []
    with parallel_config(backend="loky", inner_max_num_threads=1), steps(what, len(items)) as advance:
        parallel = Parallel(jobs, return_as="generator", batch_size=1 if most else "auto")
        for result in parallel(delayed(function)(item) for item in items):
            found.append(result)
            advance()
    return found


def verbose_steps(name: str, verbose: bool) -> AbstractContextManager[None]:
    """Print the steps of the work in here to standard error, if so asked; ``name`` is whose they are."""
    return told_to(_lines(name)) if verbose else nullcontext()


def _lines(name: str) -> Report:
    """Return a report that prints a line every other second, and one when all steps are done."""
    printed = time.monotonic()

    def report(what: str, done: int, total: int | None, seconds: float) -> None:
        nonlocal printed
        if done != total and time.monotonic() - printed < _LINE_SECONDS:
            return
        printed = time.monotonic()
        text = f"{name} after {_duration(seconds)}: {progress_text(what, done, total, seconds)}"
        print(text, file=sys.stderr, flush=True)

    return report


def progress_text(what: str, done: int, total: int | None, seconds: float) -> str:
    """Return the count and, where it can be told, the time left."""
    of = "" if total is None else f" of {total}"
    left = "" if total is None or done >= total else f", {_duration(seconds / done * (total - done))} left"
    return f"{what} {done}{of}{left}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


@contextmanager
def whole_fits() -> Iterator[None]:
    """Let Ctrl-C through: a fit in here is finished or raises ``KeyboardInterrupt``.

    For work in which one fit is a part: repeated, stored, or written to a file. Set it where the fit is called, in the
    worker's own process or thread, since workers do not inherit it.
    """
    token = _WHOLE.set(True)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def may_stop_short() -> bool:
    """Tell whether a fit that is interrupted may keep what it has reached: only one that was asked for by itself."""
    return not _WHOLE.get()

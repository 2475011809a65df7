"""How far the work has come, told to whoever asked: lines on standard error, or the bar of the command line.

What iterates writes ``for item in counted(items, "folds")``, or calls what :func:`steps` gives after each step. Nobody
listens unless a selector has ``verbose=True`` or a caller says :func:`told_to`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Report = Callable[[str, int, int | None, float], object]
"""Called with what is counted, how many are done, of how many (None: not known), and the seconds since the first."""

_SECONDS = 0.1
"""Time between two reports."""
_LINE_SECONDS = 2.0
"""Time between two lines."""


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
    reported = begin

    def advance() -> None:
        nonlocal done, reported
        done, now = done + 1, time.monotonic()
        if done == total or now - reported >= _SECONDS:
            reported = now
            listener.report(what, done, total, now - begin)

    listener.busy = True
    try:
        yield advance
    finally:
        listener.busy = False


def counted(items: Collection[T], what: str) -> Iterator[T]:
    """Yield the items, and report how many are done."""
    with steps(what, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextmanager
def verbose_steps(name: str, verbose: bool) -> Iterator[None]:
    """Print the steps of the work in here to standard error, if so asked; ``name`` is whose they are."""
    if not verbose:
        yield
        return
    with told_to(_lines(name)):
        yield


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

"""Say how a run goes: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..base import progress_text
from ..experiments import Report, Run, Stored
from ._shell import console


@contextmanager
def progress(*, quiet: bool = False, named: Callable[[Run], str] = str) -> Iterator[Report | None]:
    """Give a function to report to, which writes to standard error.

    Parameters
    ----------
    quiet : bool
        Write nothing.
    named : callable
        From a run to the words for it.
    """
    begun: list[float] = []

    def line(item: Stored, ended: int, total: int) -> str:
        # Counted from the first run that ends: until then, processes were starting.
        begun.append(time.monotonic())
        taken = begun[-1] - begun[0]
        left = progress_text("", ended - 1, total - 1, taken).partition(",")[2].strip() if ended > 1 else ""
        return _line(item, ended, total, named) + (f" ({left})" if left else "")

    if quiet:
        yield None
    elif not sys.stderr.isatty():
        yield lambda item, ended, total: print(line(item, ended, total), file=sys.stderr, flush=True)
    else:
        with _bar(named) as report:
            yield report


@contextmanager
def _bar(named: Callable[[Run], str]) -> Iterator[Report]:
    from rich import progress as parts

    left = parts.TextColumn("left", markup=False)
    times = parts.TimeElapsedColumn(), parts.TimeRemainingColumn()
    columns = (parts.BarColumn(20), parts.MofNCompleteColumn(), *times, left)
    # The rate is taken over many runs: quick and slow ones come in turns.
    with parts.Progress(*columns, console=console(stderr=True), transient=True, speed_estimate_period=600) as bar:
        task = bar.add_task("", total=None)

        def report(item: Stored, ended: int, total: int) -> None:
            bar.update(task, completed=ended, total=total)
            if item.status == "failed":
                bar.console.print(_line(item, ended, total, named), soft_wrap=True)

        yield report


def _line(item: Stored, ended: int, total: int, named: Callable[[Run], str]) -> str:
    taken = item.record.get("seconds")
    seconds = "" if taken is None else f" in {taken:.1f} s"
    error = f": {item.error}" if item.error else ""
    return f"[{ended}/{total}] {named(item.run)}: {item.status}{seconds}{error}"

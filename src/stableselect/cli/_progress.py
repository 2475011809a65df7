"""Say how a run goes: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ..experiments import Outcome, Report


@contextmanager
def progress(stream: TextIO | None = None, *, quiet: bool = False) -> Iterator[Report | None]:
    """Give a function to report to.

    Parameters
    ----------
    stream : text stream, optional
        Where to write; standard error by default.
    quiet : bool
        Write nothing.
    """
    stream = sys.stderr if stream is None else stream
    if quiet:
        yield None
    elif not stream.isatty():
        yield lambda outcome, ended, total: print(_line(outcome, ended, total), file=stream, flush=True)
    else:
        with _bar(stream) as report:
            yield report


@contextmanager
def _bar(stream: TextIO) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    left = TextColumn("left", markup=False)
    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), left)
    # The rate is taken over many runs: quick and slow ones come in turns.
    with Progress(*columns, console=console, transient=True, speed_estimate_period=600) as bar:
        task = bar.add_task("", total=None)

        def report(outcome: Outcome, ended: int, total: int) -> None:
            bar.update(task, completed=ended, total=total)
            if outcome.status == "failed":
                bar.console.print(_line(outcome, ended, total), soft_wrap=True)

        yield report


def _line(outcome: Outcome, ended: int, total: int) -> str:
    seconds = "" if outcome.seconds is None else f" in {outcome.seconds:.1f} s"
    error = f": {outcome.error}" if outcome.error else ""
    return f"[{ended}/{total}] {outcome.run}: {outcome.status}{seconds}{error}"

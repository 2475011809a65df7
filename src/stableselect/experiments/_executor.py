"""Run cells in parallel over processes, each on one thread, and write every result as it comes."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from ._cell import Cell
from ._store import Status, Store

Evaluate = Callable[[Cell, str | None], dict[str, Any]]

_ROUNDS = 2
"""Pools that may break one after the other without a cell begun."""
_KILLED = "The process that computed this cell was ended from outside; the usual cause is too little memory."


@dataclass(frozen=True)
class Outcome:
    """How a cell ended.

    Attributes
    ----------
    cell : Cell
        Which.
    status : {"done", "failed", "running"}
        "running" where another run is computing it.
    seconds : float or None
        Time to select.
    error : str
        Why it failed, in one line.
    """

    cell: Cell
    status: Status
    seconds: float | None = None
    error: str = ""


Report = Callable[[Outcome, int, int], None]
"""Called with an outcome, the number of cells ended and the number of all, as each cell ends."""


def pending(cells: Iterable[Cell], store: Store, *, retry: bool = False) -> list[Cell]:
    """Return the cells that have no result yet, each once; failed ones with ``retry`` only."""
    statuses = store.statuses()
    closed = {"done"} if retry else {"done", "failed"}
    return [cell for cell in dict.fromkeys(cells) if statuses.get(cell.key) not in closed]


def execute(
    cells: Sequence[Cell],
    folder: str | os.PathLike[str],
    evaluate: Evaluate,
    *,
    jobs: int = 1,
    retry: bool = False,
    data_home: str | None = None,
    report: Report | None = None,
) -> list[Outcome]:
    """Compute the cells that the results file lacks.

    Parameters
    ----------
    cells : sequence of Cell
        What is wanted.
    folder : path
        The results folder.
    evaluate : callable
        Computes a cell.
    jobs : int
        Processes; 1 computes in this one.
    retry : bool
        Compute failed cells again.
    data_home : str or None
        Folder of the datasets.
    report : callable, optional
        Told of every cell as it ends.

    Returns
    -------
    list of Outcome
        One for each cell that had to be computed, in the order in which they ended.

    Raises
    ------
    ChildProcessError
        When the processes end again and again before they begin a cell.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs must be a whole number of at least 1, got {jobs!r}.")
    with Store(folder) as store:
        wanted = pending(cells, store, retry=retry)
        outcomes: list[Outcome] = []

        def take(found: Iterable[Outcome]) -> None:
            for outcome in found:
                outcomes.append(outcome)
                if report is not None:
                    report(outcome, len(outcomes), len(wanted))

        arguments = (os.fspath(folder), evaluate, retry, data_home)
        if jobs == 1:
            take(_compute(cell, *arguments) for cell in wanted)
            return outcomes
        # A worker that dies takes the others with it; then the cells under way go on one at a time, each in a process
        # of its own, so that the one at fault is found and the rest are not blamed.
        batches = [wanted]
        before = store.ended()
        idle = 0
        while batches:
            batch = batches.pop(0)
            try:
                take(_in_processes(batch, jobs, arguments))
            except BrokenProcessPool:
                told = {outcome.cell for outcome in outcomes}
                after = store.ended()
                open_ = [cell for cell in batch if cell not in told]
                # A cell that is tried again has an earlier failure in the file, which says nothing of this run.
                written = [c for c in open_ if c.key in after and after[c.key] != before.get(c.key)]
                take(Outcome(cell, after[cell.key][0]) for cell in written)
                open_ = [cell for cell in open_ if cell not in written]
                if len(batch) == 1:
                    take(_buried(cell, store) for cell in open_)
                    continue
                hit = store.abandoned(open_)
                left = [cell for cell in open_ if cell not in hit]
                idle = idle + 1 if len(left) == len(batch) else 0
                if idle == _ROUNDS:
                    raise ChildProcessError(
                        f"The processes ended {_ROUNDS} times before they began a cell; the usual cause is too little "
                        "memory. Ask for fewer jobs: one computes in this process, and shows the error."
                    ) from None
                batches = [*([cell] for cell in hit), *([left] if left else []), *batches]
        return outcomes


def _buried(cell: Cell, store: Store) -> Outcome:
    status = store.bury(cell, _KILLED)
    return Outcome(cell, status, error=_KILLED if status == "failed" else "")


def _in_processes(cells: Sequence[Cell], jobs: int, arguments: tuple[Any, ...]) -> Iterator[Outcome]:
    with parallel_config(backend="loky", inner_max_num_threads=1):
        # Two processes at least: joblib would compute in this one otherwise, and a crash would end it.
        yield from Parallel(n_jobs=max(2, jobs), batch_size=1, return_as="generator_unordered")(
            delayed(_work)(os.getpid(), cell, *arguments) for cell in cells
        )


def _work(parent: int, cell: Cell, *arguments: Any) -> Outcome:
    """Compute a cell in a worker, which ends when the run that started it is gone."""
    if os.getppid() != parent:
        os._exit(0)
    outcome = _compute(cell, *arguments)
    if os.getppid() != parent:
        os._exit(0)
    return outcome


def _compute(cell: Cell, folder: str, evaluate: Evaluate, retry: bool, data_home: str | None) -> Outcome:
    """Claim a cell, compute it and write what came of it."""
    with Store(folder) as store:
        if not store.claim(cell, retry=retry):
            return Outcome(cell, store.statuses().get(cell.key, "running"))
        try:
            # One thread, so that times compare and processes do not fight.
            with threadpool_limits(1):
                record = evaluate(cell, data_home)
            store.finish(cell, record)
        except Exception as error:
            text = _sentence(error)
            store.fail(cell, text)
            return Outcome(cell, "failed", error=text)
        except BaseException:
            store.release(cell)
            raise
        return Outcome(cell, "done", record.get("seconds"))


def _sentence(error: Exception) -> str:
    """Return an error in one line: what, and in which function; no paths, since results files travel."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return (
        f"{type(error).__name__}: {text} (in {frame.name}, line {frame.lineno} of {os.path.basename(frame.filename)})"
    )

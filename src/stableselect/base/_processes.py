"""The same work on many items, one after another or in several processes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from numbers import Integral
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from .._compat import Interval
from ._progress import steps

Item = TypeVar("Item")
Result = TypeVar("Result")
N_JOBS = [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None]
"""What n_jobs may be."""


def in_processes(
    function: Callable[[Item], Result], items: Collection[Item], what: str, n_jobs: int | None
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
        Processes, as in joblib, each with one thread for linear algebra; None for this process alone.

    Returns
    -------
    list
        In the order of the items.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 leaves no process to work in; give 1 or more, or -1 for one on every core.")
    nested = bool(get_active_backend()[0].nesting_level)  # the processes of whoever called are enough
    jobs = 1 if n_jobs is None or nested else max(1, min(effective_n_jobs(n_jobs), len(items)))
    found = []
    with parallel_config(backend="loky", inner_max_num_threads=1), steps(what, len(items)) as advance:
        for result in Parallel(jobs, return_as="generator")(delayed(function)(item) for item in items):
            found.append(result)
            advance()
    return found

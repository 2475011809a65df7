"""Threads: one for each call of a library, and large blocks of work side by side.

The threads of BLAS and OpenMP share a small piece of work and wait for each other at full load. On a busy machine many
small products so take ten times as long with two threads as with one. Blocks that need nothing of each other do not
wait: a thread that is done takes the next one, and the result is the same for every number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from threading import Lock
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from ._arrays import Array

Item = TypeVar("Item")
Result = TypeVar("Result")

MANY_FEATURES = 4096
"""From here on BLAS shares a product over all features well enough among its own threads."""
_LARGE, _PARTS = 2**21, 4
"""A product with a wide array of so many values takes a millisecond or more, and is shared in so many parts."""
_TRY_OTHER, _WEIGHT = 32, 0.25
"""Of so many calls one is made in the other way; the weight of a new time against those before."""
_ALLOWED: ContextVar[int | None] = ContextVar("allowed", default=None)
"""The threads that BLAS could use outside of :func:`one_thread`."""
_SETTING = Lock()
"""Held by whoever has set a limit."""
_set: Any = None
"""The limit that is set."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Let each call of BLAS and OpenMP use one thread."""
    global _set
    if _ALLOWED.get() is not None:
        yield
        return
    # The limit is that of the whole process: the thread that sets it must lift it, and no other touches it meanwhile.
    setting = _SETTING
    mine = setting.acquire(blocking=False)
    token = _ALLOWED.set(_blas_threads())
    try:
        with _libraries().limit(limits=1) if mine else nullcontext() as limit:
            _set = limit or _set
            yield
    finally:
        _ALLOWED.reset(token)
        if mine:
            _set = None
            setting.release()


def _after_fork() -> None:
    """Lift the limit in a new process: the one that set it goes on elsewhere."""
    global _SETTING, _set
    if _set is not None:
        _set.restore_original_limits()
    _SETTING, _set = Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item], at_most: int | None = None) -> list[Result]:
    """Return the function of every item, computed in as many threads as BLAS may use, the caller's among them.

    Each of them has one thread for linear algebra. For work of a millisecond or more an item, most of it in NumPy.

    Parameters
    ----------
    function : callable
        Called in several threads at a time.
    items : iterable
        What it is called with; those that take longest first.
    at_most : int, optional
        Most threads.

    Returns
    -------
    list
        In the order of the items.
    """
    items = list(items)
    with one_thread():
        # A limit set in one thread of the process may keep another from setting its own: threads would multiply.
        workers = min(_ALLOWED.get() or 1, len(items), at_most or len(items)) if _blas_threads() == 1 else 1
        if workers < 2:
            return [function(item) for item in items]
        left = deque(enumerate(items))
        results: dict[int, Result] = {}

        def work() -> None:
            while left:
                try:
                    i, item = left.popleft()
                except IndexError:  # another thread was quicker
                    return
                results[i] = function(item)

        helpers = [_pool().submit(copy_context().run, work) for _ in range(workers - 1)]
        try:
            work()
        finally:
            left.clear()
            helpers = [helper for helper in helpers if not helper.cancel()]  # who has not begun is not waited for
            wait(helpers)
        for helper in helpers:
            helper.result()
        return [results[i] for i in range(len(items))]


def wide_product(left: Array, A: Array) -> Array:
    """Return left A, the columns of a large A in parts side by side, the same parts for every number of threads."""
    if not isinstance(A, np.ndarray) or A.size < _LARGE or 2 * A.shape[0] > A.shape[1]:
        return left @ A
    product = np.empty((*left.shape[:-1], A.shape[1]))
    side_by_side(lambda part: np.matmul(left, A[:, part], out=product[..., part]), wide_parts(A))
    return product


def wide_parts(A: Array, large: int = _LARGE, parts: int = _PARTS) -> list[slice]:
    """Return the columns of a large array in parts, of a small one all at once, whatever the number of threads."""
    step = -(-A.shape[1] // parts) if isinstance(A, np.ndarray) and A.size >= large else A.shape[1]
    return [slice(start, start + step) for start in range(0, A.shape[1], step)]


def begun(function: Callable[[], Result]) -> Callable[[], Result]:
    """Begin some work in another thread, where there is one; return a function that waits for its result.

    With one thread, or while the others are busy, the work is done when the result is asked for the first time.
    """
    if (_ALLOWED.get() or 1) < 2 or _blas_threads() > 1:
        return cache(function)
    helper = _pool().submit(copy_context().run, function)
    return cache(lambda: function() if helper.cancel() else helper.result())


class Together:
    """Two pieces of work that are done again and again: in two threads where that takes less time, else one by one.

    Where other processes keep the cores busy, waiting for another thread can take longer than its work. So the time of
    both ways is measured, and now and then the other one is tried.
    """

    def __init__(self) -> None:
        self._calls, self._seconds = 0, [0.0, 0.0]  # of one by one, and of side by side

    def __call__(self, first: Callable[[], Item], second: Callable[[], Result]) -> tuple[Item, Result]:
        """Return what the two functions return."""
        shared = self._seconds[1] <= self._seconds[0]
        self._calls += 1
        if self._calls % _TRY_OTHER == 0:
            shared = not shared
        begin = perf_counter()
        later = begun(second) if shared else second
        found = first(), later()
        seconds, before = perf_counter() - begin, self._seconds[shared]
        self._seconds[shared] = before + (seconds - before) * (_WEIGHT if before else 1.0)
        return found


def _pool() -> ThreadPoolExecutor:
    """Return the helping threads, as many as BLAS may use less the caller's: work inside of work shares them."""
    return _pool_of(os.getpid(), (_ALLOWED.get() or 2) - 1)


@cache
def _pool_of(process: int, size: int) -> ThreadPoolExecutor:
    """Return the threads of a process, which one started by forking does not inherit."""
    return ThreadPoolExecutor(size, thread_name_prefix="stableselect")


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries of this process that have threads; looking for them takes milliseconds."""
    return ThreadpoolController()


def _blas_threads() -> int:
    libraries = _libraries().lib_controllers
    return max((library.num_threads for library in libraries if library.user_api == "blas"), default=1)

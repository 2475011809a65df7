"""What is computed from the chunks of a Dask collection where they are: on the default client's cluster, or by threads.

Nothing but Dask itself is needed: ``dask.compute`` finds the client where there is one, and the errors of a cluster are
known by the names of their classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_FAN_IN = 4
"""Results that are merged at a time: so many are in a worker's memory at once."""
_LOST = ("CommClosedError", "ClientClosedError", "FutureCancelledError", "CancelledError")
"""Errors of a client whose scheduler does not answer."""


def gather_chunks(
    chunks: Sequence[Any],
    function: Callable[..., Any],
    merge: Callable[[list[Any]], Any],
    given: Sequence[Any],
    kind: str,
) -> Any:
    """Return what a function gives for every chunk, merged as a tree; None where it gives None for all.

    Parameters
    ----------
    chunks : sequence of dask Delayed
        The chunks.
    function : callable
        Called with a chunk, its number from 1 on, and what is given for it.
    merge : callable
        Returns the result for several chunks, in order, of a list of their results.
    given : sequence
        For every chunk, something the function needs.
    kind : str
        What the chunks are of, for messages.
    """
    from dask import delayed

    shared, whole, n = delayed(function), delayed(_merged), len(chunks)
    level = [
        delayed(_of_chunk)(shared, chunk, number, extra, f"chunk {number} of {n} of {kind}")
        for number, (chunk, extra) in enumerate(zip(chunks, given, strict=True), start=1)
    ]
    joint = delayed(merge)
    while len(level) > 1:
        level = [whole(joint, level[start : start + _FAN_IN]) for start in range(0, n, _FAN_IN)]
        n = len(level)
    return _computed(level, chunks, kind)[0]


def chunk_lengths(chunks: Sequence[Any], kind: str) -> list[int]:
    """Return the number of samples in every chunk."""
    from dask import delayed

    return list(_computed([delayed(_length)(chunk) for chunk in chunks], chunks, kind))


def _of_chunk(function: Callable[..., Any], chunk: Any, number: int, extra: Any, place: str) -> Any:
    try:
        return function(chunk, number, extra)
    except (ValueError, TypeError, MemoryError) as error:
        base = next(cls for cls in (ValueError, TypeError, MemoryError) if isinstance(error, cls))
        told = base(f"{str(error).rstrip('.')} (in {place}).")
        told.chunk = number  # type: ignore[union-attr]
        raise told from error


def _merged(merge: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    filled = [part for part in parts if part is not None]
    return merge(filled) if filled else None


def _length(chunk: Any) -> int:
    return int(chunk.shape[0])


def _computed(values: Sequence[Any], chunks: Sequence[Any], kind: str) -> tuple[Any, ...]:
    """Compute delayed values; errors are told in a sentence."""
    from dask import compute

    try:
        return tuple(compute(*values))
    except Exception as error:
        name = type(error).__name__
        if hasattr(error, "chunk"):  # told already
            raise
        if name in _LOST:
            raise ConnectionError(
                "The scheduler of the Dask cluster does not answer; start a cluster, make a Client of it, and call "
                "this again."
            ) from error
        if name == "KilledWorker":
            raise MemoryError(
                f"Workers ended again and again while they computed chunks of {kind}, as they do where memory is "
                "short; make the chunks smaller or the workers larger."
            ) from error
        number = _first_failing(chunks)
        if number is None:
            raise
        raise RuntimeError(
            f"Chunk {number} of {len(chunks)} of {kind} cannot be computed ({name}: {error}); mend what makes it."
        ) from error


def _first_failing(chunks: Sequence[Any]) -> int | None:
    """Return the number of the first chunk that cannot be computed, by halves; None where all can."""
    from dask import compute, delayed

    lengths = [delayed(_length)(chunk) for chunk in chunks]

    def fails(start: int, stop: int) -> bool:
        try:
            compute(*lengths[start:stop])
        except Exception:
            return True
        return False

    first, last = 0, len(chunks)
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (first, middle) if fails(first, middle) else (middle, last)
    return first + 1 if fails(first, last) else None

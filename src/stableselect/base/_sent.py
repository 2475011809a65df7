"""Large objects that many pieces of work in other processes share: written once, and read once by each process."""

from __future__ import annotations

import pickle
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import joblib

from .._compat import resource_tracker

Value = TypeVar("Value")


class SentOnce(Generic[Value]):
    """An object that other processes get as a file, however many pieces of work refer to it.

    The file is written when the object is first sent and removed at the end of a ``with`` statement, or by joblib's
    resource tracker if the process is killed before, once those it started have ended. A process keeps the object until
    it gets another, its arrays mapped from the file: processes share their memory, and may not write.

    Parameters
    ----------
    value : object
        What is to be sent.

    Examples
    --------
    >>> import pickle
    >>> with SentOnce(["many", "arrays"]) as sent:
    ...     first, second = (pickle.loads(pickle.dumps(sent)) for _ in range(2))
    >>> first.value, first is second
    (['many', 'arrays'], True)
    """

    def __init__(self, value: Value) -> None:
        self.value = value
        self._file: Path | None = None
        self._removed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._removed = True
        if self._file is not None:
            shutil.rmtree(self._file.parent, ignore_errors=True)  # some systems keep a file that is mapped
            if resource_tracker is not None:
                resource_tracker.unregister(str(self._file.parent), "folder")

    def __reduce__(self) -> tuple[Callable[[str], SentOnce[Any]], tuple[str]]:
        """Send the name of the file."""
        if self._removed:  # work that was still to be sent when another piece failed
            raise pickle.PicklingError("What is sent once can be sent within its with statement only.")
        if self._file is None:
            folder = tempfile.mkdtemp(prefix="stableselect-")
            if resource_tracker is not None:
                resource_tracker.register(folder, "folder")
            self._file = Path(folder, "value")
            joblib.dump(self.value, self._file)
        return _received, (str(self._file),)


@lru_cache(maxsize=1)
def _received(file: str) -> SentOnce[Any]:
    """Return what a file holds."""
    return SentOnce(joblib.load(file, mmap_mode="r"))

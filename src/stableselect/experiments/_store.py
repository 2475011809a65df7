"""The store of a results folder: compressed text files of runs, and a journal of those that a run has just ended.

``runs/TASK-DATASET.jsonl.xz`` has one line of JSON for each run, sorted by name, so that the same runs give the same
text and the files can be kept under version control. A run that ends is first appended to ``journal.jsonl``. The
journal goes into the files when the store is closed, or when it is next opened for writing after a kill. One process
writes at a time, and holds a lock on the journal meanwhile; any number may read.
"""

from __future__ import annotations

import json
import lzma
import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Any, Literal, Self, get_args

from .._files import named_errors, printable, replace_file
from ._run import CURRENT, Current, Mode, Revision, Run

RUNS = "runs"
JOURNAL = "journal.jsonl"
SELECTION = "selection"
"""In a file's name, for the runs without a task."""

Status = Literal["done", "failed"]
Rename = Callable[[dict[str, Any]], dict[str, Any]]
"""From the name of a stored run, which may be an earlier version's, to the present one."""


@dataclass(frozen=True)
class Stored:
    """What the store says of a run.

    Attributes
    ----------
    run : Run
        Its name.
    status : {"done", "failed"}
        How it ended.
    record : dict
        Its results; empty unless done.
    error : str
        Why it failed.
    revision : Revision
        Of engine, folds and protocol.
    ended : float or None
        When, in seconds since 1970.
    current : Revision
        That which this version computes the run with.
    """

    run: Run
    status: Status
    record: dict[str, Any]
    error: str
    revision: Revision = CURRENT
    ended: float | None = None
    current: Revision = CURRENT

    @property
    def stale(self) -> bool:
        """Whether this version may compute other numbers."""
        return self.revision != self.current

    def line(self) -> str:
        """Return the run as a line of JSON with sorted keys."""
        content: dict[str, Any] = {
            "run": json.loads(self.run.key),
            "status": self.status,
            "revision": asdict(self.revision),
            "ended": self.ended,
        }
        content |= {"record": self.record} if self.status == "done" else {"error": self.error}
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_line(cls, line: str, rename: Rename | None = None, current: Current | None = None) -> Self:
        """Return the run of a line."""
        content = json.loads(line, parse_constant=_refuse_constant)
        name = content["run"] if rename is None else rename(content["run"])
        run = Run(**name)
        item = cls(
            run,
            content["status"],
            content.get("record", {}),
            content.get("error", ""),
            Revision(**content["revision"]),
            content["ended"],
        )
        _check(item)
        return item if current is None else replace(item, current=current(run))


class Store:
    """The runs of a results folder.

    Parameters
    ----------
    folder : path
        The results folder.
    write : bool
        Open it for writing, and make it where it is missing. Otherwise there must be results in it.
    rename : callable, optional
        Applied to the name of every run that is read; see :data:`Rename`.
    current : callable, optional
        From a run to the revision that this version computes it with; :data:`CURRENT` for all by default.

    Raises
    ------
    FileNotFoundError
        If there are no results to read.
    BlockingIOError
        If another process is writing.
    ValueError
        If a file is damaged.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        write: bool = False,
        rename: Rename | None = None,
        current: Current | None = None,
    ) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{folder} is a file; give a folder for the results.")
        self._rename, self._current = rename, current
        self._journal: FileIO | None = None
        if write:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._journal = self._lock()
        elif not has_results(self.folder):
            raise FileNotFoundError(f"There are no results in {folder}: expected a folder {RUNS}. Run first.")
        self._runs: dict[str, Stored] = {}
        self._changed: set[Path] = set()
        try:
            for path in sorted({*self.folder.glob(f"{RUNS}/*.xz"), *self.folder.glob(f"fast/{RUNS}/*.xz")}):
                self._take(path)
            # A process that was killed leaves its runs in the journal.
            journal = self.folder / JOURNAL
            left = self._take(journal) if journal.is_file() else []
            if write:
                self._changed = {self._path(run) for run in left}
                self._save()
        except BaseException:
            self._unlock()
            raise

    def runs(self) -> list[Stored]:
        """Return every run, in the order of their names."""
        return [self._runs[key] for key in sorted(self._runs)]

    def get(self, run: Run) -> Stored | None:
        """Return what is stored of a run."""
        return self._runs.get(run.key)

    def add(self, item: Stored) -> None:
        """Store a run that has ended, in place of an earlier one of its name."""
        if self._journal is None:
            raise ValueError(f"The store {self.folder} is open for reading only; open it with write=True.")
        if item.ended is None:
            item = replace(item, ended=round(time.time(), 3))
        # The line is made first: a record that JSON cannot hold leaves no trace.
        line = item.line().encode() + b"\n"
        self._append(line)
        self._runs[item.run.key] = item
        self._changed.add(self._path(item.run))

    def close(self) -> None:
        """Move the journal into the files and let other processes write."""
        if self._journal is not None:
            try:
                self._save()
            finally:
                self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        """Put a line on the disk, whole or not at all."""
        assert self._journal is not None
        start, left = self._journal.seek(0, os.SEEK_END), memoryview(line)
        try:
            with named_errors(self.folder / JOURNAL):
                while left:
                    left = left[self._journal.write(left) :]
                os.fsync(self._journal.fileno())
        except BaseException:
            self._journal.truncate(start)
            raise

    def _path(self, run: Run) -> Path:
        base = self.folder / "fast" if run.mode == "fast" else self.folder
        return base / RUNS / f"{run.task or SELECTION}-{run.dataset}.jsonl.xz"

    def _take(self, path: Path) -> list[Run]:
        content = path.read_bytes()
        try:
            # The last line of a journal may have been cut short.
            text = content[: content.rfind(b"\n") + 1] if path.name == JOURNAL else lzma.decompress(content)
            items = [Stored.from_line(line, self._rename, self._current) for line in text.decode().splitlines()]
        except MemoryError:
            raise
        except Exception as error:  # a damaged file can fail anywhere
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(
                f"{printable(str(path))} is damaged ({printable(reason):.200}); restore it, or delete it to compute "
                "its runs again."
            ) from error
        self._runs |= {item.run.key: item for item in items}
        return [item.run for item in items]

    def _save(self) -> None:
        assert self._journal is not None
        groups: dict[Path, list[Stored]] = defaultdict(list)
        for item in self.runs():
            groups[self._path(item.run)].append(item)
        for path in sorted(self._changed):
            text = "".join(item.line() + "\n" for item in groups[path])
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, lzma.compress(text.encode(), preset=6))
        self._changed.clear()
        self._journal.truncate(0)

    def _lock(self) -> FileIO:
        # Opened for appending, so that after a truncation the next line is the first; and without a buffer, so that
        # nothing is left in it when the disk is full.
        journal = open(self.folder / JOURNAL, "ab", buffering=0)
        try:
            import fcntl
        except ImportError:  # Windows; there a second writer is not noticed.
            return journal
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            journal.close()
            raise BlockingIOError(
                f"Another run is writing to {self.folder}; wait for it, or give another results folder."
            ) from error
        return journal

    def _unlock(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _check(item: Stored) -> None:
    """Raise if a part of a run that was read is not of its kind."""
    run = item.run
    texts = (run.dataset, run.method, run.protocol, run.mode, run.task, run.detail, item.error)
    numbers = (run.split, run.seed, run.k, 0 if run.cap is None else run.cap, *astuple(item.revision))
    if (
        not all(isinstance(text, str) for text in texts)
        or not {*run.dataset, *run.task}.isdisjoint("/\\\0")  # they become part of a file's name
        or not all(type(number) is int for number in numbers)
        or item.status not in get_args(Status)
        or run.mode not in get_args(Mode)
        or not isinstance(item.record, dict)
        or not isinstance(item.ended, int | float)
        or not isinstance(json.loads(run.detail or "{}"), dict)
    ):
        raise ValueError("a part of a run is missing or not of its kind")


def has_results(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder has stored runs."""
    base = Path(folder)
    journal = base / JOURNAL
    stored = (base / RUNS).is_dir() or (base / "fast" / RUNS).is_dir()
    return stored or (journal.is_file() and journal.stat().st_size > 0)

"""The results file: one SQLite row a cell, written as each cell ends, safe against kills and against a second run.

A cell is claimed by a row of its own before it is computed. The row names the process, so that the claim of a process
that is gone can be taken over, and a finished cell is never computed again. All runs on one file have to be on one
machine: another machine's processes cannot be told dead from alive.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from ._cell import Cell
from ._revision import CURRENT, Revision

FILE = "results.sqlite"
_VERSION = 1
_PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""
_FORGOTTEN = 24 * 3600.0
"""Age in seconds of a claim that counts as left behind where the system cannot tell whether a process lives."""

Status = Literal["running", "done", "failed"]


@dataclass(frozen=True)
class Stored:
    """What the file says of a cell.

    Attributes
    ----------
    cell : Cell
        Its name.
    status : {"running", "done", "failed"}
        Where it stands.
    record : dict
        Its results; empty unless done.
    error : str
        Why it failed.
    revision : Revision
        Of engine, folds and protocol.
    """

    cell: Cell
    status: Status
    record: dict[str, Any]
    error: str
    revision: Revision = CURRENT


class Store:
    """The results file of a folder.

    Parameters
    ----------
    folder : path
        The results folder.
    create : bool
        Make the folder and the file where they are missing; otherwise refuse.
    """

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(folder) / FILE
        if not create and not self.path.is_file():
            raise FileNotFoundError(f"There are no results in {folder}: expected the file {FILE}. Run first.")
        if self.path.parent.exists() and not self.path.parent.is_dir():
            raise NotADirectoryError(f"{folder} is a file; give a folder for the results.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Every statement outside _exclusive is a transaction of its own.
            self._db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path} cannot be used as a results file ({error}); give another folder.") from error

    def _prepare(self) -> None:
        # Killed processes lose nothing under NORMAL; a power cut may lose the last cells, but with the write-ahead log
        # not the file.
        self._db.execute(f"PRAGMA synchronous = {'NORMAL' if _use_wal(self._db) else 'FULL'}")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise ValueError(
                f"{self.path} was written by a newer version (format {version}, this one knows {_VERSION}); update."
            )
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS cells (key TEXT PRIMARY KEY, status TEXT NOT NULL, owner TEXT NOT NULL,"
            " record TEXT, error TEXT, changed REAL NOT NULL)"
        )
        self._db.execute(f"PRAGMA user_version = {_VERSION}")

    def claim(self, cell: Cell, *, retry: bool = False) -> bool:
        """Claim a cell for this process.

        Parameters
        ----------
        cell : Cell
            What is to be computed.
        retry : bool
            Take a failed cell as well.

        Returns
        -------
        bool
            False where it is finished, failed, or being computed by a process that lives.
        """
        with self._exclusive():
            row = self._db.execute("SELECT status, owner, changed FROM cells WHERE key = ?", (cell.key,)).fetchone()
            if row is None:
                self._db.execute(
                    "INSERT INTO cells (key, status, owner, changed) VALUES (?, 'running', ?, ?)",
                    (cell.key, _owner(), time.time()),
                )
                return True
            status, owner, changed = row
            dead = status == "running" and not _lives(owner, changed)
            if not dead and not (retry and status == "failed"):
                return False
            self._db.execute(
                "UPDATE cells SET status = 'running', owner = ?, record = NULL, error = NULL, changed = ?"
                " WHERE key = ?",
                (_owner(), time.time(), cell.key),
            )
            return True

    def finish(self, cell: Cell, record: dict[str, Any]) -> None:
        """Write the results of a cell that this process has claimed."""
        self._end(cell, "done", json.dumps(record, sort_keys=True, allow_nan=False), None)

    def fail(self, cell: Cell, error: str) -> None:
        """Write why a cell that this process has claimed has no results."""
        self._end(cell, "failed", None, error)

    def release(self, cell: Cell) -> None:
        """Give a claim of this process back."""
        self._db.execute("DELETE FROM cells WHERE key = ? AND owner = ? AND status = 'running'", (cell.key, _owner()))

    def abandoned(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return those of the cells whose process is gone."""
        found = []
        for cell in cells:
            row = self._db.execute(
                "SELECT owner, changed FROM cells WHERE key = ? AND status = 'running'", (cell.key,)
            ).fetchone()
            if row is not None and not _lives(*row):
                found.append(cell)
        return found

    def bury(self, cell: Cell, error: str) -> Status:
        """Mark a cell as failed whose process is gone, whether or not it came to claim it.

        Returns
        -------
        {"running", "done", "failed"}
            Where the cell stands then; finished cells, and those of a process that lives, stay as they are.
        """
        with self._exclusive():
            row = self._db.execute("SELECT status FROM cells WHERE key = ?", (cell.key,)).fetchone()
            if row is not None and row[0] != "failed" and not self.abandoned([cell]):
                return row[0]
            self._db.execute(
                "INSERT OR REPLACE INTO cells (key, status, owner, error, changed) VALUES (?, 'failed', ?, ?, ?)",
                (cell.key, _owner(), error, time.time()),
            )
            return "failed"

    def cells(self) -> list[Stored]:
        """Return every cell of the file, in the order of their names."""
        rows = self._db.execute("SELECT key, status, record, error FROM cells ORDER BY key").fetchall()
        return [
            Stored(Cell.from_key(key), status, json.loads(record) if record else {}, error or "")
            for key, status, record, error in rows
        ]

    def statuses(self) -> dict[str, Status]:
        """Return the status of every cell by key."""
        return dict(self._db.execute("SELECT key, status FROM cells"))

    def ended(self) -> dict[str, tuple[Status, float]]:
        """Return, by key, how every ended cell ended, and when."""
        rows = self._db.execute("SELECT key, status, changed FROM cells WHERE status != 'running'")
        return {key: (status, changed) for key, status, changed in rows}

    def close(self) -> None:
        """Close the file; the last to do so leaves it in one piece."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end(self, cell: Cell, status: Status, record: str | None, error: str | None) -> None:
        self._db.execute(
            "UPDATE cells SET status = ?, record = ?, error = ?, changed = ?"
            " WHERE key = ? AND owner = ? AND status = 'running'",
            (status, record, error, time.time(), cell.key, _owner()),
        )

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep other processes from writing between a look and the write that follows from it."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _use_wal(db: sqlite3.Connection) -> bool:
    """Switch the file to write-ahead logging, under which readers and a writer do not wait for each other.

    Returns
    -------
    bool
        False where SQLite declines, as on file systems without shared memory; then it keeps its rollback journal,
        which is as safe but lets processes wait.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return bool(db.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal")
        except sqlite3.OperationalError as error:
            # The switch does not wait for a second process that is just making it.
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.05)


def _owner() -> str:
    """Return this process as number and start stamp; numbers alone are given again."""
    pid = os.getpid()
    return f"{pid} {_started(pid)}"


def _started(pid: int) -> str:
    """Return when a process began, in the system's ticks; empty where the system does not say, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            # The name, in brackets, may hold anything; the first field after it is the state, the 20th the start.
            fields = stream.read().rpartition(b")")[2].split()
        # A killed process keeps its number until its parent asks for it.
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")
    except (OSError, IndexError):
        return ""


def _lives(owner: str, changed: float) -> bool:
    pid, _, stamp = owner.partition(" ")
    if os.name != "posix":
        return time.time() - changed < _FORGOTTEN
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _started(int(pid)) == stamp

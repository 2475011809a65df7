from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest

from stableselect.experiments import _store
from stableselect.experiments._cell import Cell
from stableselect.experiments._store import FILE, Store

CELL = Cell("glioma", "|W|", "paper", 0, 1, 64, "fast", 20)


def test_key_is_canonical_json_and_comes_back():
    assert CELL.key == (
        '{"cap":20,"dataset":"glioma","k":64,"method":"|W|","mode":"fast","protocol":"paper","seed":1,"split":0}'
    )
    assert Cell.from_key(CELL.key) == CELL


def test_a_cell_is_claimed_once_and_stays_done(tmp_path):
    with Store(tmp_path) as one, Store(tmp_path) as two:
        assert one.claim(CELL)
        assert not two.claim(CELL)
        one.finish(CELL, {"ridge": 0.5})
        assert not two.claim(CELL, retry=True)
        (stored,) = two.cells()
        assert (stored.cell, stored.status, stored.record, stored.error) == (CELL, "done", {"ridge": 0.5}, "")


def test_a_failed_cell_is_claimed_again_only_on_demand(tmp_path):
    with Store(tmp_path) as store:
        store.claim(CELL)
        store.fail(CELL, "ValueError: no")
        assert store.cells()[0].error == "ValueError: no"
        assert not store.claim(CELL)
        assert store.claim(CELL, retry=True)
        assert store.statuses() == {CELL.key: "running"}


def test_a_claim_given_back_leaves_nothing(tmp_path):
    with Store(tmp_path) as store:
        store.claim(CELL)
        store.release(CELL)
        assert store.cells() == []


CLAIM = """
import os, signal
from stableselect.experiments._cell import Cell
from stableselect.experiments._store import Store
store = Store(folder)
assert store.claim(Cell.from_key(key))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_claim_of_a_killed_process_is_taken_over(tmp_path, start):
    process = start(CLAIM, folder=str(tmp_path), key=CELL.key)
    process.join(60)
    assert process.exitcode == -9
    with Store(tmp_path) as store:
        assert store.statuses() == {CELL.key: "running"}
        assert store.abandoned([CELL]) == [CELL]
        assert store.claim(CELL)
        assert store.abandoned([CELL]) == []


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system does not say when a process began")
def test_a_process_number_given_again_is_another_process(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        monkeypatch.setattr(_store, "_owner", lambda: f"{os.getpid()} 1")
        store.claim(CELL)
        monkeypatch.undo()
        assert store.claim(CELL)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system does not say how a process does")
def test_the_claim_of_a_process_nobody_has_asked_for_is_taken_over(tmp_path, monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with Store(tmp_path) as store:
        owner = f"{process.pid} {_store._started(process.pid)}"
        monkeypatch.setattr(_store, "_owner", lambda: owner)
        assert store.claim(CELL)
        monkeypatch.undo()
        assert not store.claim(CELL)
        process.kill()
        # Waits for the end, but leaves the number with the system.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert store.abandoned([CELL]) == [CELL]
        assert store.claim(CELL)
    process.communicate()


def test_a_cell_is_buried_unless_it_is_finished_or_under_way(tmp_path):
    other = Cell("glioma", "|W|", "paper", 0, 2, 64)
    with Store(tmp_path) as store:
        assert store.bury(CELL, "gone") == "failed"
        assert store.cells()[0].error == "gone"
        store.claim(other)
        assert store.bury(other, "gone") == "running"
        store.finish(other, {})
        assert store.bury(other, "gone") == "done"


def test_results_of_a_lost_claim_are_not_written(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        store.claim(CELL)
        monkeypatch.setattr(_store, "_owner", lambda: "1 1")
        store.finish(CELL, {"ridge": 0.5})
        assert store.statuses() == {CELL.key: "running"}


def test_numbers_that_json_lacks_are_refused(tmp_path):
    with Store(tmp_path) as store:
        store.claim(CELL)
        with pytest.raises(ValueError, match="JSON"):
            store.finish(CELL, {"ridge": float("nan")})


def test_no_results_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="There are no results in"):
        Store(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_other_files_are_refused(tmp_path):
    (tmp_path / FILE).write_text("not a database, but long enough to have a header of one")
    with pytest.raises(ValueError, match="cannot be used as a results file"):
        Store(tmp_path)
    (tmp_path / "folder" / FILE).mkdir(parents=True)
    with pytest.raises(ValueError, match="cannot be used as a results file"):
        Store(tmp_path / "folder")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="give a folder"):
        Store(tmp_path / "file")


def test_a_newer_file_is_refused(tmp_path):
    Store(tmp_path).close()
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(ValueError, match="newer version"):
        Store(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="needs a way to open files without shared memory")
def test_files_that_cannot_have_a_write_ahead_log_keep_their_journal(tmp_path):
    db = sqlite3.connect(f"file:{tmp_path / FILE}?vfs=unix-dotfile", uri=True, isolation_level=None)
    assert not _store._use_wal(db)
    db.execute("CREATE TABLE t (x)")
    db.close()

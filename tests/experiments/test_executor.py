"""Runs that are killed, run twice at once, or have cells that fail. The cells do nothing but leave a trace."""

from __future__ import annotations

import collections
import os
import time
from concurrent.futures.process import BrokenProcessPool

import pytest

from stableselect.experiments import _executor as _run
from stableselect.experiments import _store
from stableselect.experiments._cell import Cell
from stableselect.experiments._executor import execute, pending
from stableselect.experiments._store import Store

SCRIPT = """
import os, time
from stableselect.experiments import _executor as _run
from stableselect.experiments._cell import Cell
from stableselect.experiments._executor import execute

def evaluate(cell, data_home):
    # One write of a line to a file opened for appending is not torn apart by another process.
    with open(os.path.join(folder, "trace"), "ab", buffering=0) as trace:
        trace.write(f"{cell.split}\\n".encode())
    time.sleep(seconds)
    return {"seconds": 0.0, "value": cell.split}

def forked(cells, jobs, arguments):
    # Workers as joblib's are, but with the package loaded; each takes what the other has not claimed.
    parent = os.getpid()
    for _ in range(jobs):
        if os.fork() == 0:
            for cell in cells:
                _run._work(parent, cell, *arguments)
            os._exit(0)
    for _ in range(jobs):
        os.wait()
    return []

cells = [Cell("glioma", "random", "sound", split, 0, 3) for split in range(number)]
if __name__ == "__main__":
    _run._in_processes = forked
    execute(cells, folder, evaluate, jobs=jobs)
"""


def here(folder, number, seconds):
    """Run the script in this process."""
    names = {"__name__": "script", "folder": str(folder), "number": number, "seconds": seconds}
    exec(SCRIPT, names)
    return execute(names["cells"], folder, names["evaluate"])


def trace(folder):
    path = folder / "trace"
    return collections.Counter(map(int, path.read_text().split())) if path.exists() else collections.Counter()


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def done(folder):
    with Store(folder) as store:
        return {item.cell.split for item in store.cells() if item.status == "done"}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_kill_and_restart_lose_nothing_and_compute_nothing_twice(tmp_path, jobs, start):
    number = 12
    first = start(SCRIPT, folder=str(tmp_path), jobs=jobs, number=number, seconds=0.1)
    until(lambda: len(trace(tmp_path)) >= 5)
    first.kill()
    first.join()
    assert first.exitcode == -9
    finished = done(tmp_path)
    assert 1 <= len(finished) < number
    before = trace(tmp_path)
    # A worker of the killed run may still be at its last cell, which then is left to it.
    until(lambda: here(tmp_path, number, 0.0) is not None and len(done(tmp_path)) == number)
    after = trace(tmp_path)
    assert set(after) == set(range(number))
    assert all(after[split] == before[split] == 1 for split in finished)
    with Store(tmp_path) as store:
        assert [item.record["value"] for item in store.cells()] == [item.cell.split for item in store.cells()]


@pytest.mark.slow
def test_two_runs_at_once_share_the_work(tmp_path, start):
    number = 40
    other = start(SCRIPT, folder=str(tmp_path), jobs=1, number=number, seconds=0.02)
    until(lambda: len(trace(tmp_path)) >= 2)
    outcomes = here(tmp_path, number, 0.02)
    other.join(60)
    assert other.exitcode == 0
    assert trace(tmp_path) == {split: 1 for split in range(number)}
    assert done(tmp_path) == set(range(number))
    assert 5 <= sum(outcome.seconds is not None for outcome in outcomes) <= 35


def test_a_failed_cell_says_why_and_the_rest_go_on(tmp_path, cells):
    broken = tmp_path / "broken"
    broken.touch()

    def evaluate(cell, data_home):
        if cell.split == 3 and broken.exists():
            raise ValueError("three is\nbad")
        return {"seconds": 0.5}

    heard = []
    outcomes = execute(cells, tmp_path, evaluate, report=lambda *args: heard.append(args))
    assert [args[1:] for args in heard] == [(number, 12) for number in range(1, 13)]
    (failed,) = [outcome for outcome in outcomes if outcome.status == "failed"]
    assert failed.cell.split == 3
    assert failed.error.startswith("ValueError: three is bad (in evaluate, line ")
    assert os.sep not in failed.error
    assert execute(cells, tmp_path, evaluate) == []
    with Store(tmp_path) as store:
        assert collections.Counter(store.statuses().values()) == {"done": 11, "failed": 1}
        assert pending(cells, store) == []
        assert pending(cells, store, retry=True) == [cells[3]]
    broken.unlink()
    assert [outcome.status for outcome in execute(cells, tmp_path, evaluate, retry=True)] == ["done"]


def test_a_cell_that_kills_its_process_fails(tmp_path, cells):
    def evaluate(cell, data_home):
        os._exit(1)

    (outcome,) = execute(cells[:1], tmp_path, evaluate, jobs=2)
    assert outcome.status == "failed"
    with Store(tmp_path) as store:
        (stored,) = store.cells()
    assert stored.status == "failed"
    assert "ended from outside" in stored.error == outcome.error


def test_cells_beside_one_that_kills_its_process_are_not_blamed(tmp_path, cells, monkeypatch):
    batches = []

    def pool(batch, jobs, arguments):
        """Stand in for two processes: the third cell takes the fourth, then under way, with it."""
        batches.append([cell.split for cell in batch])
        for cell in batch:
            if cell.split == 2:
                for lost in batch[batch.index(cell) :][:2]:
                    monkeypatch.setattr(_store, "_owner", lambda: f"{os.getpid()} 1")
                    with Store(tmp_path) as store:
                        store.claim(lost)
                monkeypatch.undo()
                monkeypatch.setattr(_run, "_in_processes", pool)
                raise BrokenProcessPool
            yield _run._compute(cell, *arguments)

    monkeypatch.setattr(_run, "_in_processes", pool)
    outcomes = execute(cells[:6], tmp_path, lambda cell, data_home: {}, jobs=2)
    assert batches == [[0, 1, 2, 3, 4, 5], [2], [3], [4, 5]]
    assert {outcome.cell.split: outcome.status for outcome in outcomes} == {
        split: "failed" if split == 2 else "done" for split in range(6)
    }
    assert len(outcomes) == 6


def test_cells_tried_again_are_not_dropped_when_a_process_dies(tmp_path, cells, monkeypatch):
    def refuse(cell, data_home):
        raise ValueError("no")

    execute(cells[:4], tmp_path, refuse)
    batches = []

    def pool(batch, jobs, arguments):
        """Stand in for processes of which one writes its result, dies, and takes the pool with it."""
        batches.append([cell.split for cell in batch])
        if len(batches) == 1:
            yield _run._compute(batch[0], *arguments)
            _run._compute(batch[1], *arguments)
            raise BrokenProcessPool
        yield from (_run._compute(cell, *arguments) for cell in batch)

    monkeypatch.setattr(_run, "_in_processes", pool)
    outcomes = execute(cells[:4], tmp_path, lambda cell, data_home: {}, jobs=2, retry=True)
    assert batches == [[0, 1, 2, 3], [2, 3]]
    assert [(outcome.cell.split, outcome.status) for outcome in outcomes] == [(split, "done") for split in range(4)]


def test_processes_that_die_before_they_begin_end_the_run(tmp_path, cells, monkeypatch):
    pools = []

    def pool(batch, jobs, arguments):
        pools.append(len(batch))
        raise BrokenProcessPool

    monkeypatch.setattr(_run, "_in_processes", pool)
    with pytest.raises(ChildProcessError, match="before they began a cell"):
        execute(cells, tmp_path, lambda cell, data_home: {}, jobs=2)
    assert pools == [12, 12]
    with Store(tmp_path) as store:
        assert store.statuses() == {}
    # A single one is to blame itself, though it was never claimed.
    (outcome,) = execute(cells[:1], tmp_path, lambda cell, data_home: {}, jobs=2)
    with Store(tmp_path) as store:
        assert [item.status for item in store.cells()] == [outcome.status] == ["failed"]


def test_a_single_cell_that_was_written_before_its_process_died_is_done(tmp_path, cells, monkeypatch):
    def pool(batch, jobs, arguments):
        _run._compute(batch[0], *arguments)
        raise BrokenProcessPool

    monkeypatch.setattr(_run, "_in_processes", pool)
    (outcome,) = execute(cells[:1], tmp_path, lambda cell, data_home: {}, jobs=2)
    assert outcome.status == "done"
    assert done(tmp_path) == {0}


def test_a_claim_given_back_by_another_run_meanwhile_is_left_to_it(tmp_path, cells, monkeypatch):
    monkeypatch.setattr(Store, "claim", lambda *args, **kwargs: False)
    assert [outcome.status for outcome in execute(cells[:1], tmp_path, lambda cell, data_home: {})] == ["running"]


def test_an_interrupted_cell_is_given_back(tmp_path, cells):
    def evaluate(cell, data_home):
        if cell.split == 1:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        execute(cells, tmp_path, evaluate)
    with Store(tmp_path) as store:
        assert store.statuses() == {cells[0].key: "done"}


def test_a_cell_of_another_live_run_is_left_alone(tmp_path, cells):
    holder = Store(tmp_path)
    holder.claim(cells[0])
    outcomes = execute(cells[:2], tmp_path, lambda cell, data_home: {})
    assert [outcome.status for outcome in outcomes] == ["running", "done"]
    holder.close()


def test_the_same_cell_is_computed_once(tmp_path):
    cell = Cell("glioma", "random", "sound", 0, 0, 3)
    calls = []
    execute([cell, cell], tmp_path, lambda cell, data_home: calls.append(cell) or {})
    assert calls == [cell]


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_jobs_must_be_a_count(tmp_path, jobs):
    with pytest.raises(ValueError, match="jobs must be a whole number"):
        execute([], tmp_path, lambda cell, data_home: {}, jobs=jobs)

"""Runs that are killed or interrupted, or that fail. They do nothing but leave a trace."""

from __future__ import annotations

import collections
import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import pytest

from stableselect.experiments import _executor
from stableselect.experiments._executor import execute
from stableselect.experiments._run import CURRENT, Revision, Run
from stableselect.experiments._store import Store, Stored

SCRIPT = """
import os, time
from stableselect.experiments._run import Run
from stableselect.experiments._executor import execute

def evaluate(run, data_home):
    # One write of a line to a file opened for appending is not torn apart by another process.
    with open(os.path.join(folder, "trace"), "ab", buffering=0) as trace:
        trace.write(f"{run.split}\\n".encode())
    time.sleep(seconds)
    return {"seconds": 0.0, "value": run.split}

runs = [Run("glioma", "random", "corrected", split, 0, 3) for split in range(number)]
if __name__ == "__main__":
    execute(runs, folder, evaluate)
"""


def here(folder, number, seconds):
    """Run the script in this process."""
    names = {"__name__": "script", "folder": str(folder), "number": number, "seconds": seconds}
    exec(SCRIPT, names)
    return execute(names["runs"], folder, names["evaluate"])


def trace(folder):
    path = folder / "trace"
    return collections.Counter(map(int, path.read_text().split())) if path.exists() else collections.Counter()


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def done(folder):
    return {item.run.split for item in Store(folder).runs() if item.status == "done"}


@pytest.mark.slow
def test_kill_and_restart_lose_nothing_and_compute_nothing_twice(tmp_path, start):
    number = 12
    first = start(SCRIPT, folder=str(tmp_path), number=number, seconds=0.1)
    until(lambda: len(trace(tmp_path)) >= 5)
    first.kill()
    first.join()
    assert first.exitcode == -9
    finished = done(tmp_path)
    assert 4 <= len(finished) < number
    before = trace(tmp_path)
    here(tmp_path, number, 0.0)
    after = trace(tmp_path)
    assert done(tmp_path) == set(after) == set(range(number))
    assert all(after[split] == before[split] == 1 for split in finished)
    assert [item.record["value"] for item in Store(tmp_path).runs()] == [
        item.run.split for item in Store(tmp_path).runs()
    ]


def test_processes_compute_what_one_does(tmp_path, runs):
    def evaluate(run, data_home):
        if run.split == 3:
            raise ValueError("three is bad")
        return {"value": run.split, "process": os.getpid() == parent}

    parent = os.getpid()
    outcomes = execute(runs, tmp_path, evaluate, jobs=2)
    assert {outcome.run for outcome in outcomes} == set(runs)
    assert {item.run.split: item.status for item in Store(tmp_path).runs()} == {
        split: "failed" if split == 3 else "done" for split in range(12)
    }
    assert all(
        item.record == {"value": item.run.split, "process": False} for item in Store(tmp_path).runs() if item.record
    )


def test_a_failed_run_says_why_and_the_rest_go_on(tmp_path, runs):
    broken = tmp_path / "broken"
    broken.touch()

    def evaluate(run, data_home):
        if run.split == 3 and broken.exists():
            raise ValueError("three is\nbad")
        return {"seconds": 0.5}

    heard = []
    outcomes = execute(runs, tmp_path, evaluate, report=lambda *args: heard.append(args))
    assert [args[1:] for args in heard] == [(number, 12) for number in range(1, 13)]
    (failed,) = [outcome for outcome in outcomes if outcome.status == "failed"]
    assert failed.run.split == 3
    assert failed.error.startswith("ValueError: three is bad (in evaluate, line ")
    assert os.sep not in failed.error
    assert execute(runs, tmp_path, evaluate) == []
    store = Store(tmp_path)
    assert collections.Counter(item.status for item in store.runs()) == {"done": 11, "failed": 1}
    assert execute(runs, tmp_path, evaluate) == []
    broken.unlink()
    (again,) = execute(runs, tmp_path, evaluate, retry=True)
    assert (again.run, again.status) == (runs[3], "done")


def test_runs_of_an_earlier_revision_are_computed_again(tmp_path, runs):
    with Store(tmp_path, write=True) as store:
        store.add(Stored(runs[0], "done", {"old": 1}, "", Revision(0, 1, 1)))
        store.add(Stored(runs[1], "done", {"old": 1}, ""))
    assert [outcome.run for outcome in execute(runs[:2], tmp_path, lambda run, data_home: {"new": 1})] == [runs[0]]
    assert {item.revision for item in Store(tmp_path).runs()} == {CURRENT}
    assert Store(tmp_path).get(runs[0]).record == {"new": 1}


def test_a_run_is_computed_again_where_its_own_revision_was_raised(tmp_path, runs):
    def current(run):
        return Revision(engine=1 + run.split)

    with Store(tmp_path, write=True) as store:
        for run in runs[:2]:
            store.add(Stored(run, "done", {"old": 1}, "", Revision(engine=1)))
    assert [item.stale for item in Store(tmp_path, current=current).runs()] == [False, True]
    ended = execute(runs[:3], tmp_path, lambda run, data_home: {"new": 1}, current=current)
    assert [(item.run.split, item.revision.engine, item.stale) for item in ended] == [(1, 2, False), (2, 3, False)]
    assert [item.revision.engine for item in Store(tmp_path, current=current).runs()] == [1, 2, 3]
    assert not any(item.stale for item in Store(tmp_path, current=current).runs())


def test_a_run_of_a_later_version_is_left_as_it_is(tmp_path, runs):
    later = Stored(runs[0], "done", {"later": 1}, "", replace(CURRENT, engine=CURRENT.engine + 1))
    with Store(tmp_path, write=True) as store:
        store.add(later)
    assert execute(runs[:1], tmp_path, lambda run, data_home: {"new": 1}) == []
    assert Store(tmp_path).get(runs[0]).record == {"later": 1}


def test_a_record_that_json_cannot_hold_is_a_failure(tmp_path, runs):
    (outcome, other) = execute(runs[:2], tmp_path, lambda run, data_home: {"x": float("nan")} if not run.split else {})
    assert (outcome.status, other.status) == ("failed", "done")
    assert outcome.error.startswith("ValueError: Out of range float values are not JSON compliant")


@pytest.mark.slow
def test_a_run_that_kills_its_process_fails(tmp_path, runs):
    def evaluate(run, data_home):
        os._exit(1)

    (outcome,) = execute(runs[:1], tmp_path, evaluate, jobs=2)
    (stored,) = Store(tmp_path).runs()
    assert stored.status == outcome.status == "failed"
    assert "ended from outside" in stored.error == outcome.error


def fake_pool(monkeypatch, deadly):
    """Stand in for processes: the runs whose split is deadly break the pool; return the batches that were tried."""
    batches = []

    def pool(runs, jobs, compute):
        batches.append([run.split for run in runs])
        for run in runs:
            if run.split in deadly:
                raise BrokenProcessPool
            yield _executor._whole(compute(run))

    monkeypatch.setattr(_executor, "_pool", pool)
    return batches


def test_runs_beside_one_that_kills_its_process_are_not_blamed(tmp_path, runs, monkeypatch):
    batches = fake_pool(monkeypatch, {2})
    outcomes = execute(runs[:8], tmp_path, lambda run, data_home: {}, jobs=2)
    assert batches == [[0, 1, 2, 3, 4, 5, 6, 7], [2], [3], [4], [5], [6, 7]]
    assert {outcome.run.split: outcome.status for outcome in outcomes} == {
        split: "failed" if split == 2 else "done" for split in range(8)
    }
    assert len(outcomes) == 8


def test_processes_that_all_die_end_the_run_and_blame_nobody(tmp_path, runs, monkeypatch):
    batches = fake_pool(monkeypatch, set(range(12)))
    with pytest.raises(ChildProcessError, match="Every process ended"):
        execute(runs, tmp_path, lambda run, data_home: {}, jobs=2)
    assert batches == [list(range(12)), [0], [1], [2], [3]]
    assert not (tmp_path / "runs").exists()


def test_an_interrupted_run_is_not_stored(tmp_path, runs):
    def evaluate(run, data_home):
        if run.split == 1:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        execute(runs, tmp_path, evaluate)
    assert done(tmp_path) == {0}
    assert len(Store(tmp_path).runs()) == 1


@pytest.mark.usefixtures("interruptible")
def test_a_run_that_makes_do_with_less_when_interrupted_is_not_stored(tmp_path, runs):
    """Training ends early at Ctrl-C and returns its best weights so far; that is not the run that was asked for."""

    def evaluate(run, data_home):
        if run.split == 1:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                return {"cut": "short"}
        return {}

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        execute(runs, tmp_path, evaluate)
    assert signal.getsignal(signal.SIGINT) is before
    assert done(tmp_path) == {0}


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_worker_stores_nothing(tmp_path, runs):
    def evaluate(run, data_home):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return {"cut": "short"}

    with pytest.raises(KeyboardInterrupt):
        execute(runs[:2], tmp_path, evaluate, jobs=2)
    assert not (tmp_path / "runs").exists()


def test_the_same_run_is_computed_once(tmp_path):
    run = Run("glioma", "random", "corrected", 0, 0, 3)
    calls = []
    execute([run, run], tmp_path, lambda run, data_home: calls.append(run) or {})
    assert calls == [run]


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_jobs_must_be_a_count(tmp_path, jobs):
    with pytest.raises(ValueError, match="jobs must be a whole number"):
        execute([], tmp_path, lambda run, data_home: {}, jobs=jobs)

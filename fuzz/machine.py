"""Many cases over several processes: time limits, crashes, and a state that a later call goes on from."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .cases import Outcome, run_case

CASES_PER_SEED = 10**9
LIMIT = 300.0
"""Seconds that a case may take; one that interrupts a command runs it three times."""
MEMORY = 8 << 30
"""Bytes of address space of a worker."""


class State:
    """What earlier calls with this seed found, in one file.

    Results count in the order of their cases, so that a call that is cut off loses those after the first gap alone.
    """

    def __init__(self, folder: Path, seed: int, family: str | None = None) -> None:
        self.path = folder / f"seed-{seed}{f'-{family}' if family else ''}.json"
        self.next = seed * CASES_PER_SEED
        self.counts: Counter[str] = Counter()
        self.broken: list[dict[str, Any]] = []
        self._waiting: dict[int, Outcome] = {}
        if self.path.exists():
            known = json.loads(self.path.read_text())
            self.next, self.counts, self.broken = known["next"], Counter(known["counts"]), known["broken"]

    def add(self, outcome: Outcome) -> None:
        """Take a result in."""
        self._waiting[outcome.case] = outcome
        while self.next in self._waiting:
            ready = self._waiting.pop(self.next)
            self.counts[f"{ready.law}|{ready.kind}|{ready.result}"] += 1
            if ready.result == "broken":
                self.broken.append(ready.as_dict())
            self.next += 1

    def save(self) -> None:
        """Write the file, whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = {"next": self.next, "counts": self.counts, "broken": self.broken}
        beside = self.path.with_suffix(".tmp")
        beside.write_text(json.dumps(content, indent=1))
        os.replace(beside, self.path)

    def table(self) -> str:
        """Return the counts by law and by kind."""
        lines = []
        for place, head in ((0, "law"), (1, "kind")):
            rows: dict[str, Counter[str]] = {}
            for key, count in self.counts.items():
                rows.setdefault(key.split("|")[place], Counter())[key.split("|")[2]] += count
            lines.append(f"{head:<24}{'cases':>10}{'refused':>10}{'broken':>10}")
            for name in sorted(rows):
                row = rows[name]
                lines.append(f"{name:<24}{row.total():>10}{row['refused']:>10}{row['broken']:>10}")
            lines.append("")
        return "\n".join(lines)


def _work(pipe: Connection, runner: Callable[[int], Outcome]) -> None:
    """Run the cases that come, in a process group of its own."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends this group
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, ValueError):
        pass
    while True:
        pipe.send(runner(pipe.recv()))


class _Worker:
    def __init__(self, runner: Callable[[int], Outcome]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, inner = context.Pipe()
        self.process = context.Process(target=_work, args=(inner, runner))
        self.process.start()
        inner.close()
        self.case: int | None = None
        self.since = 0.0

    def give(self, case: int) -> None:
        self.case, self.since = case, time.monotonic()
        self.pipe.send(case)

    def end(self) -> None:
        if self.process.pid is not None:
            for signal_ in (os.killpg, os.kill):  # the group, and the process where it has not made one yet
                try:
                    signal_(self.process.pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    continue
        self.process.join()


def run_cases(
    cases: Iterable[int], *, jobs: int, limit: float = LIMIT, runner: Callable[[int], Outcome] = run_case
) -> Iterator[Outcome]:
    """Yield the outcome of every case as it ends; a case that hangs or ends its process counts as broken."""
    source, exhausted = iter(cases), False
    workers: list[_Worker] = []
    try:
        while True:
            idle = [worker for worker in workers if worker.case is None]
            while not exhausted and (idle or len(workers) < jobs):
                case = next(source, None)
                exhausted = case is None
                if case is not None:
                    if not idle:
                        idle = [_Worker(runner)]
                        workers += idle
                    idle.pop().give(case)
            busy = [worker for worker in workers if worker.case is not None]
            if not busy:
                return
            wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in busy:
                outcome = _result(worker, limit)
                if outcome is not None:
                    worker.case = None
                    if not worker.process.is_alive():
                        workers.remove(worker)
                    yield outcome
    finally:
        for worker in workers:
            worker.end()


def _result(worker: _Worker, limit: float) -> Outcome | None:
    """Return the outcome of a worker's case, or None while it runs."""
    assert worker.case is not None
    if worker.pipe.poll():
        try:
            return worker.pipe.recv()
        except (EOFError, OSError):
            worker.end()
            code = worker.process.exitcode
            return Outcome(worker.case, "process", result="broken", message=f"the process ended with code {code}")
    if time.monotonic() - worker.since > limit:
        worker.end()
        told = f"still running after {limit:g} seconds"
        return Outcome(worker.case, "time limit", result="broken", message=told)
    return None


def fuzz(
    folder: Path,
    seed: int,
    minutes: float,
    jobs: int,
    family: str | None = None,
    *,
    runner: Callable[..., Outcome] = run_case,
) -> int:
    """Run cases for some minutes, going on where the last call with this seed ended; return the exit code."""
    state = State(folder, seed, family)
    runner = partial(runner, family=family) if family else runner
    end, saved, first = time.monotonic() + 60 * minutes, time.monotonic(), state.next
    failed = 0

    def numbers() -> Iterator[int]:
        case = first
        while time.monotonic() < end:
            yield case
            case += 1

    print(f"from case {first}; the results are kept in {state.path}", flush=True)
    try:
        for outcome in run_cases(numbers(), jobs=jobs, runner=runner):
            state.add(outcome)
            if outcome.result == "broken":
                failed += 1
                print(outcome.line(), flush=True)
            if time.monotonic() - saved > 10:
                state.save()
                saved = time.monotonic()
    except KeyboardInterrupt:
        print("stopped; say the same again to go on", file=sys.stderr)
    state.save()
    print(f"\n{state.table()}")
    print(f"{state.next - first} cases now, {failed} broken; {len(state.broken)} broken in all with seed {seed}")
    return 1 if state.broken else 0


def again(folder: Path, seed: int, jobs: int, family: str | None = None) -> int:
    """Run the broken cases of a seed again and forget those that hold now; return the exit code."""
    state = State(folder, seed, family)
    cases, runner = [item["case"] for item in state.broken], partial(run_case, family=family)
    outcomes = {outcome.case: outcome for outcome in run_cases(cases, jobs=jobs, runner=runner)}
    before, state.broken = len(state.broken), []
    for case in sorted(outcomes):
        if outcomes[case].result == "broken":
            state.broken.append(outcomes[case].as_dict())
            print(outcomes[case].line())
    state.save()
    print(f"{len(state.broken)} of {before} broken cases are still broken")
    return 1 if state.broken else 0

"""Commands that are interrupted or killed: old files stay whole, nothing is left behind, and saying it again works."""

from __future__ import annotations

import json
import lzma
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import stableselect as ss
from stableselect.io import Table, write_table
from stableselect.persistence import to_json
from stableselect.workflow import SelectionRequest, select_table

from .checks import expect
from .tables import Generator, factors

SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": 137}
"""By signal: the exit code that a shell sees."""
OLD = b"the file of before\n"
LIMIT = 90
SAVE = """
import sys, stableselect as ss
selector = ss.load(sys.argv[1])
for _ in range(300):
    ss.save(selector, sys.argv[2], overwrite=True)
"""


@dataclass(frozen=True)
class Command:
    """A command that writes.

    Attributes
    ----------
    argv : callable
        From the input folder and the output folder to the arguments of Python.
    outputs : tuple of str
        The files it writes; none for ``paper run``, whose store is compared.
    ours : bool
        Whether the process is the command line, which ends with the exit code of the signal and in one sentence. In a
        script of the user's, SIGTERM ends Python at once, and what is left then is not the library's to promise.
    """

    argv: Callable[[str, str], list[str]]
    outputs: tuple[str, ...] = ()
    ours: bool = True


def _cli(*words: str) -> Callable[[str, str], list[str]]:
    return lambda given, out: ["-m", "stableselect", *(word.format(i=given, o=out) for word in words)]


PAPER = "paper run table2 --fast --dataset glioma --method CAE --method AEFS --method LS --protocol corrected -q"
COMMANDS = {
    "select": Command(
        _cli("select", "{i}/t.csv", "-k", "3", "-o", "{o}/s.csv", "--force", "-q"), ("s.csv", "s.selection.json")
    ),
    "select CAE": Command(
        _cli("select", "{i}/t.parquet", "-k", "3", "--method", "CAE", "-o", "{o}/s.parquet", "--force", "-q"),
        ("s.parquet", "s.selection.json"),
    ),
    "apply": Command(_cli("apply", "{i}/t.selection.json", "{i}/t.csv", "-o", "{o}/a.npy", "--force"), ("a.npy",)),
    "reconstruct": Command(
        _cli("reconstruct", "{i}/t.selection.json", "{i}/t.csv", "-o", "{o}/r.csv", "--force"), ("r.csv",)
    ),
    "frontier": Command(
        _cli("frontier", "{i}/small.csv", "-k", "2", "-o", "{o}/f.png", "--force", "-q"), ("f.png", "f.frontier.csv")
    ),
    "save": Command(lambda given, out: ["-c", SAVE, f"{given}/t.sselect", f"{out}/t.sselect"], ("t.sselect",), False),
    "paper run": Command(
        lambda given, out: ["-m", "fuzz.tiny_paper", *PAPER.split(), "--results", f"{out}/p", "--data", given]
    ),
}


def _prepare(folder: Path) -> None:
    """Write the inputs of all commands."""
    rng = np.random.default_rng(0)
    for name, n in (("t", 4000), ("small", 60)):
        X = factors(rng, n, 12)
        table = Table(pa.table({f"c{j}": X[:, j] for j in range(12)}), f"{name}.csv")
        write_table(table.data, folder / f"{name}.csv")
    write_table(table.data, folder / "t.parquet")
    (folder / "t.selection.json").write_text(to_json(select_table(table, SelectionRequest(k=3))))
    ss.save(ss.ColumnSubset(4).partial_fit(factors(rng, 300, 200)), folder / "t.sselect")
    (folder / "glioma.npz").touch()


def _default_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _start(argv: list[str]) -> subprocess.Popen[str]:
    # The workers ignore SIGINT, and what is ignored is inherited.
    return subprocess.Popen(
        [sys.executable, *argv],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        preexec_fn=_default_signals,
    )


def _wait(process: subprocess.Popen[str], what: str) -> tuple[int, str]:
    try:
        _, told = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        expect(False, f"{what}: still running after {LIMIT} seconds")
    code = process.returncode
    return (128 - code if code < 0 else code), told


def _results(folder: Path, command: Command) -> dict[str, Any]:
    """Return what a command wrote, without times."""
    if command.outputs:
        return {name: (folder / name).read_bytes() for name in command.outputs}
    found = {}
    for path in sorted(folder.glob("p/fast/runs/*.xz")):
        for line in lzma.decompress(path.read_bytes()).decode().splitlines():
            run = json.loads(line)
            record = run.get("record", {})
            found[json.dumps(run["run"])] = run["status"], record.get("selected"), record.get("least_squares")
    return found | {"table": (folder / "p/fast/table2.csv").read_bytes()}


def _within_program(told: str) -> bool:
    """Tell whether a traceback was printed from within the program, not while Python was still importing it."""
    return "Traceback" in told and re.search(r'cli/_main\.py", line \d+, in (?!<module>)', told) is not None


def kill_case(rng: Generator, note: Any) -> None:
    """Run a command undisturbed; run it again over old files and stop it; run it once more."""
    name, which = str(rng.choice(list(COMMANDS))), str(rng.choice(list(SIGNALS)))
    command, code = COMMANDS[name], SIGNALS[which]
    moment = "writing" if command.outputs and rng.random() < 0.5 else float(rng.uniform(0, 1))
    note.law, note.kind, note.subject = "interrupted", which, name
    note.detail = f"{which} while {moment}" if moment == "writing" else f"{which} after {moment:.3f} of its time"
    with tempfile.TemporaryDirectory(prefix="fuzz") as base:
        given, clean, hit = (Path(base, folder) for folder in ("given", "clean", "hit"))
        for folder in (given, clean, hit):
            folder.mkdir()
        _prepare(given)
        begun = time.monotonic()
        ended, told = _wait(_start(command.argv(str(given), str(clean))), "undisturbed")
        needed = time.monotonic() - begun
        expect(ended == 0, f"undisturbed, it ended with {ended}: {told!r:.300}")
        expected = _results(clean, command)
        for output in command.outputs:
            (hit / output).write_bytes(OLD)
        process = _start(command.argv(str(given), str(hit)))
        if moment == "writing":
            while process.poll() is None and not any(hit.glob(".*.tmp")):
                time.sleep(0.0005)
        else:
            time.sleep(needed * moment)
        process.send_signal(getattr(signal, which))
        ended, told = _wait(process, which)
        if command.ours or which != "SIGINT":
            expect(ended in (0, code), f"ended with {ended} after {which}: {told[-300:]!r}")
        if command.ours and command.outputs:  # nor in the start of fuzz.tiny_paper
            expect(not _within_program(told), f"a traceback after {which}: {told[-300:]!r}")
        whole = {output: (hit / output).read_bytes() for output in command.outputs}
        for output, content in whole.items():
            expect(content in (OLD, expected[output]), f"{output} is half-written after {which}")
        if which != "SIGKILL":
            states = {content == OLD for content in whole.values()}
            expect(len(states) < 2, f"after {which} one output is new and the other old")
        if ended == 0 and command.outputs:
            expect(whole == expected, f"exit code 0 after {which}, but other results")
        left = [path.name for path in hit.rglob("*.tmp")]
        if which == "SIGINT" or (which == "SIGTERM" and command.ours):
            expect(not left, f"{len(left)} temporary files are left after {which}")
        ended, told = _wait(_start(command.argv(str(given), str(hit))), "said again")
        expect(ended == 0, f"said again after {which}, it ended with {ended}: {told[-300:]!r}")
        expect(_results(hit, command) == expected, f"said again after {which}, the results differ")

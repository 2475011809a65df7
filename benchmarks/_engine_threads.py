"""Fits with one and with two threads, alone and beside a busy process: what a second thread costs or saves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from _store import cpu_model

ROUNDS = 5
GOAL = 1.1
"""Most that two threads may take, in times of one."""
SHORTEST = 1.0
"""Seconds that a fit must take for its ratio to count."""


class Case(NamedTuple):
    """A selector with its settings, and the shape of its table."""

    selector: str
    shape: tuple[int, int]
    k: int = 20
    settings: tuple[tuple[str, Any], ...] = ()


CASES = {
    "AEFS": Case("AEFS", (2_000, 2_000)),
    "AgnoSS": Case("AgnoSS", (2_000, 2_000)),
    "CAE": Case("CAE", (1_000, 1_000)),
    "ColumnSubset, tall": Case("ColumnSubset", (30_000, 1_500), 100),
    "ColumnSubset, wide": Case("ColumnSubset", (300, 20_000), 50),
    "ColumnSubset, stable": Case("ColumnSubset", (2_000, 200), 20, (("criterion", "stability"),)),
    "ColumnSubset, stable, 1,000 features": Case("ColumnSubset", (5_000, 1_000), 20, (("criterion", "stability"),)),
    "ConsensusSelector": Case("ConsensusSelector", (3_000, 600), 20, (("n_resamples", 50),)),
    "FAE": Case("FAE", (3_000, 800)),
    "GatedLaplacian": Case("GatedLaplacian", (400, 400), 50),
    "InfFS": Case("InfFS", (187, 10_000)),
    "KernelSubset": Case("KernelSubset", (600, 60), 6),
    "LaplacianScore": Case("LaplacianScore", (20_000, 200)),
    "MCFS": Case("MCFS", (20_000, 200)),
    "NDFS": Case("NDFS", (187, 15_000)),
    "PFA": Case("PFA", (187, 8_000)),
    "PivotedQR": Case("PivotedQR", (3_000, 2_200)),
    "SPEC": Case("SPEC", (20_000, 200), 20, (("criterion", "phi3"),)),
    "ScorerSelector": Case("ScorerSelector", (400, 15_000), 50),
    "ScorerSelectorNetwork, full batch": Case("ScorerSelectorNetwork", (3_000, 800), 50, (("epochs", 600),)),
    "ScorerSelectorNetwork, mini-batches": Case(
        "ScorerSelectorNetwork", (2_000, 300), 20, (("solver", "minibatch"), ("epochs", 400))
    ),
    "UDFS": Case("UDFS", (187, 15_000)),
}


def fit(name: str) -> None:
    """Fit one case and print what it took; this is what runs in a process of its own."""
    from graph import clustered
    from stableselect import all_selectors

    case = CASES[name]
    selector = all_selectors()[case.selector](n_features_to_select=case.k).set_params(**dict(case.settings))
    if "random_state" in selector.get_params():
        selector.set_params(random_state=0)
    X = clustered(*case.shape)
    wall, cpu = time.perf_counter(), time.process_time()
    selector.fit(X)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu, "selected": selector.selected_.tolist()}))


def fitted_apart(name: str, threads: int) -> dict[str, Any]:
    """Run :func:`fit` with so many threads for BLAS and OpenMP."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads))}
    command = [sys.executable, __file__, name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def busy_process(wanted: bool) -> Iterator[None]:
    """Keep one core busy, if so asked."""
    if not wanted:
        yield
        return
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def measure(name: str) -> dict[str, Any]:
    """Fit a case with one and two threads in turn, alone and beside a busy process."""
    cores = f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} cores"
    found: dict[str, Any] = {"shape": CASES[name].shape, "k": CASES[name].k, "machine": f"{cores}, {cpu_model()}"}
    rounds: dict[str, list[dict[int, dict[str, Any]]]] = {"alone": [], "busy": []}
    for number in range(ROUNDS):
        order = (1, 2) if number % 2 == 0 else (2, 1)  # a machine that gets slower must not favour either
        for beside, runs in rounds.items():
            with busy_process(beside == "busy"):
                runs.append({threads: fitted_apart(name, threads) for threads in order})
    for beside, runs in rounds.items():
        for kind in ("wall", "cpu"):
            one, two = (np.array([run[threads][kind] for run in runs]) for threads in (1, 2))
            found[f"{beside}_{kind}"] = [float(np.median(one)), float(np.median(two))]
            found[f"{beside}_{kind}_ratio"] = float(np.median(two / one))
    choices = {tuple(fit["selected"]) for runs in rounds.values() for run in runs for fit in run.values()}
    found["same_columns"] = len(choices) == 1
    return found


def table(parts: dict[str, dict[str, Any]]) -> str:
    """Return seconds and ratios as Markdown."""
    lines = [
        f"On {', '.join(sorted({part['machine'] for part in parts.values()}))}.",
        "",
        "| selector | rows x columns, k | 1 thread: s, CPU s | 2 threads: s, CPU s | ratio "
        "| beside a busy process: s, s | ratio | same columns | |",
        "|---" * 9 + "|",
    ]
    for name, part in parts.items():
        (one, two), (cpu_one, cpu_two) = part["alone_wall"], part["alone_cpu"]
        ratios = part["alone_wall_ratio"], part["busy_wall_ratio"]
        verdict = "too short" if one < SHORTEST else "met" if max(ratios) <= GOAL else "MISSED"
        rows, columns = part["shape"]
        cells = [
            name,
            f"{rows:,} x {columns:,}, {part['k']}",
            f"{one:.2f}, {cpu_one:.2f}",
            f"{two:.2f}, {cpu_two:.2f}",
            f"{ratios[0]:.2f}",
            "{:.2f}, {:.2f}".format(*part["busy_wall"]),
            f"{ratios[1]:.2f}",
            "yes" if part["same_columns"] else "NO",
            verdict,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    fit(sys.argv[1])

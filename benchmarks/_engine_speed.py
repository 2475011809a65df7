"""How long the default, the moments and a choice for stability take, against what must be computed in any case."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from _data import available, split_rows
from core_speed import medians
from stableselect import ColumnSubset, Moments, PivotedQR
from stableselect.paper.methods import fastcan, find_method

ROUNDS = 3
LEAST_ROUNDS, MOST_ROUNDS, FIT_SECONDS = 7, 41, 4.0
"""Rounds of the default: as many fits as take so many seconds, within these limits."""
MOMENTS_GOAL, STABILITY_GOAL = 1.3, 15.0
"""Most that moments may take, in times of X'X, and a choice for stability on two cores, in seconds."""
DEFAULT_GOALS = {"ridge 0": 1.5, "pivoted QR": 1.5, "fastcan": 1.0}
WIDE_GOALS = {"fastcan": 3.0}
"""Most that the default may take, in times of others, on tall tables and on wide ones."""
SHORT = 0.1
"""Where a rival takes fewer seconds than this, the default may take as many as this."""
FASTCAN_GOAL = 15.0
"""Least that fastcan takes on MNIST-Fashion, in times of ``ridge=0``."""
DEFAULT_TITLE = (
    "The default (tall tables: at most 1.5 times ridge 0 and pivoted QR and no more than fastcan, or 0.1 s; arcene: at "
    "most 3 times fastcan; fastcan on MNIST-Fashion: at least 15 times ridge 0)"
)
TALL = {"mice_protein": 10, "coil20": 50, "isolet": 50, "mnist_fashion": 50, "usps": 50}
"""Tall tables of the paper, and the number of features selected."""
WIDE = {"arcene": 64}
MOMENTS = {784: 40_000, 2_000: 10_000, 5_000: 5_000}
"""Samples by number of features: enough for a product of half a second."""


def tables() -> dict[str, tuple[Any, int]]:
    """Return the tables to select from, with the number of features."""
    found: dict[str, tuple[Any, int]] = {
        name: (split_rows(name)[0], k) for name, k in {**TALL, **WIDE}.items() if available(name)
    }
    X = sparse.random_array((5_000, 2_000), density=0.05, rng=np.random.default_rng(0), format="csr")
    return {**found, "sparse": (X, 50)}


def measure_default(X: Any, k: int) -> dict[str, Any]:
    """Time the default against ``ridge=0``, pivoted QR of the principal components, and fastcan on their scores."""
    works: dict[str, Callable[[], Any]] = {
        "default": ColumnSubset(k).fit,
        "ridge 0": ColumnSubset(k, ridge=0.0).fit,
    }
    if not sparse.issparse(X):
        works["pivoted QR"] = PivotedQR(k).fit
    actions = [lambda work=work: work(X) for work in works.values()]
    (once,) = medians(1, actions[0], settled=True)
    rounds = int(np.clip(FIT_SECONDS / once, LEAST_ROUNDS, MOST_ROUNDS))
    seconds = dict(zip(works, medians(rounds, *actions, settled=True), strict=True))
    if not sparse.issparse(X) and find_method("fastcan").available():
        (seconds["fastcan"],) = medians(ROUNDS, lambda: fastcan(X, k), settled=True)
    elif not sparse.issparse(X):
        print("fastcan is not installed: its columns stay empty")
    return {"shape": list(X.shape), "k": k, "rounds": rounds, "seconds": seconds}


def default_table(found: dict[str, Any]) -> str:
    """Return the times as Markdown."""
    lines = [
        "| table, k | default | over ridge 0 | over pivoted QR | over fastcan | fastcan over ridge 0 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, piece in found.items():
        seconds, goals = piece["seconds"], WIDE_GOALS if name in WIDE else DEFAULT_GOALS
        cells = [_ratio(seconds, rival, goals.get(rival, float("inf"))) for rival in DEFAULT_GOALS]
        least = FASTCAN_GOAL if name == "mnist_fashion" else 0.0
        times = seconds.get("fastcan", 0.0) / seconds["ridge 0"]
        cells.append(f"{times:.1f}{' MISSED' if times < least else ''}" if "fastcan" in seconds else "-")
        n, m = piece["shape"]
        lines.append(f"| {name}, {n:,} x {m:,}, {piece['k']} | {seconds['default']:.3f} s | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratio(seconds: dict[str, float], rival: str, goal: float) -> str:
    """Return the default's time over another's, marked where it is beyond its goal."""
    if rival not in seconds:
        return "-"
    ratio = seconds["default"] / seconds[rival]
    short = rival != "ridge 0" and seconds[rival] < SHORT and seconds["default"] <= SHORT
    return f"{ratio:.2f}{' MISSED' if ratio > goal and not short else ''}"


def measure_moments(m: int) -> dict[str, float]:
    """Time the moments of double and single precision against X'X in double precision."""
    X = np.random.default_rng(0).normal(size=(MOMENTS[m], m))
    single = X.astype(np.float32)
    actions = [lambda: X.T @ X, *(lambda rows=rows: Moments.from_array(rows).operator() for rows in (X, single))]
    product, double, other = medians(ROUNDS, *actions, settled=True)
    return {"product": product, "float64": double, "float32": other}


def moments_table(found: dict[str, Any]) -> str:
    """Return the times as Markdown."""
    lines = ["| samples x features | X'X | float64 | float32 |", "|---|---:|---:|---:|"]
    for m, piece in found.items():
        ratios = [piece[kind] / piece["product"] for kind in ("float64", "float32")]
        cells = [f"{ratio:.2f}" + (" MISSED" if ratio > MOMENTS_GOAL else "") for ratio in ratios]
        lines.append(f"| {MOMENTS[int(m)]:,} x {int(m):,} | {piece['product']:.2f} s | {' | '.join(cells)} |")
    return "\n".join(lines)


def measure_stability(n_jobs: int | None) -> dict[str, Any]:
    """Time a choice for stability in so many processes, None for the default; the second time, when they are warm."""
    X = split_rows("mnist_fashion")[0]
    for _ in range(1 if n_jobs == 1 else 2):
        begin = time.perf_counter()
        selector = ColumnSubset(50, criterion="stability", n_jobs=n_jobs).fit(X)
        seconds = time.perf_counter() - begin
    return {"seconds": seconds, "selected": selector.selected_.tolist()}


def stability_table(found: dict[str, Any]) -> str:
    """Return the times as Markdown."""
    lines = ["| processes | seconds | times faster | same features |", "|---:|---:|---:|---|"]
    one = found["1"]
    for n_jobs, piece in found.items():
        same = "yes" if piece["selected"] == one["selected"] else "NO"
        missed = " MISSED" if n_jobs != "1" and piece["seconds"] > STABILITY_GOAL else ""
        name, faster = "default" if n_jobs == "None" else n_jobs, one["seconds"] / piece["seconds"]
        lines.append(f"| {name} | {piece['seconds']:.1f}{missed} | {faster:.1f} | {same} |")
    return "\n".join(lines)


def processes() -> list[int | None]:
    """Return the numbers of processes to try, None for the default; nothing where the table is missing."""
    return [None, *sorted({1, 2, len(os.sched_getaffinity(0))})] if available("mnist_fashion") else []

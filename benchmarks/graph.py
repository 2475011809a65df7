"""Speed, memory and growth of the seven classical methods.

Finished parts are kept in ``results/graph.json`` and not measured again. Peak memory is that of a process of its own,
with the table and the interpreter in it.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from _data import available, table
from _store import Store
from stableselect import BaseSelector, all_selectors
from stableselect.graph._neighbours import neighbour_graph

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "LaplacianScore": ("LaplacianScore", {}),
    "SPEC phi1": ("SPEC", {"criterion": "phi1"}),
    "SPEC phi2": ("SPEC", {"criterion": "phi2"}),
    "MCFS": ("MCFS", {}),
    "UDFS": ("UDFS", {}),
    "NDFS": ("NDFS", {}),
    "PFA": ("PFA", {}),
    "InfFS": ("InfFS", {}),
}
"""Class and settings by the name the tables use."""

CLUSTERS = 5
NEIGHBOURS = 5

RIVAL_SHAPE, RIVAL_COLUMNS = (2_000, 500), 50
RIVAL_LIMIT = 120
"""Seconds after which a rival is stopped; its time then reads as at least this."""
RIVAL_GOAL = {"LaplacianScore": 1, "SPEC phi1": 10, "SPEC phi2": 10, "MCFS": 1, "NDFS": 1, "UDFS": 10}
"""How many times faster than scikit-feature each method should be."""

FASHION_METHODS, FASHION_GIB = ("LaplacianScore", "SPEC phi1", "SPEC phi2", "MCFS"), 3.0
WIDE_METHODS, WIDE_SHAPE, WIDE_SECONDS, WIDE_GIB = ("UDFS", "NDFS", "InfFS", "PFA"), (187, 19_993), 120, 2.0

GROWTH_ROWS, GROWTH_COLUMNS = 1_000, 300
GROWTH_FACTORS = (1.0, 10 ** (1 / 3), 10 ** (2 / 3), 10.0)


def build(method: str, k: int, **settings: Any) -> BaseSelector:
    """Return the selector of a method, with those of the settings that it has."""
    name, own = METHODS[method]
    selector = all_selectors()[name](k, **own)
    known = selector.get_params()
    return selector.set_params(**{key: value for key, value in settings.items() if key in known})


def clustered(n: int, m: int) -> np.ndarray:
    """Return a random table whose rows form clusters in a tenth of its columns, all columns of unit variance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    informative = max(1, m // 10)
    X[:, :informative] += 3 * rng.normal(size=(CLUSTERS, informative))[rng.integers(CLUSTERS, size=n)]
    return X / X.std(axis=0)


def fashion() -> np.ndarray:
    """Return the 60,000 training images of Fashion-MNIST on [0, 1], in single precision."""
    return table("mnist_fashion")[:60_000].astype(np.float32)


def wide() -> np.ndarray:
    """Return a random table of the shape of SMK_CAN_187."""
    return np.random.default_rng(0).normal(size=WIDE_SHAPE)


def peak_gib() -> float:
    """Return the most memory this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike ru_maxrss this does not carry over from the parent process
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)


TABLES: dict[str, Callable[[], np.ndarray]] = {"fashion": fashion, "wide": wide}


def measure(table: str, method: str) -> None:
    """Fit one method on one table and print its cost; this is what runs in a process of its own."""
    X = TABLES[table]()
    before = peak_gib()
    start = time.perf_counter()
    selector = build(method, 64, random_state=0).fit(X)
    seconds = time.perf_counter() - start
    assert len(set(selector.selected_.tolist())) == 64
    print(json.dumps({"seconds": seconds, "peak_gib": peak_gib(), "before_gib": before, "shape": X.shape}))


def measured_apart(table: str, method: str) -> dict[str, Any]:
    """Run :func:`measure` in a process of its own."""
    command = [sys.executable, __file__, "measure", table, method]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def best_time(task: Callable[[], Any], repeats: int = 3, patience: float = 10.0) -> float:
    """Return the shortest of a few times; a task that takes long is run once."""
    shortest = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        shortest = min(shortest, time.perf_counter() - start)
        if shortest > patience:
            break
    return float(shortest)


class Slow(Exception):
    """A rival ran into the time limit."""


def limited_time(task: Callable[[], Any]) -> float:
    """Return the best time of a rival, or the limit where it had not finished by then."""

    def stop(signum: int, frame: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(RIVAL_LIMIT)
    try:
        return best_time(task)
    except Slow:
        return float(RIVAL_LIMIT)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def rivals(X: np.ndarray, W: sparse.csr_matrix) -> dict[str, Callable[[], Any]] | None:
    """Return scikit-feature's methods on the table and graph, or None where the package is not installed."""
    try:
        from skfeature.function.similarity_based.lap_score import lap_score
        from skfeature.function.similarity_based.SPEC import spec
        from skfeature.function.sparse_learning_based.MCFS import mcfs
        from skfeature.function.sparse_learning_based.NDFS import ndfs
        from skfeature.function.sparse_learning_based.UDFS import udfs
    except ImportError as error:
        print(f"skipped: the comparison needs skfeature-chappers ({error}); pip install skfeature-chappers")
        return None
    return {
        "LaplacianScore": lambda: lap_score(X, W=W, mode="index"),
        "SPEC phi1": lambda: spec(X, W=W, style=-1, mode="index"),
        "SPEC phi2": lambda: spec(X, W=W, style=0, mode="index"),
        "MCFS": lambda: mcfs(X, n_selected_features=RIVAL_COLUMNS, W=W, n_clusters=CLUSTERS, mode="index"),
        "NDFS": lambda: ndfs(X, W=W, n_clusters=CLUSTERS, mode="index"),
        "UDFS": lambda: udfs(X, n_clusters=CLUSTERS, k=NEIGHBOURS, mode="index"),
    }


def compare(store: Store) -> None:
    """Time every method against scikit-feature on one table with one graph.

    Our time is that of ``fit``, graph included. scikit-feature is handed the same graph (UDFS makes its own), so the
    time to make it is added to theirs: both go from the table to the ranking. The ratio without it is shown as well.
    """
    X = clustered(*RIVAL_SHAPE)
    W = neighbour_graph(X, NEIGHBOURS)
    theirs = rivals(X, sparse.csr_matrix(W))
    if theirs is None:
        return
    settings = {"n_clusters": CLUSTERS, "n_neighbors": NEIGHBOURS, "random_state": 0}

    def pair(method: str) -> dict[str, float]:
        return {
            "ours": best_time(lambda: build(method, RIVAL_COLUMNS, **settings).fit(X)),
            "graph": 0.0 if method == "UDFS" else best_time(lambda: neighbour_graph(X, NEIGHBOURS)),
            "theirs": limited_time(theirs[method]),
        }

    print(f"\n{RIVAL_SHAPE[0]} x {RIVAL_SHAPE[1]} against scikit-feature, same graph\n")
    print("| method | ours, s | graph, s | theirs after the graph, s | times faster | graph in ours only | goal | |")
    print("|---" * 8 + "|")
    for method, goal in RIVAL_GOAL.items():
        found = store.part(f"skfeature | {method}", lambda m=method: pair(m))
        ours, graph, other = (found[key] for key in ("ours", "graph", "theirs"))
        ratio = (other + graph) / ours
        shown = f"stopped at {RIVAL_LIMIT}" if other >= RIVAL_LIMIT else f"{other:.3f}"
        cells = [f"{ours:.3f}", f"{graph:.3f}", shown, f"{ratio:.1f}", f"{other / ours:.1f}", f"{goal}"]
        print(f"| {method} | " + " | ".join(cells) + f" | {'met' if ratio >= goal else 'MISSED'} |", flush=True)


def memory(store: Store, table: str, methods: tuple[str, ...], seconds: float, gib: float) -> None:
    """Measure time and peak memory of some methods on a large table."""
    print(f"\n{table}: time and peak memory of the whole process (limits {seconds:g} s, {gib:g} GiB)\n")
    print("| method | seconds | peak GiB | of it before fit | |\n|---|---|---|---|---|")
    for method in methods:
        found = store.part(f"{table} | {method}", lambda m=method: measured_apart(table, m))
        verdict = "met" if found["peak_gib"] < gib and found["seconds"] < seconds else "MISSED"
        print(
            f"| {method} | {found['seconds']:.1f} | {found['peak_gib']:.2f} | {found['before_gib']:.2f} | {verdict} |",
            flush=True,
        )


def growth(store: Store, methods: tuple[str, ...] = tuple(METHODS)) -> None:
    """Time every method over a decade of rows and a decade of columns, and fit time = c size^exponent."""

    def seconds(method: str, n: int, m: int) -> float:
        X = clustered(n, m)
        settings = {"n_clusters": CLUSTERS, "random_state": 0}
        return best_time(lambda: build(method, 50, **settings).fit(X), patience=1.0)

    for axis in ("rows", "columns"):
        sizes = [round(f * (GROWTH_ROWS if axis == "rows" else GROWTH_COLUMNS)) for f in GROWTH_FACTORS]
        other = f"{GROWTH_COLUMNS} columns" if axis == "rows" else f"{GROWTH_ROWS} rows"
        print(f"\nseconds by {axis}, {other}\n")
        print("| method | " + " | ".join(map(str, sizes)) + " | exponent |\n" + "|---" * (len(sizes) + 2) + "|")
        for method in methods:
            shapes = [(s, GROWTH_COLUMNS) if axis == "rows" else (GROWTH_ROWS, s) for s in sizes]
            times = [
                store.part(f"growth {axis} | {method} | {s}", lambda m=method, shape=shape: seconds(m, *shape))
                for s, shape in zip(sizes, shapes, strict=True)
            ]
            exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
            print(f"| {method} | " + " | ".join(f"{t:.3f}" for t in times) + f" | {exponent:.2f} |", flush=True)


def main() -> None:
    """Run everything that is not there yet and print it all."""
    store = Store("graph")
    compare(store)
    growth(store)
    memory(store, "wide", WIDE_METHODS, WIDE_SECONDS, WIDE_GIB)
    if available("mnist_fashion"):
        memory(store, "fashion", FASHION_METHODS, np.inf, FASHION_GIB)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(*sys.argv[2:4])
    else:
        main()

"""Long and wide tables, how cost grows, and the network: each piece in a process of its own, with its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

HERE = Path(__file__).parent
WIDE_GOALS = {"20": 10.0, "auto": 30.0}
"""Seconds for ``select -k`` on 500 x 20,000."""
MEMORY_GOAL, NETWORK_GOAL = 6.0, 4.0
"""GB of memory for the sparse counts, and seconds for the network on ISOLET."""
GROWTH = {"n": [2_000, 8_000, 32_000], "m": [200, 400, 800, 1_600], "k": [10, 20, 40, 80]}
_FIXED = {"n": 4_000, "m": 400, "k": 20}
_BLOCK = 2_000


def low_rank(n: int, m: int, rank: int = 30, seed: int = 0) -> np.ndarray:
    """Return a table of some factors and as much noise."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m)) / rank**0.5 + rng.normal(size=(n, m))


def count_blocks(n: int, m: int, rank: int = 20, share: float = 0.05) -> Iterator[sparse.csr_array]:
    """Yield blocks of sparse counts whose chances of being above zero have a low rank."""
    start = np.random.default_rng(0)
    H = (start.random((rank, m)) < share).astype(np.float32)  # every factor has its own features
    for number in range(n // _BLOCK):
        rng = np.random.default_rng([1, number])
        chances = rng.dirichlet(np.full(rank, 0.1), size=_BLOCK).astype(np.float32) @ H
        rows, columns = np.nonzero(rng.random((_BLOCK, m), dtype=np.float32) < chances)
        counts = 1.0 + rng.poisson(2.0, size=len(rows))
        yield sparse.csr_array((counts, (rows, columns)), shape=(_BLOCK, m))


def sparse_counts(n: int = 100_000, m: int = 20_000, k: int = 100) -> dict[str, Any]:
    """Select from sparse counts in one pass, and measure the loss of the features in another."""
    from stableselect import ColumnSubset, SketchedMoments

    begin = time.perf_counter()
    moments = SketchedMoments(16 * k)
    for block in count_blocks(n, m):
        moments.update(block)
    selector = ColumnSubset(k).fit_moments(moments)
    seconds = time.perf_counter() - begin
    rng = np.random.default_rng(2)
    choices = {"selected": selector.selected_, "random": rng.choice(m, size=k, replace=False)}
    found = losses(lambda: count_blocks(n, m), choices)
    found["generating"] = timed(lambda: sum(1 for _ in count_blocks(n, m)))
    return {"shape": [n, m], "k": k, "seconds": seconds, "size": int(selector.sketch_size_), **found}


def losses(blocks: Callable[[], Iterator[Any]], choices: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the fraction of the variance that least-squares maps from each choice leave, read from all samples."""
    kept = np.concatenate(list(choices.values()))
    cross, first, squares, n = 0.0, 0.0, 0.0, 0
    for block in blocks():
        own = block[:, kept]
        cross = cross + (own.T @ block).toarray()
        first, squares, n = first + block.sum(axis=0), squares + block.power(2).sum(axis=0), n + block.shape[0]
    mean = first / n
    C = cross / n - np.outer(mean[kept], mean)
    total, found, start = float((squares / n - mean**2).sum()), {}, 0
    for name, chosen in choices.items():
        C_S = C[start : start + len(chosen)]
        found[name] = 1 - float(np.sum(C_S * np.linalg.lstsq(C_S[:, chosen], C_S, rcond=1e-10)[0])) / total
        start += len(chosen)
    return found


def memory_map(n: int = 1_000_000, m: int = 2_000, k: int = 50) -> dict[str, Any]:
    """Select from a table of single precision on disk."""
    from stableselect import ColumnSubset

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, m))
        H = np.random.default_rng(0).normal(size=(40, m)).astype(np.float32)
        for start in range(0, n, 20_000):
            rng = np.random.default_rng([3, start])
            rows = table[start : start + 20_000]
            rows[:] = rng.standard_normal((len(rows), 40), dtype=np.float32) @ H / 6
            rows += rng.standard_normal(rows.shape, dtype=np.float32)
        table.flush()
        del table
        X = np.load(path, mmap_mode="r")
        begin = time.perf_counter()
        selector = ColumnSubset(k).fit(X)
        seconds = time.perf_counter() - begin
        scan = timed(lambda: [X[start : start + 20_000].sum() for start in range(0, n, 20_000)])
        left = selector.objective_ / float(np.mean(X[:20_000].var(axis=0)))
    return {"shape": [n, m], "k": k, "seconds": seconds, "scan": scan, "selected": left}


def wide(k: str) -> dict[str, Any]:
    """Select with the command line from a file of 500 x 20,000."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.npy"
        np.save(path, low_rank(500, 20_000))
        command = [sys.executable, "-m", "stableselect", "select", str(path), "-k", k]
        seconds = timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder))
    return {"seconds": seconds}


def growth() -> dict[str, Any]:
    """Time the default as samples, features or selected features grow."""
    from stableselect import ColumnSubset

    seconds: dict[str, list[float]] = {}
    for name, values in GROWTH.items():
        seconds[name] = []
        for value in values:
            size = {**_FIXED, name: value}
            X = low_rank(size["n"], size["m"])
            seconds[name].append(min(timed(lambda: ColumnSubset(size["k"]).fit(X)) for _ in range(3)))  # noqa: B023
    return {"seconds": seconds}


def network() -> dict[str, Any]:
    """Train the scorer-selector network on ISOLET, full batch."""
    from _data import split_rows
    from stableselect import ScorerSelectorNetwork

    X = split_rows("isolet")[0]
    return {"seconds": min(timed(lambda: ScorerSelectorNetwork(50, random_state=0).fit(X)) for _ in range(2))}


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds that some work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


PIECES: dict[str, Callable[[], dict[str, Any]]] = {
    "sparse counts": sparse_counts,
    "memory map": memory_map,
    "wide 20": lambda: wide("20"),
    "wide auto": lambda: wide("auto"),
    "growth": growth,
    "network": network,
}


def measure(piece: str, source: str | None = None) -> dict[str, Any]:
    """Measure a piece in a process of its own, with the package's source in another folder where one is given."""
    environment = {**os.environ, **({"PYTHONPATH": source} if source else {})}
    done = subprocess.run(
        [sys.executable, __file__, piece], stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    return json.loads(done.stdout.splitlines()[-1])


def _watch(peak: list[float], stop: threading.Event) -> None:
    """Note the largest anonymous memory of this process, in GB; the pages of a mapped file can be dropped."""
    while not stop.wait(0.02):
        lines = Path("/proc/self/status").read_text().splitlines()
        used = next((float(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0.0)
        peak[0] = max(peak[0], used * 1024 / 1e9)


def scale_table(found: dict[str, Any]) -> str:
    """Return time and memory of the long tables as Markdown."""
    lines = [
        "| table, k | minutes | without the selection | memory | variance left | random features |",
        "|---" * 6 + "|",
    ]
    for name, piece in found.items():
        n, m = piece["shape"]
        memory = f"{piece['memory']:.1f} GB" + (" MISSED" if piece["memory"] > MEMORY_GOAL else "")
        other = piece.get("generating", piece.get("scan"))
        random = f"{piece['random']:.3f}" if "random" in piece else "-"
        lines.append(
            f"| {name}, {n:,} x {m:,}, {piece['k']} | {piece['seconds'] / 60:.1f} | {other / 60:.1f} | {memory} "
            f"| {piece['selected']:.3f} | {random} |"
        )
    return "\n".join(lines)


def wide_table(found: dict[str, Any]) -> str:
    """Return the seconds of the command as Markdown."""
    lines = ["| command | seconds | goal |", "|---|---:|---:|"]
    for k, goal in WIDE_GOALS.items():
        if k in found:
            missed = " MISSED" if found[k]["seconds"] > goal else ""
            lines.append(f"| `select -k {k}` | {found[k]['seconds']:.1f}{missed} | {goal:.0f} |")
    return "\n".join(lines)


def growth_table(found: dict[str, Any]) -> str:
    """Return the exponents between the smallest and the largest size as Markdown."""
    lines = ["| | n | m | k |", "|---|---:|---:|---:|"]
    for name, piece in found.items():
        cells = []
        for size, seconds in piece["seconds"].items():
            slope = np.polyfit(np.log(GROWTH[size]), np.log(seconds), 1)[0]
            cells.append(f"{slope:.2f} ({seconds[0]:.2f} to {seconds[-1]:.2f} s)")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def network_table(found: dict[str, Any]) -> str:
    """Return the seconds of the network as Markdown."""
    seconds = found["isolet"]["seconds"]
    return f"{seconds:.1f} s{' MISSED' if seconds > NETWORK_GOAL else ''} (goal: {NETWORK_GOAL:.0f} s)"


if __name__ == "__main__":
    peak, stop = [0.0], threading.Event()
    watcher = threading.Thread(target=_watch, args=(peak, stop), daemon=True)
    watcher.start()
    result = PIECES[sys.argv[1]]()
    stop.set()
    watcher.join()
    print(json.dumps({**result, "memory": peak[0]}))

"""What two very large tables would take on a Dask cluster, from what small parts of them take here.

``python benchmarks/cluster.py`` measures the work of a chunk and of a merge on one core, and what Dask itself takes for
a chunk, and writes the tables of ``docs/user_guide/clusters.md``. Minutes; about 3 GB of memory.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from stableselect import ColumnSubset, Moments, SketchedMoments
from stableselect._core._moments import _of_chunk, _together
from stableselect._core._stream_moments import _chunk_columns, _chunk_folds, _merged_folds

PAGE = Path(__file__).parents[1] / "docs" / "user_guide" / "clusters.md"
FAN_IN = 4
WORKERS = (10, 100, 1000)
K = 50
SKETCH = 16 * K


@dataclass
class Measured:
    """What was measured of one table: seconds and bytes of a chunk, its result, and a merge of four results.

    The seconds are those of all passes; a second pass gathers ``again_bytes`` more.
    """

    title: str
    n_samples: float
    chunk_samples: int
    chunk_bytes: float
    chunk_seconds: float
    result_bytes: int
    merge_seconds: float
    search_seconds: float
    passes: int = 1
    again_bytes: int = 0

    @property
    def n_chunks(self) -> float:
        """Number of chunks of the whole table."""
        return self.n_samples / self.chunk_samples

    @property
    def work(self) -> float:
        """Seconds of one core for all chunks and merges: of four results one is left, so a third of a merge a chunk."""
        return self.n_chunks * (self.chunk_seconds + self.merge_seconds / (FAN_IN - 1))

    @property
    def memory(self) -> float:
        """Bytes in a worker at a time: a chunk and its result, or four results and their sum."""
        return max(self.chunk_bytes + self.result_bytes, (FAN_IN + 1) * self.result_bytes)


def seconds(function: Callable[[], Any], repeats: int = 3) -> float:
    """Return the median processor time of a call; it does not count what else the machine does."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return float(np.median(times))


def for_a_chunk(
    function: Callable[[Any], Any], rows: Callable[[int], Any], sizes: tuple[int, int], wanted: int
) -> float:
    """Return the seconds for a chunk of so many samples, on the line through two smaller ones."""
    small, large = (seconds(partial(function, rows(size))) for size in sizes)
    slope = max(0.0, large - small) / (sizes[1] - sizes[0])
    return large + slope * (wanted - sizes[1])


def dense() -> Measured:
    """Measure a table of a thousand dense features: exact moments of five folds."""
    m, chunk, rng = 1000, 50_000, np.random.default_rng(0)
    mixing = rng.normal(size=(20, m))

    def rows(n: int) -> np.ndarray:
        return rng.normal(size=(n, 20)) @ mixing + rng.normal(size=(n, m))

    leaf = partial(_chunk_folds, 5)
    took = for_a_chunk(lambda X: leaf(X, None, 1), rows, (5_000, 20_000), chunk)
    parts = [leaf(rows(5_000), None, number) for number in range(FAN_IN)]
    merge = seconds(lambda: _merged_folds(parts))
    search = seconds(lambda: ColumnSubset(K).fit_moments(parts[0]), 1)
    title = f"10^9 x {m:,}, dense, exact moments of five folds"
    return Measured(title, 1e9, chunk, 8.0 * chunk * m, took, len(pickle.dumps(parts[0])), merge, search)


def wide() -> Measured:
    """Measure a sparse table of thirty thousand features, one value in twenty not zero: a sketch, in two passes."""
    m, chunk, rng = 30_000, 20_000, np.random.default_rng(0)

    def rows(n: int) -> sparse.csr_array:
        return sparse.csr_array(sparse.random(n, m, density=0.05, format="csr", rng=rng))

    leaf = partial(_of_chunk, SketchedMoments(SKETCH), 0)
    first = for_a_chunk(lambda X: leaf(X, None, 1), rows, (500, 2_000), chunk)
    parts = [leaf(rows(500), None, number) for number in range(FAN_IN)]
    merge = seconds(lambda: _together(parts), 1)
    search = seconds(lambda: ColumnSubset(K).fit_moments(parts[0]), 1)
    chosen, mean = list(range(K)), np.asarray(parts[0].mean)
    second = for_a_chunk(lambda X: _chunk_columns(chosen, mean, X, None), rows, (500, 2_000), chunk)
    title = f"10^8 x {m:,}, sparse, a sketch of {SKETCH} rows"
    return Measured(
        title, 1e8, chunk, 12 * 0.05 * chunk * m, first + second, 8 * SKETCH * m, merge, search, 2, 8 * K * m
    )


def seconds_of_dask(n_chunks: int = 400) -> float:
    """Return what Dask itself takes for a chunk of next to no work, on a cluster of one worker process."""
    import dask.array as da
    from distributed import Client, LocalCluster

    options = {"processes": True, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(host="127.0.0.1", **options) as cluster, Client(cluster):
        X = da.random.random((2000 * n_chunks, 10), chunks=(2000, 10))
        Moments.from_batches(X[:2000])
        start = time.perf_counter()
        Moments.from_batches(X)
        return (time.perf_counter() - start) / n_chunks


def size(n: float) -> str:
    """Return bytes in a word."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.3g} {unit}"
        n /= 1000
    return ""


def duration(s: float) -> str:
    """Return seconds in a word."""
    for unit, most in (("s", 60), ("min", 60), ("h", 24)):
        if s < 2 * most:
            return f"{s:.2g} {unit}" if s < 10 else f"{s:.0f} {unit}"
        s /= most
    return f"{s:.0f} days"


def lines(found: list[Measured], dask: float) -> list[str]:
    """Return the tables of the page."""
    made = [
        "Measured, in processor time of one core:",
        "",
        f"| | {' | '.join(one.title for one in found)} |",
        "|---|" + "---|" * len(found),
    ]
    for label, value in (
        ("a chunk: samples", lambda one: f"{one.chunk_samples:,}"),
        ("its size", lambda one: size(one.chunk_bytes)),
        ("its work", lambda one: duration(one.chunk_seconds)),
        ("what is gathered from it", lambda one: size(one.result_bytes)),
        ("a merge of four such", lambda one: duration(one.merge_seconds)),
        (f"the search for {K} features", lambda one: duration(one.search_seconds)),
    ):
        made.append(f"| {label} | {' | '.join(map(value, found))} |")
    made += [
        "",
        f"Dask itself, one worker included, took {1000 * dask:.1f} ms for a chunk of little work.",
        "For the whole tables:",
        "",
    ]
    made += [f"| | {' | '.join(one.title for one in found)} |", "|---|" + "---|" * len(found)]
    for label, value in (
        ("chunks", lambda one: f"{one.n_chunks:,.0f}"),
        ("bytes to read, in all passes", lambda one: size(one.passes * one.n_chunks * one.chunk_bytes)),
        *((f"work on {n:,} cores", lambda one, n=n: duration(one.work / n)) for n in WORKERS),
        ("Dask's own part, at most", lambda one: duration(one.passes * one.n_chunks * dask)),
        ("more cores than this wait for Dask", lambda one: f"{one.chunk_seconds / (one.passes * dask):.0f}"),
        ("a core keeps up with reading at", lambda one: f"{size(one.passes * one.chunk_bytes / one.chunk_seconds)}/s"),
        ("results that travel, at most", lambda one: size(one.n_chunks * (one.result_bytes + one.again_bytes))),
        ("memory of a worker with one thread, at least", lambda one: size(one.memory)),
    ):
        made.append(f"| {label} | {' | '.join(map(value, found))} |")
    return made


def main() -> None:
    """Measure, and write the page."""
    made = lines([dense(), wide()], seconds_of_dask())
    print("\n".join(made))
    text = PAGE.read_text(encoding="utf-8")
    start, end = (text.index(f"<!-- {mark} -->") for mark in ("figures", "end of figures"))
    PAGE.write_text(text[:start] + "\n".join(["<!-- figures -->", "", *made, "", text[end:]]), encoding="utf-8")


if __name__ == "__main__":
    main()

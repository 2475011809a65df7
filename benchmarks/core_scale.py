"""Scale: a million rows from a memory-mapped file, by blocks, in little memory; the search does not see the rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from _store import Store
from stableselect import ColumnSubset, Moments

ROWS, COLUMNS, KEPT = 1_000_000, 200, 20


def write_table(path: Path) -> None:
    """Write a float32 table of correlated columns block by block."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(40, COLUMNS)).astype(np.float32)
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(ROWS, COLUMNS))
    for start in range(0, ROWS, 50_000):
        block = rng.standard_normal((50_000, 40), dtype=np.float32) @ mixing
        table[start : start + 50_000] = block + 0.3 * rng.standard_normal((50_000, COLUMNS), dtype=np.float32)
    table.flush()


class AnonymousPeak(threading.Thread):
    """The largest anonymous memory of this process while it runs, in MB (Linux)."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0
        self.running = True

    def run(self) -> None:
        """Look every ten milliseconds."""
        while self.running:
            status = Path("/proc/self/status").read_text()
            kilobytes = next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1]
            self.peak = max(self.peak, int(kilobytes) / 1024)
            time.sleep(0.01)


def measure(path: Path) -> dict[str, float]:
    """Gather the moments of a tenth and of all rows, select from each; in a process of its own."""
    watch = AnonymousPeak()
    watch.start()
    table = np.load(path, mmap_mode="r")
    result: dict[str, float] = {}
    for label, rows in (("tenth", ROWS // 10), ("all", ROWS)):
        start = time.perf_counter()
        moments = Moments.from_array(table[:rows])
        middle = time.perf_counter()
        for _ in range(5):
            ColumnSubset(KEPT).fit_moments(moments)
        result[f"{label}_pass_seconds"] = middle - start
        result[f"{label}_fit_seconds"] = (time.perf_counter() - middle) / 5
    start = time.perf_counter()
    ColumnSubset(KEPT).fit(table)
    result["default_fit_seconds"] = time.perf_counter() - start
    watch.running = False
    watch.join()
    return result | {"peak_anonymous_mb": watch.peak}


def run() -> None:
    """Measure anew."""
    store = Store("core_scale")
    store.content["parts"].clear()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        write_table(path)
        command = [sys.executable, __file__, str(path)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(f"scale: {store.part('million', lambda: json.loads(output))}", flush=True)


def table() -> str:
    """Return the figures as Markdown."""
    part = Store("core_scale").content["parts"].get("million")
    if part is None:
        return "not measured yet"
    growth = part["all_fit_seconds"] / part["tenth_fit_seconds"]
    return "\n".join(
        [
            "| 1,000,000 x 200 float32, memory-mapped | measured | target |",
            "|---|---|---|",
            f"| peak anonymous memory, MB | {part['peak_anonymous_mb']:.0f} | < 400 |",
            f"| pass over all rows, seconds | {part['all_pass_seconds']:.2f} | |",
            f"| search after the pass, seconds | {part['all_fit_seconds']:.4f} | |",
            f"| search after all rows / after a tenth | {growth:.2f} | 1 |",
            f"| ColumnSubset().fit(table), ridge by folds, seconds | {part['default_fit_seconds']:.1f} | |",
        ]
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(Path(sys.argv[1]))))
    else:
        run()
        print(table())

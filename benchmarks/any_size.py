"""`make bench-tables`: tables larger than memory, at the command line, through Dask, and as an AnnData in a file.

Every case makes its table in a folder (of ``TABLES``, by default a temporary one), measures, and removes it.
``SCALE=0.02`` makes tables of a fiftieth of the rows. Memory is what the processes hold of their own (anonymous memory,
all of the process tree together), looked at every tenth of a second; pages of files that the system keeps are not
counted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from _store import Store

PAGE = Path(__file__).parents[1] / "docs" / "user_guide" / "large_tables.md"
MARKS = "<!-- measured -->", "<!-- end of measured -->"
SCALE = float(os.environ.get("SCALE", "1"))
PARTS, DIFFERENT, COLUMNS, KEEP, ROW_GROUP = 50, 10, 50, 8, 2**17
CELLS, GENES, PANEL, DRAWS = 200_000, 20_000, 100, 3


def rows_of(path: Path, rows: int, seed: int) -> None:
    """Write a Parquet file of 50 columns, eight sources mixed and noise, to four decimals, by pyarrow's defaults."""
    mixing, rng = np.random.default_rng(0).normal(size=(8, COLUMNS)), np.random.default_rng(seed + 1)
    names = [f"x{j:02d}" for j in range(COLUMNS)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, rows, ROW_GROUP):
            n = min(ROW_GROUP, rows - start)
            X = rng.normal(size=(n, 8)) @ mixing + rng.standard_normal((n, COLUMNS), dtype=np.float32)
            writer.write_table(pa.table(list(np.round(X, 4).T), names=names), row_group_size=ROW_GROUP)


def make_parts(folder: Path, rows: int) -> dict[str, Any]:
    """Write the table in parts: ten different ones, each five times, since writing takes longer than reading."""
    for part in range(PARTS):
        path = folder / f"part{part:02d}.parquet"
        if part < DIFFERENT:
            rows_of(path, rows // PARTS, part)
        else:
            shutil.copy(folder / f"part{part % DIFFERENT:02d}.parquet", path)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {
        "rows": rows // PARTS * PARTS,
        "different_rows": rows // PARTS * DIFFERENT,
        "columns": COLUMNS,
        "bytes": size,
        "row_group": ROW_GROUP,
    }


def watched(command: list[str]) -> dict[str, Any]:
    """Run a command; return its seconds, and the most anonymous memory that it and its children held."""
    start, most = time.perf_counter(), 0
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1] / "src"), *sys.path[:1]])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as run:
        os.set_blocking(run.stderr.fileno(), False)
        while run.poll() is None:
            most = max(most, sum(map(anonymous, tree(run.pid))))
            time.sleep(0.1)
        seconds = time.perf_counter() - start
        out, err = run.stdout.read(), run.stderr.read() or ""
    if run.returncode:
        raise RuntimeError(err)
    return {"seconds": seconds, "anonymous": most, "output": out.split(), "load": os.getloadavg()[0]}


def tree(root: int) -> list[int]:
    """Return a process and all its children."""
    found, children = [root], {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    for pid in found:
        found += children.get(pid, [])
    return found


def anonymous(pid: int) -> int:
    """Return the anonymous memory of a process, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


SCAN = """
import sys, time
import pyarrow.parquet as pq
start, rows = time.perf_counter(), 0
for path in sys.argv[1:]:
    for batch in pq.ParquetFile(path).iter_batches(2**17):
        rows += batch.num_rows
print(rows, time.perf_counter() - start)
"""

DASK = """
import sys, time
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster
from stableselect import ColumnSubset

if __name__ == "__main__":
    with LocalCluster(n_workers=int(sys.argv[2]), threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster):
            table = dd.read_parquet(sys.argv[1])
            start = time.perf_counter()
            found = ColumnSubset(8, scale="standard").fit(table)
            print(time.perf_counter() - start, *found.get_feature_names_out())
"""

GENES_OF = """
import json, sys, time, warnings
import anndata
from stableselect import pp

adata = anndata.read_h5ad(sys.argv[1], backed="r")
start = time.perf_counter()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    found = pp.select_features(adata, int(sys.argv[2]), inplace=False)
seconds = time.perf_counter() - start
said = [str(warning.message) for warning in told if warning.category.__name__ == "SketchWarning"]
json.dump({"fit_seconds": seconds, "said": said, "genes": found.index[found["stableselect"]].tolist()}, sys.stdout)
"""


def command_line(folder: Path) -> dict[str, Any]:
    """Return rows a second of a bare scan and of `select`, and its memory."""
    about = make_parts(folder, int(50_000_000 * SCALE))
    files = sorted(str(path) for path in folder.glob("*.parquet"))
    scans = [watched([sys.executable, "-c", SCAN, *files])["output"] for _ in range(2)]
    scan = min(float(found[-1]) for found in scans)
    chosen = watched([sys.executable, "-m", "stableselect", "select", f"{folder}/*.parquet", "-k", str(KEEP)])
    about |= {"scan_seconds": scan, "select": chosen}
    about["of_scan"] = scan / chosen["seconds"]
    return about


def through_dask(folder: Path) -> dict[str, Any]:
    """Return seconds of a fit with one worker of one thread, and with two."""
    about = make_parts(folder, int(50_000_000 * SCALE * float(os.environ.get("DASK_SCALE", "1"))))
    script = folder.parent / "with_dask.py"
    script.write_text(DASK)
    for workers in (1, 2):
        found = watched([sys.executable, str(script), str(folder), str(workers)])
        about[f"workers_{workers}"] = found | {"seconds": float(found["output"][0])}
    about["faster"] = about["workers_1"]["seconds"] / about["workers_2"]["seconds"]
    return about


def in_h5ad(folder: Path) -> dict[str, Any]:
    """Return seconds and memory of selecting genes of a sparse AnnData in a file, and what they explain."""
    path, cells = folder / "cells.h5ad", int(CELLS * SCALE)
    make_h5ad(path, cells)
    found = watched([sys.executable, "-c", GENES_OF, str(path), str(PANEL)])
    told = json.loads(" ".join(found.pop("output")))
    chosen = [int(name[1:]) for name in told.pop("genes")]
    rng = np.random.default_rng(1)
    panels = [chosen, *(rng.choice(GENES, PANEL, replace=False).tolist() for _ in range(DRAWS))]
    left = unexplained(path, panels)
    return {
        "cells": cells,
        "genes": GENES,
        "bytes": path.stat().st_size,
        "chosen": sorted(chosen),
        "unexplained": left[0],
        "unexplained_random": left[1:],
        **told,
        **found,
    }


def unexplained(path: Path, panels: list[list[int]]) -> list[float]:
    """Return the fraction of the variance that each panel of genes leaves, by a pass over the file of its own."""
    import h5py
    from scipy import sparse

    joint = np.unique(np.concatenate(panels))
    with h5py.File(path) as file:
        X = file["X"]
        indptr = X["indptr"][:]
        cells = len(indptr) - 1
        total, squares, products = np.zeros(GENES), np.zeros(GENES), np.zeros((GENES, len(joint)))
        for start in range(0, cells, 2000):
            own = indptr[start : start + 2001]
            data = X["data"][own[0] : own[-1]].astype(np.float64)
            block = sparse.csr_array((data, X["indices"][own[0] : own[-1]], own - own[0]), (len(own) - 1, GENES))
            total += block.sum(axis=0)
            squares += block.power(2).sum(axis=0)
            products += block.T @ block[:, joint].toarray()
    mean = total / cells
    variance = float(np.sum(squares / cells - mean**2))
    C = products / cells - np.outer(mean, mean[joint])
    left = []
    for panel in panels:
        at = np.searchsorted(joint, panel)
        explained = np.sum(np.linalg.solve(C[np.ix_(panel, at)], C[:, at].T) * C[:, at].T)
        left.append(1 - float(explained) / variance)
    return left


def make_h5ad(path: Path, cells: int) -> None:
    """Write counts of ten programmes, of which about 5 % are not zero, block by block."""
    import h5py

    rng = np.random.default_rng(0)
    programmes = rng.normal(size=(10, GENES)).astype(np.float32)
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        X = file.create_group("X")
        X.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": np.array([cells, GENES])})
        data, indices = (
            X.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(2**18,))
            for name, dtype in (("data", "f4"), ("indices", "i4"))
        )
        indptr = [np.zeros(1, dtype=np.int64)]
        for start in range(0, cells, 1000):
            n = min(1000, cells - start)
            level = rng.standard_normal((n, 10), dtype=np.float32) @ programmes
            level += 2 * rng.standard_normal((n, GENES), dtype=np.float32)
            there = level > 1.645 * np.sqrt(14, dtype=np.float32)  # the largest 5 %
            _, columns = np.nonzero(there)
            size = data.shape[0]
            for dataset, values in ((data, level[there]), (indices, columns)):
                dataset.resize((size + columns.size,))
                dataset[size:] = values
            indptr.append(size + np.cumsum(there.sum(axis=1)))
        X.create_dataset("indptr", data=np.concatenate(indptr))
        for group, prefix, n in (("obs", "c", cells), ("var", "g", GENES)):
            frame = file.create_group(group)
            frame.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            frame.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
            index = frame.create_dataset("_index", data=[f"{prefix}{i}" for i in range(n)], dtype=h5py.string_dtype())
            index.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
        for group in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
            file.create_group(group).attrs.update({"encoding-type": "dict", "encoding-version": "0.1.0"})


CASES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "command line": command_line,
    "dask": through_dask,
    "anndata": in_h5ad,
}


def table() -> str:
    """Return what was measured, as Markdown."""
    content = Store("any_size").content
    stored, cores = content["parts"], content["versions"]["cores"]
    lines = ["| case | rows x columns | stored | seconds | own memory | beside |", "|---|---|---|---|---|---|"]
    for name, found in stored.items():
        if name == "command line":
            shape, run = f"{found['rows']:,} x {found['columns']}", found["select"]
            beside = f"{found['of_scan']:.2f} times the rows a second of a bare scan ({found['scan_seconds']:.0f} s)"
        elif name == "dask":
            shape, run = f"{found['rows']:,} x {found['columns']}", found["workers_2"]
            beside = f"two workers of one thread; {found['faster']:.2f} times as fast as one"
        else:
            shape, run = f"{found['cells']:,} x {found['genes']:,}, sparse", found
            beside = (
                f"{PANEL} genes, which leave {found['unexplained']:.1%} of the variance unexplained (drawn at random: "
                f"{np.mean(found['unexplained_random']):.1%})"
            )
        memory = f"{run['anonymous'] / 2**20:,.0f} MiB"
        size = f"{found['bytes'] / 2**30:.1f} GiB"
        load = f"; load {run['load']:.0f} on {cores} cores"
        lines.append(f"| {name} | {shape} | {size} | {run['seconds']:,.0f} | {memory} | {beside}{load} |")
    return "\n".join(lines)


def page() -> str:
    """Return the page of the user guide with the table in its place."""
    text = PAGE.read_text()
    start, end = (text.index(mark) for mark in MARKS)
    return f"{text[:start]}{MARKS[0]}\n\n{table()}\n\n{text[end:]}"


def main(names: list[str]) -> None:
    """Compute what the store lacks, and print it."""
    store = Store("any_size" if SCALE == 1 else f"any_size_{SCALE:g}")
    for name in names or CASES:
        home = Path(tempfile.mkdtemp(dir=os.environ.get("TABLES")))
        try:
            folder = home / "table"
            folder.mkdir()
            print(name, json.dumps(store.part(name, lambda name=name, folder=folder: CASES[name](folder)), indent=1))
        finally:
            shutil.rmtree(home)
    if SCALE == 1:
        PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])

"""Which selectors take which tables: runs every case on a small table, and writes docs/support.md from what came out.

``python tools/support.py`` writes the page; ``tests/test_support.py`` runs the same cases and compares the page.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import stableselect as ss
from stableselect._core import _containers, _streams

PAGE = Path(__file__).parents[1] / "docs" / "support.md"
NAMES = [f"c{j:02d}" for j in range(12)]
N_PARTS = 5


def table() -> np.ndarray:
    """Return 300 samples of 12 features that depend on each other, a third of the values zero."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 12)) + 0.5 * rng.normal(size=(300, 12))
    return np.where(np.abs(X) < 0.7, 0.0, X)


def cut(X: Any) -> list[Any]:
    """Return the parts of a table, of different sizes."""
    edges = [0, 40, 41, 150, 220, 300]
    return [X[start:stop] for start, stop in pairwise(edges)]


def frame(X: np.ndarray) -> Any:
    """Return a pandas data frame."""
    import pandas as pd

    return pd.DataFrame(X, columns=NAMES)


def arrow(X: np.ndarray) -> Any:
    """Return an Arrow table in several chunks."""
    import pyarrow as pa

    return pa.concat_tables([pa.table(dict(zip(NAMES, part.T, strict=True))) for part in cut(X)])


def anndata(X: Any) -> Any:
    """Return an AnnData."""
    import anndata as ad
    import pandas as pd

    obs, var = (pd.DataFrame(index=pd.Index(names, dtype=object)) for names in (map(str, range(300)), NAMES))
    return ad.AnnData(X, obs=obs, var=var)


def backed(X: Any, folder: Path) -> Any:
    """Return an AnnData in a file."""
    import anndata as ad

    path = folder / f"{'sparse' if sparse.issparse(X) else 'dense'}.h5ad"
    if not path.exists():
        anndata(X).write_h5ad(path)
    return ad.read_h5ad(path, backed="r")


def hdf5(X: np.ndarray, folder: Path) -> Any:
    """Return a dataset of an HDF5 file."""
    import h5py

    file = h5py.File(folder / "table.h5", "a")
    return file["X"] if "X" in file else file.create_dataset("X", data=X, chunks=(35, 5))


def parquet(X: np.ndarray, folder: Path) -> Any:
    """Return a dataset of Parquet files."""
    import pyarrow.dataset
    import pyarrow.parquet

    for number, part in enumerate(cut(arrow(X))):
        pyarrow.parquet.write_table(part, folder / f"{number}.parquet")
    return pyarrow.dataset.dataset([folder / f"{number}.parquet" for number in range(N_PARTS)])


def dask_array(X: np.ndarray) -> Any:
    """Return a Dask array in chunks of rows."""
    import dask.array

    return dask.array.from_array(X, chunks=((40, 1, 109, 70, 80), 12))


def call(name: str, *path: str) -> Callable[..., Any]:
    """Return a function of a module, which is imported when it is called."""

    def function(*given: Any, **how: Any) -> Any:
        found: Any = importlib.import_module(name)
        for part in path:
            found = getattr(found, part)
        return found(*given, **how)

    return function


@dataclass(frozen=True)
class Input:
    """One way to hold a table: how it is made of an array and a folder, what it needs, and whether it has names."""

    make: Callable[[np.ndarray, Path], Any]
    needs: tuple[str, ...] = ()
    named: bool = True


INPUTS = {
    "NumPy array": Input(lambda X, _: X, named=False),
    "SciPy sparse matrix": Input(lambda X, _: sparse.csr_array(X), named=False),
    "torch tensor": Input(lambda X, _: call("torch", "asarray")(X), ("torch",), named=False),
    "pandas DataFrame": Input(lambda X, _: frame(X), ("pandas",)),
    "polars DataFrame": Input(lambda X, _: call("polars", "DataFrame")(X, schema=NAMES), ("polars",)),
    "polars LazyFrame": Input(lambda X, _: call("polars", "LazyFrame")(X, schema=NAMES), ("polars",)),
    "Arrow table": Input(lambda X, _: arrow(X), ("pyarrow",)),
    "Arrow dataset": Input(parquet, ("pyarrow",)),
    "Arrow stream": Input(lambda X, _: arrow(X).to_reader(), ("pyarrow",)),
    "DuckDB relation": Input(lambda X, _: call("duckdb", "from_arrow")(arrow(X)), ("duckdb", "pyarrow")),
    "HDF5 dataset": Input(hdf5, ("h5py",), named=False),
    "Zarr array": Input(lambda X, _: call("zarr", "array")(X, chunks=(35, 5)), ("zarr",), named=False),
    "AnnData": Input(lambda X, _: anndata(X), ("anndata",)),
    "AnnData, sparse": Input(lambda X, _: anndata(sparse.csr_matrix(X)), ("anndata",)),
    "AnnData, backed": Input(backed, ("anndata",)),
    "AnnData, backed, sparse": Input(lambda X, folder: backed(sparse.csr_matrix(X), folder), ("anndata",)),
    "AnnData on Dask": Input(lambda X, _: anndata(dask_array(X)), ("anndata", "dask")),
    "Dask array": Input(lambda X, _: dask_array(X), ("dask",), named=False),
    "Dask dataframe": Input(
        lambda X, _: call("dask.dataframe", "from_pandas")(frame(X), npartitions=N_PARTS), ("dask", "pandas")
    ),
    "list of parts": Input(lambda X, _: cut(frame(X)), ("pandas",)),
    "generator of parts": Input(lambda X, _: (part for part in cut(X)), named=False),
}
"""Every way to hold a table."""

KINDS: dict[str, list[Callable[[], Any]]] = {
    "moments": [
        lambda: ss.ColumnSubset(4),
        lambda: ss.ScorerSelector(4),
        lambda: ss.PivotedQR(4),
        lambda: ss.PFA(4),
    ],
    "scores": [lambda: ss.VarianceScore(4), lambda: ss.RandomSelector(4, random_state=0)],
    "rows": [lambda: ss.LaplacianScore(4), lambda: ss.UDFS(4), lambda: ss.AEFS(4, epochs=20, random_state=0)],
}
"""Selectors by what they need of a table."""

OPERATIONS = ("fit", "fit, in pieces", "partial_fit", "transform", "reconstruct")


@contextmanager
def small_pieces() -> Iterator[None]:
    """Let tables be read in pieces of 50 samples or so, as large ones are."""
    before = _streams.FEWEST, _streams.BLOCK_ELEMENTS, _containers.BLOCK_ELEMENTS
    _streams.FEWEST, _streams.BLOCK_ELEMENTS, _containers.BLOCK_ELEMENTS = 50, 600, 600
    try:
        yield
    finally:
        _streams.FEWEST, _streams.BLOCK_ELEMENTS, _containers.BLOCK_ELEMENTS = before


def missing(name: str, views: bool = True) -> str | None:
    """Return why an input, or views of it, cannot be had here; None where they can."""
    for module in INPUTS[name].needs:
        try:
            importlib.import_module(module)
        except ImportError:
            return f"{module} cannot be imported"
    if views and name == "AnnData, backed, sparse":
        with tempfile.TemporaryDirectory() as folder:
            try:
                backed(sparse.csr_matrix(table()), Path(folder)).X[:2]
            except AttributeError:
                return "views of sparse files cannot be read with this anndata and this SciPy"
    return None


def values(result: Any) -> np.ndarray:
    """Return what an operation gave as a dense array."""
    for method in ("compute", "collect", "to_memory"):
        result = getattr(result, method)() if hasattr(result, method) else result
    result = result.X if hasattr(result, "var_names") else result
    return np.asarray(result.toarray() if sparse.issparse(result) else result)


def kind_of(result: Any) -> str:
    """Return what an operation gave, in a word or two."""
    if hasattr(result, "dask"):
        return "Dask dataframe" if hasattr(result, "columns") else "Dask array"
    if sparse.issparse(result):
        return "sparse"
    return {"ndarray": "array", "Tensor": "tensor"}.get(type(result).__name__, type(result).__name__)


def run(name: str, make: Callable[[], Any], operation: str, folder: Path) -> tuple[Any, Any]:
    """Run a case, and return a fitted selector and the result of the operation."""
    X, held = table(), INPUTS[name]
    if operation == "fit":
        fitted = make().fit(held.make(X, folder))
        return fitted, fitted
    if operation == "fit, in pieces":
        with small_pieces():
            fitted = make().fit(held.make(X, folder))
        return fitted, fitted
    if operation == "partial_fit":
        fitted = make().partial_fit(held.make(X, folder))
        return fitted, fitted
    fitted = make().fit(frame(X) if held.named else X)
    made = fitted.transform(held.make(X, folder))
    if operation == "reconstruct":
        made = fitted.reconstruct(made)
    return fitted, made


def outcome(name: str, kind: str, operation: str, folder: Path) -> str:
    """Return what the page says of a case: "yes" or what comes back, "no" where it is refused."""
    found = set()
    for make in KINDS[kind]:
        try:
            made = run(name, make, operation, folder)[1]
        except (TypeError, ValueError):
            found.add("no")
        else:
            found.add("yes" if "fit" in operation else kind_of(made))
    return ", ".join(sorted(found))


def row(name: str, folder: Path) -> list[str]:
    """Return the cells of the page about one input."""
    cells = []
    for kind in KINDS:
        whole, in_pieces = (outcome(name, kind, operation, folder) for operation in OPERATIONS[:2])
        cells.append(whole if whole == in_pieces else "up to 32 MiB")
    return [*cells, *(outcome(name, "moments", operation, folder) for operation in OPERATIONS[2:])]


HEAD = [*KINDS, "`partial_fit`", "`transform` gives", "`reconstruct` gives"]


def lines() -> Iterator[str]:
    """Return the rows of the page's table, as far as the inputs can be made here."""
    with tempfile.TemporaryDirectory() as folder:
        for name in INPUTS:
            if missing(name) is None:
                own = Path(folder) / name
                own.mkdir()
                yield f"| {' | '.join([name, *row(name, own)])} |"


def main() -> None:
    """Write the page; every input must be at hand."""
    lacking = {name: why for name in INPUTS if (why := missing(name))}
    if lacking:
        sys.exit(f"Not every input can be made here: {lacking}")
    text = PAGE.read_text(encoding="utf-8")
    start, end = (text.index(f"<!-- {mark} -->") for mark in ("cases", "end of cases"))
    head = [f"| table | {' | '.join(HEAD)} |", "|" + "---|" * (len(HEAD) + 1)]
    PAGE.write_text(text[:start] + "\n".join(["<!-- cases -->", "", *head, *lines(), "", text[end:]]), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

"""What may hold a table: arrays in files, lazy frames, database relations, Dask collections, AnnData, streams of parts.

Every kind has one function here that says how its parts are read. No package is imported to tell the kinds apart: the
module of an object's class names the package it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import BLOCK_ELEMENTS

_SLICE = 2**16
"""Rows of a lazy frame that are collected at a time where it cannot hand out batches."""


@dataclass(frozen=True)
class Part:
    """Some samples of a table, and the names of its features where the samples do not carry them."""

    samples: Any
    names: Any = None


@dataclass(frozen=True)
class Container:
    """A table that is no plain array or data frame.

    Attributes
    ----------
    kind : str
        What it is, for messages.
    read : callable
        Returns an iterator over its parts, in order: arrays, data frames, Arrow tables, or :class:`Part`.
    advice : str
        How to get all of it into memory, with {X} in the place of its name.
    n_samples : int or None
        Number of samples, where it is known without reading them.
    lazy : bool
        Whether the samples are elsewhere than in memory.
    once : bool
        Whether it can be read only once.
    columns : callable or None
        Returns the names of its features, None for none, without reading the samples.
    take : callable or None
        Returns the same kind of container with some of its features, given their places; lazily.
    chunks : callable or None
        Returns its chunks, in order, as delayed values of Dask.
    lengths : sequence of int or None
        Number of samples in every chunk, where that is known.
    """

    kind: str
    read: Callable[[], Iterator[Any]]
    advice: str
    n_samples: int | None = None
    lazy: bool = True
    once: bool = False
    columns: Callable[[], Iterable[Any] | None] | None = None
    take: Callable[[list[int]], Any] | None = None
    chunks: Callable[[], list[Any]] | None = None
    lengths: Sequence[int] | None = None

    @property
    def is_series(self) -> bool:
        """Whether it hands out parts of a table, rather than being one."""
        return self.kind in ("an iterator", "a series of parts")


def container_of(X: Any) -> Container | None:
    """Return how to read ``X`` in parts; None for what is one table in memory: an array, data frame, tensor or list."""
    homes = {cls.__module__.partition(".")[0] for cls in type(X).__mro__}
    for home, opened in _HOMES.items():
        if home in homes:
            return opened(X) or _iterator(X)
    if homes & {"numpy", "pandas", "scipy", "torch"} and hasattr(X, "ndim"):
        return None
    if hasattr(X, "__arrow_c_stream__"):
        return _arrow_stream(X)
    if getattr(X, "chunks", None) is not None and hasattr(X, "dtype"):
        return _chunked(X, "a chunked array")
    return _iterator(X) or _iterable(X)


def _polars(X: Any) -> Container | None:
    if not hasattr(X, "collect"):
        return None

    def slices() -> Iterator[Any]:
        if hasattr(X, "collect_batches"):
            yield from X.collect_batches(maintain_order=True)
            return
        start, more = 0, True
        while more:
            batch = X.slice(start, _SLICE).collect()
            more = batch.height == _SLICE
            start += _SLICE
            yield batch

    def names() -> list[str]:
        return list(X.collect_schema().names())

    def select(places: list[int]) -> Any:
        known = names()
        return X.select([known[place] for place in places])

    return Container("a polars LazyFrame", slices, "{X}.collect()", columns=names, take=select)


def _pyarrow(X: Any) -> Container | None:
    if hasattr(X, "iter_batches"):  # an open Parquet file
        return Container("a Parquet file", X.iter_batches, "{X}.read()", X.metadata.num_rows)
    if hasattr(X, "read_next_batch"):
        return Container("an Arrow stream", partial(iter, X), "{X}.read_all()", once=True)
    if hasattr(X, "to_batches") and hasattr(X, "to_table"):  # a Scanner may hold a stream, which a second pass lacks
        kind = "an Arrow dataset" if hasattr(X, "get_fragments") else "an Arrow scanner"
        return Container(kind, X.to_batches, "{X}.to_table()", once=not hasattr(X, "get_fragments"))
    if hasattr(X, "to_pandas") and hasattr(X, "num_columns"):
        return Container("an Arrow table", lambda: iter([X]), "{X}.to_pandas()", X.num_rows, lazy=False)
    return None


def _arrow_stream(X: Any) -> Container:
    def batches() -> Iterator[Any]:
        try:
            from pyarrow import RecordBatchReader
        except ImportError:
            raise ImportError(f"A {type(X).__name__} is read through Arrow: pip install pyarrow.") from None
        yield from RecordBatchReader.from_stream(X)

    return Container(f"a {type(X).__name__}", batches, "pyarrow.table({X})")


def _dask(X: Any) -> Container | None:
    if hasattr(X, "partitions") and hasattr(X, "columns"):
        return Container(
            "a Dask dataframe",
            lambda: (X.partitions[i].compute() for i in range(X.npartitions)),
            "{X}.compute()",
            columns=lambda: X.columns,
            take=lambda places: X[[X.columns[place] for place in places]],
            chunks=lambda: list(X.to_delayed()),
        )
    if not hasattr(X, "blocks"):
        raise TypeError(f"A Dask {type(X).__name__} is no table; pass a Dask array or dataframe, or X.compute().")
    if X.ndim != 2:
        raise ValueError(f"Expected a table (two dimensions), got a Dask array of {X.ndim}.")
    if X.numblocks[1] > 1:
        raise ValueError(
            f"A Dask array must have all features in one chunk, but its {X.shape[1]} features are in "
            f"{X.numblocks[1]} chunks; pass X.rechunk({{1: -1}})."
        )
    rows = sum(X.chunks[0])
    return Container(
        "a Dask array",
        lambda: (X.blocks[i].compute() for i in range(X.numblocks[0])),
        "{X}.compute()",
        None if np.isnan(rows) else int(rows),
        columns=lambda: None,
        take=lambda places: X[:, places],
        chunks=lambda: X.to_delayed().ravel().tolist(),
        lengths=None if np.isnan(rows) else X.chunks[0],
    )


def _chunked(X: Any, kind: str) -> Container:
    if not hasattr(X, "shape") or not hasattr(X, "dtype"):
        raise TypeError(f"A {type(X).__name__} may hold many arrays; pass one of them, for instance X['name'].")
    if len(X.shape) != 2:
        raise ValueError(f"Expected a table (two dimensions), got {kind} of {len(X.shape)}.")
    return Container(kind, lambda: (X[part] for part in _slabs(X)), "{X}[:]", int(X.shape[0]))


def _slabs(X: Any) -> Iterator[slice]:
    """Return slices of whole chunks of rows, each of about as many values as a block of samples."""
    n, m = X.shape
    chunks = getattr(X, "chunks", None)
    chunk = int(np.max(chunks[0])) if chunks else 1
    step = chunk * max(1, BLOCK_ELEMENTS // max(1, chunk * m))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def _sparse_slabs(matrix: Any) -> Iterator[Any]:
    """Return rows of a sparse matrix in a file.

    Those of the usual form are read from its three arrays: what an older anndata asks of SciPy is gone from newer ones.
    """
    group = getattr(matrix, "group", None)
    if group is None or getattr(matrix, "format", None) != "csr":
        yield from (matrix[part] for part in _slabs(matrix))
        return
    (n, m), indptr = matrix.shape, np.asarray(group["indptr"][:], dtype=np.int64)
    step = max(1, int(n * (BLOCK_ELEMENTS // 4) // max(1, indptr[-1])))
    for start in range(0, n, step):
        bounds = indptr[start : start + step + 1]
        values, columns = (group[name][bounds[0] : bounds[-1]] for name in ("data", "indices"))
        yield sparse.csr_array((values, columns, bounds - bounds[0]), shape=(len(bounds) - 1, m))


def _anndata(X: Any) -> Container | None:
    if not hasattr(X, "var_names"):
        return None
    names = X.var_names
    if not hasattr(X, "isbacked"):  # several files, or the table kept as it was
        kind = f"an anndata {type(X).__name__}"
        return Container(kind, lambda: (Part(X[part].X, names) for part in _slabs(X)), "{X}[:].to_adata()", X.shape[0])
    # A view of a file cannot be cut further: it is read as one part, and only then.
    matrix = None if X.isbacked and X.is_view else X.X
    if matrix is None and not X.isbacked:
        raise ValueError("This AnnData has no X; set its X to the layer that is to be read.")
    inner = container_of(matrix)

    def parts() -> Iterator[Any]:
        if inner is not None:
            yield from inner.read()
        elif X.isbacked and matrix is not None:  # sparse, in a file
            yield from _sparse_slabs(matrix)
        else:
            yield X.X

    return Container(
        "an AnnData",
        lambda: (Part(samples, names) for samples in parts()),
        "{X}.to_memory()",
        X.n_obs,
        lazy=X.isbacked or inner is not None,
        columns=lambda: names,
        take=lambda places: X[:, places],
        chunks=None if inner is None else inner.chunks,
        lengths=None if inner is None else inner.lengths,
    )


def _iterator(X: Any) -> Container | None:
    if not isinstance(X, Iterator):
        return None
    return Container("an iterator", lambda: X, "one table of its parts", once=True)


def _iterable(X: Any) -> Container | None:
    if isinstance(X, list | tuple):
        is_parts = bool(X) and (getattr(X[0], "ndim", 0) == 2 or container_of(X[0]) is not None)
    else:
        other = isinstance(X, str | bytes | Mapping | Set | Sequence) or hasattr(X, "__array__")
        is_parts = isinstance(X, Iterable) and not other and not hasattr(X, "columns") and not hasattr(X, "ndim")
    return Container("a series of parts", partial(iter, X), "one table of its parts") if is_parts else None


_HOMES: dict[str, Callable[[Any], Container | None]] = {
    "polars": _polars,
    "pyarrow": _pyarrow,
    "dask": _dask,
    "anndata": _anndata,
    "h5py": partial(_chunked, kind="an HDF5 dataset"),
    "zarr": partial(_chunked, kind="a Zarr array"),
}
"""How the objects of a package are opened."""

"""AnnData in HDF5 files (``.h5ad``): the matrix X, sparse or not, with the names of its rows and columns.

Only X and the two names are read, and only from the file itself: HDF5 can link to other files, which is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from scipy import sparse

from .._files import printable
from ._numpy import ARCHIVE_LIMIT
from ._tables import TableError

Matrix: TypeAlias = Any
"""A NumPy array or CSR matrix."""


class H5ad:
    """An open file.

    Attributes
    ----------
    shape : (int, int)
        Rows (cells) and columns (genes).
    names : list of str
        Names of the columns.
    """

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name
        X = self._item("X")
        self._format = "dense" if hasattr(X, "dtype") else str(X.attrs.get("encoding-type", "unknown"))
        if self._format not in ("dense", "csr_matrix", "csc_matrix"):
            raise self._error(f"X is of the kind {self._format}, which is no matrix")
        shape = X.shape if self._format == "dense" else tuple(int(size) for size in X.attrs["shape"])
        if len(shape) != 2 or min(shape) < 1:
            raise self._error(f"X is empty or no matrix (shape {tuple(shape)})")
        self.shape = (int(shape[0]), int(shape[1]))
        if self._format != "dense":
            self._check_sparse()
        elif X.dtype.kind not in "biuf":
            raise self._error(f"X holds {X.dtype}, not numbers")
        self.names = self._index("var", self.shape[1])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def rows_called(self) -> str:
        """What the names of the rows are called."""
        called = str(self._item("obs").attrs.get("_index", "_index"))
        called = "cell" if called in ("_index", "index") else called
        while called in self.names:
            called += "_"
        return called

    @property
    def columns(self) -> list[str]:
        """The columns of the table: the names of the rows, then the others."""
        return [self.rows_called, *self.names]

    def row_names(self) -> list[str]:
        """Return the names of the rows."""
        return self._index("obs", self.shape[0])

    def blocks(self, rows: int) -> Iterator[Matrix]:
        """Yield so many rows at a time, sparse where the file is."""
        starts = range(0, self.shape[0], rows)
        if self._format != "csr_matrix":
            whole = self._item("X")
            if self._format == "csc_matrix":  # rows are all over the file
                data, indices, indptr = (self._limited(f"X/{part}") for part in ("data", "indices", "indptr"))
                whole = sparse.csc_matrix((data, self._within(indices), indptr), shape=self.shape).tocsr()
            for start in starts:
                yield whole[start : start + rows]
            return
        indptr, data, indices = self._limited("X/indptr"), self._item("X/data"), self._item("X/indices")
        for start in starts:
            bounds = indptr[start : start + rows + 1].astype(np.int64)
            part = slice(bounds[0], bounds[-1])
            yield sparse.csr_matrix(
                (data[part], self._within(indices[part]), bounds - bounds[0]), shape=(len(bounds) - 1, self.shape[1])
            )

    def _within(self, indices: np.ndarray) -> np.ndarray:
        """Return the indices of a sparse matrix; SciPy would follow those that lie outside of it."""
        if indices.size and not 0 <= indices.min() <= indices.max() < self.shape[self._format == "csr_matrix"]:
            raise self._error("the sparse X has values outside of its shape")
        return indices

    def _check_sparse(self) -> None:
        """Raise if the parts of a sparse matrix do not fit together."""
        indptr, indices, data = self._limited("X/indptr"), self._item("X/indices"), self._item("X/data")
        major, minor = self.shape if self._format == "csr_matrix" else self.shape[::-1]
        if data.shape != indices.shape or len(data.shape) != 1 or data.dtype.kind not in "biuf":
            raise self._error("the parts of the sparse X do not fit together")
        steps = np.diff(indptr.astype(np.int64))
        if indptr.shape != (major + 1,) or indptr[0] != 0 or indptr[-1] != data.shape[0] or steps.min() < 0:
            raise self._error("the parts of the sparse X do not fit together")
        if steps.max() > minor:
            raise self._error("the sparse X lists values twice")

    def _index(self, group: str, size: int) -> list[str]:
        """Return the names that an axis has."""
        axis = self._item(group)
        if hasattr(axis, "dtype"):
            raise self._error(f"{group} is stored as by anndata before 0.7; write the file again with a newer one")
        path = f"{group}/{axis.attrs.get('_index', '_index')}"
        # Text with missing values, as newer versions write it, is a group.
        names = self._limited(path if hasattr(self._item(path), "dtype") else f"{path}/values")
        if names.shape != (size,):
            raise self._error(f"{group} has {len(names)} names for {size}")
        return [name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name) for name in names]

    def _limited(self, path: str) -> np.ndarray:
        """Return an array, which must not take more memory than is allowed for one."""
        item = self._item(path)
        if not hasattr(item, "dtype"):
            raise self._error(f"{path} is no array")
        if item.size * max(8, item.dtype.itemsize) > ARCHIVE_LIMIT:
            raise self._error(f"{path} takes more than {ARCHIVE_LIMIT / 2**30:.3g} GiB")
        return np.asarray(item[()])

    def _item(self, path: str) -> Any:
        """Return a group or data set of this file; raise if it is not there, or in another file."""
        import h5py

        item = self._file
        for step in path.split("/"):
            if not isinstance(item, h5py.Group) or step not in item:
                raise self._error(f"there is no {path}")
            if not isinstance(item.get(step, getlink=True), h5py.HardLink):
                raise self._error(f"{path} is a link, which is not followed")
            item = item[step]
        if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
            raise self._error(f"{path} is in another file, which is not read")
        return item

    def _error(self, what: str) -> TableError:
        return TableError(f"{printable(self._name)} cannot be read as H5AD ({printable(what)}); check the file.")


def open_h5ad(stream: BinaryIO, name: str) -> H5ad:
    """Return an open ``.h5ad`` file."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f'{printable(name)} needs h5py: pip install "stableselect[tables]"') from error
    file = h5py.File(stream, "r")
    try:
        return H5ad(file, name)
    except BaseException:
        file.close()
        raise

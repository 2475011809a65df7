"""Arrays and archives of NumPy. Nothing is unpickled, and memory is taken only for what a file can hold."""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO, BinaryIO

import numpy as np

from .._files import printable
from ._tables import TableError, listed

ARCHIVE_LIMIT = 4 << 30
"""The largest array, in bytes, that is taken out of a compressed archive."""


def read_numpy(stream: BinaryIO, name: str) -> tuple[np.ndarray, list[str] | None]:
    """Return the numbers of an array or archive, rows x columns, and the column names where the file has them."""
    start = stream.read(2)
    stream.seek(0)
    names: np.ndarray | None = None
    if start == b"PK":
        archive = zipfile.ZipFile(stream)
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if "X" not in members:
            held = listed(members) or "nothing"
            raise TableError(f"{printable(name)} holds {held} but no array 'X'; store the table as X (rows x columns).")
        X = _read_member(archive, members["X"], name)
        if "feature_names" in members:
            names = _read_member(archive, members["feature_names"], name)
    else:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        _check_header(stream, size)
        stream.seek(0)
        X = np.lib.format.read_array(stream, allow_pickle=False)
    if X.ndim != 2 or X.dtype.kind not in "biuf" or X.dtype.itemsize > 8:
        raise TableError(f"{printable(name)} holds shape {X.shape}, type {X.dtype}; expected numbers, rows x columns.")
    if not X.size:
        raise TableError(f"{printable(name)} is empty (shape {X.shape}); expected at least one row and one column.")
    if names is not None and (names.shape != (X.shape[1],) or names.dtype.kind != "U"):
        came = f"feature_names of shape {names.shape}, type {names.dtype}"
        raise TableError(f"{printable(name)} has {came}; expected {X.shape[1]} strings, one per column.")
    X = X.astype(X.dtype.newbyteorder("="), copy=False)
    return X, None if names is None else [str(label) for label in names]


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> np.ndarray:
    """Read an array of an archive; what it says of its size is checked first, and no more is ever decompressed."""
    if info.file_size > ARCHIVE_LIMIT:
        raise TableError(
            f"{printable(name)} holds an array of {info.file_size / 2**30:.3g} GiB once decompressed, and at most "
            f"{ARCHIVE_LIMIT / 2**30:.3g} are read from an archive; store the table as .npy."
        )
    with archive.open(info) as member:
        _check_header(member, info.file_size)
    # Opened again rather than rewound: the zip's checksum is compared at the end of a first reading.
    with archive.open(info) as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        member.read(1)
    return array


def _check_header(stream: IO[bytes], size: int) -> None:
    """Raise if an array does not say what it is, or says that it is longer than its ``size`` bytes."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError("the array is of a kind that holds no table")
    shape, _, dtype = readers[version](stream)
    if dtype.hasobject:
        raise ValueError("the array holds Python objects")
    # Text of no characters would take no bytes in the file, but some in memory.
    if not dtype.itemsize or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size - stream.tell():
        raise ValueError("the array is shorter than its header says")

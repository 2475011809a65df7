"""Stored tables: where they lie, how an NPZ file is read and written, and the digests that tell whether it is right.

Only plain arrays are read, never pickles. Files are written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .._files import replace_file, write_whole
from ._registry import MEBIBYTE, DatasetError, DatasetInfo

MAX_STORED_BYTES = 512 * MEBIBYTE
LABEL_DTYPE = "uint8"
EXTRA_ARRAYS = {"feature_names": "U32", "class_names": "U6", "mouse_id": "U8", "group": "uint8", "groups": "int64"}
"""What a table may have beside X and y, and of which type."""
NEEDED = ("X", "y", "mouse_id")
"""What a file has to hold where the table has it; all else follows from these or is for the reader."""

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def resolve_home(data_home: str | os.PathLike[str] | None) -> Path:
    """Return the folder of the tables: the argument, else $STABLESELECT_DATA, else the user's cache folder."""
    if data_home is not None:
        return Path(data_home).expanduser()
    if chosen := os.environ.get("STABLESELECT_DATA"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        cache = Path("~/Library/Caches").expanduser()
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser()
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return cache / "stableselect"


def digest(array: np.ndarray) -> str:
    """Return the SHA-256 of an array's type, shape and values in row order.

    Values are taken in little-endian form, with one NaN and one zero, so that equal tables have equal digests.
    """
    values = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.asarray(np.nan, values.dtype), values + np.asarray(0, values.dtype))
    found = hashlib.sha256(f"{values.dtype.str} {values.shape} ".encode())
    found.update(values.tobytes())
    return found.hexdigest()


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read X, y and what goes with them from an NPZ file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            size = sum(member.file_size for member in members.values())
            if size > MAX_STORED_BYTES:
                raise DatasetError(f"{path} holds {size} bytes; at most {MAX_STORED_BYTES} are expected.")
            return {
                name: _read_member(archive, members[f"{name}.npy"])
                for name in ("X", "y", *EXTRA_ARRAYS)
                if f"{name}.npy" in members
            }
    except DatasetError:
        raise
    # zipfile and NumPy raise all kinds of errors on damaged files.
    except Exception as error:
        raise DatasetError(
            f"{path} is not a readable NPZ file of plain arrays ({error}); replace it, "
            "or delete it and fetch the table again."
        ) from error


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Read one array; memory is taken only when its header agrees with its length."""
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"{member.filename} has the unknown version {version}")
        shape, _, dtype = _HEADERS[version](stream)
        if dtype.hasobject or not dtype.itemsize:
            raise ValueError(f"{member.filename} holds values of type {dtype}")
        if math.prod(shape) * dtype.itemsize != member.file_size - stream.tell():
            raise ValueError(f"{member.filename} does not have the size that its header says, {shape} of {dtype}")
    with archive.open(member) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def describe_arrays(info: DatasetInfo) -> str:
    """Say which arrays a file made by hand needs."""
    needed = f"arrays X ({info.n_rows} x {info.n_columns}, {info.dtype})"
    labels = f"y ({info.n_rows} labels from 0, {LABEL_DTYPE})"
    if "mouse_id" in (info.sha256 or {}):
        return f"{needed}, {labels} and mouse_id ({info.n_rows} texts)"
    return f"{needed} and {labels}"


def read_verified(info: DatasetInfo, path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a stored table and check them; if there is none, say how to get it."""
    if not path.is_file():
        raise FileNotFoundError(
            f"{info.title} is not at {path}. Give its folder as data_home or in the variable STABLESELECT_DATA, "
            f"download it with stableselect.datasets.fetch({info.name!r}), "
            f"or put it there with {describe_arrays(info)}."
        )
    arrays = read_arrays(path)
    try:
        return check_arrays(info, arrays, str(path), record_path(path))
    except DatasetError as error:
        raise DatasetError(
            f"{error} Replace the file by one with {describe_arrays(info)}, or delete it and fetch the table again."
        ) from error


def check_arrays(info: DatasetInfo, arrays: Mapping[str, np.ndarray], what: str, record: Path) -> dict[str, np.ndarray]:
    """Return the arrays in the registered types, without those that the registry does not know.

    Raise if they are not the registered table; ``what`` names them in the message.
    """
    expected = info.sha256 if info.sha256 is not None else read_record(record) or {}
    types = {"X": info.dtype, "y": LABEL_DTYPE}
    types |= {name: wanted for name, wanted in EXTRA_ARRAYS.items() if name in expected}
    for name in NEEDED:
        if name in types and name not in arrays:
            raise DatasetError(f"{what} has no array {name!r}, which {info.title} needs.")
    X, y = arrays["X"], arrays["y"]
    if X.shape != (info.n_rows, info.n_columns) or y.shape != (info.n_rows,):
        raise DatasetError(
            f"{what} holds X of shape {X.shape} and y of shape {y.shape}; "
            f"{info.title} has {info.n_rows} rows and {info.n_columns} columns."
        )
    known = {
        name: _converted(array, types[name], f"{what} holds {name}") for name, array in arrays.items() if name in types
    }
    X, y = known["X"], known["y"]
    # A registered digest says by itself which values are missing.
    if info.sha256 is None and not np.isfinite(X).all():
        raise DatasetError(f"{what} holds an X with missing or infinite values; {info.title} has none.")
    labels, counts = np.unique(y, return_counts=True)
    if not np.array_equal(labels, np.arange(info.n_classes)):
        raise DatasetError(f"{what} has the labels {labels.tolist()}; 0 to {info.n_classes - 1} are expected.")
    if info.class_counts is not None and tuple(counts.tolist()) != info.class_counts:
        raise DatasetError(f"{what} has {counts.tolist()} rows per class; {list(info.class_counts)} are expected.")
    for name, wanted in expected.items():
        if name in known and (found := digest(known[name])) != wanted:
            noted = "" if info.sha256 is not None else f", as {record} noted at the first download"
            raise DatasetError(
                f"{what} is not the registered table: the SHA-256 of {name} is {found} (as {types[name]}); "
                f"{wanted} is expected{noted}."
            )
    return known


def _converted(array: np.ndarray, wanted: str, what: str) -> np.ndarray:
    """Return an array as the type ``wanted``: floats are rounded as converters do, all else has to be equal."""
    dtype = np.dtype(wanted)
    sort = "text" if dtype.kind == "U" else "numbers"
    if array.dtype.kind not in ("U" if sort == "text" else "fiu"):
        raise DatasetError(f"{what} of type {array.dtype}; {sort} of type {dtype} are expected.")
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(dtype, copy=False)
    if dtype.kind != "f" and not np.array_equal(converted, array):
        raise DatasetError(f"{what} of type {array.dtype}, whose values are not all of the type {dtype}.")
    return converted


def record_path(path: Path) -> Path:
    """Return the path of the digests noted at the first download of an unregistered table."""
    return path.with_name(f"{path.stem}.sha256.json")


def read_record(path: Path) -> dict[str, str] | None:
    """Return the digests noted at the first download, if there was one."""
    if not path.exists():
        return None
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DatasetError(f"{path} is not readable JSON ({error}); delete it and fetch the table again.") from error
    if not isinstance(noted, dict) or not all(isinstance(noted.get(name), str) for name in ("X", "y")):
        raise DatasetError(f"{path} should hold the SHA-256 of X and y; delete it and fetch the table again.")
    return noted


def write_record(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Note the digests of the arrays."""
    noted = {name: digest(array) for name, array in arrays.items()}
    replace_file(path, (json.dumps(noted, indent=2) + "\n").encode())


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays to an NPZ file, whole or not at all."""
    with write_whole(path, overwrite=True) as (stream,):
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]

"""Stored tables: where they lie, how an NPZ file is read and written, and the digests that tell whether it is right.

Only plain arrays are read, never pickles. A file is written beside its place and renamed when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ._registry import MEBIBYTE, DatasetError, DatasetInfo

MAX_STORED_BYTES = 512 * MEBIBYTE
EXTRA_ARRAYS = ("feature_names", "class_names", "mouse_id", "group")
"""What a file may hold beside X and y."""


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
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_STORED_BYTES:
            raise DatasetError(f"{path} holds {size} bytes; at most {MAX_STORED_BYTES} are expected.")
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in ("X", "y", *EXTRA_ARRAYS) if name in stored.files}
    except DatasetError:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise DatasetError(
            f"{path} is not a readable NPZ file of plain arrays ({error}); delete it and fetch the table again."
        ) from error


def read_verified(info: DatasetInfo, path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a stored table and check them."""
    arrays = read_arrays(path)
    try:
        check_arrays(info, arrays, str(path), record_path(path))
    except DatasetError as error:
        raise DatasetError(f"{error} Delete the file and fetch the table again.") from error
    return arrays


def check_arrays(info: DatasetInfo, arrays: Mapping[str, np.ndarray], what: str, record: Path) -> None:
    """Refuse arrays that are not the registered table; ``what`` names them in the message."""
    for name in ("X", "y"):
        if name not in arrays:
            raise DatasetError(f"{what} has no array {name!r}; {info.title} needs the arrays X and y.")
    X, y = arrays["X"], arrays["y"]
    if X.shape != (info.n_rows, info.n_columns) or y.shape != (info.n_rows,):
        raise DatasetError(
            f"{what} holds X of shape {X.shape} and y of shape {y.shape}; "
            f"{info.title} has {info.n_rows} rows and {info.n_columns} columns."
        )
    if X.dtype.kind not in "fiu" or y.dtype.kind not in "iu":
        raise DatasetError(
            f"{what} holds X of type {X.dtype} and y of type {y.dtype}; numbers and integers are expected."
        )
    labels, counts = np.unique(y, return_counts=True)
    if not np.array_equal(labels, np.arange(info.n_classes)):
        raise DatasetError(f"{what} has the labels {labels.tolist()}; 0 to {info.n_classes - 1} are expected.")
    if info.class_counts is not None and tuple(counts.tolist()) != info.class_counts:
        raise DatasetError(f"{what} has {counts.tolist()} rows per class; {list(info.class_counts)} are expected.")
    expected = info.sha256 if info.sha256 is not None else read_record(record)
    for name, wanted in (expected or {}).items():
        if name not in arrays:
            raise DatasetError(f"{what} has no array {name!r}, which the registered table has.")
        found = digest(arrays[name])
        if found != wanted:
            raise DatasetError(
                f"{what} is not the registered table: the SHA-256 of {name} is {found}; {wanted} is expected."
            )


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
    if not isinstance(noted, dict) or not all(isinstance(value, str) for value in noted.values()):
        raise DatasetError(f"{path} should hold one SHA-256 per array; delete it and fetch the table again.")
    return noted


def write_record(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Note the digests of the arrays."""
    noted = {name: digest(array) for name, array in arrays.items()}
    _write_beside(path, (json.dumps(noted, indent=2) + "\n").encode())


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays to an NPZ file, whole or not at all."""
    temporary = _beside(path)
    try:
        with open(temporary, "xb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _write_beside(path: Path, content: bytes) -> None:
    temporary = _beside(path)
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")

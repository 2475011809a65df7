"""Converters: from the files a table is published in to the arrays stored here, one function for each form.

A converter gets the bytes of the downloaded files by name. Archives are read in memory, member by exact name, never
unpacked into a folder, and never past a size limit. Nothing a file says is executed.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO

import numpy as np

from ._lzw import decompress
from ._registry import MEBIBYTE, DatasetError, DatasetInfo

Files = Mapping[str, bytes]
Arrays = dict[str, np.ndarray]

_UNPACKED_LIMIT = 256 * MEBIBYTE


def convert(info: DatasetInfo, form: str, files: Files) -> Arrays:
    """Return the arrays held by the files of a source; raise if a file has another form."""
    try:
        return CONVERTERS[form](info, files)
    except (DatasetError, ImportError):
        raise
    # The parsers of NumPy, SciPy and Pillow raise all kinds of errors on damaged files.
    except Exception as error:
        raise DatasetError(f"{', '.join(files)} cannot be read: {type(error).__name__}: {error}") from error


def openml_mice(info: DatasetInfo, files: Files) -> Arrays:
    """Read OpenML's ARFF file: MouseID, the proteins, three factors, and the class."""
    (data,) = files.values()
    header, _, body = re.split(r"(?im)^(@data)[^\n]*\n", data.decode("utf-8"), maxsplit=1)
    attributes = re.findall(r"(?im)^@attribute\s+(\S+)\s+([^\n]+)$", header)
    lines = (line for line in body.splitlines() if line.strip() and not line.startswith("%"))
    rows = list(csv.reader(lines, quotechar="'", skipinitialspace=True))
    if any(len(row) != len(attributes) for row in rows):
        raise DatasetError(f"a row of {', '.join(files)} does not have {len(attributes)} values")
    names = [name for name, _ in attributes]
    numeric = [j for j, (_, kind) in enumerate(attributes) if kind.strip().lower() in ("numeric", "real")]
    classes = info.class_names or ()
    mouse, label = names.index("MouseID"), names.index("class")
    X = np.array([[np.nan if row[j] == "?" else float(row[j]) for j in numeric] for row in rows], dtype=info.dtype)
    return {
        "X": X,
        "y": np.array([classes.index(row[label]) for row in rows], dtype=np.uint8),
        "feature_names": np.array([names[j] for j in numeric], dtype="U32"),
        "class_names": np.array(classes, dtype="U6"),
        # 309_1 to 309_15 are the fifteen measurements of mouse 309.
        "mouse_id": np.array([row[mouse].rpartition("_")[0] for row in rows], dtype="U8"),
    }


def coil_zip(info: DatasetInfo, files: Files) -> Arrays:
    """Resize the images of a ZIP file, ``coil-20-proc/obj<object>__<pose>.png``, and take them by file name."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError('converting COIL-20 needs Pillow: pip install "stableselect[data]"') from error
    height, width = info.image_shape or (20, 20)
    poses = info.n_rows // info.n_classes
    members = [(f"coil-20-proc/obj{i + 1}__{j}.png", i) for i in range(info.n_classes) for j in range(poses)]
    members.sort()
    X = np.empty((len(members), height * width), dtype=np.uint8)
    with _open_zip(files) as archive:
        for row, (name, _) in enumerate(members):
            with Image.open(io.BytesIO(_member(archive, name, MEBIBYTE)), formats=["PNG"]) as image:
                if image.size != (128, 128) or image.mode != "L":
                    raise DatasetError(f"{name} is {image.size}, mode {image.mode}; a grey 128 x 128 image is expected")
                X[row] = np.asarray(image.resize((width, height), Image.Resampling.LANCZOS)).ravel()
    return {"X": X, "y": np.array([label for _, label in members], dtype=np.uint8)}


def activity_zip(info: DatasetInfo, files: Files) -> Arrays:
    """Stack the training and test files of a ZIP file; labels count from 1."""
    with _open_zip(files) as archive:

        def read(name: str) -> np.ndarray:
            # Both commas and spaces are found between the values.
            text = _member(archive, f"dataset_uci/{name}.txt", _UNPACKED_LIMIT).replace(b",", b" ")
            return np.loadtxt(io.BytesIO(text), dtype=np.float64, ndmin=2)

        X = np.vstack([read("final_X_train"), read("final_X_test")])
        y = np.vstack([read("final_y_train"), read("final_y_test")]).ravel()
    return {"X": X.astype(info.dtype), "y": _labels(y)}


def isolet_zip(info: DatasetInfo, files: Files) -> Arrays:
    """Read the two ``.Z`` files of a ZIP file; groups of speakers but the last are sorted by letter, see the note."""
    parts = info.parts or ()
    with _open_zip(files) as archive:
        members = ("isolet1+2+3+4.data.Z", "isolet5.data.Z")
        packed = [_member(archive, name, 64 * MEBIBYTE) for name in members]
    table = np.vstack(
        [np.loadtxt(io.BytesIO(decompress(part, _UNPACKED_LIMIT)), delimiter=",", ndmin=2) for part in packed]
    )
    if len(table) != sum(parts):
        raise DatasetError(f"{', '.join(members)} hold {len(table)} rows; {sum(parts)} are expected")
    group = np.repeat(np.arange(1, len(parts) + 1), parts).astype(np.uint8)
    letter = np.where(group < len(parts), table[:, -1], 0)
    table = table[np.lexsort((letter, group))]
    return {"X": table[:, :-1].astype(info.dtype), "y": _labels(table[:, -1]), "group": group}


def idx(info: DatasetInfo, files: Files) -> Arrays:
    """Read gzipped IDX files: training images and labels, then test images and labels."""
    arrays = [_idx_array(_gunzip(data), name) for name, data in files.items()]
    X = np.concatenate([images.reshape(len(images), -1) for images in arrays[::2]])
    return {"X": X, "y": np.concatenate(arrays[1::2])}


def usps_text(info: DatasetInfo, files: Files) -> Arrays:
    """Smooth the unsmoothed training digits, and append the test digits, which are distributed smoothed.

    The smoothed form is the unsmoothed one on the [0, 1] scale after a Gaussian filter of sigma 0.75 pixel with zero
    padding, on the [-1, 1] scale again, with six decimals.
    """
    from scipy.ndimage import gaussian_filter
    from sklearn.datasets import load_svmlight_file

    train, test = files.values()
    height, width = info.image_shape or (16, 16)
    table = np.loadtxt(io.BytesIO(_gunzip(train)), ndmin=2)
    digits = table[:, 0].astype(np.int64)
    images = (table[:, 1:].reshape(-1, height, width) + 1) / 2
    smooth = gaussian_filter(images, sigma=(0, 0.75, 0.75), mode="constant").reshape(len(images), -1)
    order = np.argsort((digits - 1) % 10, kind="stable")
    text = _read_limited(bz2.BZ2File(io.BytesIO(test)))
    X_test, y_test = load_svmlight_file(io.BytesIO(text), n_features=height * width, zero_based=False)
    return {
        "X": np.vstack([np.round(2 * smooth - 1, 6)[order], X_test.toarray()]).astype(info.dtype),
        # The test file counts the digits from 1.
        "y": np.concatenate([digits[order], y_test.astype(np.int64) - 1]).astype(np.uint8),
    }


def mat(info: DatasetInfo, files: Files) -> Arrays:
    """Read X and Y of a MATLAB file of version 7 or older; labels are numbered from 0 in their order."""
    from scipy.io import loadmat, whosmat
    from scipy.sparse import issparse

    ((name, data),) = files.items()
    shapes = {variable: shape for variable, shape, _ in whosmat(io.BytesIO(data))}
    # The shapes are in the headers: a file that would fill the memory is rejected before its values are read.
    if shapes.get("X") != (info.n_rows, info.n_columns) or info.n_rows not in shapes.get("Y", ()):
        raise DatasetError(
            f"{name} holds {shapes}; X of shape {(info.n_rows, info.n_columns)} and a Y with {info.n_rows} rows "
            "are expected"
        )
    stored = loadmat(io.BytesIO(data), variable_names=["X", "Y"])
    X = stored["X"].toarray() if issparse(stored["X"]) else stored["X"]
    if X.dtype.kind not in "fiub" or stored["Y"].dtype.kind not in "fiu":
        raise DatasetError(f"{name} holds X of type {X.dtype} and Y of type {stored['Y'].dtype}; numbers are expected")
    return {"X": X.astype(info.dtype), "y": _labels(stored["Y"].ravel())}


CONVERTERS: Mapping[str, Callable[[DatasetInfo, Files], Arrays]] = {
    converter.__name__: converter
    for converter in (openml_mice, coil_zip, activity_zip, isolet_zip, idx, usps_text, mat)
}


def _labels(values: np.ndarray) -> np.ndarray:
    """Return the labels numbered from 0 in their order."""
    return np.unique(values, return_inverse=True)[1].astype(np.uint8)


def _open_zip(files: Files) -> zipfile.ZipFile:
    (data,) = files.values()
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile as error:
        raise DatasetError(f"not a whole ZIP file ({error})") from error


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return a member of a ZIP file by its exact name."""
    try:
        found = archive.getinfo(name)
        if found.file_size > limit:
            raise DatasetError(f"{name} has {found.file_size} bytes; at most {limit} are expected")
        return archive.read(found)
    except KeyError as error:
        raise DatasetError(f"the ZIP file has no member {name}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DatasetError(f"{name} is damaged in the ZIP file ({error})") from error


def _gunzip(data: bytes) -> bytes:
    """Return the content of a gzip file; some servers unpack it on the way, so plain content is taken as it is."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    return _read_limited(gzip.GzipFile(fileobj=io.BytesIO(data)))


def _read_limited(stream: gzip.GzipFile | bz2.BZ2File | BinaryIO) -> bytes:
    with stream:
        content = stream.read(_UNPACKED_LIMIT + 1)
    if len(content) > _UNPACKED_LIMIT:
        raise DatasetError(f"it holds more than {_UNPACKED_LIMIT} bytes")
    return content


def _idx_array(data: bytes, name: str) -> np.ndarray:
    """Read an IDX file of bytes: two zeros, the type 8, the number of axes, the sizes (big-endian), the values."""
    if data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * data[3]:
        raise DatasetError(f"{name} is not an IDX file of bytes")
    shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
    values = np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * data[3])
    if len(values) != int(np.prod(shape, dtype=object)):
        raise DatasetError(f"{name} holds {len(values)} values; its header says {shape}")
    return values.reshape(shape)

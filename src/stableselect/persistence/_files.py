"""Fitted selectors as files: one zip of ``selector.json`` and a ``.npy`` member per array, written whole or not at all.

The members are stored, not compressed, so that nothing in a file can claim more memory than the file is long. NumPy
opens the file as an npz.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._registry import all_selectors
from ..base import BaseSelector
from ._tree import Packer, Unpacker, Unstorable, check_array, expect, is_plain_array

FORMAT = "stableselect selector"
VERSION = 1

_TREE = "selector.json"
_NAME = re.compile(r"\w+-[0-9]+\.npy")
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    r"\{'descr': *'([<>|][biufcU][0-9]{1,9})', *'fortran_order': *(True|False), *'shape': *\(([0-9, ]*)\),? *\} *\n?"
)
_CHUNK = 2**20
_PASSING = ("_skl_callbacks", "_callback", "_parent_callback", "_metadata_request")
"""How the attributes begin that belong to a session and not to the result: callbacks and metadata routing."""

_DAMAGE = (
    *(ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError),
    *(EOFError, OSError, struct.error, zipfile.BadZipFile),
)
"""What reading a damaged file may raise."""


class _Refusal(Exception):
    """The end of a sentence about a file that begins with its name."""


def save(selector: BaseSelector, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted selector; see :meth:`BaseSelector.save`."""
    # A link stays one: its target is written.
    path = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    cls = type(selector)
    check_is_fitted(selector, "support_", msg="This %(name)s is not fitted yet; call fit before save.")
    if all_selectors().get(cls.__name__) is not cls:
        raise ValueError(f"save writes the selectors of all_selectors(), got a {cls.__name__}; store its attributes.")
    if path.is_dir():
        raise FileExistsError(f"{path} is a folder; choose another file name.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.parent} does not exist; create it first.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already; choose another file name or say overwrite=True.")
    _check_result(selector.__dict__)
    record, arrays = _describe(selector)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream, zipfile.ZipFile(stream, "w") as archive:
            if path.exists():
                # Before a byte is written: what only its owner could read stays so.
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            # A ZipInfo made by hand carries no clock time: equal selectors give equal files.
            archive.writestr(zipfile.ZipInfo(_TREE), json.dumps(record, allow_nan=False))
            for name, array in arrays.items():
                large = array.nbytes > 2**30
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=large) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _describe(selector: BaseSelector) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the record of a selector and the arrays that it names."""
    from .. import __version__

    packer, stored, given, fitted = Packer(), {}, [], {}
    parameters = selector.get_params(deep=False)
    for name, value in parameters.items():
        try:
            stored[name] = packer.pack(value, name)
        except Unstorable as error:
            given.append(name)
            if not callable(value):
                # An estimator cannot be made into data.
                advice = "" if hasattr(value, "get_params") else " Make it a list or an array."
                warnings.warn(
                    f"The parameter {name} is not stored: {error}; load will ask for it.{advice}", stacklevel=4
                )
    for name, value in vars(selector).items():
        if name in parameters or name.startswith(_PASSING):
            continue
        _check_name(name, type(selector))
        try:
            fitted[name] = packer.pack(value, name)
        except Unstorable as error:
            raise ValueError(
                f"The attribute {name} cannot be stored: {error}; delete it or make it an array."
            ) from None
    record = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": __version__,
        "class": type(selector).__name__,
        "parameters": stored,
        "given": given,
        "callables": [name for name in given if callable(parameters[name])],
        "attributes": fitted,
    }
    return record, packer.arrays


def load(path: str | os.PathLike[str], /, **parameters: Any) -> BaseSelector:
    """Read a selector that :meth:`BaseSelector.save` wrote.

    Nothing in the file is executed. Files of earlier versions stay readable. Moments gathered from torch tensors come
    back on the CPU, and parameters that were a range, an index or a series as tuples and lists.

    Parameters
    ----------
    path : str or path
        The file.
    **parameters
        The parameters that could not be stored, such as functions that build a network; only these, and all of them.
        What was a function has to be given as one.

    Returns
    -------
    BaseSelector
        Fitted, of the class that was saved.

    Raises
    ------
    ValueError
        If the file is damaged, holds no selector, or was written by a newer version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset, load
    >>> path = pathlib.Path(tempfile.mkdtemp(), "iris.sselect")
    >>> ColumnSubset(2).fit(load_iris().data).save(path)
    >>> load(path).selected_
    array([2, 0])
    """
    with open(path, "rb") as stream:
        try:
            return _load(stream, parameters)
        except _Refusal as refusal:
            raise ValueError(f"{os.fspath(path)} {refusal}") from None
        except _DAMAGE as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{os.fspath(path)} is damaged: {what:.200}; save the selector again.") from error


def _load(stream: BinaryIO, parameters: dict[str, Any]) -> BaseSelector:
    start, size = stream.read(4), stream.seek(0, os.SEEK_END)
    if start != b"PK\x03\x04":
        raise _Refusal("is not a selector saved by stableselect; give a file that save wrote.")
    with zipfile.ZipFile(stream) as archive:
        return _load_archive(archive, size, parameters)


def _load_archive(archive: zipfile.ZipFile, size: int, parameters: dict[str, Any]) -> BaseSelector:
    """Read the record, and leave the rest to the loader of its version."""
    if _TREE not in archive.namelist():
        raise _Refusal(f"is not a selector saved by stableselect: it has no {_TREE}; give a file that save wrote.")
    if sum(info.file_size for info in archive.infolist()) > size:
        raise ValueError("its parts claim to be longer than the file")
    _check_stored(archive.getinfo(_TREE))
    record = json.loads(archive.read(_TREE).decode(), parse_constant=_no_constant)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise _Refusal(
            f"is not a selector saved by stableselect: its {_TREE} is another's; give a file that save wrote."
        )
    version = expect(record.get("version"), int)
    if version > VERSION:
        raise _Refusal(
            f"was written by a newer stableselect (file version {version}, this one reads up to {VERSION}); "
            "upgrade stableselect."
        )
    if version not in _LOADERS:
        raise ValueError(f"there is no file version {version}")
    members = {info.filename: info for info in archive.infolist()}
    names = set(members) - {_TREE}
    if len(members) != len(archive.infolist()) or not all(_NAME.fullmatch(name) for name in names):
        raise ValueError("it has a part whose name is not plain or not the only one")
    return _LOADERS[version](record, lambda name: _read_array(archive, members[f"{name}.npy"]), parameters)


def _load_1(record: dict[str, Any], read: Callable[[str], np.ndarray], given: dict[str, Any]) -> BaseSelector:
    """Build a selector from a record of version 1."""
    name = expect(record["class"], str)
    cls = all_selectors().get(name)
    if cls is None:
        raise _Refusal(f"holds a selector of class {name!r:.60}, which this stableselect lacks; upgrade stableselect.")
    stored, left_out = expect(record["parameters"], dict), expect(record["given"], list)
    known = cls._get_param_names()
    unknown = [name for name in [*stored, *left_out] if name not in known]
    if unknown:
        raise _Refusal(f"has a parameter {unknown[0]!r:.60}, which {cls.__name__} does not have; upgrade stableselect.")
    missing = [name for name in left_out if name not in given]
    if missing:
        example = ", ".join(f"{name}=..." for name in left_out)
        raise _Refusal(f"was saved without {missing[0]}, which cannot be stored; call load(path, {example}).")
    surplus = [name for name in given if name not in left_out]
    if surplus:
        raise _Refusal(f"does not leave {surplus[0]} open; leave it out here and call set_params afterwards.")
    attributes = expect(record["attributes"], dict)
    # The first files do not say which were callables; what has weights was one that makes a network.
    networks = [name for name in left_out if f"{name}_weights_" in attributes]
    for name in expect(record.get("callables", networks), list):
        if not callable(given.get(name)):
            raise _Refusal(
                f"was saved with a function as {name!s:.60}; load got {given.get(name)!r:.60}; give it that function."
            )
    unpacker = Unpacker(read)
    selector = cls(**{name: unpacker.unpack(tree) for name, tree in stored.items()}, **given)
    for attribute, tree in attributes.items():
        _check_name(attribute, cls)
        selector.__dict__[attribute] = unpacker.unpack(tree)
    _check_result(selector.__dict__)
    return selector


_LOADERS = {1: _load_1}
"""By file version; a loader stays when a newer version comes."""


def _check_name(name: str, cls: type[BaseSelector]) -> None:
    """Refuse a fitted attribute that is a parameter or would hide a method."""
    if not name.isidentifier() or name in cls._get_param_names() or callable(getattr(cls, name, None)):
        raise ValueError(f"{name!r:.60} is not the name of a fitted attribute")


def _check_result(fitted: dict[str, Any]) -> None:
    """Refuse fitted attributes that do not fit together."""
    m = expect(fitted.get("n_features_in_"), int, "n_features_in_")
    support, selected = (_expect_array(fitted, name) for name in ("support_", "selected_"))
    shapes = {"support_": (m,), "ranking_": (m,), "scores_": (m,), "selected_": (int(support.sum()),)}
    optional = {
        "feature_names_in_": (m,),
        "reconstruction_coef_": (len(selected), m),
        "reconstruction_intercept_": (m,),
    }
    shapes |= {name: shape for name, shape in optional.items() if fitted.get(name) is not None}
    kinds = {"support_": "b", "selected_": "i", "ranking_": "i", "feature_names_in_": "OU"}
    for name, shape in shapes.items():
        array = _expect_array(fitted, name)
        if array.shape != shape or array.dtype.kind not in kinds.get(name, "f"):
            raise ValueError(f"{name} is not of the shape or type that goes with the other attributes")
    if not np.array_equal(np.sort(selected), np.flatnonzero(support)):
        raise ValueError("selected_ and support_ are not the same columns")


def _expect_array(fitted: dict[str, Any], name: str) -> np.ndarray:
    array: Any = fitted.get(name)
    return array if is_plain_array(array) else expect(array, np.ndarray, name)


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Read one ``.npy`` member; memory is taken only when its header agrees with its length."""
    _check_stored(info)
    with archive.open(info) as member:
        start = member.read(len(_MAGIC) + 2)
        length = int.from_bytes(start[len(_MAGIC) :], "little")
        header = _HEADER.fullmatch(member.read(length).decode("latin1"))
        if not start.startswith(_MAGIC) or header is None:
            raise ValueError(f"{info.filename} is not a plain array of numbers or text")
        dtype, shape = np.dtype(header[1]), tuple(int(n) for n in header[3].replace(" ", "").split(",") if n)
        # Text of no characters would take no bytes in the file, but some in memory.
        if not dtype.itemsize or math.prod(shape) * dtype.itemsize != info.file_size - len(start) - length:
            raise ValueError(f"{info.filename} does not have the size that its header says")
        array = np.empty(shape, dtype, order="F" if header[2] == "True" else "C")
        flat, done = array.reshape(-1, order="A"), 0
        raw = flat.view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
        # The zip's checksum is compared when the last byte has been read.
        while block := member.read(_CHUNK):
            raw[done : done + len(block)] = np.frombuffer(block, np.uint8)
            done += len(block)
    if done != len(raw):
        raise ValueError(f"{info.filename} is cut short")
    return check_array(array)


def _check_stored(info: zipfile.ZipInfo) -> None:
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{info.filename!r:.60} is compressed, which save does not do")


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")

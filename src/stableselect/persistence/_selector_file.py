"""Fitted selectors as files: one zip of ``selector.json`` and a ``.npy`` member per array, without pickles.

The members are stored, not compressed, so that nothing in a file can claim more memory than the file is long. NumPy
opens the file as an npz.
"""

from __future__ import annotations

import json
import math
import os
import re
import warnings
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._registry import all_selectors
from ..base import BaseSelector, Calibration
from ._checks import ADVICE, Refusal, check_version, no_constant
from ._tree import KINDS, Packer, Unpacker, Unstorable, check_array, expect, is_plain_array

FORMAT = "stableselect selector"
VERSION = 1

_TREE = "selector.json"
_NAME = re.compile(r"\w+-[0-9]+\.npy")
_PASSING = ("_skl_callbacks", "_callback", "_parent_callback", "_metadata_request")
"""How the attributes begin that belong to a session and not to the result: callbacks and metadata routing."""


def write_selector(selector: BaseSelector, stream: BinaryIO) -> None:
    """Write a fitted selector to an open file."""
    record, arrays = _describe(selector)
    with zipfile.ZipFile(stream, "w") as archive:
        # A ZipInfo made by hand carries no clock time: equal selectors give equal files.
        archive.writestr(zipfile.ZipInfo(_TREE), json.dumps(record, allow_nan=False))
        for name, array in arrays.items():
            large = array.nbytes > 2**30
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=large) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def check_selector(selector: BaseSelector) -> None:
    """Raise if a selector is not fitted or not one of the package's, or if its attributes do not fit together."""
    cls = type(selector)
    check_is_fitted(selector, "support_", msg="This %(name)s is not fitted yet; call fit before save.")
    if all_selectors().get(cls.__name__) is not cls:
        raise ValueError(f"save writes the selectors of all_selectors(), got a {cls.__name__}; store its attributes.")
    _check_result(selector.__dict__)


def _describe(selector: BaseSelector) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the record of a selector and the arrays that it names."""
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


def read_selector(stream: BinaryIO, parameters: dict[str, Any]) -> BaseSelector:
    """Read a selector from an open file; the error says what is wrong with it."""
    size = stream.seek(0, os.SEEK_END)
    archive = zipfile.ZipFile(stream)
    members = {info.filename: info for info in archive.infolist()}
    if _TREE not in members:
        raise Refusal(f"is not a selector saved by stableselect: it has no {_TREE}; {ADVICE}")
    if sum(info.file_size for info in archive.infolist()) > size:
        raise ValueError("its parts claim to be longer than the file")
    if any(info.compress_type != zipfile.ZIP_STORED for info in members.values()):
        raise ValueError("a part of it is compressed, which save does not do")
    record = json.loads(archive.read(_TREE).decode(), parse_constant=no_constant)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise Refusal(f"is not a selector saved by stableselect: its {_TREE} is another's; {ADVICE}")
    check_version(record.get("version"), VERSION)
    if len(members) != len(archive.infolist()) or not all(_NAME.fullmatch(name) for name in {*members} - {_TREE}):
        raise ValueError("it has a part whose name is not plain or not the only one")
    return _build(record, lambda name: _read_array(archive, members[f"{name}.npy"]), parameters)


def _build(record: dict[str, Any], read: Callable[[str], np.ndarray], given: dict[str, Any]) -> BaseSelector:
    """Build a selector from its record, its arrays and the parameters that were not stored."""
    name = expect(record["class"], str)
    cls = all_selectors().get(name)
    if cls is None:
        raise Refusal(f"holds a selector of class {name!r:.60}, which this stableselect lacks; upgrade stableselect.")
    stored, left_out = expect(record["parameters"], dict), expect(record["given"], list)
    known = cls._get_param_names()
    unknown = [name for name in [*stored, *left_out] if name not in known]
    if unknown:
        raise Refusal(f"has a parameter {unknown[0]!r:.60}, which {cls.__name__} does not have; upgrade stableselect.")
    missing = [name for name in left_out if name not in given]
    if missing:
        example = ", ".join(f"{name}=..." for name in left_out)
        raise Refusal(f"was saved without {missing[0]}, which cannot be stored; call load(path, {example}).")
    surplus = [name for name in given if name not in left_out]
    if surplus:
        raise Refusal(f"does not leave {surplus[0]} open; leave it out here and call set_params afterwards.")
    attributes = expect(record["attributes"], dict)
    for name in expect(record["callables"], list):
        if not callable(given.get(name)):
            raise Refusal(
                f"was saved with a function as {name!s:.60}; load got {given.get(name)!r:.60}; give it that function."
            )
    unpacker = Unpacker(read)
    selector = cls(**{name: unpacker.unpack(tree) for name, tree in stored.items()}, **given)
    for attribute, tree in attributes.items():
        _check_name(attribute, cls)
        selector.__dict__[attribute] = unpacker.unpack(tree)
    _check_result(selector.__dict__)
    return selector


def _check_name(name: str, cls: type[BaseSelector]) -> None:
    """Raise if a fitted attribute is a parameter or would hide a method."""
    if not name.isidentifier() or name in cls._get_param_names() or callable(getattr(cls, name, None)):
        raise ValueError(f"{name!r:.60} is not the name of a fitted attribute")


def _check_result(fitted: dict[str, Any]) -> None:
    """Raise if fitted attributes do not fit together."""
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
    if "_calibration" in fitted:
        Calibration(**expect(fitted["_calibration"], dict)).check(len(selected), m)
    if not np.array_equal(np.sort(selected), np.flatnonzero(support)):
        raise ValueError("selected_ and support_ are not the same features")


def _expect_array(fitted: dict[str, Any], name: str) -> np.ndarray:
    array: Any = fitted.get(name)
    return array if is_plain_array(array) else expect(array, np.ndarray, name)


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Read one ``.npy`` member; memory is taken only when its header agrees with its length."""
    with archive.open(info) as member:
        try:
            version = np.lib.format.read_magic(member)
            shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        except ValueError:
            version = None
        if version != (1, 0) or dtype.kind not in KINDS:
            raise ValueError(f"{info.filename} is not a plain array of numbers or text")
        # Text of no characters would take no bytes in the file, but some in memory.
        if not dtype.itemsize or math.prod(shape) * dtype.itemsize != info.file_size - member.tell():
            raise ValueError(f"{info.filename} does not have the size that its header says")
    # Opened again rather than rewound: the zip's checksum is compared when the last byte of a first reading is read.
    with archive.open(info) as member:
        return check_array(np.lib.format.read_array(member, allow_pickle=False))

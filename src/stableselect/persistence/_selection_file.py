"""The selection file: JSON with a format name and an integer version, checked piece by piece when it is read."""

from __future__ import annotations

import json
import math
import platform
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from .. import __version__
from ._checks import ADVICE, Refusal, check_version, no_constant
from ._selection import TableSelection

FORMAT = "stableselect selection"
VERSION = 1
_LATER = ("calibration", "conditions_cost", "completion", "batches")
"""Parts that files of earlier versions do not have."""


def software_versions() -> dict[str, str]:
    """Return the versions of the software that is running, as results state them."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"stableselect": __version__, "python": platform.python_version(), **packages}


def to_json(selection: TableSelection) -> str:
    """Return the selection as JSON text, one entry a line where entries are long."""
    return as_json(selection, format=FORMAT, version=VERSION)


def as_json(value: Any, **first: Any) -> str:
    """Return a dataclass as JSON text, with some entries before its own."""
    return _pretty({**first, **to_plain(value)}) + "\n"


def read_selection(data: bytes) -> TableSelection:
    """Read a selection from the bytes of a file; ValueError says what is wrong with it."""
    record = json.loads(data.decode(), parse_constant=no_constant)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise Refusal(f"is neither a selector nor a selection of stableselect; {ADVICE}")
    check_version(record.get("version"), VERSION)
    return from_plain(TableSelection, dict.fromkeys(_LATER) | record, "it")


def _pretty(value: Any, indent: str = "") -> str:
    """Return JSON with one line per entry of an object, and per entry of a list of objects or lists."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{_compact(key)}: {_pretty(entry, inner)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + indent + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return "[\n" + ",\n".join(f"{inner}{_compact(entry)}" for entry in value) + "\n" + indent + "]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses as objects, arrays as lists, and null for numbers that are not finite.

    What JSON has no form for becomes text.
    """
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return to_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str | None) else str(value)


def from_plain(kind: Any, value: Any, what: str) -> Any:
    """Return a JSON value as the type ``kind``; TypeError, ValueError or KeyError where it is not of that type.

    null reads as NaN where a number is due.
    """
    origin, options = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _from_union(options, value, what)
    if origin is Literal:
        if value not in options:
            raise ValueError(f"{what} should be one of {', '.join(map(str, options))}")
        return value
    if kind is np.ndarray:
        return _array(_typed(value, list, what), what)
    if origin in (list, tuple):
        entries = _typed(value, list, what)
        many = origin is list or options[-1] is Ellipsis
        if not many and len(entries) != len(options):
            raise ValueError(f"{what} should have {len(options)} entries and has {len(entries)}")
        kinds = [options[0]] * len(entries) if many else options
        return origin(
            from_plain(each, entry, f"an entry of {what}") for each, entry in zip(kinds, entries, strict=True)
        )
    if is_dataclass(kind):
        given, hints = _typed(value, dict, what), get_type_hints(kind)
        return kind(
            **{field.name: from_plain(hints[field.name], given[field.name], field.name) for field in fields(kind)}
        )  # type: ignore[operator]
    if kind is float:
        if value is None:
            return math.nan
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise TypeError(f"{what} should be a finite number")
        return float(value)
    return _typed(value, origin or kind, what)


def _from_union(options: tuple[Any, ...], value: Any, what: str) -> Any:
    """Return a value as the one of several types that it is of; None is tried first."""
    if value is None and type(None) in options:
        return None
    failures: list[Exception] = []
    for option in options:
        try:
            if option is not type(None):
                return from_plain(option, value, what)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            failures.append(error)
    raise failures[0]


def _typed(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{what} should be of type {kind.__name__} and is {type(value).__name__}")
    return value


def _array(entries: list[Any], what: str) -> np.ndarray:
    array = np.array(entries, dtype=object)
    array = np.where(array == None, np.nan, array)  # noqa: E711
    array = np.array(array.tolist())
    if array.size and array.dtype.kind not in "biuf":
        raise TypeError(f"{what} should be numbers")
    return array

"""The selection file: JSON with a format name and an integer version, checked piece by piece when it is read."""

from __future__ import annotations

import json
from typing import Any

from ._checks import ADVICE, Refusal, check_version, no_constant
from ._records import from_plain, to_plain
from ._selection import TableSelection

FORMAT = "stableselect selection"
VERSION = 1


def to_json(selection: TableSelection) -> str:
    """Return the selection as JSON text, one entry a line where entries are long."""
    return _pretty({"format": FORMAT, "version": VERSION, **to_plain(selection)}) + "\n"


def read_selection(data: bytes) -> TableSelection:
    """Read a selection from the bytes of a file; ValueError says what is wrong with it."""
    record = json.loads(data.decode(), parse_constant=no_constant)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise Refusal(f"is neither a selector nor a selection of stableselect; {ADVICE}")
    check_version(record.get("version"), VERSION)
    return from_plain(TableSelection, record, "it")


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

"""The selection file: JSON with a format name and an integer version, checked piece by piece when it is read."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from ._held_out import HeldOutErrors
from ._names import TableError, shown
from ._selection import Chosen, Selection

FORMAT = "stableselect selection"
VERSION = 1


def to_json(selection: Selection) -> str:
    """Return the selection as JSON text, one entry a line where entries are long."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "method": selection.method,
        "settings": selection.settings,
        "scaling": selection.scaling,
        "seed": selection.seed,
        "input": {"name": selection.source, "rows": selection.rows, "columns": list(selection.columns)},
        "id_columns": list(selection.id_columns),
        "selected": [asdict(column) for column in selection.selected],
        "errors": None if selection.errors is None else asdict(selection.errors),
        "notes": list(selection.notes),
        "explanation": selection.explanation,
        "path": selection.path,
        "stability": selection.stability,
        "decoder": {
            "inputs": selection.kept,
            "outputs": list(selection.features),
            "intercept": selection.intercept.tolist(),
            "coefficients": selection.coefficients.tolist(),
        },
        "versions": selection.versions,
    }
    return _pretty(record) + "\n"


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


def read_json(path: Path) -> Selection:
    """Read and check a selection file."""
    name = shown(path.name)
    if not path.is_file():
        raise TableError(f"{shown(str(path))} does not exist; give the .selection.json that select wrote.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise TableError(f"{name} is not a selection or is damaged: it is not valid JSON ({error}).") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise TableError(f"{name} is not a selection made by stableselect; give the .selection.json that select wrote.")
    version = record.get("version")
    if type(version) is not int or version < 1:
        raise TableError(f"{name} is damaged: its version is not a positive integer; make the selection again.")
    if version > VERSION:
        raise TableError(
            f"{name} has selection version {version} and this stableselect reads up to {VERSION}; upgrade stableselect."
        )
    try:
        return _checked(record)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
        raise TableError(f"{name} is damaged: {shown(what)}; make the selection again.") from error


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _checked(record: dict[str, Any]) -> Selection:
    """Build a selection from a record, raising on anything of the wrong kind, size or value."""
    source = _is(record["input"], dict, "input")
    decoder = _is(record["decoder"], dict, "decoder")
    columns = _names(source["columns"], "input columns")
    outputs, inputs = _names(decoder["outputs"], "decoder outputs"), _names(decoder["inputs"], "decoder inputs")
    id_columns = _names(record["id_columns"], "id_columns")
    position = {column: j for j, column in enumerate(columns)}
    selected = []
    for entry in _is(record["selected"], list, "selected"):
        entry = _is(entry, dict, "an entry of selected")
        chosen = Chosen(
            _is(entry["name"], str, "name"), _is(entry["index"], int, "index"), _number(entry["score"], "score")
        )
        if position.get(chosen.name) != chosen.index:
            raise ValueError(f"selected column '{chosen.name}' is not column {chosen.index} of the input")
        selected.append(chosen)
    kept = {column.name for column in selected}
    if not kept or len(kept) != len(selected) or [column for column in outputs if column in kept] != list(inputs):
        raise ValueError("the decoder inputs are not the selected columns in table order")
    if not set(outputs) <= set(columns) or not set(id_columns) <= set(columns) - set(outputs):
        raise ValueError("the decoder outputs or id columns are not columns of the input")
    explanation = record["explanation"]
    path, stability = record.get("path"), record.get("stability")  # the first files have neither
    return Selection(
        selected=tuple(selected),
        columns=columns,
        id_columns=id_columns,
        features=outputs,
        coefficients=_array(decoder["coefficients"], (len(inputs), len(outputs)), "coefficients"),
        intercept=_array(decoder["intercept"], (len(outputs),), "intercept"),
        method=_is(record["method"], str, "method"),
        settings=_is(record["settings"], dict, "settings"),
        scaling=_is(record["scaling"], str, "scaling"),
        seed=_is(record["seed"], int, "seed"),
        source=_is(source["name"], str, "input name"),
        rows=_is(source["rows"], int, "input rows"),
        errors=_errors(record["errors"]),
        notes=tuple(_is(note, str, "a note") for note in _is(record["notes"], list, "notes")),
        explanation=None if explanation is None else _is(explanation, dict, "explanation"),
        versions=_is(record["versions"], dict, "versions"),
        path=None if path is None else _is(path, dict, "path"),
        stability=None if stability is None else _is(stability, dict, "stability"),
    )


def _is(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{what} should be of type {kind.__name__} and is {type(value).__name__}")
    return value


def _names(value: Any, what: str) -> tuple[str, ...]:
    names = tuple(_is(name, str, f"a name in {what}") for name in _is(value, list, what))
    if len(set(names)) != len(names):
        raise ValueError(f"{what} repeat a name")
    return names


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{what} should be a finite number")
    return value


def _array(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    array = np.array(_is(value, list, what))
    if array.shape != shape or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueError(f"{what} should be finite numbers of shape {shape}")
    return array.astype(np.float64)


def _errors(value: Any) -> HeldOutErrors | None:
    if value is None:
        return None
    value = _is(value, dict, "errors")
    figures: dict[str, Any] = {field.name: _number(value[field.name], field.name) for field in fields(HeldOutErrors)}
    return HeldOutErrors(**figures)

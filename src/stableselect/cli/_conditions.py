"""Conditions on the choice as they are typed, and lists of columns from files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import printable

if TYPE_CHECKING:
    from ..subset import Conditions

OPTIONS = ("conditions", "budget", "min_distance", "grow_from", "shrink_from")


def conditions_of(given: dict[str, Any], columns: list[str]) -> tuple[Conditions | None, list[str]]:
    """Return the conditions that options and files state, and the columns that they include."""
    files, shrink = given.get("conditions") or [], given.get("shrink_from")
    include = columns_named(given.get("grow_from") or [], columns, files=True)
    if not files and shrink is None:
        for field in ("budget", "min_distance"):
            if given.get(field) is not None:
                what = "costs" if field == "budget" else "coordinates"
                raise ValueError(f"--{field.replace('_', '-')} needs a file of {what}; give one with --conditions.")
        return None, include
    from ..workflow import read_conditions

    panel = None if shrink is None else columns_named(shrink, columns, files=True)
    limits = {field: given.get(field) for field in ("budget", "min_distance")}
    conditions, more = read_conditions(files, **limits, choose_from=panel)
    return conditions, [*include, *more]


def columns_named(values: list[str], known: list[str], *, files: bool = False) -> list[str]:
    """Return the columns that a person named: by names, by several with commas, or by a file of names."""
    found: list[str] = []
    for value in values:
        if value in known:  # a comma may belong to the name of a column
            found.append(value)
        elif files and os.path.isfile(value):  # Path.is_file raises for a list that is too long for a name
            found += _names_in(Path(value))
        else:
            found += [name.strip() for name in value.split(",")]
    return found


def _names_in(path: Path) -> list[str]:
    """Return the columns that a file names: a selection, or text with a name on each line."""
    if path.suffix == ".sselect" or path.name.endswith(".selection.json"):
        from ..persistence import TableSelection, load

        chosen = load(path)
        return chosen.selected_names if isinstance(chosen, TableSelection) else chosen.get_feature_names_out().tolist()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        name = printable(str(path))
        raise ValueError(f"{name} is not a text of names; write one column name on each line.") from None
    return [line.strip() for line in lines if line.strip()]

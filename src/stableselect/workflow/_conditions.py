"""Conditions on the columns of a table: read from files, and checked against the table.

A file is a TOML of limits and settings, or a CSV with a row of settings for every column. Several are taken together.
"""

from __future__ import annotations

import csv
import io
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from .._files import PathLike, open_plain, printable
from ..io import listed, quoted
from ..subset import Conditions, Group, in_indices, resolve_choice

_TABLES = {"cost": "cost", "penalty": "penalty", "weight": "target_weight", "coordinates": "coordinates"}
_LISTS = ("include", "only_reconstruct", "only_choose", "choose_from")
_LIMITS = ("budget", "min_distance")
_KEYS = (*_LIMITS, *_TABLES, "groups", "blocks", *_LISTS)
_GROUP = ("columns", "at_least", "at_most", "exactly")
_HEADINGS = ("name", "cost", "penalty", "weight", "x", "y", "z", "group", *_GROUP[1:], "block", "role")
_ROLES = ("include", "only_reconstruct", "only_choose")


def read_conditions(
    paths: Iterable[PathLike],
    *,
    budget: float | None = None,
    min_distance: float | None = None,
    choose_from: Iterable[str] | None = None,
) -> tuple[Conditions, list[str]]:
    r"""Read conditions on the columns of a table from files.

    Parameters
    ----------
    paths : iterable of str or path
        TOML files, and CSV files with a row for every column; what one says is added to what others say.
    budget, min_distance : float, optional
        Instead of what the files say.
    choose_from : iterable of str, optional
        The only columns that may be selected, instead of what the files say.

    Returns
    -------
    conditions : Conditions
        By names of columns.
    include : list of str
        Columns that must be selected.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stableselect.workflow import read_conditions
    >>> file = pathlib.Path(tempfile.mkdtemp(), "columns.csv")
    >>> _ = file.write_text("name,cost,role\nflow,3,include\nheat,5,\n")
    >>> conditions, include = read_conditions([file], budget=6)
    >>> conditions.cost, include
    ({'flow': 3.0, 'heat': 5.0}, ['flow'])
    """
    found, names = _Found(), []
    for path in paths:
        names.append(name := printable(str(path)))
        with open_plain(path) as stream:
            data = stream.read()
        with _naming(name):
            text = data.decode("utf-8-sig")
            if str(path).lower().endswith(".toml"):
                found.add_toml(tomllib.loads(text))
            else:
                found.add_rows(text)
    given = found.settings | {
        key: value for key, value in (("budget", budget), ("min_distance", min_distance)) if value is not None
    }
    if choose_from is not None:
        given["choose_from"] = list(choose_from)
    include = given.pop("include", [])
    given["blocks"] = list(found.blocks.values())
    with _naming(", ".join(names)):
        given["groups"] = [_group(name, group) for name, group in found.groups.items()]
        return Conditions(**given), include


@contextmanager
def _naming(files: str) -> Iterator[None]:
    """Have errors name the files that they are about."""
    try:
        yield
    except UnicodeDecodeError:
        raise ValueError(f"{files} is not text in UTF-8; save it as such.") from None
    except csv.Error as error:
        raise ValueError(f"{files} is not a CSV file that can be read ({error}); is a quote left open?") from None
    except RecursionError:
        raise ValueError(f"{files}: lists and tables are nested too deep; give lists of names.") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{files}: {error}" if files else str(error)) from None


def _group(name: str, given: Mapping[str, Any]) -> Group:
    if not set(given) & {"at_least", "at_most", "exactly"}:
        raise ValueError(f"group {quoted(name)} has no limit; give it at_least, at_most or exactly.")
    if not given.get("columns"):
        raise ValueError(f"group {quoted(name)} has no columns; name some.")
    return Group(given["columns"], **{key: given[key] for key in _GROUP[1:] if key in given}, name=name)


class _Found:
    """What several files say."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.groups: dict[str, dict[str, Any]] = {}
        self.blocks: dict[str, list[str]] = {}
        self.axes: list[str] = []

    def add_toml(self, given: dict[str, Any]) -> None:
        """Add what a TOML file says."""
        _check_keys(given, _KEYS, "a file of conditions has")
        for key, value in given.items():
            if key in _LIMITS:
                self.settings[key] = value
            elif key in _TABLES:
                self.settings.setdefault(_TABLES[key], {}).update(_typed(value, dict, key))
            elif key in _LISTS:
                self.settings.setdefault(key, []).extend(_names(value, key))
        for name, group in _typed(given.get("groups", {}), dict, "groups").items():
            _check_keys(_typed(group, dict, f"group {quoted(name)}"), _GROUP, "a group has")
            own = self.groups.setdefault(name, {})
            more = _names(group.get("columns", []), f"columns of group {quoted(name)}")
            own["columns"] = [*own.get("columns", ()), *more]
            own |= {key: group[key] for key in _GROUP[1:] if key in group}
        for name, block in _typed(given.get("blocks", {}), dict, "blocks").items():
            self.blocks.setdefault(name, []).extend(_names(block, f"block {quoted(name)}"))

    def add_rows(self, text: str) -> None:
        """Add what a CSV file says, row by row."""
        lines = io.StringIO(text, newline="")
        mark = max(",;\t", key=lines.readline().count)
        lines.seek(0)
        rows = [row for row in csv.reader(lines, delimiter=mark) if any(cell.strip() for cell in row)]
        headings = [cell.strip() for cell in rows[0]] if rows else []
        if "name" not in headings:
            raise ValueError(f"it needs a column 'name' beside others of {listed(_HEADINGS[1:])}.")
        _check_keys(dict.fromkeys(headings), _HEADINGS, "a table of conditions has")
        if len(set(headings)) < len(headings):
            raise ValueError("it has two columns of the same name; give one.")
        seen: set[str] = set()
        for number, row in enumerate(rows[1:], 2):
            if len(row) != len(headings):
                raise ValueError(f"row {number} has {len(row)} cells and the first row {len(headings)}; give as many.")
            cells = {key: cell.strip() for key, cell in zip(headings, row, strict=True) if cell.strip()}
            name = cells.pop("name", "")
            if not name or name in seen:
                raise ValueError(f"row {number} {'names ' + quoted(name) + ' again' if name else 'has no name'}.")
            seen.add(name)
            self._add_row(name, cells, f"row {number}", decimal="," if mark == ";" else ".")

    def _add_row(self, name: str, cells: dict[str, str], row: str, decimal: str) -> None:
        numbers = {
            key: _number(cell.replace(decimal, "."), key, row)
            for key, cell in cells.items()
            if key not in ("group", "block", "role")
        }
        for key in ("cost", "penalty", "weight"):
            if key in numbers:
                self.settings.setdefault(_TABLES[key], {})[name] = numbers[key]
        if axes := [axis for axis in "xyz" if axis in numbers]:
            self.axes = self.axes or axes
            if differ := sorted({*axes} ^ {*self.axes}):
                this, that = ("no ", "one") if differ[0] in self.axes else ("", "none")
                raise ValueError(
                    f"{row} has {this}{differ[0]}, and an earlier row has {that}; "
                    "give the same of x, y and z in all rows that have any."
                )
            self.settings.setdefault("coordinates", {})[name] = [numbers[axis] for axis in axes]
        limits = {key: numbers[key] for key in _GROUP[1:] if key in numbers}
        if limits and "group" not in cells:
            raise ValueError(f"{row} has {next(iter(limits))} but no group; name the group.")
        for group in filter(None, (part.strip() for part in cells.get("group", "").split("|"))):
            own = self.groups.setdefault(group, {})
            own.setdefault("columns", []).append(name)
            for key, limit in limits.items():
                if own.setdefault(key, int(limit) if limit == int(limit) else limit) != limit:
                    raise ValueError(f"{row} has another {key} for group {quoted(group)} than a row above; give one.")
        if "block" in cells:
            self.blocks.setdefault(cells["block"], []).append(name)
        if "role" in cells:
            if cells["role"] not in _ROLES:
                raise ValueError(f"{row} has the role {quoted(cells['role'])}; the roles are {', '.join(_ROLES)}.")
            self.settings.setdefault(cells["role"], []).append(name)


def _check_keys(given: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in given:
        if key not in known:
            close = get_close_matches(str(key), known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"{what} {', '.join(known)}."
            raise ValueError(f"there is no setting {quoted(str(key))}; {hint}")


def _typed(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{what} must be a {'list' if kind is list else 'table'}, got {value!r:.60}.")
    return value


def _names(value: Any, what: str) -> list[str]:
    for entry in _typed(value, list, what):
        if not isinstance(entry, str):
            raise ValueError(f"{what} must be a list of names in quotes, and one of them is {entry!r:.60}.")
    return list(value)


def _number(text: str, key: str, row: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{row} has {quoted(text)} as {key}, which must be a number.")
    return number


def unknown(name: str, columns: list[str]) -> str:
    """Return what there is to say of a column that a table does not have."""
    close = get_close_matches(name, columns, n=1)
    hint = f"did you mean {quoted(close[0])}?" if close else f"the columns are {listed(columns)}."
    return f"the table has no column {quoted(name)}; {hint}"


def positions_of(
    conditions: Conditions,
    features: list[str],
    gone: Mapping[str, str],
    k: int | None,
    include: list[int],
    exclude: list[int],
) -> Conditions:
    """Return conditions with positions for names; ValueError if a name is unknown or no selection meets them.

    Parameters
    ----------
    conditions : Conditions
        By names.
    features : list of str
        The columns that can be selected or reconstructed.
    gone : mapping
        By name of another column: why it is not among them.
    k : int or None
        Number of columns to select.
    include, exclude : list of int
        Positions of columns that must or must not be selected.
    """
    for name in conditions.names:
        if name in gone:
            raise ValueError(f"{quoted(name)} {gone[name]}.")
        if name not in features:
            raise ValueError(unknown(name, features))
    resolve_choice(conditions, k, len(features), features, include, exclude, called="column")
    return in_indices(conditions, len(features), features)

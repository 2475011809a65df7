"""The files that paths, patterns and folders name; never one outside of the folder given."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .._files import PathLike, printable
from ._sources import COMPRESSED, READABLE, TEXT, source_format
from ._tables import TableError


def find_parts(given: Iterable[PathLike]) -> list[Path]:
    """Return the files that paths, patterns and folders name; raise if there are none, or of several kinds."""
    found: list[Path] = []
    for path in given:
        text = str(path)
        if not text:
            raise TableError("The path of a table (TABLE) is empty; give a file, a pattern or a folder.")
        if text == "-":
            raise TableError("Standard input cannot be one of several tables; give files.")
        pattern = glob.has_magic(text) and not os.path.lexists(text)
        if not pattern and not os.path.isdir(text):
            if not Path(path).suffix and "\0" not in text and not os.path.lexists(text):
                raise TableError(f"{printable(text)} does not exist; check the path.")
            found.append(Path(path))
            continue
        found += _inside(*_matches(text) if pattern else _files_of(text))
    repeated = [str(path) for path, count in Counter(map(os.path.realpath, found)).items() if count > 1]
    if repeated:
        raise TableError(f"{printable(repeated[0])} is given more than once; give every part once.")
    if len(found) > 1:
        kinds = Counter(source_format(path) for path in found)
        if len(kinds) > 1:
            told = " and ".join(f"{kind} ({count})" for kind, count in sorted(kinds.items()))
            raise TableError(f"The parts are of different kinds, {told}; give those of one kind, such as '*.parquet'.")
    return found


def _matches(pattern: str) -> tuple[str, list[str]]:
    """Return the folder that a pattern looks into, and the files it finds there."""
    fixed = pattern
    while glob.has_magic(fixed):
        fixed = os.path.dirname(fixed)
    files = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    if not files:
        raise TableError(f"No file matches {printable(pattern)}; check the pattern.")
    return fixed or ".", files


def _files_of(folder: str) -> tuple[str, list[str]]:
    """Return a folder and the tables in it."""
    names = [entry.name for entry in os.scandir(folder) if not entry.is_dir() and entry.name[0] not in "._"]
    known = (*READABLE, *(inner + outer for inner in TEXT for outer in COMPRESSED))
    tables = sorted(os.path.join(folder, name) for name in names if name.lower().endswith(known))
    if not tables:
        raise TableError(
            f"{printable(folder)} is a folder without tables ({', '.join(READABLE)}); check the path, or give a "
            f"pattern such as '{printable(folder.rstrip('/'))}/**/*.csv'."
        )
    return folder, tables


def _inside(folder: str, files: list[str]) -> list[Path]:
    """Return the files; raise if one is a link that leads out of the folder."""
    root = os.path.realpath(folder)
    for path in files:
        if not Path(os.path.realpath(path)).is_relative_to(root):
            raise TableError(f"{printable(path)} leads out of the folder {printable(folder)}; give the file itself.")
    return [Path(path) for path in files]


def part_name(given: list[PathLike], found: list[Path]) -> str:
    """Return what a table in parts is called."""
    text = str(given[0]) if len(given) == 1 else f"{found[0].name} and {len(found) - 1} more"
    return (os.path.basename(text.rstrip(os.sep)) or text).encode(errors="backslashreplace").decode()

"""Where a table is read from: a file or standard input, decompressed or not, and what kind of table it is.

Paths, patterns and folders name files; never one outside of the folder given.
"""

from __future__ import annotations

import glob
import io
import os
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from .._files import PathLike, open_plain, printable
from ._numpy import ARCHIVE_LIMIT
from ._tables import TableError

FORMATS = (".csv", ".tsv", ".parquet", ".npy", ".npz")
"""The file extensions that can be written."""
TEXT = {".csv": ",;\t|", ".tsv": "\t,;|", ".txt": "\t,;| "}
"""By extension of a text file: the separators it may have, the usual one first."""
ARROW = (".arrow", ".feather", ".ipc")
READABLE = (*FORMATS, ".txt", *ARROW, ".xlsx", ".h5ad")
"""The file extensions that can be read; those of text also with ``.gz``, ``.bz2`` or ``.zst`` behind them."""
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_KINDS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy", b"\x89HDF\r\n": ".h5ad"}


def table_format(path: PathLike, formats: tuple[str, ...] = FORMATS, kind: str = "") -> str:
    """Return the extension of ``path`` in lower case, or raise if it is not one of ``formats``."""
    suffix = Path(path).suffix.lower()
    if suffix not in formats:
        came = f"the extension {printable(suffix)}" if suffix else "no extension"
        raise TableError(f"{printable(str(path))} has {came}; expected {kind}one of {', '.join(formats)}.")
    return suffix


def source_format(path: PathLike) -> str:
    """Return the extension of a table to be read, without that of a compression; bare ones are taken for CSV."""
    path = Path(path)
    if path.suffix.lower() not in COMPRESSED:
        return table_format(path, READABLE)
    inner = path.with_suffix("").suffix.lower()
    if inner in READABLE and inner not in TEXT:
        raise TableError(f"{printable(path.name)} is compressed, which {inner} files are not read as; decompress it.")
    return inner if inner in TEXT else ".csv"


@dataclass(frozen=True)
class Source:
    """A table's bytes.

    Attributes
    ----------
    name : str
        The file's name without its folder, for messages.
    suffix : str
        The kind of table, as an extension.
    begin : callable
        Opens the bytes as they are, anew each time.
    """

    name: str
    suffix: str
    begin: Callable[[], BinaryIO]

    def begin_text(self) -> BinaryIO:
        """Open the text, decompressed where it is compressed, whatever the extension says."""
        stream = self.begin()
        start = stream.read(4)
        stream.seek(0)
        codec = next((codec for magic, codec in _MAGIC.items() if start.startswith(magic)), None)
        if codec is None:
            return stream
        return io.BufferedReader(_Limited(pa.CompressedInputStream(stream, codec), stream, self.name), 1 << 20)


def source_of(path: PathLike) -> Source:
    """Return the source for a path, or for standard input where it is ``"-"``."""
    if str(path) == "-":
        if sys.stdin is None:
            raise TableError("Standard input is closed; give a file.")
        content = sys.stdin.buffer.read()
        return Source("standard input", _kind(content), lambda: io.BytesIO(content))
    # A file's name need not be text, and becomes part of results that are.
    name = Path(path).name.encode(errors="backslashreplace").decode()
    return Source(name, source_format(path), lambda: _open(path))


def _open(path: PathLike) -> BinaryIO:
    try:
        return open_plain(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TableError(f"{printable(str(path))} does not exist; check the path.") from error
    except IsADirectoryError as error:
        raise TableError(f"{printable(str(path))} is a folder, not a table; check the path.") from error


def _kind(content: bytes) -> str:
    """Return the kind of table that bytes without a name are: text unless they begin as another kind does."""
    if content.startswith(b"PK"):
        try:
            names = zipfile.ZipFile(io.BytesIO(content)).namelist()
        except zipfile.BadZipFile:
            return ".npz"
        return ".xlsx" if any(name.startswith("xl/") for name in names) else ".npz"
    return next((kind for magic, kind in _KINDS.items() if content.startswith(magic)), ".csv")


class _Limited(io.RawIOBase):
    """What a compressed stream holds, up to a limit: few bytes can hold very many."""

    def __init__(self, stream: Any, below: BinaryIO, name: str) -> None:
        self._stream, self._below, self._name, self._count = stream, below, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._count += len(data)
        if self._count > ARCHIVE_LIMIT:
            raise TableError(
                f"{printable(self._name)} holds more than {ARCHIVE_LIMIT / 2**30:.3g} GiB once decompressed, the most "
                "that is read from a compressed file; decompress it first."
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._below.close()
        super().close()


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


def index_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns in which pandas stored the names of the rows."""
    try:
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError):  # whatever wrote it, it was not pandas
        return ()
    names = [name for name in stored if isinstance(name, str)] if isinstance(stored, list) else []
    return tuple(name for name in names if schema.names.count(name) == 1)


@contextmanager
def read_failures(name: str, suffix: str) -> Iterator[None]:
    """Turn whatever goes wrong in reading a file into one sentence that names it."""
    try:
        yield
    except (TableError, ImportError):
        raise
    except Exception as error:  # a damaged file can fail anywhere
        text = str(error) or type(error).__name__
        reason = printable(" ".join(text.split()))[:160].rstrip(". ")
        raise TableError(
            f"{printable(name)} cannot be read as {suffix[1:].upper()} ({reason}); check the file."
        ) from error

"""Files written whole or not at all, and text that is safe to print."""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

PathLike = str | os.PathLike[str]


class OutputExistsError(FileExistsError):
    """A file that is there already and was not to be overwritten; ``path`` is its name."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{printable(str(path))} exists already; choose another name or pass overwrite=True.")
        self.path = path


def printable(text: str) -> str:
    """Return ``text`` with control characters written out, so that a file cannot steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def complain(sentence: str, program: str = "stableselect") -> None:
    """Print a sentence on standard error, if there still is one."""
    with suppress(OSError):
        print(f"{program}: {printable(sentence)}", file=sys.stderr)


def check_outputs(paths: Iterable[PathLike], *, overwrite: bool, inputs: Iterable[PathLike] = ()) -> list[Path]:
    """Return the files to write, with links followed; raise if one cannot be written or is one of the inputs."""
    read = [os.path.realpath(path) for path in inputs if str(path) != "-"]
    targets = []
    for path in map(Path, paths):
        name = printable(str(path))
        if "\0" in str(path):
            raise ValueError(f"{name} has a NUL character, which no file name can have; choose another name.")
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        folder = printable(str(target.parent))
        if not target.parent.is_dir():
            raise FileNotFoundError(f"The folder {folder} does not exist; create it first.")
        if os.path.realpath(path) in read:
            raise FileExistsError(f"{name} is the input itself; choose another output name.")
        if target.is_dir():
            raise FileExistsError(f"{name} is a folder; choose another file name.")
        if target.is_symlink():
            raise FileExistsError(f"{name} is a link that leads in a circle; choose another file name.")
        with suppress(FileNotFoundError):
            os.stat(target)  # a name that no file can have; from Python 3.14 on Path.exists passes it over
        if target.exists() and not target.is_file():
            raise FileExistsError(f"{name} is not a plain file; choose another file name.")
        if target.exists() and not overwrite:
            raise OutputExistsError(path)
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(f"The folder {folder} cannot be written to; choose another one.")
        targets.append(target)
    return targets


def open_plain(path: PathLike) -> BinaryIO:
    """Open a file for reading; raise at a folder, and at a pipe or a device, which might never end."""
    name = printable(str(path))
    if "\0" in str(path):
        raise ValueError(f"{name} has a NUL character, which no file name can have; check the path.")
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise ValueError(f"{name} is not a plain file but a pipe or a device; copy what it holds to a file.")
    return open(path, "rb")


@contextmanager
def write_whole(*paths: PathLike, overwrite: bool = False) -> Iterator[list[BinaryIO]]:
    """Give an open binary file for each path; all appear at the end, and after an error none does.

    The files are written beside their destinations, and renamed when they are complete and on the disk. A file that is
    replaced keeps its permissions, and a link stays a link: its target is written. An error while writing has the name
    of the file.
    """
    targets = check_outputs(paths, overwrite=overwrite)
    temporary = [target.with_name(f".{secrets.token_hex(8)}.tmp") for target in targets]
    moves = list(zip(paths, temporary, targets, strict=True))
    try:
        with ExitStack() as stack:
            streams: list[BinaryIO] = []
            for path, source, target in moves:
                with named_errors(path):
                    stream = stack.enter_context(_Output(_Raw(source, path)))
                    if target.exists():
                        # Before a byte is written: what only its owner could read stays so.
                        os.chmod(source, stat.S_IMODE(target.stat().st_mode))
                streams.append(cast(BinaryIO, stream))
            yield streams
            for path, written in zip(paths, streams, strict=True):
                with named_errors(path):
                    written.flush()
                    os.fsync(written.fileno())
        for path, source, target in moves:
            with named_errors(path):
                os.replace(source, target)
        for folder in dict.fromkeys(target.parent for target in targets):
            _sync_folder(folder)
    finally:
        for source in temporary:
            source.unlink(missing_ok=True)


@contextmanager
def named_errors(path: PathLike) -> Iterator[None]:
    """Give errors of the system, such as that of a full disk, the name of the file that is written."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


class _Raw(io.FileIO):
    """A file under a temporary name, whose errors have the name it is to get."""

    def __init__(self, temporary: Path, path: PathLike) -> None:
        super().__init__(temporary, "x+")
        self._path = path

    def write(self, data: Any) -> int:
        with named_errors(self._path):
            return super().write(data) or 0


class _Output(io.BufferedRandom):
    """A buffer that is no ``BufferedWriter``: NumPy would write to its descriptor, and not say that a disk is full."""


def _sync_folder(folder: Path) -> None:
    """Put the new names of a folder on the disk, where the platform can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_file(path: PathLike, content: bytes) -> Path:
    """Write a whole file in the place of one that may be there, and return its path."""
    with write_whole(path, overwrite=True) as (stream,):
        stream.write(content)
    return Path(path)

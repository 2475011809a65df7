"""Files written whole or not at all, and text that is safe to print."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

PathLike = str | os.PathLike[str]


class OutputExistsError(FileExistsError):
    """A file that is there already and was not to be overwritten; ``path`` is its name."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{printable(str(path))} exists already; choose another name or pass overwrite=True.")
        self.path = path


def printable(text: str) -> str:
    """Return ``text`` with control characters written out, so that a file cannot steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def check_outputs(paths: Iterable[PathLike], *, overwrite: bool, inputs: Iterable[PathLike] = ()) -> list[Path]:
    """Return the files to write, with links followed; raise if one cannot be written or is one of the inputs."""
    read = [Path(path).resolve() for path in inputs if str(path) != "-"]
    targets = []
    for path in map(Path, paths):
        target, name = Path(os.path.realpath(path)) if path.is_symlink() else path, printable(str(path))
        folder = printable(str(target.parent))
        if not target.parent.is_dir():
            raise FileNotFoundError(f"The folder {folder} does not exist; create it first.")
        if path.resolve() in read:
            raise FileExistsError(f"{name} is the input itself; choose another output name.")
        if target.is_dir():
            raise FileExistsError(f"{name} is a folder; choose another file name.")
        if target.exists() and not overwrite:
            raise OutputExistsError(path)
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(f"The folder {folder} cannot be written to; choose another one.")
        targets.append(target)
    return targets


@contextmanager
def write_whole(*paths: PathLike, overwrite: bool = False) -> Iterator[list[BinaryIO]]:
    """Give an open binary file for each path; all appear at the end, and after an error none does.

    The files are written beside their destinations and renamed when they are complete. A file that is replaced keeps
    its permissions, and a link stays a link: its target is written.
    """
    targets = check_outputs(paths, overwrite=overwrite)
    temporary = [target.with_name(f".{secrets.token_hex(8)}.tmp") for target in targets]
    try:
        with ExitStack() as stack:
            streams: list[BinaryIO] = []
            for source, target in zip(temporary, targets, strict=True):
                streams.append(stack.enter_context(open(source, "xb")))
                if target.exists():
                    # Before a byte is written: what only its owner could read stays so.
                    os.chmod(source, stat.S_IMODE(target.stat().st_mode))
            yield streams
        for source, target in zip(temporary, targets, strict=True):
            os.replace(source, target)
    finally:
        for source in temporary:
            source.unlink(missing_ok=True)


def replace_file(path: PathLike, content: bytes) -> Path:
    """Write a whole file in the place of one that may be there, and return its path."""
    with write_whole(path, overwrite=True) as (stream,):
        stream.write(content)
    return Path(path)

"""Downloads: get the published files of a table, convert and check them, and store the table.

Files are downloaded with pooch into a temporary folder inside the data folder, which is removed whatever happens, so
that a truncated or altered file never stays.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ._convert import convert
from ._registry import DatasetError, DatasetInfo, RemoteFile, info
from ._storage import (
    check_arrays,
    describe_arrays,
    read_verified,
    record_path,
    resolve_home,
    write_arrays,
    write_record,
)

_TIMEOUT = 60


def fetch(name: str, data_home: str | os.PathLike[str] | None = None) -> Path:
    """Download a benchmark table, convert it and store it as ``<data_home>/<name>.npz``.

    A table that is there already is checked and kept. Needs pooch, and Pillow for COIL-20:
    ``pip install "stableselect[data]"``.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : path or None, default=None
        Folder of the tables; None for ``$STABLESELECT_DATA``, else a folder in the user's cache.

    Returns
    -------
    pathlib.Path
        The stored file.

    Raises
    ------
    DatasetError
        When no source can be reached, or what came is not the registered table. Nothing is stored then.

    Notes
    -----
    The digests of the converted arrays have to be those of the registry. For Activity and SMK_CAN_187 no verified
    copy was available: shape and classes are checked, the digests of the first download are noted in
    ``<name>.sha256.json``, and from then on the table has to agree with them.

    Examples
    --------
    >>> from stableselect import datasets
    >>> path = datasets.fetch("glioma")  # doctest: +SKIP
    """
    return fetch_info(info(name), resolve_home(data_home))


def fetch_info(found: DatasetInfo, home: Path) -> Path:
    """Download the table that ``found`` describes from its sources into the folder ``home``."""
    path = home / f"{found.name}.npz"
    record = record_path(path)
    if path.exists():
        read_verified(found, path)
        return path
    download = _downloader()
    _make_folder(home)
    failures = []
    for source in found.sources:
        try:
            with tempfile.TemporaryDirectory(prefix=f".{found.name}-", dir=home) as folder:
                files = {file.name: download(file, Path(folder)) for file in source.files}
            arrays = convert(found, source.form, files)
            arrays = check_arrays(found, arrays, "what was downloaded", record)
        except DatasetError as error:
            failures.append(str(error).rstrip("."))
            continue
        # The record comes first: a table whose record was never written could be altered unnoticed.
        if found.sha256 is None and not record.exists():
            write_record(record, arrays)
        write_arrays(path, arrays)
        return path
    addresses = "; ".join(
        ", ".join(f"{file.name} from {file.url}" for file in source.files) for source in found.sources
    )
    raise DatasetError(
        f"{found.title} could not be downloaded: {'; '.join(failures)}. It is made from {addresses} "
        f"(described at {found.page}). Without these, put the table into {path}, with {describe_arrays(found)}."
    )


def _make_folder(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        writable = os.access(home, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise DatasetError(
            f"The folder {home} cannot be written to; choose another with data_home or the variable STABLESELECT_DATA."
        )


def _downloader() -> Callable[[RemoteFile, Path], bytes]:
    """Return a function that downloads one file through a folder and returns its bytes."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError('downloading datasets needs pooch: pip install "stableselect[data]"') from error

    def download(file: RemoteFile, folder: Path) -> bytes:
        target = folder / "download"
        get = pooch.HTTPDownloader(chunk_size=2**16, timeout=_TIMEOUT)
        try:
            with open(target, "wb") as stream:
                get(file.url, _Capped(stream, file), None)
        except OSError as error:
            raise DatasetError(f"{file.name} did not arrive from {file.url} ({error})") from error
        if file.known_hash is not None:
            kind, _, wanted = file.known_hash.partition(":")
            came = pooch.file_hash(str(target), alg=kind)
            if came != wanted:
                raise DatasetError(f"{file.name} from {file.url} has the {kind} {came}; {wanted} was expected")
        return target.read_bytes()

    return download


class _Capped:
    """A stream that takes no more bytes than a file may have."""

    def __init__(self, stream: BinaryIO, file: RemoteFile) -> None:
        self._stream, self._file, self._left = stream, file, file.max_bytes

    def write(self, chunk: bytes) -> None:
        self._left -= len(chunk)
        if self._left < 0:
            raise DatasetError(f"{self._file.name} from {self._file.url} has more than {self._file.max_bytes} bytes")
        self._stream.write(chunk)

    def flush(self) -> None:
        self._stream.flush()

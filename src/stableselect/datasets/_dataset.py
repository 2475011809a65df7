"""A benchmark table in memory, and how it is loaded from its stored file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._fetch import fetch
from ._own import own_names
from ._registry import DatasetInfo, info, registry
from ._splits import PROTOCOLS, Kind, Protocol, Scale, Split, check_choice, cut, split_rows
from ._storage import read_verified, resolve_home


@dataclass(frozen=True, eq=False)
class Dataset:
    """A benchmark table; :func:`dataclasses.replace` gives one with another protocol.

    Attributes
    ----------
    raw : ndarray of shape (n, m)
        The table as stored.
    X : ndarray of shape (n, m)
        The table under the protocol: as stored for "corrected" and "raw", scaled on all rows for "paper".
    y : ndarray of int, shape (n,)
        The labels, from 0.
    info : DatasetInfo
        What is known of the table.
    feature_names : ndarray of str or None
        Names of the columns.
    groups : ndarray or None
        Which rows belong together: the mouse, for Mice Protein.
    protocol : {"corrected", "paper", "raw"}
        How :attr:`X` and, unless told otherwise, :meth:`split` scale.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect.datasets import Dataset, info
    >>> table = np.array([[0, 1], [51, 1], [255, 1]], dtype=np.uint8)
    >>> Dataset(table, np.array([0, 1, 1]), info("coil20"), protocol="paper").X[1].round(3).tolist()
    [0.2, 0.004]
    """

    raw: np.ndarray
    y: np.ndarray
    info: DatasetInfo
    feature_names: np.ndarray | None = None
    groups: np.ndarray | None = None
    protocol: Protocol = "corrected"

    def __post_init__(self) -> None:
        check_choice(self.protocol, PROTOCOLS, "protocol")

    @cached_property
    def X(self) -> np.ndarray:
        """The table under the protocol."""
        return Scale.published(self.raw, self.info).apply(self.raw) if self.protocol == "paper" else self.raw

    @property
    def splits(self) -> tuple[Kind, ...]:
        """The kinds of split this table has."""
        return ("published", "random") if self.groups is None else ("published", "random", "group")

    def split(
        self,
        kind: Kind = "published",
        *,
        seed: int = 0,
        protocol: Protocol | None = None,
        valid_size: float | None = None,
    ) -> Split:
        """Cut the table into training, validation and test rows, and scale them.

        Parameters
        ----------
        kind : {"published", "random", "group"}, default="published"
            "published" is the split of the published experiments: 80/20, then 90/10 of the training part, both at
            random with seed 0; ISOLET takes its last group of speakers for testing; Fashion-MNIST trains on the first
            5,400 training images, validates on the next 600 and tests on 4,000 test images. "random" keeps a fifth of
            the rows for testing (Fashion-MNIST: 6,000 training and 4,000 test images out of all). "group" does so with
            whole groups.
        seed : int, default=0
            Of "random" and "group".
        protocol : {"corrected", "paper", "raw"} or None, default=None
            "corrected" imputes column means and scales columns to [0, 1], both learnt from the training rows alone, for
            every table; test values may leave [0, 1], and a column that is constant in the training rows becomes 0.
            "paper" is the published scaling, learnt from all rows before splitting. "raw" does
            nothing. None takes the protocol of the dataset.
        valid_size : float or None, default=None
            Share of the training rows (or groups) held out for validation by "random" and "group"; None for none.

        Returns
        -------
        Split

        Notes
        -----
        USPS is stored in another row order than the published experiments had, and ISOLET in another order inside its
        groups: there the published rule gives other rows than theirs (for ISOLET, other validation rows only).

        Examples
        --------
        >>> import numpy as np
        >>> from stableselect.datasets import Dataset, info
        >>> mice = np.repeat(["309", "311", "320", "321", "322"], 2)
        >>> dataset = Dataset(np.eye(10), np.arange(10), info("mice_protein"), groups=mice)
        >>> split = dataset.split("group", seed=3)
        >>> sorted(set(mice[split.train]) & set(mice[split.test]))
        []
        """
        protocol = self.protocol if protocol is None else protocol
        check_choice(protocol, PROTOCOLS, "protocol")
        rows = split_rows(self.info, len(self.y), self.groups, kind, seed, valid_size)
        return cut(self.raw, self.y, self.info, rows, protocol)


def load(
    name: str,
    *,
    protocol: Protocol = "corrected",
    data_home: str | os.PathLike[str] | None = None,
    download: bool = False,
) -> Dataset:
    """Load a benchmark table from ``<data_home>/<name>.npz``.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    protocol : {"corrected", "paper", "raw"}, default="corrected"
        "corrected" leaves the table as stored, missing values included, since scaling is learnt from training rows: see
        :meth:`Dataset.split`. "paper" scales all rows as published: mean imputation and [0, 1] by column, or division
        by 255, or nothing (USPS, SMK_CAN_187). "raw" leaves the table as stored, in splits too.
    data_home : path or None, default=None
        Folder of the tables; None for ``$STABLESELECT_DATA``, else a folder in the user's cache.
    download : bool, default=False
        Whether to :func:`fetch` a table that is not there.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        When the file is not there.
    DatasetError
        When the file does not hold the registered table.

    Notes
    -----
    Files are read without pickles and their arrays compared with the registered digests, see :func:`verify`. A file
    made by hand needs X, y and, for Mice Protein, mouse_id; arrays that the registry does not know are left out.

    References
    ----------
    Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm, NeurIPS.

    Examples
    --------
    >>> from stableselect import datasets
    >>> dataset = datasets.load("coil20", download=True)  # doctest: +SKIP
    >>> dataset.split().X_train.shape  # doctest: +SKIP
    (1036, 400)
    """
    if name not in registry:
        own_names(data_home)
    found = info(name)
    check_choice(protocol, PROTOCOLS, "protocol")
    path = resolve_home(data_home) / f"{name}.npz"
    if download and not path.is_file():
        fetch(name, data_home)
    arrays = read_verified(found, path)
    groups = arrays.get("mouse_id", arrays.get("groups"))
    return Dataset(arrays["X"], arrays["y"], found, arrays.get("feature_names"), groups, protocol=protocol)


def verify(name: str, data_home: str | os.PathLike[str] | None = None) -> None:
    """Check a stored table against the registry.

    Shape, labels and class counts have to agree, and so has the SHA-256 of each array's type, shape and values; arrays
    of another type count as their conversion to the registered one. For Activity and SMK_CAN_187 the values have to be
    finite, and the digests are those noted at the first download, if there was one.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : path or None, default=None
        Folder of the tables, as in :func:`load`.

    Raises
    ------
    FileNotFoundError
        When the file is not there.
    DatasetError
        When it does not hold the registered table; the message says what differs.

    Examples
    --------
    >>> from stableselect import datasets
    >>> datasets.verify("arcene")  # doctest: +SKIP
    """
    read_verified(info(name), resolve_home(data_home) / f"{name}.npz")

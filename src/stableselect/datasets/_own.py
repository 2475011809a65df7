"""Tables of one's own beside the ten: stored in the data folder, with a file that says what is known of them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._files import replace_file
from ._registry import DatasetError, DatasetInfo, FrozenMapping, own, registry
from ._storage import LABEL_DTYPE, digest, resolve_home, write_arrays

_ENDING = ".dataset.json"
_COUNTS = ("n_rows", "n_columns", "n_classes", "k", "batch_size")
_KEPT = {"title": str, **dict.fromkeys(_COUNTS, int), "sha256": dict}
"""What the file holds, and of which kind; the rest is the same for all."""


def add(
    name: str,
    X: ArrayLike,
    y: ArrayLike,
    *,
    k: int,
    groups: ArrayLike | None = None,
    title: str | None = None,
    batch_size: int = 64,
    data_home: str | os.PathLike[str] | None = None,
) -> Path:
    """Store a table of your own, so that the paper's comparison can be run on it.

    It takes part in Tables 2 and 3 and the summary, under "corrected", where it is named:
    ``stableselect paper run table2 --dataset NAME``, or ``Request("table2", datasets=[NAME])``.

    Parameters
    ----------
    name : str
        Name of the dataset: lower-case letters, digits and ``_``.
    X : array-like of shape (n, m)
        The table; NaN where a value is missing.
    y : array-like of shape (n,)
        Class labels, at most 256 different ones.
    k : int
        Features to select.
    groups : array-like of shape (n,), optional
        Labels of samples that belong together: they are held out together.
    title : str, optional
        What the tables call it; the name by default.
    batch_size : int, default=64
        Of the published networks.
    data_home : path, optional
        Folder of the tables, as in :func:`load`.

    Returns
    -------
    pathlib.Path
        The stored file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_wine
    >>> from stableselect import datasets
    >>> folder = tempfile.mkdtemp()
    >>> path = datasets.add("wine", *load_wine(return_X_y=True), k=4, title="Wine", data_home=folder)
    >>> datasets.own_names(folder), datasets.load("wine", data_home=folder).raw.shape
    (['wine'], (178, 13))
    """
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in registry:
        raise ValueError(
            f"name must be of lower-case letters, digits and _ and not that of one of the ten tables but is {name!r}; "
            "choose another."
        )
    table, labels = np.asarray(X, dtype=np.float64), np.unique(np.asarray(y), return_inverse=True)[1]
    if table.ndim != 2 or labels.shape != table.shape[:1] or np.isinf(table).any():
        raise ValueError(
            f"X must be a table of finite numbers with a label in y for each sample but X has shape {table.shape} and "
            f"y {labels.shape}; align them."
        )
    if not 1 <= k < table.shape[1]:
        raise ValueError(f"k must be from 1 to less than the {table.shape[1]} features but is {k}; change it.")
    if labels.max(initial=0) > np.iinfo(LABEL_DTYPE).max:
        raise ValueError(f"y must hold at most 256 classes but holds {labels.max() + 1}; join some of them.")
    arrays = {"X": table, "y": labels.astype(LABEL_DTYPE)}
    if groups is not None:
        arrays["groups"] = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
        if arrays["groups"].shape != labels.shape:
            raise ValueError("groups must hold one label for each sample; align it with X.")
    found = _info(
        name,
        title=title or name,
        n_rows=len(table),
        n_columns=table.shape[1],
        n_classes=int(labels.max()) + 1,
        k=int(k),
        batch_size=int(batch_size),
        sha256={key: digest(array) for key, array in arrays.items()},
    )
    home = resolve_home(data_home)
    if name in own_names(home) and own[name].sha256 != found.sha256:
        raise ValueError(
            f"{home} has another table called {name!r}, of which there may be stored runs; choose another name."
        )
    home.mkdir(parents=True, exist_ok=True)
    write_arrays(home / f"{name}.npz", arrays)
    content = {key: getattr(found, key) for key in _KEPT} | {"sha256": dict(found.sha256 or {})}
    replace_file(home / f"{name}{_ENDING}", (json.dumps(content, indent=2) + "\n").encode())
    own_names(home)
    return home / f"{name}.npz"


def own_names(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names of the tables that :func:`add` has put into a folder; :func:`info` then knows them.

    Parameters
    ----------
    data_home : path, optional
        Folder of the tables, as in :func:`load`.

    Returns
    -------
    list of str
        In alphabetical order.
    """
    found = []
    for path in sorted(resolve_home(data_home).glob(f"*{_ENDING}")):
        name = path.name.removesuffix(_ENDING)
        if name in registry:
            continue
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            own[name] = _info(name, **{key: content[key] for key in _KEPT})
        except (ValueError, TypeError, KeyError) as error:
            raise DatasetError(f"{path} is damaged ({error}); add the table again with datasets.add.") from error
        found.append(name)
    return found


def _info(name: str, **known: Any) -> DatasetInfo:
    for field, kind in _KEPT.items():
        if not isinstance(known[field], kind):
            raise TypeError(f"{field} is {known[field]!r}")
    return DatasetInfo(
        name=name,
        dtype="float64",
        scaling="minmax",
        published_split="random",
        page="",
        licence="",
        note="added by datasets.add",
        sources=(),
        **known | {"sha256": FrozenMapping(known["sha256"])},
    )

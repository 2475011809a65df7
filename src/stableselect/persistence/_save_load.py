"""``save`` and ``load``: fitted selectors and selections made from tables as files."""

from __future__ import annotations

import os
from typing import Any

from .._files import PathLike, open_plain, printable, write_whole
from ..base import BaseSelector
from ._checks import ADVICE, Refusal
from ._selection import TableSelection
from ._selection_file import read_selection, to_json
from ._selector_file import check_selector, read_selector, write_selector


def save(made: BaseSelector | TableSelection, path: PathLike, *, overwrite: bool = False) -> None:
    """Write a fitted selector, or a selection made from a table, to one file that :func:`load` reads.

    A selector becomes a zip of JSON and plain arrays, without pickles. A parameter that is neither data nor a random
    generator, such as a function, is not stored: ``load`` asks for it. Callbacks and metadata requests are dropped.
    A selection becomes JSON. A file that is replaced keeps its permissions, and a link is followed.

    Parameters
    ----------
    made : BaseSelector or TableSelection
        What to write.
    path : str or path
        The file, by convention ``.sselect`` for a selector and ``.selection.json`` for a selection.
    overwrite : bool, default=False
        Whether to replace a file of that name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset, load, save
    >>> path = pathlib.Path(tempfile.mkdtemp(), "iris.sselect")
    >>> save(ColumnSubset(2).fit(load_iris().data), path)
    >>> load(path).selected_
    array([2, 0])
    """
    if not isinstance(made, TableSelection):
        check_selector(made)
    with write_whole(path, overwrite=overwrite) as (stream,):
        if isinstance(made, TableSelection):
            stream.write(to_json(made).encode())
        else:
            write_selector(made, stream)


def load(path: PathLike, /, **parameters: Any) -> BaseSelector | TableSelection:
    """Read what :func:`save` or ``stableselect select -o`` wrote.

    Nothing in the file is executed. Moments gathered from torch tensors come back on the CPU, and parameters that were
    a range, an index or a series as tuples and lists.

    Parameters
    ----------
    path : str or path
        The file of a selector or of a selection.
    **parameters
        The parameters of a selector that could not be stored, such as functions that build a network; only these, and
        all of them. What was a function has to be given as one.

    Returns
    -------
    BaseSelector or TableSelection
        The fitted selector, of the class that was saved, or the selection. Both have ``transform`` and
        ``reconstruct``.

    Raises
    ------
    ValueError
        If the file is damaged, of another program, or was written by a newer version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset, load, save
    >>> path = pathlib.Path(tempfile.mkdtemp(), "iris.sselect")
    >>> save(ColumnSubset(2).fit(load_iris().data), path)
    >>> load(path).reconstruct([[5.1, 1.4]]).round(1).tolist()
    [[5.1, 3.4, 1.4, 0.2]]
    """
    with open_plain(path) as stream:
        start = stream.read(4)
        stream.seek(0)
        try:
            if start == b"PK\x03\x04":
                return read_selector(stream, parameters)
            if not start.lstrip().startswith(b"{"):
                raise Refusal(f"is neither a selector nor a selection of stableselect; {ADVICE}")
            if parameters:
                raise Refusal(f"is a selection, which leaves no parameter open; leave {next(iter(parameters))} out.")
            return read_selection(stream.read())
        except Refusal as refusal:
            raise ValueError(f"{printable(os.fspath(path))} {refusal}") from None
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # a damaged file can fail anywhere
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(
                f"{printable(os.fspath(path))} is damaged: {printable(what):.200}; make the file again."
            ) from error

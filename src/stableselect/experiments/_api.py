"""Run and show experiments from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ._cell import Cell, Mode, Options, Protocol
from ._data import is_available
from ._measure import evaluate
from ._methods import find_method
from ._page import write_document, write_page
from ._registry import EXPERIMENTS, find_experiment
from ._results import Results
from ._run import Report, execute
from ._store import Store
from ._tables import Document

Folder = str | os.PathLike[str]


def list_experiments() -> dict[str, str]:
    """Return the experiments.

    Returns
    -------
    dict of str to str
        Name to title.

    Examples
    --------
    >>> from stableselect.experiments import list_experiments
    >>> list_experiments()["table2"]
    'Table 2: linear reconstruction error'
    """
    return {name: experiment.title for name, experiment in EXPERIMENTS.items()}


def run(
    name: str,
    *,
    results: Folder = "results",
    protocol: Literal["paper", "sound", "both"] = "both",
    fast: bool = False,
    jobs: int = 1,
    splits: int = 3,
    seeds: int = 2,
    with_faults: bool = False,
    retry: bool = False,
    data_home: Folder | None = None,
    report: Report | None = None,
    page: bool = True,
) -> Document:
    """Compute what an experiment lacks, write its files and the page of all results, and return what it shows.

    Stop it at any time: finished cells are kept, and the next call goes on with the others. Several calls may share
    one results folder, also at the same time.

    Parameters
    ----------
    name : str
        One of :func:`list_experiments`.
    results : path
        Folder for ``results.sqlite`` and the files made of it.
    protocol : {"paper", "sound", "both"}
        Published splits, scaling and settings; or sound ones.
    fast : bool
        Four small tables, one split, one seed, few steps: minutes instead of hours.
    jobs : int
        Processes.
    splits, seeds : int
        Splits under "sound", seeds of seeded methods. More of either adds cells to those that are there.
    with_faults : bool
        Add the published ranking of test rows, under "paper", to show where printed figures come from.
    retry : bool
        Compute failed cells again.
    data_home : path, optional
        Folder of the datasets, as in :func:`stableselect.datasets.load`.
    report : callable, optional
        Called with an outcome, the number of cells ended and the number of all, as each ends.
    page : bool
        Write the page of all results; it draws every experiment anew, so leave it out of all runs but the last.

    Returns
    -------
    Document
        With ``markdown()`` and ``csv()``.

    Examples
    --------
    >>> import tempfile
    >>> from stableselect.experiments import run
    >>> shown = run("table1", results=tempfile.mkdtemp())
    >>> print(shown.markdown().splitlines()[0])
    # Table 1: statistics of the datasets
    """
    experiment = find_experiment(name)
    options = Options(fast=fast, splits=_count(splits, "splits"), seeds=_count(seeds, "seeds"), with_faults=with_faults)
    home = None if data_home is None else os.fspath(data_home)
    cells = [cell for p in _protocols(protocol) for cell in experiment.cells(p, options)]
    execute(computable(cells, home), results, evaluate, jobs=jobs, retry=retry, data_home=home, report=report)
    return show(name, results=results, fast=fast, data_home=home, page=page)


def show(
    name: str,
    *,
    results: Folder = "results",
    fast: bool | None = None,
    data_home: Folder | None = None,
    page: bool = True,
) -> Document:
    """Write an experiment's files and the page anew from the results there are, without computing a cell.

    Parameters
    ----------
    name : str
        One of :func:`list_experiments`.
    results : path
        The results folder.
    fast : bool, optional
        Show the cells of fast runs; by default the others, where there are any.
    data_home : path, optional
        Folder of the datasets, to tell which are at hand and to draw images.
    page : bool
        Write the page of all results.

    Returns
    -------
    Document
    """
    experiment = find_experiment(name)
    mode: Mode | None = None if fast is None else "fast" if fast else "full"
    with Store(results, create=False) as store:
        found = Results(store.cells(), mode, None if data_home is None else Path(data_home))
    document = experiment.render(found)
    write_document(results, document)
    if page:
        write_page(results, _begun(found, document), found)
    return document


def computable(cells: Sequence[Cell], data_home: str | None) -> list[Cell]:
    """Return the cells whose dataset is at hand and whose selector this version has."""
    here = {name: is_available(name, data_home) for name in {cell.dataset for cell in cells}}
    return [cell for cell in cells if here[cell.dataset] and find_method(cell.method).available()]


def _begun(results: Results, document: Document) -> list[Document]:
    """Return the document of every experiment that has a finished cell, and the one that is there already."""
    done = {item.cell.key for item in results.everything() if item.status == "done"}
    options = Options(fast=results.mode == "fast", splits=1, seeds=1)
    shown = []
    for other, experiment in EXPERIMENTS.items():
        needed = [cell for protocol in _protocols("both") for cell in experiment.cells(protocol, options)]
        if other == document.name:
            shown.append(document)
        elif any(cell.key in done for cell in needed):
            shown.append(experiment.render(results))
    return shown


def _protocols(protocol: str) -> tuple[Protocol, ...]:
    known: dict[str, tuple[Protocol, ...]] = {"paper": ("paper",), "sound": ("sound",), "both": ("paper", "sound")}
    if protocol not in known:
        raise ValueError(f"protocol must be 'paper', 'sound' or 'both', got {protocol!r}.")
    return known[protocol]


def _count(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return value

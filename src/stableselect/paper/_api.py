"""Run and show experiments from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ..datasets import resolve_home
from ..experiments import FILE, Cell, Mode, Options, Protocol, Report, Status, Store, execute
from ._measure import evaluate
from ._registry import EXPERIMENTS, find_experiment
from .methods import FAULTY, Results, find_method, is_available
from .report import Document, Experiment, write_document, write_page

Folder = str | os.PathLike[str]


def list_experiments() -> dict[str, str]:
    """Return the experiments.

    Returns
    -------
    dict of str to str
        Name to title.

    Examples
    --------
    >>> from stableselect.paper import list_experiments
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
    methods: Sequence[str] | None = None,
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
        Folder for ``results.sqlite`` and the files made of it; those of fast runs go to ``fast`` inside it.
    protocol : {"paper", "sound", "both"}
        Published splits, scaling and settings; or sound ones.
    fast : bool
        Four small tables, one split, one seed, few steps: minutes instead of hours.
    jobs : int
        Processes.
    splits, seeds : int
        Splits under "sound", seeds of seeded methods. More of either adds cells to those that are there.
    methods : sequence of str, optional
        Compute the cells of these methods only, named as in the tables; all by default. What is shown does not change.
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

    Raises
    ------
    FileNotFoundError
        When cells are wanted, none of the datasets is at hand and there are no earlier results.

    Examples
    --------
    >>> import tempfile
    >>> from stableselect.paper import run
    >>> shown = run("table1", results=tempfile.mkdtemp())
    >>> print(shown.markdown().splitlines()[0])
    # Table 1: statistics of the datasets
    """
    batch = Batch(
        [name],
        results=results,
        protocol=protocol,
        fast=fast,
        jobs=jobs,
        splits=splits,
        seeds=seeds,
        methods=methods,
        with_faults=with_faults,
        retry=retry,
        data_home=data_home,
    )
    return batch.run(name, report=report, page=page)


class Batch:
    """Experiments that are run one after the other, with the cells they want between them.

    Parameters
    ----------
    names : sequence of str
        The experiments; the others are as in :func:`run`.

    Attributes
    ----------
    absent : list of str
        Datasets that are wanted, but not at hand.
    folder : pathlib.Path
        Where the files go; those of fast runs to a folder of their own, so that they never replace full ones.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        results: Folder,
        protocol: Literal["paper", "sound", "both"],
        fast: bool,
        jobs: int,
        splits: int,
        seeds: int,
        methods: Sequence[str] | None,
        with_faults: bool,
        retry: bool,
        data_home: Folder | None,
    ) -> None:
        experiments = {name: find_experiment(name) for name in names}
        options = Options(
            fast=fast, splits=_count(splits, "splits"), seeds=_count(seeds, "seeds"), with_faults=with_faults
        )
        self._jobs = _count(jobs, "jobs")
        self._results, self._fast, self._retry = results, fast, retry
        self._home = None if data_home is None else os.fspath(data_home)
        chosen = None if methods is None else {find_method(method).name for method in methods}
        self._cells = {
            name: [
                cell
                for p in _protocols(protocol)
                for cell in experiment.cells(p, options)
                if chosen is None or cell.method.removesuffix(FAULTY) in chosen
            ]
            for name, experiment in experiments.items()
        }
        self._failed: set[Cell] = set()
        self.folder = output_folder(results, options.mode)
        wanted = dict.fromkeys(cell.dataset for cells in self._cells.values() for cell in cells)
        self.absent = [name for name in wanted if not is_available(name, self._home)]
        if wanted and len(self.absent) == len(wanted) and not self._ended("done"):
            first = self.absent[0]
            raise FileNotFoundError(
                f"There is nothing to compute: no dataset of {', '.join(names)} is in {resolve_home(self._home)}; "
                f"expected a file like {first}.npz. Name the folder of the datasets with --data (data_home in Python) "
                f"or in the variable STABLESELECT_DATA, or get one with stableselect.datasets.fetch({first!r})."
            )

    def run(self, name: str, *, report: Report | None = None, page: bool = True) -> Document:
        """Compute what one of the experiments lacks, write its files and return what it shows."""
        # What failed under an earlier experiment of the batch has been tried again already.
        cells = [cell for cell in computable(self._cells[name], self._home) if cell not in self._failed]
        outcomes = execute(
            cells,
            self._results,
            evaluate,
            jobs=self._jobs,
            retry=self._retry,
            data_home=self._home,
            report=report,
        )
        self._failed.update(outcome.cell for outcome in outcomes if outcome.status == "failed")
        return show(name, results=self._results, fast=self._fast, data_home=self._home, page=page)

    @property
    def failed(self) -> int:
        """The number of cells that are wanted and have failed, now or earlier."""
        return self._ended("failed")

    def _ended(self, status: Status) -> int:
        if not (Path(self._results) / FILE).is_file():
            return 0
        keys = {cell.key for cells in self._cells.values() for cell in cells}
        with Store(self._results, create=False) as store:
            return sum(found == status for key, found in store.statuses().items() if key in keys)


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
    folder = output_folder(results, found.mode)
    write_document(folder, document)
    if page:
        write_page(folder, _begun(found, document), found)
    return document


def output_folder(results: Folder, mode: Mode) -> Path:
    """Return where files go: the results folder, and for fast runs one inside it."""
    return Path(results) / "fast" if mode == "fast" else Path(results)


def computable(cells: Sequence[Cell], data_home: str | None) -> list[Cell]:
    """Return the cells whose dataset is at hand and whose selector this version has."""
    here = {name: is_available(name, data_home) for name in {cell.dataset for cell in cells}}
    return [cell for cell in cells if here[cell.dataset] and find_method(cell.method).available()]


def _begun(results: Results, document: Document) -> list[Document]:
    """Return the document of every experiment that has a finished cell or needs none, and the one already there."""
    done = {item.cell.key for item in results.everything() if item.status == "done"}
    options = Options(fast=results.mode == "fast", splits=1, seeds=1)
    shown = []
    for other, experiment in EXPERIMENTS.items():
        needed = [cell for protocol in _protocols("both") for cell in experiment.cells(protocol, options)]
        if other == document.name:
            shown.append(document)
        elif any(cell.key in done for cell in needed) or not _ever(experiment):
            shown.append(experiment.render(results))
    return shown


def _ever(experiment: Experiment) -> bool:
    """Tell whether an experiment has cells at all; some have none in a fast run."""
    return any(experiment.cells(protocol, Options()) for protocol in _protocols("both"))


def _protocols(protocol: str) -> tuple[Protocol, ...]:
    known: dict[str, tuple[Protocol, ...]] = {"paper": ("paper",), "sound": ("sound",), "both": ("paper", "sound")}
    if protocol not in known:
        raise ValueError(f"protocol must be 'paper', 'sound' or 'both', got {protocol!r}.")
    return known[protocol]


def _count(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return value

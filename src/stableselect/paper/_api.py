"""Run and show experiments from Python."""

from __future__ import annotations

from pathlib import Path

from ..datasets import names, own_names, resolve_home
from ..experiments import Mode, Report, Run, Status, Store, execute, has_results
from ._files import write_document, write_index
from ._measure import evaluate
from ._registry import EXPERIMENTS, find_experiment
from ._renamed import renamed
from ._report import Document
from ._request import Folder, Request, output_folder
from ._revisions import current
from .methods import Results, find_method, is_available


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


def run(request: Request, *, report: Report | None = None) -> dict[str, Document]:
    """Compute what experiments lack, write their files, and return what they show.

    Stop it at any time: finished runs are kept, and the next call goes on with the others.

    Parameters
    ----------
    request : Request
        What to compute.
    report : callable, optional
        Called as each run ends, with what is stored of it (:class:`stableselect.experiments.Stored`), the number of
        runs ended and the number of all.

    Returns
    -------
    dict of str to Document
        By name, each with ``markdown()`` and ``csv()``.

    Raises
    ------
    FileNotFoundError
        If runs are wanted, none of the datasets is there and there are no earlier results.

    Examples
    --------
    >>> import tempfile
    >>> from stableselect.paper import Request, run
    >>> shown = run(Request("table1", results=tempfile.mkdtemp()))
    >>> print(shown["table1"].markdown().splitlines()[0])
    # Table 1: statistics of the datasets
    """
    batch = Batch(request)
    return {name: batch.run(name, report=report) for name in request.names}


class Batch:
    """The experiments of a request, run one after the other.

    Parameters
    ----------
    request : Request
        What to compute.

    Attributes
    ----------
    absent : list of str
        Datasets that are wanted, but whose files are missing.
    missing : list of str
        For each method that is asked for by name and needs a package that is not installed, what to install.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self._runs = request.runs()
        self._failed: set[Run] = set()
        self.missing = [text for name in request.methods or () if (text := find_method(name).missing())]
        wanted = dict.fromkeys(run.dataset for runs in self._runs.values() for run in runs)
        self.absent = [name for name in wanted if not is_available(name, request.home)]
        if wanted and len(self.absent) == len(wanted) and not self._ended("done"):
            raise FileNotFoundError(
                f"There is nothing to compute: no dataset of {', '.join(request.names)} is in "
                f"{resolve_home(request.home)}; expected a file like {self.absent[0]}.npz. {self.advice}"
            )

    @property
    def advice(self) -> str:
        """What to do about datasets that are missing, and what can be computed without them; empty where none is."""
        if not self.absent:
            return ""
        get = (
            "Name the folder of the datasets with --data (data_home in Python) or in the variable STABLESELECT_DATA, "
            f"or get one with stableselect.datasets.fetch({self.absent[0]!r})."
        )
        every = (*names(), *own_names(self.request.home))
        if here := [name for name in every if is_available(name, self.request.home)]:
            return f"What is there can be run: {' '.join(f'--dataset {name}' for name in here)}. {get}"
        free = [name for name in EXPERIMENTS if not any(Request(name).runs()[name])]
        return f"{get} Without data: stableselect paper run {' '.join(free)}, or paper show of results that are there."

    def run(self, name: str, *, report: Report | None = None) -> Document:
        """Compute what one of the experiments lacks, write its files and return what it shows."""
        request = self.request
        # What failed under an earlier experiment of the batch has been tried again already.
        here = [run for run in self._runs[name] if run.dataset not in self.absent and run not in self._failed]
        runs = [run for run in here if find_method(run.method).available()]
        ended = execute(
            runs,
            request.results,
            evaluate,
            jobs=request.jobs,
            retry=request.retry,
            data_home=request.home,
            report=report,
            rename=renamed,
            current=current,
        )
        self._failed.update(item.run for item in ended if item.status == "failed")
        results = read(request.results, fast=request.fast, data_home=request.home, empty=True)
        return _written(name, results, request.results)

    @property
    def failed(self) -> int:
        """The number of runs that are wanted and have failed, now or earlier."""
        return self._ended("failed")

    def _ended(self, status: Status) -> int:
        keys = {run.key for runs in self._runs.values() for run in runs}
        found = read(self.request.results, fast=self.request.fast, empty=True)
        return sum(item.status == status and item.run.key in keys for item in found.everything())


def read(results: Folder, *, fast: bool | None = None, data_home: Folder | None = None, empty: bool = False) -> Results:
    """Return the stored runs of a results folder.

    Parameters
    ----------
    results : path
        The results folder.
    fast : bool, optional
        The fast runs; by default the others, where there are any.
    data_home : path, optional
        Folder of the datasets, to tell which are there and to draw images.
    empty : bool
        Whether a folder without results is no error.

    Returns
    -------
    Results
    """
    mode: Mode | None = None if fast is None else "fast" if fast else "full"
    stored = [] if empty and not has_results(results) else Store(results, rename=renamed, current=current).runs()
    return Results(stored, mode, None if data_home is None else Path(data_home))


def show(
    name: str, *, results: Folder = "results", fast: bool | None = None, data_home: Folder | None = None
) -> Document:
    """Write an experiment's files anew from the stored runs, without computing one.

    Parameters
    ----------
    name : str
        One of :func:`list_experiments`.
    results, fast, data_home
        The results folder; the fast runs in it, by default only where there are no others; the folder of the datasets.

    Returns
    -------
    Document
    """
    find_experiment(name)
    return _written(name, read(results, fast=fast, data_home=data_home), results)


def build(*, results: Folder = "results", fast: bool | None = None, data_home: Folder | None = None) -> Path:
    """Write the files of every experiment that has a finished run, and a page that links them.

    Parameters
    ----------
    results, fast, data_home
        As in :func:`show`.

    Returns
    -------
    pathlib.Path
        The page.
    """
    found = read(results, fast=fast, data_home=data_home)
    done = {item.run.key for item in found.everything() if item.status == "done"}
    shown = []
    for name in EXPERIMENTS:
        needed = Request(name, fast=found.mode == "fast", splits=1, seeds=1).runs()[name]
        if any(run.key in done for run in needed) or not Request(name).runs()[name]:
            shown.append(_written(name, found, results))
    return write_index(output_folder(results, fast=found.mode == "fast"), shown, found)


def _written(name: str, results: Results, folder: Folder) -> Document:
    document = find_experiment(name).render(results)
    write_document(output_folder(folder, fast=results.mode == "fast"), document)
    return document

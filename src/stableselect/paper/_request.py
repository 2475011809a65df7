"""What to compute: one object for the command line, Python and the executor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..datasets import info, own_names
from ..experiments import Run
from ._registry import EXPERIMENTS, find_experiment
from .methods import FAULTY, PROTOCOLS, Options, find_method

Folder = str | os.PathLike[str]
ALL = "all"
"""In place of names: every experiment."""


@dataclass(frozen=True)
class Request(Options):
    """Which experiments to compute, and how much of them.

    Parameters
    ----------
    experiments : str or sequence of str
        Names as in :func:`stableselect.paper.list_experiments`; "all" for every one.
    results : path
        The results folder: stored runs in ``runs``, and the files made of them; those of fast runs are in ``fast``.
    protocol : {"paper", "corrected", "both"}
        Published splits, scaling and settings; or corrected ones.
    datasets, methods : sequence of str, optional
        Compute the runs of these only, named as in the tables; all by default, but for PivotedQR, VarianceScore,
        GatedLaplacian, KernelSubset and those of other packages ("fastcan", "linselect", "scipy ID"), which are added
        where they are named. So are a table of your own (:func:`stableselect.datasets.add`) and a method of your own:
        "package.module:Class", a subclass of :class:`~stableselect.BaseSelector`, or the name under which a package
        registers it. What is shown is all that has been run.
    splits, seeds : int
        Splits under "corrected", and seeds of a method that depends on one. More of either adds runs.
    fast : bool
        Four small tables, one split, one seed, few steps: minutes instead of hours.
    with_faults : bool
        Add the published ranking of test samples, under "paper", to show where printed figures come from.
    jobs : int
        Processes.
    retry : bool
        Compute failed runs again.
    data_home : path, optional
        Folder of the datasets, as in :func:`stableselect.datasets.load`.

    Raises
    ------
    ValueError
        If a name is unknown or a number is not a count.

    Examples
    --------
    >>> from stableselect.paper import Request
    >>> len(Request("table2", fast=True, datasets=["glioma"], methods=["LS"]).runs()["table2"])
    2
    """

    experiments: str | Sequence[str]
    results: Folder = "results"
    protocol: Literal["paper", "corrected", "both"] = "both"
    jobs: int = 1
    retry: bool = False
    data_home: Folder | None = None

    def __post_init__(self) -> None:
        for name in self.names:
            find_experiment(name)
        for method in self.methods or ():
            found = find_method(method)
            if found.kind == "own" and (text := found.missing()):
                raise ValueError(text)
        own_names(self.home)
        for dataset in self.datasets or ():
            info(dataset)
        if self.protocol not in (*PROTOCOLS, "both"):
            raise ValueError(f"protocol must be one of 'paper', 'corrected', 'both', got {self.protocol!r}.")
        for name in ("splits", "seeds", "jobs"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")

    @property
    def names(self) -> list[str]:
        """The experiments, each once."""
        given = [self.experiments] if isinstance(self.experiments, str) else list(self.experiments)
        return list(EXPERIMENTS) if ALL in given else list(dict.fromkeys(given))

    @property
    def home(self) -> str | None:
        """The folder of the datasets as text."""
        return None if self.data_home is None else os.fspath(self.data_home)

    @property
    def folder(self) -> Path:
        """Where the files go; those of fast runs to a folder of their own, so that they never replace full ones."""
        return output_folder(self.results, fast=self.fast)

    def runs(self) -> dict[str, list[Run]]:
        """Return the wanted runs of each experiment."""
        chosen = None if self.methods is None else {find_method(method).name for method in self.methods}
        return {
            name: [
                run
                for protocol in PROTOCOLS
                if self.protocol in (protocol, "both")
                for run in find_experiment(name).runs(protocol, self)
                if (chosen is None or run.method.removesuffix(FAULTY) in chosen)
                and (self.datasets is None or run.dataset in self.datasets)
            ]
            for name in self.names
        }


def output_folder(results: Folder, *, fast: bool) -> Path:
    """Return where files go: the results folder, and for fast runs one inside it."""
    return Path(results) / "fast" if fast else Path(results)

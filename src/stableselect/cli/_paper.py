"""The commands ``paper list``, ``run``, ``show``, ``build`` and ``readme``: the experiments of the paper."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Literal

import typer

from .._files import complain
from .._files import printable as shown
from . import _completion
from . import _options as options
from ._shell import console, counted, reported

paper = typer.Typer(
    name="paper",
    help="Run the experiments of the paper and show their tables and figures.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="An experiment; see 'stableselect paper list'.", autocompletion=_completion.experiment
    ),
]
Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="Experiments; all for every one.", autocompletion=_completion.experiments),
]
Results = Annotated[Path, options.value("DIR", "Folder of runs and output; fast output goes to DIR/fast.")]
Protocol = Annotated[
    Literal["paper", "corrected", "both"],
    options.value("HOW", "paper (as published, faults left out), corrected or both."),
]
Fast = Annotated[bool, options.flag("Four small tables, one split, one seed, few steps.", "--fast")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes, each on one thread.")]
Splits = Annotated[int, typer.Option("--splits", min=1, help="Splits under corrected.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, help="Seeds of methods that depend on one.")]
WithFaults = Annotated[bool, options.flag("Add the published ranking of test rows, under paper.", "--with-faults")]
Dataset = Annotated[
    list[str] | None,
    options.value(
        "NAME", "Compute this dataset only; repeatable.", "--dataset", "-d", autocompletion=_completion.dataset
    ),
]
Method = Annotated[
    list[str] | None,
    options.value("NAME", "Compute this method only, named as in the tables; repeatable.", "--method", "-m"),
]
Retry = Annotated[bool, options.flag("Compute failed runs again.", "--retry")]
Data = Annotated[Path | None, options.value("DIR", "Folder of the datasets.")]

_RESULTS = Path("results")


@paper.command("list")
def list_(debug: options.Debug = False) -> None:
    """Print the experiments."""
    with reported(debug):
        from ..paper import list_experiments

        for name, title in list_experiments().items():
            print(f"{name:<14}{title}")


@paper.command()
def run(
    names: Names,
    results: Results = _RESULTS,
    protocol: Protocol = "both",
    dataset: Dataset = None,
    method: Method = None,
    splits: Splits = 5,
    seeds: Seeds = 2,
    fast: Fast = False,
    with_faults: WithFaults = False,
    jobs: Jobs = 1,
    retry: Retry = False,
    data: Data = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Compute experiments and write their tables and figures; what they share is computed once.

    Stop it at any time and give the same command again: it goes on where it was.
    Failed runs are left alone without --retry; while there are any, the exit code is 1.
    """
    given = locals()
    with reported(debug):
        from ..paper import NO_PICTURES, Batch, Request, can_draw
        from ._progress import progress

        known = {field.name: given[field.name] for field in fields(Request) if field.name in given}
        request = Request(names, **known, datasets=dataset or None, methods=method or None, data_home=data)
        report = console(quiet=quiet)
        batch = Batch(request)
        if batch.absent:
            report.print(f"Datasets that are missing, and left out: {', '.join(batch.absent)}.", soft_wrap=True)
            report.print(batch.advice, soft_wrap=True)
        for text in batch.missing:
            report.print(text, soft_wrap=True)
        if not can_draw():
            report.print(NO_PICTURES, soft_wrap=True)
        folder = shown(str(request.folder))
        for name in request.names:
            with progress(quiet=quiet) as tell:
                batch.run(name, report=tell)
            report.print(f"{name}: wrote {folder}/{name}.md.", soft_wrap=True)
        if failed := batch.failed:
            told = counted(failed, "run")
            complain(f"{told} failed; 'stableselect paper build' lists why, --retry tries again.")
            raise typer.Exit(1)


@paper.command()
def show(
    name: Name, results: Results = _RESULTS, fast: Fast = False, data: Data = None, debug: options.Debug = False
) -> None:
    """Print an experiment from the stored runs, and write its files anew."""
    with reported(debug):
        from ..paper import show as show_experiment

        document = show_experiment(name, results=results, fast=fast or None, data_home=data)
        print(document.markdown(), end="")


@paper.command()
def build(
    results: Results = _RESULTS,
    fast: Fast = False,
    data: Data = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write the files of every experiment from the stored runs, and a page that links them."""
    with reported(debug):
        from ..paper import build as build_pages

        page = build_pages(results=results, fast=fast or None, data_home=data)
        console(quiet=quiet).print(f"Wrote {shown(str(page))} and the pages it links.", soft_wrap=True)


@paper.command()
def readme(
    results: Results = Path("docs/results"),
    write: Annotated[bool, options.flag("Put the table into the file.", "--write")] = False,
    file: Annotated[Path, options.value("FILE", "The README file.")] = Path("README.md"),
    debug: options.Debug = False,
) -> None:
    """Print the results table of the README from the stored runs, or put it between its marks with --write."""
    with reported(debug):
        from ..paper import read, readme_table, write_readme

        found = read(results, fast=False)
        if write:
            write_readme(file, found)
        else:
            print(readme_table(found))

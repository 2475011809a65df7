"""The commands ``paper list``, ``run``, ``show`` and ``all``: the experiments of the paper."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from .._files import printable as shown
from ._shell import Debug, Quiet, console, reported

paper = typer.Typer(
    name="paper",
    help="Run the experiments of the paper and show their tables and figures.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="An experiment; see 'stableselect paper list'.")]
Results = Annotated[
    Path,
    typer.Option(
        "--results", metavar="DIR", help="Folder of results.sqlite and the output; fast output goes to DIR/fast."
    ),
]
Protocol = Annotated[
    Literal["paper", "sound", "both"],
    typer.Option("--protocol", metavar="HOW", help="paper (as published, faults left out), sound or both."),
]
Fast = Annotated[bool, typer.Option("--fast", metavar="", help="Four small tables, one split, one seed, few steps.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes, each on one thread.")]
Splits = Annotated[int, typer.Option("--splits", min=1, help="Splits under sound.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, help="Seeds of methods that depend on one.")]
WithFaults = Annotated[
    bool, typer.Option("--with-faults", metavar="", help="Add the published ranking of test rows, under paper.")
]
Method = Annotated[
    list[str] | None,
    typer.Option(
        "--method", "-m", metavar="NAME", help="Compute this method only, named as in the tables; repeatable."
    ),
]
Retry = Annotated[bool, typer.Option("--retry", metavar="", help="Compute failed cells again.")]
Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder of the datasets.")]

_RESULTS = Path("results")


@paper.command("list")
def list_(debug: Debug = False) -> None:
    """Print the experiments."""
    with reported(debug):
        from ..paper import list_experiments

        for name, title in list_experiments().items():
            print(f"{name:<14}{title}")


@paper.command()
def run(
    name: Name,
    results: Results = _RESULTS,
    protocol: Protocol = "both",
    fast: Fast = False,
    jobs: Jobs = 1,
    splits: Splits = 3,
    seeds: Seeds = 2,
    method: Method = None,
    with_faults: WithFaults = False,
    retry: Retry = False,
    data: Data = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run one experiment.

    Stop it at any time and say the same again: it goes on where it was.
    Failed cells are left alone unless --retry is said; while there are any, the exit code is 1.
    """
    with reported(debug):
        _run([name], results, protocol, fast, jobs, splits, seeds, method, with_faults, retry, data, quiet)


@paper.command("all")
def all_(
    results: Results = _RESULTS,
    protocol: Protocol = "both",
    fast: Fast = False,
    jobs: Jobs = 1,
    splits: Splits = 3,
    seeds: Seeds = 2,
    method: Method = None,
    with_faults: WithFaults = False,
    retry: Retry = False,
    data: Data = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run every experiment, one after the other; what they share is computed once."""
    with reported(debug):
        from ..paper import list_experiments

        names = list(list_experiments())
        _run(names, results, protocol, fast, jobs, splits, seeds, method, with_faults, retry, data, quiet)


@paper.command()
def show(name: Name, results: Results = _RESULTS, fast: Fast = False, data: Data = None, debug: Debug = False) -> None:
    """Print an experiment from the results there are, and write its files anew."""
    with reported(debug):
        from ..paper import show as show_experiment

        document = show_experiment(name, results=results, fast=fast or None, data_home=data)
        print(document.markdown(), end="")


def _run(
    names: list[str],
    results: Path,
    protocol: Literal["paper", "sound", "both"],
    fast: bool,
    jobs: int,
    splits: int,
    seeds: int,
    method: list[str] | None,
    with_faults: bool,
    retry: bool,
    data: Path | None,
    quiet: bool,
) -> None:
    from ..paper import Batch
    from ..paper.report import NO_PICTURES, can_draw
    from ._progress import progress

    report = console(quiet=quiet)
    batch = Batch(
        names,
        results=results,
        protocol=protocol,
        fast=fast,
        jobs=jobs,
        splits=splits,
        seeds=seeds,
        methods=method or None,
        with_faults=with_faults,
        retry=retry,
        data_home=data,
    )
    if batch.absent:
        report.print(f"Not at hand, and left out: {', '.join(batch.absent)}.", soft_wrap=True)
    if not can_draw():
        report.print(NO_PICTURES, soft_wrap=True)
    folder = shown(str(batch.folder))
    page = f" and {folder}/index.html"
    for name in names:
        last = name == names[-1]
        with progress(quiet=quiet) as tell:
            batch.run(name, report=tell, page=last)
        report.print(f"{name}: wrote {folder}/{name}.md{page if last else ''}.", soft_wrap=True)
    if failed := batch.failed:
        count = "1 cell" if failed == 1 else f"{failed} cells"
        print(f"stableselect: {count} failed; {folder}/index.html says why, --retry tries again.", file=sys.stderr)
        raise typer.Exit(1)

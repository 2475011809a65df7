"""The command ``frontier``: what stability costs in error."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..io import TableError, check_outputs, read_table, replacing, shown, split_names, write_stream
from ..subset import ABOUT, StabilityFrontier
from ..workflow import FRONTIER_STAGES, TableFrontier, measure_frontier
from ._options import (
    DropColumns,
    Exclude,
    IdColumn,
    Include,
    Keep,
    MaxErrorIncrease,
    Method,
    MinExplainedVariance,
    MinStability,
    Ridge,
    ScaleHow,
    TableToRead,
    parse_k,
    parse_ridge,
    parse_target,
)
from ._report import frontier_table, frontier_words
from ._shell import Debug, Force, NoHeader, Quiet, console, program, progress_bar, reported

_PICTURES = (".png", ".svg", ".pdf")


def frontier(
    table: TableToRead,
    k: Keep = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="Picture to write: .png, .svg or .pdf.")
    ] = None,
    method: Method = "ColumnSubset",
    include: Include = None,
    exclude: Exclude = None,
    drop_columns: DropColumns = None,
    id_column: IdColumn = None,
    scale: ScaleHow = "standard",
    ridge: Ridge = None,
    min_explained_variance: MinExplainedVariance = None,
    max_error_increase: MaxErrorIncrease = None,
    min_stability: MinStability = None,
    no_header: NoHeader = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what stability costs: many ways to choose K columns of TABLE.

    Each is measured by its error on held-out rows and by how far it gives the
    same columns when other rows are held out. Prints those that no other beats
    in both, and the one that 'select --criterion stability' takes.

    With -o OUT the picture is written there. A second file, named after OUT
    and ending in .frontier.csv, holds the figures of all ways tried.
    """
    with reported(debug):
        targets = [] if output is None else [output, output.with_suffix(".frontier.csv")]
        if output is not None:
            _check_picture(output)
        check_outputs(targets, [table], force=force)
        wanted = parse_k(k)
        with progress_bar(len(FRONTIER_STAGES) + 1, quiet=quiet) as begin:
            begin("Reading the table")
            data = read_table(table, header=not no_header, verbatim=id_column or [])
            found = measure_frontier(
                data,
                wanted,
                method=method,
                include=include or [],
                exclude=exclude or [],
                drop_columns=split_names(drop_columns or [], data.columns),
                id_columns=id_column or [],
                scale=scale,  # type: ignore[arg-type]
                ridge=parse_ridge(ridge),
                min_explained_variance=parse_target(min_explained_variance, wanted),
                max_error_increase=max_error_increase,
                min_stability=min_stability,
                progress=begin,
            )
            wrote = _write(found, targets) if targets else ""
        options = {
            "-k": k,
            "--method": None if method == "ColumnSubset" else method,
            "--include": include,
            "--exclude": exclude,
            "--drop-columns": drop_columns,
            "--id-column": id_column,
            "--scale": None if scale == "standard" else scale,
            "--ridge": ridge,
            "--min-explained-variance": min_explained_variance,
            "--no-header": no_header,
            "--criterion": "stability" if min_stability is None else None,
            "--max-error-increase": max_error_increase,
            "--min-stability": min_stability,
        }
        _report(found, _as_typed(["select", table], options), wrote, quiet)


def _check_picture(path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix not in _PICTURES:
        came = f"the extension {shown(suffix)}" if suffix else "no extension"
        raise TableError(f"{shown(str(path))} has {came}; a picture is one of {', '.join(_PICTURES)}.")


def _write(found: TableFrontier, targets: list[Path]) -> str:
    """Write the picture and the figures, or without matplotlib the figures alone, and say so."""
    picture, figures = targets
    try:
        from ..plot import stability_frontier
    except ImportError as error:
        missing, targets = f"No picture: {error}. ", [figures]
    else:
        missing = ""
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(8.4, 4.8), layout="constrained")
        stability_frontier(found.frontier, ax=drawn.subplots())
        of = f"{found.n_features_to_select} of {found.n_features} columns"
        title = f"{shown(found.source)}: {of}, {found.method}"
        drawn.suptitle(title, x=0.01, horizontalalignment="left", fontsize=11, parse_math=False)
    with replacing(*targets) as temporary:
        with open(temporary[-1], "xb") as stream:
            write_stream(found.as_table(), stream, ".csv")
        if not missing:
            drawn.savefig(temporary[0], format=picture.suffix[1:].lower(), dpi=150)
    return f"{missing}Wrote {' and '.join(shown(str(path)) for path in targets)}."


def _as_typed(words: list[str], options: dict[str, str | list[str] | float | bool | None]) -> str:
    """Return a command as a shell takes it, without options that are not set."""
    words = [*words]
    for option, value in options.items():
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            for entry in value if isinstance(value, list) else [value]:
                words += [option, str(entry)]
    return f"{program()} {shlex.join(words)}"


def _report(found: TableFrontier, command: str, wrote: str, quiet: bool) -> None:
    report = console(quiet=quiet)
    frontier = found.frontier
    of = f"{found.n_features_to_select} of {found.n_features} columns of {shown(found.source)} ({found.rows} rows)"
    report.print(f"{found.method}, {of}: {frontier.error.size} settings tried.")
    report.print("Those that no other beats in both error and stability, and the one taken:\n")
    report.print(frontier_table(frontier))
    percent = f"{100 * frontier.max_error_increase:g}%"
    further = f" Settings far above {percent} are not followed up; a larger --max-error-increase looks further."
    report.print(
        f"\n> is taken: {_why(frontier)}. Its stability is an estimate from a few sets: on new rows it can well be 0.1 "
        f"more or less.{further if frontier.target is None else ''}"
    )
    report.print()
    report.print(frontier_words(found.scaling))
    for note in found.notes:
        report.print(f"Note: {shown(note)}")
    report.print("\nTo choose columns like this:\n")
    report.print(f"  {shown(command)}", soft_wrap=True)
    report.print(f"\n{wrote or 'Say -o frontier.png to draw all settings.'}")


def _why(frontier: StabilityFrontier) -> str:
    if frontier.target is None:
        return (
            f"a compromise between the settings within {100 * frontier.max_error_increase:g}% of the least error that "
            f"are about as stable as the best of them (by {ABOUT:g})"
        )
    if frontier.reached:
        return f"the least error at a stability of {frontier.target:g} or more"
    return f"the most stable, since none reaches {frontier.target:g}"

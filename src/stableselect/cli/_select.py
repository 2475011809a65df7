"""The command ``select``: choose columns of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..io import (
    Selection,
    Table,
    check_outputs,
    check_writable,
    read_table,
    replacing,
    shown,
    split_names,
    table_format,
    to_json,
    write_stream,
)
from ..workflow import SELECT_STAGES, select_table
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
from ._report import errors_table, explanation_tables, path_line, selected_table, stability_lines
from ._shell import Debug, Force, NoHeader, Output, Quiet, console, progress_bar, reported


def select(
    table: TableToRead,
    k: Keep = None,
    output: Output = None,
    method: Method = "ColumnSubset",
    include: Include = None,
    exclude: Exclude = None,
    drop_columns: DropColumns = None,
    id_column: IdColumn = None,
    scale: ScaleHow = "standard",
    ridge: Ridge = None,
    min_explained_variance: MinExplainedVariance = None,
    criterion: Annotated[
        Literal["stability"] | None,
        typer.Option(metavar="WHAT", help="stability: search so that other rows would give the same columns."),
    ] = None,
    max_error_increase: MaxErrorIncrease = None,
    min_stability: MinStability = None,
    seed: Annotated[int, typer.Option(help="Seed of held-out rows and of random methods.")] = 0,
    explain: Annotated[
        bool, typer.Option("--explain", metavar="", help="Say which kept columns stand for which others.")
    ] = False,
    no_header: NoHeader = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Choose the K columns of TABLE that best stand for all of them.

    Without -o the chosen columns are printed, best first.

    With -o OUT the kept columns are written there as they are, unscaled.
    A second file, named after OUT and ending in .selection.json, holds the
    selection: columns, errors, settings and the map that rebuilds the rest.
    """
    with reported(debug):
        targets = [] if output is None else [output, output.with_suffix(".selection.json")]
        suffix = "" if output is None else table_format(output)
        check_outputs(targets, [table], force=force)
        ids = id_column or []
        wanted, weight = parse_k(k), parse_ridge(ridge)
        target = parse_target(min_explained_variance, wanted)
        with progress_bar(len(SELECT_STAGES) + 1, quiet=quiet) as begin:
            begin("Reading the table")
            data = read_table(table, header=not no_header, verbatim=ids)
            if output is not None:
                check_writable(data.data.select([name for name in ids if name in data.columns]), suffix)
            selection = select_table(
                data,
                wanted,
                method=method,
                include=include or [],
                exclude=exclude or [],
                drop_columns=split_names(drop_columns or [], data.columns),
                id_columns=ids,
                scale=scale,  # type: ignore[arg-type]
                ridge=weight,
                min_explained_variance=target,
                criterion=criterion,
                max_error_increase=max_error_increase,
                min_stability=min_stability,
                seed=seed,
                explain=explain,
                progress=begin,
            )
            if output is not None:
                _write(selection, data, targets, suffix)
        if output is None:
            for column in selection.selected:
                print(shown(column.name))
        _report(selection, targets, quiet)


def _write(selection: Selection, data: Table, targets: list[Path], suffix: str) -> None:
    """Write the kept columns and the selection, both or neither."""
    with replacing(*targets) as (kept_file, selection_file):
        with open(kept_file, "xb") as stream:
            write_stream(selection.apply(data), stream, suffix)
        selection_file.write_text(to_json(selection), encoding="utf-8")


def _report(selection: Selection, targets: list[Path], quiet: bool) -> None:
    """Print the report; to standard error where standard output carries the chosen columns."""
    report = console(stderr=not targets, quiet=quiet)
    of = f"{len(selection.kept)} of {len(selection.features)} columns"
    report.print(f"{selection.method} kept {of} of {shown(selection.source)} ({selection.rows} rows).")
    if selection.path is not None:
        report.print(path_line(selection.path))
    if selection.stability is not None:
        report.print(stability_lines(selection.stability))
    if targets:
        report.print(selected_table(selection))
    if selection.errors is not None:
        report.print(errors_table(selection.errors, selection.scaling))
    if selection.explanation is not None:
        report.print(*explanation_tables(selection.explanation), sep="\n")
    for note in selection.notes:
        report.print(f"Note: {shown(note)}")
    if targets:
        report.print(f"Wrote {shown(str(targets[0]))} and {shown(str(targets[1]))}.")

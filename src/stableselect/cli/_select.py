"""The command ``select``: select columns of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._files import check_outputs, printable, write_whole
from ._options import (
    Criterion,
    DropColumns,
    Exclude,
    Force,
    IdColumn,
    Include,
    Keep,
    MaxErrorIncrease,
    Method,
    MinExplainedVariance,
    MinStability,
    NoHeader,
    Output,
    Ridge,
    Scale,
    Seed,
    TableToRead,
    make_request,
    parsed,
)
from ._shell import Debug, Quiet, console, counted, progress_bar, reported

if TYPE_CHECKING:
    from ..persistence import TableSelection


def select(
    table: TableToRead,
    k: Keep = None,
    output: Output = None,
    method: Method = "ColumnSubset",
    include: Include = None,
    exclude: Exclude = None,
    drop_columns: DropColumns = None,
    id_column: IdColumn = None,
    scale: Scale = "standard",
    ridge: Ridge = None,
    min_explained_variance: MinExplainedVariance = None,
    criterion: Criterion = None,
    max_error_increase: MaxErrorIncrease = None,
    min_stability: MinStability = None,
    seed: Seed = 0,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Explain discarded columns and name replacements for selected ones."),
    ] = False,
    no_header: NoHeader = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Select the K columns of TABLE from which all others can best be reconstructed.

    Without -o the selected columns are printed, best first.

    With -o OUT they are written there as they are, unscaled. A second file,
    named after OUT and ending in .selection.json, holds the selection: columns,
    errors, settings and the linear map that reconstructs the other columns.
    """
    fields = parsed(locals())
    with reported(debug, may_drop=True):
        from ..io import apply, check_writable, read_table, split_names, table_format, write_stream
        from ..persistence import to_json
        from ..workflow import SELECT_STAGES, select_table

        targets = [] if output is None else [output, output.with_suffix(".selection.json")]
        suffix = "" if output is None else table_format(output)
        check_outputs(targets, inputs=[table], overwrite=force)
        with progress_bar(len(SELECT_STAGES) + 1, quiet=quiet) as begin:
            begin("Reading the table")
            data = read_table(table, header=not no_header, verbatim=id_column or [])
            if output is not None:
                ids = split_names(id_column or [], data.columns)
                check_writable(data.data.select([name for name in ids if name in data.columns]), suffix)
            selection = select_table(data, make_request(fields, data.columns), progress=begin)
            if targets:
                with write_whole(*targets, overwrite=force) as (kept_file, selection_file):
                    write_stream(apply(selection, data), kept_file, suffix)
                    selection_file.write(to_json(selection).encode())
        if not targets:
            for column in selection.selected:
                print(printable(column.name))
        _report(selection, targets, quiet)


def _report(selection: TableSelection, targets: list[Path], quiet: bool) -> None:
    """Print the report; to standard error where standard output carries the selected columns."""
    from ._report import errors_table, explanation_tables, path_lines, selected_table, stability_lines

    report = console(stderr=not targets, quiet=quiet)
    of = f"{len(selection.selected_names)} of {counted(len(selection.features), 'column')}"
    ridge = "" if selection.ridge is None else f" Ridge weight: {selection.ridge:.3g}."
    report.print(
        f"{selection.method} selected {of} of {printable(selection.source)} ({counted(selection.rows, 'row')}).{ridge}"
    )
    if selection.path is not None:
        report.print(path_lines(selection.path))
    if selection.stability is not None:
        report.print(stability_lines(selection.stability))
    if targets:
        report.print(selected_table(selection, printable(targets[1].name)))
    if selection.errors is not None:
        report.print(errors_table(selection.errors, selection.scaling))
    if selection.explanation is not None:
        file = printable(targets[1].name) if targets else None
        report.print(*explanation_tables(selection.explanation, file), sep="\n")
    for note in selection.notes:
        report.print(f"Note: {printable(note)}")
    if targets:
        report.print(f"Wrote {printable(str(targets[0]))} and {printable(str(targets[1]))}.")

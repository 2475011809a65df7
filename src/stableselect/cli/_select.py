"""The command ``select``: choose columns of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..io import Selection, Table, read_table
from ..io._names import shown, split_names
from ..io._read import table_format
from ..io._select import STAGES, select_table
from ..io._selection_file import to_json
from ..io._write import check_outputs, check_writable, replacing, write_stream
from ._report import errors_table, explanation_tables, path_line, selected_table
from ._shell import Debug, Force, NoHeader, Output, Quiet, console, progress_bar, reported


def select(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Table to choose from; '-' reads CSV from stdin.")],
    k: Annotated[
        str | None,
        typer.Option("--keep", "-k", metavar="K", help="Columns to keep, a share such as 0.1, or auto; default half."),
    ] = None,
    output: Output = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="How to choose; see 'stableselect methods'.")
    ] = "ColumnSubset",
    include: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Keep this column; repeatable.")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Never keep this column, but rebuild it; repeatable.")
    ] = None,
    drop_columns: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Leave these out; repeatable, or with commas.")
    ] = None,
    id_column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Carry along, do not use; repeatable.")
    ] = None,
    scale: Annotated[
        str, typer.Option(metavar="HOW", help="none, minmax or standard; columns in different units need it.")
    ] = "standard",
    ridge: Annotated[
        str | None, typer.Option(metavar="WEIGHT", help="auto or a number; larger is more repeatable.")
    ] = None,
    target_explained: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="For -k auto: share of held-out variance to explain, 0.9, or elbow."),
    ] = None,
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
        wanted, weight = _parse_k(k), _parse_ridge(ridge)
        target = _parse_target(target_explained, wanted)
        with progress_bar(len(STAGES) + 1, quiet=quiet) as begin:
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
                target_explained=target,
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


def _parse_k(text: str | None) -> int | float | Literal["auto"] | None:
    """Return K as a whole number of columns or as a share; "auto" and None stand for themselves."""
    if text is None:
        return None
    if text == "auto":
        return "auto"
    try:
        wanted = float(text) if any(mark in text for mark in ".eE") else int(text)
    except ValueError:
        wanted = 0
    if isinstance(wanted, int) and wanted >= 1:
        return wanted
    if isinstance(wanted, float) and 0 < wanted <= 1:
        return wanted
    raise ValueError(f"-k must be a whole number from 1 up, a share above 0.0 and up to 1.0, or auto, not '{text}'.")


def _parse_target(text: str | None, wanted: int | float | str | None) -> float | str | None:
    if text is None:
        return None
    if wanted != "auto":
        raise ValueError("--target-explained goes with -k auto; say both or neither.")
    if text == "elbow":
        return text
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise ValueError(f"--target-explained must be a share above 0 and below 1, or elbow, not '{text}'.")
    return share


def _parse_ridge(text: str | None) -> float | str | None:
    if text is None or text == "auto":
        return text
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight < float("inf"):
        raise ValueError(f"--ridge must be 'auto' or a number of at least 0, not '{text}'.")
    return weight

"""The commands ``apply`` and ``reconstruct``: a selection used on another table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .._files import check_outputs, printable
from ._options import Force, NoHeader, Output, QuoteFormulas, Selection, check_quoting, files_of, for_spreadsheets
from ._shell import Debug, Quiet, console, counted, reported


def apply(
    selection: Selection,
    table: Annotated[
        list[str], typer.Argument(metavar="TABLE", help="Table, or its parts, to take the columns from; '-' for stdin.")
    ],
    output: Output = None,
    no_header: NoHeader = False,
    quote_formulas: QuoteFormulas = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Copy the selected columns of another TABLE.

    Its columns may be in any order; columns that are not selected are ignored.

    Without -o the result is printed as CSV.
    """
    with reported(debug):
        _use("apply", selection, table, output, not no_header, quote_formulas, force, quiet)


def reconstruct(
    selection: Selection,
    table: Annotated[
        list[str],
        typer.Argument(metavar="TABLE", help="Table, or its parts, with the selected columns; '-' for stdin."),
    ],
    output: Output = None,
    no_header: NoHeader = False,
    quote_formulas: QuoteFormulas = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Reconstruct all columns from the selected ones.

    Selected columns stay as they are; the others are estimated from them.

    Without -o the result is printed as CSV.
    """
    with reported(debug):
        _use("reconstruct", selection, table, output, not no_header, quote_formulas, force, quiet)


def _use(
    how: str,
    selection: Path,
    table: list[str],
    output: Path | None,
    header: bool,
    quote: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Read both files, use the selection on the table, and write the result to ``output`` or, as CSV, to stdout."""
    from ..io import apply, id_columns, needed, open_table, reconstruct, table_format, write_stream, write_table
    from ..persistence import load

    suffix = ".csv" if output is None else table_format(output)
    check_quoting(suffix, quote)
    if output is not None:
        check_outputs([output], inputs=[selection, *files_of(table)], overwrite=force)
    made = load(selection)
    ids = id_columns(made, header=header, selected_only=how == "reconstruct")
    data = needed(made, open_table(table, header=header, verbatim=ids))
    result = apply(made, data) if how == "apply" else reconstruct(made, data)
    result, notes = for_spreadsheets(result, suffix, quote)
    report = console(stderr=output is None, quiet=quiet)
    for note in notes:
        report.print(f"Note: {note}")
    if output is None:
        if sys.stdout is None:
            raise ValueError("Standard output is closed; give a file with -o.")
        write_stream(result, sys.stdout.buffer, ".csv")
        sys.stdout.buffer.flush()
        return
    write_table(result, output)
    size = f"{counted(result.num_rows, 'row')}, {counted(result.num_columns, 'column')}"
    report.print(f"Wrote {printable(str(output))} ({size}).")

"""The commands ``apply`` and ``reconstruct``: a selection used on another table."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from .._files import check_outputs, printable
from . import _options as options
from ._shell import Debug, Quiet, console, counted, reported


def apply(
    selection: options.Selection,
    table: Annotated[
        list[str], typer.Argument(metavar="TABLE", help="Table, or its parts, to take the columns from; '-' for stdin.")
    ],
    output: options.Output = None,
    no_header: options.NoHeader = False,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    na: options.Na = None,
    transpose: options.Transpose = False,
    id_column: options.NamingColumn = None,
    quote_formulas: options.QuoteFormulas = False,
    force: options.Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Copy the selected columns of another TABLE.

    Its columns may be in any order; columns that are not selected are ignored.

    Without -o the result is printed as CSV.
    """
    given = locals()
    with reported(debug):
        _use("apply", given)


def reconstruct(
    selection: options.Selection,
    table: Annotated[
        list[str],
        typer.Argument(metavar="TABLE", help="Table, or its parts, with the selected columns; '-' for stdin."),
    ],
    output: options.Output = None,
    no_header: options.NoHeader = False,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    na: options.Na = None,
    transpose: options.Transpose = False,
    id_column: options.NamingColumn = None,
    quote_formulas: options.QuoteFormulas = False,
    force: options.Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Reconstruct all columns from the selected ones.

    Selected columns stay as they are; the others are estimated from them.

    Without -o the result is printed as CSV.
    """
    given = locals()
    with reported(debug):
        _use("reconstruct", given)


def _use(how: str, given: dict[str, Any]) -> None:
    """Read both files, use the selection on the table, and write the result to a file or, as CSV, to stdout."""
    from ..io import (
        apply,
        id_columns,
        listed,
        needed,
        open_table,
        quoted,
        reconstruct,
        table_format,
        write_stream,
        write_table,
    )
    from ..persistence import load

    output, header = given["output"], not given["no_header"]
    suffix = ".csv" if output is None else table_format(output)
    options.check_quoting(suffix, given["quote_formulas"])
    if output is not None:
        inputs = [given["selection"], *options.files_of(given["table"])]
        check_outputs([output], inputs=inputs, overwrite=given["force"])
    made = load(given["selection"])
    ids = id_columns(made, header=header, selected_only=how == "reconstruct")
    ids = [given["id_column"]] if given["transpose"] and given["id_column"] else ids
    data = needed(made, open_table(given["table"], verbatim=ids, **options.reading(given)))
    result = apply(made, data) if how == "apply" else reconstruct(made, data)
    result, notes = options.for_spreadsheets(result, suffix, given["quote_formulas"])
    report = console(stderr=output is None, quiet=given["quiet"])
    if other := data.not_numbers([name for name in data.columns if name not in {*ids, *data.ids}]):
        told = ", ".join(f"{quoted(name)}: {held}" for name, held in list(other.items())[:2])
        notes = [f"Copied as they are, though not numbers: {listed(other)} ({told}).", *notes]
    for note in (*data.notes, *notes):
        report.print(f"Note: {options.with_option(note)}")
    if output is None:
        if sys.stdout is None:
            raise ValueError("Standard output is closed; give a file with -o.")
        write_stream(result, sys.stdout.buffer, ".csv")
        sys.stdout.buffer.flush()
        return
    write_table(result, output)
    size = f"{counted(result.num_rows, 'row')}, {counted(result.num_columns, 'column')}"
    report.print(f"Wrote {printable(str(output))} ({size}).")

"""The commands ``apply`` and ``reconstruct``: a selection used on another table."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from .._files import printable
from . import _options as options
from ._shell import console, counted, reported

Score = Annotated[
    str | None, options.value("NAME", "Add a column of this name: how unlike those selected on a row is; limit: 1.")
]
LiveRows = Annotated[
    bool, options.flag("Take rows from standard input as they come, and write each at once, as CSV.", "--live")
]


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
    score: Score = None,
    live: LiveRows = False,
    quote_formulas: options.QuoteFormulas = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Copy the selected columns of another TABLE.

    Its columns may be in any order; columns that are not selected are ignored.

    Rows that are unlike those selected on are told of.

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
    interval: Annotated[
        float | None,
        options.value(
            "LEVEL",
            "Add NAME_low and NAME_high, which hold each value with this probability, such as 0.9.",
            min=0.5,
            max=0.99,
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        options.value(
            "NAME=SD",
            "With --interval: noise that a selected column has now beyond that of the table selected on; or one "
            "number for all.",
        ),
    ] = None,
    score: Score = None,
    live: LiveRows = False,
    quote_formulas: options.QuoteFormulas = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Reconstruct all columns from the selected ones.

    Selected columns stay as they are; the others are estimated from them. Rows
    that are unlike those selected on are told of.

    Without -o the result is printed as CSV.
    """
    given = locals()
    with reported(debug):
        _use("reconstruct", given)


def _use(how: Literal["apply", "reconstruct"], given: dict[str, Any]) -> None:
    """Read both files, use the selection on the table, and write the result to a file or, as CSV, to stdout."""
    from .. import io
    from ..persistence import load

    output, header = given["output"], not given["no_header"]
    suffix = ".csv" if output is None else io.table_format(output)
    options.check_quoting(suffix, given["quote_formulas"])
    added = {"score": given["score"]}
    if how == "reconstruct":
        added |= {"interval": given["interval"], "noise": _noise(given["noise"], given["interval"])}
    if given["live"]:
        _live(how, given, added)
        return
    if output is not None:
        options.check_files([output], given, given["selection"])
    made = load(given["selection"])
    ids = io.id_columns(made, header=header, selected_only=how == "reconstruct")
    ids = [given["id_column"]] if given["transpose"] and given["id_column"] else ids
    data = io.needed(made, io.open_table(given["table"], verbatim=ids, **options.reading(given)))
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = getattr(io, how)(made, data, **added)
    result, notes = options.for_spreadsheets(result, suffix, given["quote_formulas"])
    report = console(stderr=output is None, quiet=given["quiet"])
    if other := data.not_numbers([name for name in data.columns if name not in {*ids, *data.ids}]):
        told = ", ".join(f"{io.quoted(name)}: {held}" for name, held in list(other.items())[:2])
        notes = [f"Copied as they are, though not numbers: {io.listed(other)} ({told}).", *notes]
    warned = [str(warning.message) for warning in caught]
    options.tell(report, (*data.notes, *warned, *_about(made, given["selection"], added.get("interval")), *notes))
    if output is None:
        if sys.stdout is None:
            raise ValueError("Standard output is closed; give a file with -o.")
        io.write_stream(result, sys.stdout.buffer, ".csv")
        sys.stdout.buffer.flush()
        return
    io.write_table(result, output)
    size = f"{counted(result.num_rows, 'row')}, {counted(result.num_columns, 'column')}"
    report.print(f"Wrote {printable(str(output))} ({size}).")


def _live(how: Literal["apply", "reconstruct"], given: dict[str, Any], added: dict[str, Any]) -> None:
    """Read a row from standard input, write a row to standard output, and so on."""
    from ..io import Live
    from ..persistence import load

    if given["table"] != ["-"] or given["output"] is not None or given["transpose"]:
        raise typer.BadParameter("is for rows from standard input ('-') to standard output.", param_hint="--live")
    if sys.stdin is None or sys.stdout is None:
        raise ValueError("Standard input or output is closed; leave out --live and give files.")
    style = options.reading(given)["style"]
    made = load(given["selection"])
    rows = Live(
        how,
        **added,
        separator=style.separator or ",",
        decimal=style.decimal or ".",
        na=style.na,
        header=not given["no_header"],
    )
    report = console(stderr=True, quiet=given["quiet"])

    options.tell(report, _about(made, given["selection"], added.get("interval")))
    lines = (line.decode(style.encoding or "utf-8", "replace") for line in sys.stdin.buffer)
    for line in rows.rows(made, lines, lambda sentence: options.tell(report, [sentence])):
        sys.stdout.buffer.write(line.encode())
        sys.stdout.buffer.flush()


def _about(made: Any, path: Path, interval: float | None) -> list[str]:
    """Return what there is to say of a selection that is used."""
    from ..persistence import TableSelection

    if isinstance(made, TableSelection) and made.calibration is None:
        return [
            f"{path.name} does not say what its rows were like (few rows, batches, or an earlier version), so rows "
            "unlike them are not told of; select again from the table, without batches, for that."
        ]
    if interval is not None and made.calibrated().is_short_of(interval):
        held = counted(made.calibrated().n_held_out, "row")
        return [f"{held} held out are too few for intervals of {interval:g}; they reach as far as the largest error."]
    return []


def _noise(given: list[str] | None, interval: float | None) -> Any:
    """Return the noise that was typed: one number, or one for each of some columns."""
    if not given:
        return None
    if interval is None:
        raise typer.BadParameter("widens intervals; ask for them with --interval.", param_hint="--noise")
    found: dict[str, float] = {}
    for part in given:
        name, _, number = part.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = -1.0
        if not 0 <= found[name] < math.inf:
            raise typer.BadParameter(f"must be SD or NAME=SD, of at least 0, got '{part}'.", param_hint="--noise")
    if "" in found and len(found) > 1:
        raise typer.BadParameter("is either one number or NAME=SD; give one of the two.", param_hint="--noise")
    return found.get("", found)

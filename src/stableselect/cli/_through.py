"""Put a table through a selection and write what comes out: the body of ``apply`` and ``reconstruct``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from ..io import Selection, Table, check_outputs, read_table, shown, table_format, write_stream, write_table
from ._shell import console


def through(
    selection: Path,
    table: str,
    output: Path | None,
    use: Callable[[Selection, Table], pa.Table],
    *,
    header: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Read both files, use the selection on the table, and write the result to ``output`` or, as CSV, to stdout."""
    if output is not None:
        table_format(output)
        check_outputs([output], [selection, table], force=force)
    made = Selection.load(selection)
    ids = list(made.id_columns)
    if not header:  # then columns are found by position
        layout = [*made.columns] if use is Selection.apply else [*made.id_columns, *made.kept]
        ids = [f"c{layout.index(name)}" for name in ids]
    result = use(made, read_table(table, header=header, verbatim=ids))
    if output is None:
        write_stream(result, sys.stdout.buffer, ".csv")
        sys.stdout.buffer.flush()
        return
    write_table(result, output)
    size = f"{result.num_rows} rows, {result.num_columns} columns"
    console(quiet=quiet).print(f"Wrote {shown(str(output))} ({size}).")

"""The command ``apply``: keep the selected columns of another table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..io import Selection
from ._shell import Debug, Force, NoHeader, Output, Quiet, reported
from ._through import through


def apply(
    selection: Annotated[Path, typer.Argument(metavar="SELECTION", help="The .selection.json that select wrote.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Table to take the columns from; '-' reads stdin.")],
    output: Output = None,
    no_header: NoHeader = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Keep the selected columns of another TABLE.

    Its columns may be in any order; columns that are not selected are left out.

    Without -o the result is printed as CSV.
    """
    with reported(debug):
        through(selection, table, output, Selection.apply, header=not no_header, force=force, quiet=quiet)

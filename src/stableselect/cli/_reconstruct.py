"""The command ``reconstruct``: rebuild all columns from the kept ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..io import Selection
from ._shell import Debug, Force, NoHeader, Output, Quiet, reported
from ._through import through


def reconstruct(
    selection: Annotated[Path, typer.Argument(metavar="SELECTION", help="The .selection.json that select wrote.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Table with the kept columns; '-' reads stdin.")],
    output: Output = None,
    no_header: NoHeader = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Rebuild all columns from the kept ones.

    Kept columns stay as they are; the others are estimated from them.

    Without -o the result is printed as CSV.
    """
    with reported(debug):
        through(selection, table, output, Selection.reconstruct, header=not no_header, force=force, quiet=quiet)

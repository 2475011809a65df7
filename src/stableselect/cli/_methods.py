"""The command ``methods``: what there is to select with."""

from __future__ import annotations

import inspect
from typing import Annotated

from . import _options as options
from ._shell import console


def methods(
    names: Annotated[bool, options.flag("Print the names alone, one a line.", "--names")] = False,
) -> None:
    """List the methods that select and compare can use, also those of other packages."""
    from rich.table import Table

    from .._registry import available_selectors

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, cls in available_selectors().items():
        if names:
            print(name)
        table.add_row(name, (inspect.getdoc(cls) or "").partition("\n")[0])
    if not names:
        console().print(table)

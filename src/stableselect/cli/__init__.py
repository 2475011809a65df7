"""The command line: a thin shell over the library. Needs the extra ``cli``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 for success, 2 for input that cannot be used.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> from stableselect.cli import main
    >>> main(["select", "no such table.csv"])
    2
    """
    missing = [name for name in ("typer", "rich", "pyarrow") if find_spec(name) is None]
    if missing:
        print(f'The command line needs {", ".join(missing)}: pip install "stableselect[cli]"', file=sys.stderr)
        return 2
    from ._app import run

    return run(sys.argv[1:] if argv is None else argv)

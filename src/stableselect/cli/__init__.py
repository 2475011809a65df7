"""The command line: a thin shell over the library. Needs the extra ``cli``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from ._ending import ending

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    The code is 0 for success and 2 for input that cannot be used; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP
    and 141 where the output is no longer read, and then nothing was written.

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
    return ending(lambda: _main(sys.argv[1:] if argv is None else argv))


def _main(argv: Sequence[str]) -> int:
    missing = [name for name in ("typer", "rich", "pyarrow") if find_spec(name) is None]
    if missing:
        print(f'The command line needs {", ".join(missing)}: pip install "stableselect[cli]"', file=sys.stderr)
        return 2
    from ._app import run

    return run(argv)

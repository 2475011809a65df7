"""Print the files that five everyday calls pass through, in the order of their first use.

python tools/walks.py
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import stableselect
from stableselect.cli import main as command

ROOT = Path(stableselect.__file__).parent


def files_of(call: Callable[[], Any]) -> list[str]:
    """Return the package's files whose functions a call runs."""
    found: dict[str, None] = {}

    def note(frame: Any, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)) and frame.f_code.co_name != "<module>":
            found[os.path.relpath(name, ROOT)] = None

    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        call()  # imports are not part of the walk
        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
    return list(found)


def main() -> None:
    """Walk five times."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 12)) + 0.3 * rng.normal(size=(300, 12))
    folder = Path(tempfile.mkdtemp())
    table = folder / "t.csv"
    np.savetxt(table, X, delimiter=",", header=",".join(f"c{j}" for j in range(12)), comments="")
    from stableselect import ColumnSubset, ScorerSelectorNetwork
    from stableselect.inspection import stability_analysis

    walks: dict[str, Callable[[], Any]] = {
        "stableselect select t.csv -k 4 --explain": lambda: command(["select", str(table), "-k", "4", "--explain"]),
        'ColumnSubset(4, criterion="stability").fit(X)': lambda: ColumnSubset(4, criterion="stability").fit(X),
        "ScorerSelectorNetwork(4, decoder=(8,)).fit(X)": lambda: ScorerSelectorNetwork(
            4, decoder=(8,), epochs=1, random_state=0
        ).fit(X),
        "stableselect paper show table2": lambda: command(
            ["paper", "show", "table2", "--results", str(ROOT.parents[1] / "docs" / "results")]
        ),
        "stability_analysis(ColumnSubset(4), X)": lambda: stability_analysis(ColumnSubset(4), X),
    }
    for title, call in walks.items():
        files = files_of(call)
        print(f"{title}: {len(files)} files\n  {', '.join(files)}\n")


if __name__ == "__main__":
    main()

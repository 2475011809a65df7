"""Tries an installed copy of the package as a user would, and prints how many things work.

``python tools/try_install.py base`` is for an environment without extras: every selector is fitted, saved and loaded,
and what needs an extra says which. ``all`` is for one with ``stableselect[all]``: besides every module is imported,
every kind of table read, every command run. ``tools/versions.py`` makes the environments.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import stableselect

DOORS = {
    "command line": ("from stableselect.cli import main; sys.exit(main(['methods']))", "[cli]"),
    "tables in files": ("import stableselect.io", "[cli]"),
    "pictures": ("stableselect.plot.stability_frontier", "[plot]"),
    "reports": ("stableselect.report", "[report]"),
    "networks": ("stableselect.CAE(2, decoder=(4,)).fit(X)", "[torch]"),
    "downloads": ("stableselect.datasets.fetch('glioma', data_home=folder)", "[data]"),
    "data frames": ("stableselect.inspection.evaluate([0], X, n_permutations=0).to_frame()", "pip install pandas"),
}
"""By what needs it: the code, and the advice. Without extras the code must give the advice."""
COMMANDS = """demo
methods
doctor
select demo/digits.csv -k 8 --scale none --explain -o few.csv --report select.html
apply few.selection.json demo/digits.csv -o applied.parquet
reconstruct few.selection.json few.csv -o again.csv
evaluate demo/digits.csv --columns few.selection.json --random 10 --report evaluate.html
compare demo/digits.csv -k 4 -m ColumnSubset,VarianceScore --folds 2 --plot compare.png --report compare.html
frontier demo/digits.csv -k 4 --scale none -o frontier.png
paper list"""
"""What is run in an empty folder, one after the other."""


def fit_and_keep(cls: type) -> None:
    """Fit a selector, save and load it."""
    from stableselect.base import UnevenFoldsWarning

    X = np.random.default_rng(0).normal(size=(200, 6))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnevenFoldsWarning)
        selector = cls().fit(X)
        stableselect.save(selector, f"{folder}/kept.sselect")
        again = stableselect.load(f"{folder}/kept.sselect")
        np.testing.assert_array_equal(
            again.reconstruct(again.transform(X)), selector.reconstruct(selector.transform(X))
        )


def names_the_extra(code: str, advice: str) -> None:
    """Run code that lacks a package, which must say what to install."""
    names = {"sys": sys, "stableselect": stableselect, "X": np.random.default_rng(0).normal(size=(30, 4))}
    told = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(told):
        try:
            exec(code, names | {"folder": folder})
        except (Exception, SystemExit) as error:
            told.write(f"{error}")
        else:
            raise AssertionError(f"{code} works without {advice}")
    assert "pip install" in told.getvalue() and advice in told.getvalue(), told.getvalue()


def has_every_extra() -> None:
    """Look at what ``doctor`` says."""
    from stableselect.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["doctor"]) == 0
    extras = [line for line in said.getvalue().splitlines() if line.startswith("Extra ")]
    assert extras and not [line for line in extras if "pip install" in line], extras


def runs(command: str) -> None:
    """Run a command, which must end well and say nothing of a fault."""
    from stableselect.cli import main

    assert main(command.split()) == 0, command


def reads(kind: str, folder: Path) -> None:
    """Select from one kind of table; the choice must be that from an array."""
    import support

    X = support.table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = stableselect.ColumnSubset(4).fit(support.INPUTS[kind].make(X, folder))
    assert list(selector.selected_) == list(stableselect.ColumnSubset(4).fit(X).selected_)


def checks(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is tried, by name."""
    for name, cls in sorted(stableselect.all_selectors().items()):
        yield name, lambda cls=cls: fit_and_keep(cls)
    if kind == "base":
        for name, (code, advice) in DOORS.items():
            yield name, lambda code=code, advice=advice: names_the_extra(code, advice)
        return
    import support

    yield "doctor", has_every_extra
    for info in pkgutil.walk_packages(stableselect.__path__, "stableselect."):
        if not info.name.endswith("__main__"):
            yield info.name, lambda name=info.name: importlib.import_module(name)
    for name in support.INPUTS:
        yield name, lambda name=name: reads(name, folder)
    yield "networks", lambda: exec(DOORS["networks"][0], {"stableselect": stableselect, "X": support.table()})
    for command in COMMANDS.splitlines():
        yield command, lambda command=command: runs(command)


def main(kind: str) -> int:
    """Try everything, print what fails and how much works, and return the exit code."""
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, check in checks(kind, Path(folder)):
            try:
                check()
                passed += 1
            except (Exception, SystemExit):
                failed += 1
                print(f"{name}: {traceback.format_exc()}", file=sys.stderr)
    print(f"{passed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

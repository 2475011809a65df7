from __future__ import annotations

import multiprocessing

import pytest

from stableselect.experiments._run import Run


@pytest.fixture(scope="session")
def start():
    """Return a function that runs a script, with the names given, in a process that has the package loaded."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "stableselect.experiments"])

    def begin(script, **names):
        process = context.Process(target=exec, args=(script, {"__name__": "__main__", **names}))
        process.start()
        return process

    return begin


@pytest.fixture
def runs():
    """Twelve runs that differ in split alone."""
    return [Run("glioma", "random", "corrected", split, 0, 3) for split in range(12)]

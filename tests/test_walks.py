"""Everyday calls stay out of the files about what was not asked for."""

import importlib
import sys
from pathlib import Path

import pytest

from stableselect import ColumnSubset

TOOLS = Path(__file__).parents[1] / "tools"
if not TOOLS.is_dir():
    pytest.skip("tools/ is not in this copy of the tests", allow_module_level=True)

ASKED = {
    "subset/_batches.py": {"batch": True},
    "subset/_missing.py": {"missing": "em"},
    "subset/_sketching.py": {"sketch": True},
    "subset/_conditioned.py": {"include": [0]},
    "subset/_frontier.py": {"criterion": "stability"},
    "subset/_n_features.py": {"n_features_to_select": "auto"},
    "_core/_moment_units.py": {"scale": "standard"},
    "_core/_resampling.py": {"cv": 3},
}
"""By file: a parameter of a fit that enters it."""


@pytest.fixture
def files_of(monkeypatch):
    """Return the function that tells which files a call passes through."""
    pytest.importorskip("typer")
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    return importlib.import_module("walks").files_of


def fitted(X, n_features_to_select=3, batch=False, **asked):
    selector = ColumnSubset(n_features_to_select, **asked)
    return selector.fit(X, batch=[0, 1] * (len(X) // 2) if batch else None)


def test_a_plain_fit_enters_only_what_it_uses(files_of, tall):
    found = files_of(lambda: fitted(tall))
    assert {"subset/_moments_selector.py", "_core/_moments.py", "base/_fitting.py"} <= set(found)
    assert not set(found) & {
        *ASKED,
        "_core/_containers.py",
        "_core/_tables.py",
        "base/_calibrated.py",
        "base/_selector.py",
    }


@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=pytest.mark.slow) if "frontier" in file else file for file in ASKED]
)
def test_who_asks_for_something_enters_its_file(files_of, tall, file):
    assert file in files_of(lambda: fitted(tall, **ASKED[file]))

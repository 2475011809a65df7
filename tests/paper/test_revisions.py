"""Stored runs are what this version computes: one of each method, computed again.

Where a method fails here, its numbers have changed: raise its revision in ``paper/_revisions.py``, compute its
runs again and build the pages.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stableselect.experiments import CURRENT, Revision, Run
from stableselect.paper._measure import evaluate
from stableselect.paper._revisions import current
from stableselect.paper.methods import ALL_FEATURES, METHODS, NO_RIDGE, STABLE, find_method, weighted

FOLDER = Path(__file__).parents[2] / "docs" / "results"
MEASURES = ("least_squares", "ridge", "accuracy")
EVERY = np.arange(100)

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the results are not part of this distribution")


@pytest.fixture(scope="module")
def stored(committed):
    """The stored selections from the smallest table: first split, first seed."""
    first = [item for item in committed if (item.run.dataset, item.run.split, item.run.seed) == ("mice_protein", 0, 0)]
    return {item.run.method: item for item in first if not item.run.task and item.run.protocol == "corrected"}


def changed(item, record, features=EVERY):
    """Name the parts of a record that are not those of a stored run, rounding aside.

    ``features`` has the same number for features that are equal.
    """
    both = (item.record["selected"], record["selected"])
    old, new = (None if found is None else sorted(features[found].tolist()) for found in both)
    parts = [] if old == new else ["selected"]
    numbers = {name: number for name in MEASURES if (number := item.record[name]) is not None}
    return parts + [name for name, number in numbers.items() if record[name] != pytest.approx(number, rel=1e-6)]


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, ALL_FEATURES.name])
def test_a_stored_run_is_what_this_version_computes(method, stored, load_data, data_home):
    X, _ = load_data("mice_protein")  # or skip
    item = stored.get(method)
    if item is None or item.stale:
        pytest.skip(f"{method} has no stored run, or of an earlier revision")
    if not find_method(method).available():
        pytest.skip(f"{method} is not available")
    alike = np.unique(X, axis=1, return_inverse=True)[1].ravel()  # rounding decides between two equal features
    assert changed(item, evaluate(item.run, data_home), alike) == []


def test_another_number_would_be_noticed(stored):
    item = stored["PFA"]
    record = item.record
    assert changed(item, record | {"selected": record["selected"][::-1], "ridge": record["ridge"] * (1 + 1e-9)}) == []
    assert changed(item, record | {"selected": [*record["selected"][:-1], 76]}) == ["selected"]
    assert changed(item, record | {"ridge": record["ridge"] * 1.001}) == ["ridge"]


def test_variants_have_the_revision_of_their_selector():
    run = Run("glioma", "PFA", "corrected", 0, 0, 3)
    searched = ("ColumnSubset", NO_RIDGE, weighted("ScorerSelector", 1 / 8), "ConsensusSelector")
    assert {current(replace(run, method=name)) for name in searched} == {Revision(2, 2, 1)}
    assert {current(replace(run, method=name)) for name in STABLE.values()} == {CURRENT}
    kept = ("|W|", "ScorerSelectorNetwork annealed", "PCA, k components", "a method of another version")
    assert {current(replace(run, method=name)) for name in kept} == {Revision(1, 1, 1)}
    # Core samples are searched, whatever the method.
    assert current(replace(run, method="|W|").of_task("assumptions")) == Revision(2, 2, 1)

"""A small table with few common directions, and a search fitted on it."""

from __future__ import annotations

import pytest

from stableselect import ScorerSelector


@pytest.fixture
def table(rng):
    return rng.normal(size=(30, 3)) @ rng.normal(size=(3, 7)) + 0.3 * rng.normal(size=(30, 7)) + 1.0


@pytest.fixture
def fitted(table):
    return ScorerSelector(3, ridge=0.0, scorer_weight=1 / 8).fit(table)

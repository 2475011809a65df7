"""The revision that this version computes a run with: the first, where nothing that its method uses has changed."""

from __future__ import annotations

from ..experiments import CURRENT, Revision, Run
from .assumptions import TASKS
from .methods import STABLE, find_method

_SELECTORS = (
    *("ColumnSubset", "ScorerSelector", "ConsensusSelector"),
    *("AEFS", "AgnoSS", "LaplacianScore", "MCFS", "UDFS"),  # ties between features or samples
)
"""Those that compute other numbers than at first; a variant of a method has the revision of its selector."""
SEARCHED = Revision(engine=2, folds=2)
"""Of these, but for the choice for stability."""


def current(run: Run) -> Revision:
    """Return the revision that this version computes a run with: the newest for choices for stability.

    ``tests/paper/test_revisions.py`` computes a stored run of each method again, and fails where the revision of one
    has to be raised.
    """
    if run.method in STABLE.values():
        return CURRENT
    # The core samples come from a search, or from a network of this package's own.
    if run.task in TASKS:
        return SEARCHED
    try:
        selector = find_method(run.method).selector
    except ValueError:  # a method of another version
        selector = None
    return SEARCHED if selector in _SELECTORS else Revision()

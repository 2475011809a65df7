"""The paper's scorer-selector objective in closed form, and the search over it."""

from ._frontier import scorer_finisher
from ._objective import ScorerObjective
from ._search import search_scorer

__all__ = [
    "ScorerObjective",
    "scorer_finisher",
    "search_scorer",
]

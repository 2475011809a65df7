"""The paper's scorer-selector objective in closed form, and the search over it."""

from ._frontier import scorer_finisher
from ._objective import ScorerObjective, canonical_scores
from ._search import search_scorer
from ._selector import ScorerSelector

__all__ = [
    "ScorerObjective",
    "ScorerSelector",
    "canonical_scores",
    "scorer_finisher",
    "search_scorer",
]

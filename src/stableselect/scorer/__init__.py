"""The paper's scorer-selector objective in closed form, and the search over it."""

from ._objective import ScorerObjective, canonical_scores
from ._selector import ScorerSelector

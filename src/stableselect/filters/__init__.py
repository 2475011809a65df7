"""Selectors that score features directly, and random selection."""

from ._inf_fs import InfFS, blocked_product, standardised_ranks
from ._pfa import PFA
from ._random import RandomSelector

__all__ = [
    "PFA",
    "InfFS",
    "RandomSelector",
    "blocked_product",
    "standardised_ranks",
]

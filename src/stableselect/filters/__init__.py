"""Selectors that score features directly, and random selection."""

from ._inf_fs import InfFS, blocked_product, standardised_ranks
from ._pfa import PFA
from ._pivoted_qr import PivotedQR
from ._random import RandomSelector
from ._variance_score import VarianceScore

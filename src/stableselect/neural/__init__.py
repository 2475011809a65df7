"""Selectors that train a network: the scorer-selector network and four autoencoder baselines."""

from ._aefs import AEFS
from ._agnoss import AgnoSS
from ._cae import CAE
from ._fae import FAE
from ._scorer_network import ScorerSelectorNetwork

__all__ = ["AEFS", "CAE", "FAE", "AgnoSS", "ScorerSelectorNetwork"]

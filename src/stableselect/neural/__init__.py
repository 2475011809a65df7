"""Selectors that are trained: the scorer-selector network, four autoencoder baselines, and gates on a graph."""

from ._aefs import AEFS
from ._agnoss import AgnoSS
from ._cae import CAE
from ._fae import FAE
from ._gated_laplacian import GatedLaplacian
from ._scorer_network import ScorerSelectorNetwork

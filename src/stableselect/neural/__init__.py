"""Selectors that are trained: the scorer-selector network and three autoencoder baselines."""

from ._aefs import AEFS
from ._agnoss import AgnoSS
from ._cae import CAE
from ._scorer_minibatch import SgdTrainee, batch_gradient
from ._scorer_parameters import Adam, Parameters, kept_columns, random_parameters, top_columns
from ._scorer_selector import ScorerSelector
from ._training import Stopping, train

__all__ = [
    "AEFS",
    "CAE",
    "Adam",
    "AgnoSS",
    "Parameters",
    "ScorerSelector",
    "SgdTrainee",
    "Stopping",
    "batch_gradient",
    "kept_columns",
    "random_parameters",
    "top_columns",
    "train",
]

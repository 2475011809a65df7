"""Autoencoder baselines; linear ones run on the moments, the others on torch."""

from ._aefs import AEFS
from ._agnoss import AgnoSS
from ._cae import CAE

__all__ = ["AEFS", "CAE", "AgnoSS"]

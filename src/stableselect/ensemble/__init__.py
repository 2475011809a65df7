"""Selectors that run another selector many times and keep the features it agrees on."""

from ._consensus import ConsensusSelector
from ._error_control import FrequentFeatures

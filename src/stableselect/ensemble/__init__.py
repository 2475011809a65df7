"""Selectors that ask another selector many times and keep what its answers agree on."""

from ._consensus import ConsensusSelector
from ._error_control import FrequentColumns

__all__ = ["ConsensusSelector", "FrequentColumns"]

"""Which protocols there are, and how much of them to compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...experiments import Mode

Protocol = Literal["paper", "corrected"]
"""As published, with one split; or scaled by the training samples, with several."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How much to compute.

    Attributes
    ----------
    fast : bool
        Four small tables, one split, one seed, few steps.
    splits, seeds : int
        Splits under "corrected", and seeds of a seeded method.
    with_faults : bool
        Add the runs that rank the test samples by themselves, under "paper".
    """

    fast: bool = False
    splits: int = 5
    seeds: int = 2
    with_faults: bool = False

    @property
    def mode(self) -> Mode:
        """The mode of the runs."""
        return "fast" if self.fast else "full"

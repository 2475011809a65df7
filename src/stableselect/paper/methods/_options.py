"""How much to compute: protocols, options, and the step limits of slow methods.

The limits are not limits on time, so that repeats agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...experiments import Mode

Protocol = Literal["paper", "corrected"]
"""As published, with one split; or scaled by the training samples, with several."""
PROTOCOLS: tuple[Protocol, ...] = ("paper", "corrected")


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
    datasets : sequence of str, optional
        Compute the runs of these only; by default of all but the user's own.
    methods : sequence of str, optional
        Compute the runs of these only, named as in the tables; by default of all but those of other packages.
    """

    fast: bool = False
    splits: int = 5
    seeds: int = 2
    with_faults: bool = False
    datasets: Sequence[str] | None = None
    methods: Sequence[str] | None = None

    @property
    def mode(self) -> Mode:
        """The mode of the runs."""
        return "fast" if self.fast else "full"


FAULTY = " with fault A"
"""Ends the name of a method whose test samples are ranked apart, as published."""

CAPPED = {
    "NDFS": "max_iter",
    "ConsensusSelector": "n_resamples",
    **dict.fromkeys(("AEFS", "AgnoS-S", "CAE", "FAE", "|W|", "W^2", "ScorerSelectorNetwork annealed"), "epochs"),
}
"""The parameter that a limit sets."""

CAPS: dict[str, dict[str, int]] = {
    # Full-batch steps, each a fraction of an epoch's work.
    "ScorerSelectorNetwork annealed": {"glioma": 800, "prostate_ge": 450, "smk_can_187": 100, "arcene": 200},
}
"""Steps by method and dataset, under both protocols; a run that is not named runs to its own end."""

PAPER_CAPS: dict[str, dict[str, int]] = {
    "NDFS": dict.fromkeys(("activity", "isolet", "mnist_fashion", "usps"), 300),
    "AEFS": {
        "coil20": 700,
        "activity": 300,
        "isolet": 60,
        "mnist_fashion": 100,
        "usps": 110,
        "smk_can_187": 300,
        "arcene": 400,
    },
    "AgnoS-S": {"isolet": 400, "usps": 300, "smk_can_187": 500},
    "CAE": {"activity": 300, "isolet": 150, "mnist_fashion": 200, "usps": 400, "smk_can_187": 250, "arcene": 400},
}
"""Steps by method and dataset, under "paper" alone."""

FAST_CAPS = {"|W|": 20, "W^2": 20, "ScorerSelectorNetwork annealed": 200}
FAST_PAPER_CAPS = {"NDFS": 100, "AEFS": 20, "AgnoS-S": 20, "CAE": 20, "FAE": 20}
"""Steps of fast runs by method, under both protocols and under "paper" alone."""


def cap(method: str, protocol: str, dataset: str, *, fast: bool) -> int | None:
    """Return the step limit of a run, None where there is none."""
    plain, paper = method.removesuffix(FAULTY), protocol == "paper"
    if fast:
        return (FAST_CAPS | FAST_PAPER_CAPS if paper else FAST_CAPS).get(plain)
    return (CAPS | PAPER_CAPS if paper else CAPS).get(plain, {}).get(dataset)

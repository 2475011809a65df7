"""Fit a selector again and again: on resamples of the samples, with other seeds, without one sample."""

from ._refits import Outcome, Refits, check_tables, path_losses, prepare
from ._repeated_fits import Fit, Source, check_selector, repeated_fits, seed_parameters, source_of, with_held_seed

__all__ = [
    "Fit",
    "Outcome",
    "Refits",
    "Source",
    "check_selector",
    "check_tables",
    "path_losses",
    "prepare",
    "repeated_fits",
    "seed_parameters",
    "source_of",
    "with_held_seed",
]

"""Fit a selector again and again: on resamples of the samples, with other seeds, without one sample."""

from ._names import resolve_names
from ._repeated_fits import Fit, Source, repeated_fits, seed_parameters, single_fit, steps_of, with_held_seed

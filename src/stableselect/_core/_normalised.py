"""Moments brought to a mean variance of one, on which the searches work."""

from __future__ import annotations

import numpy as np

from ._gram import Gram
from ._moments import Moments


def normalised_moments(moments: Moments) -> tuple[Gram, float]:
    """Return the moments scaled to mean variance one, and that variance; raise if double precision cannot hold them."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram, unit = moments.operator().normalised()
    varies = bool(gram.xp.any(moments._high > moments._low))
    if not np.isfinite(unit) or not np.isfinite(1 / unit) or (varies and gram.trace() == 0):
        raise ValueError("The features' variances leave the range of double precision; scale the table first.")
    return gram, unit

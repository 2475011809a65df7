"""From a good subset to the best one: all others are tried or ruled out where there are not too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._core import Gram, exact_search, forward_search
from ._search import Found, Setting


def prove_columns(gram: Gram, found: Found, setting: Setting, include: Sequence[int], exclude: Sequence[int]) -> Found:
    """Return the best features there are, with a proof; what was found, with a bound, where that would take too long.

    Parameters
    ----------
    gram : Gram
        The moments, of mean variance one.
    found : Found
        What forward search and exchange find, without votes.
    setting : Setting
        How they searched.
    include, exclude : sequence of int
        Features that must or must not be selected.

    Returns
    -------
    Found
        The features in greedy order within the set; those that are new count as swaps.
    """
    alpha, chosen, n_swaps = float(setting.ridge or 0.0), found.chosen, found.n_swaps
    exact = exact_search(gram, chosen, alpha, include, exclude)
    n_new = len(set(exact.chosen) - set(chosen))
    if n_new:
        others = np.setdiff1d(np.arange(gram.n_features), exact.chosen).tolist()
        chosen, n_swaps = forward_search(gram, len(chosen), alpha, include, others), n_swaps + n_new
    return replace(found, chosen=chosen, n_swaps=n_swaps, lower_bound=exact.lower_bound, proven=exact.proven)

"""Samples that several training sets have in common, held once, so that one pass over them serves all the sets.

Every training set of a division into folds has most of the samples. Its thin factor A (see
:class:`~stableselect._core._gram.DualGram`) has a row c (x - mean) for each of its samples, with a factor c from the
weights and a mean of its own. So A = E B with B the samples of all folds, their origins and all means, and E nearly
empty. A search multiplies A with one vector after another and reads all of it every time. But A'q is B'(E'q), and
one pass over B serves the vectors of all sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._gram import DualGram, Gram, SharedRows
from ._moments import Moments


def share_rows(sets: Sequence[Sequence[Moments]], grams: Sequence[Gram], units: Sequence[float]) -> None:
    """Let thin factors of training sets know what they share, where they can; nothing else changes.

    Parameters
    ----------
    sets : sequence of sequence of Moments
        The parts of every training set, in dual form.
    grams : sequence of Gram
        The moments of each, divided by its unit.
    units : sequence of float
        The units.
    """
    parts = list({id(part): part for own in sets for part in own}.values())
    n = sum(part._n_stored() for part in parts)
    thin = [gram for gram in grams if isinstance(gram, DualGram) and _plain(gram)]
    # Sets that were gathered one by one have no part in common.
    if len(sets) < 2 or len(thin) < len(sets) or n > 2 * max(len(gram.A) for gram in thin):
        return
    rows = [np.concatenate([np.asarray(block) for block in part._rows]) for part in parts]
    starts = dict(zip(map(id, parts), np.cumsum([0, *map(len, rows)]).tolist(), strict=False))
    totals = [sum(part.weight_sum for part in own) for own in sets]
    means = [
        sum(part.mean * (part.weight_sum / total) for part in own) for own, total in zip(sets, totals, strict=True)
    ]
    shared = np.concatenate([*rows, [part._shift - means[0] for part in parts], [mean - means[0] for mean in means]])
    origin = {id(part): n + at for at, part in enumerate(parts)}
    for at, (own, gram, unit, total) in enumerate(zip(sets, thin, units, totals, strict=True)):
        embedding, row = np.zeros((len(gram.A), len(shared))), 0
        for part in own:
            weights = np.concatenate([np.asarray(block) for block in part._weights])
            factors, where = np.sqrt(weights / total / unit), np.arange(row, row + len(weights))
            embedding[where, starts[id(part)] + np.arange(len(weights))] = factors
            embedding[where, origin[id(part)]] += factors
            embedding[where, n + len(parts) + at] -= factors
            row += len(weights)
        gram.shared = SharedRows(shared, embedding)


def _plain(gram: DualGram) -> bool:
    """Tell whether a factor is an array in which every feature varies."""
    return isinstance(gram.A, np.ndarray) and bool(np.all(gram.diagonal() > 0))

"""Samples that several training sets have in common, held once, so that one pass over them serves all the sets.

Every training set of a division into folds has most of the samples. Its thin factor A (see
:class:`~stableselect._core._dual_gram.DualGram`) has a row c (x - mean) for each of its samples, with a factor c from
the weights and a mean of its own. So A = E B with B the samples of all folds, their origins and all means, and E nearly
empty. A search multiplies A with one vector after another and reads all of it every time. But A'q is B'(E'q), and
one pass over B serves the vectors of all sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._arrays import SMALLEST
from ._dual_gram import DualGram, SharedRows
from ._gram import Gram
from ._moment_sums import whole_pays
from ._moments import Moments
from ._threads import side_by_side

_CACHED = 2**17
"""Values of an array that are gone through several times, so that they stay in the processor's cache."""


def stays_thin(parts: Sequence[Moments]) -> bool:
    """Tell whether the moments of all parts together keep the samples."""
    n = sum(part._n_stored() for part in parts)
    return all(part.form == "dual" for part in parts) and not whole_pays(n, int(parts[0].n_features or 0))


def factor_of(parts: Sequence[Moments]) -> tuple[DualGram, float, np.ndarray] | None:
    """Return the thin factor of all parts of a training set, of mean variance one, that variance, and the mean.

    None where all parts together do not keep their samples, in arrays, or do not vary. The samples are copied once, and
    not for every step on the way.
    """
    if not stays_thin(parts) or not all(part.n_samples and isinstance(part._shift, np.ndarray) for part in parts):
        return None
    total = sum(part.weight_sum for part in parts)
    mean = sum(part.mean * (part.weight_sum / total) for part in parts)
    low, high = np.min([part._low for part in parts], axis=0), np.max([part._high for part in parts], axis=0)
    varies = high - low >= SMALLEST
    blocks = [(block, mean - part._shift) for part in parts for block in part._rows]
    weights = np.concatenate([weights for part in parts for weights in part._weights]) / total
    A, ends = np.empty((len(weights), len(mean))), np.cumsum([0, *(len(block) for block, _ in blocks)])
    step = max(1, _CACHED // len(mean))

    def centre(at: int) -> np.ndarray:
        block, shift = blocks[at]
        rows, norms = A[ends[at] : ends[at + 1]], np.empty(len(block))
        for start in range(0, len(block), step):
            part = slice(start, start + step)
            np.subtract(block[part], shift, out=rows[part])
            if not varies.all():
                rows[part] *= varies
            norms[part] = np.einsum("ij,ij->i", rows[part], rows[part])
        return norms

    norms = np.concatenate(side_by_side(centre, range(len(blocks))))
    unit = float(norms @ weights) / len(mean)
    if not 0 < unit < float("inf"):
        return None
    A *= np.sqrt(weights / unit)[:, None]
    return DualGram(A), unit, mean


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

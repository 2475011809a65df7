"""Searches where the moments are: on a device many go in lock step, elsewhere as in the modules they are named after.

What is found is the same. Only moments held whole go in lock step; a thin factor is searched by the code for arrays of
any kind, and so is a tensor in the processor's memory, whose caches hold the arrays of one search, not those of many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from array_api_compat import is_torch_array

from . import _forward_search, _subset_search
from ._arrays import Array, on_device
from ._dual_gram import DualGram
from ._forward_search import Lane
from ._gram import Gram
from ._moments import Moments
from ._part_gram import PartGram

_FEW = 128
"""With more features to put in order a search takes less time than forming what is left of them at every step."""


def in_lock_step(gram: Gram | Moments) -> bool:
    """Tell whether searches on these moments go in lock step: they are held whole, in a torch tensor on a device."""
    if isinstance(gram, Moments):
        whole, array = gram.form == "primal", gram._mean
    else:
        whole, array = not isinstance(gram, DualGram), gram.diagonal()
    return whole and bool(is_torch_array(array)) and on_device(array)


def forward_search(
    gram: Gram,
    k: int,
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
) -> list[int]:
    """Choose features one at a time; see :func:`stableselect._core._forward_search.forward_searches`.

    The features of a search for more of them begin with these, so that what was found before is not searched again.
    """
    if prices is not None:
        return forward_searches([(gram, alpha)], k, include, exclude, prices)[0]
    return forward_with_each(gram, k, [alpha], include, exclude)[0]


def forward_with_each(
    gram: Gram, k: int, alphas: Sequence[float], include: Sequence[int] = (), exclude: Sequence[int] = ()
) -> list[list[int]]:
    """Return what :func:`forward_search` finds with every ridge weight: those not known yet are searched together."""
    asked = [(float(alpha), tuple(include), tuple(exclude)) for alpha in alphas]
    new = [given[0] for given in asked if len(gram.paths.get(given, ())) < k]
    if new:
        keep_paths(gram, new, include, exclude, forward_searches([(gram, alpha) for alpha in new], k, include, exclude))
    return [gram.paths[given][:k] for given in asked]


def keep_paths(
    gram: Gram, alphas: Sequence[float], include: Sequence[int], exclude: Sequence[int], found: Sequence[list[int]]
) -> None:
    """Keep what forward searches found with each of some ridge weights, so that it is not searched again."""
    for alpha, chosen in zip(alphas, found, strict=True):
        gram.paths[float(alpha), tuple(include), tuple(exclude)] = chosen


def order_within(gram: Gram, chosen: Sequence[int], alpha: float, include: Sequence[int] = ()) -> list[int]:
    """Return features in the order in which a forward search among them takes them, those included first."""
    if in_lock_step(gram):
        return order_each([(gram, alpha)], [chosen], include)[0]
    part = np.sort(np.asarray(chosen))  # ties go to the lowest index
    own, first = PartGram(gram, part), np.searchsorted(part, include).tolist()
    found = own.clear_order(alpha, first) if isinstance(own.C, np.ndarray) and len(part) <= _FEW else None
    return part[found or _forward_search.forward_searches([(own, alpha)], len(part), first)[0]].tolist()


def forward_searches(
    lanes: Sequence[Lane],
    k: int | Sequence[int],
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
) -> list[list[int]]:
    """Search side by side; see :func:`stableselect._core._forward_search.forward_searches`."""
    if in_lock_step(lanes[0][0]):
        from ._batched_forward import forward_in_lock_step

        if isinstance(k, int):
            return forward_in_lock_step(lanes, k, include, [exclude], prices)
        found = forward_in_lock_step(lanes, max(k), include, [exclude], prices)
        return [own[:end] for own, end in zip(found, k, strict=True)]
    return _forward_search.forward_searches(lanes, k, include, exclude, prices)


def exchange_search(
    gram: Gram,
    chosen: Sequence[int],
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
) -> tuple[list[int], int]:
    """Swap features while that helps; see :func:`stableselect._core._subset_search.exchange_search`."""
    if in_lock_step(gram):
        return exchange_each([(gram, chosen, alpha, prices)], include, exclude)[0]
    return _subset_search.exchange_search(gram, chosen, alpha, include, exclude, prices)


def exchange_each(
    starts: Sequence[tuple[Gram, Sequence[int], float, Array]], include: Sequence[int], exclude: Sequence[int]
) -> list[tuple[list[int], int]]:
    """Swap features in lock step; see :func:`stableselect._core._batched_exchange.exchange_in_lock_step`."""
    from ._batched_exchange import exchange_in_lock_step

    return exchange_in_lock_step(starts, include, exclude)


def order_each(lanes: Sequence[Lane], chosen: Sequence[Sequence[int]], include: Sequence[int]) -> list[list[int]]:
    """Return the features of every lane in greedy order, those included first, in lock step."""
    from ._batched_forward import forward_in_lock_step

    every = np.arange(lanes[0][0].n_features)
    others = [np.setdiff1d(every, own).tolist() for own in chosen]
    return forward_in_lock_step(lanes, len(chosen[0]), include, others)


def losses_each(lanes: Sequence[Lane], chosen: Sequence[Sequence[int]]) -> list[float]:
    """Return the losses of several subsets, each of its own lane, at once."""
    from ._batched_split import subset_losses

    return subset_losses(lanes, chosen)


def map_errors(
    rounds: Sequence[tuple[Gram, Gram, Array]], chosen: Sequence[Sequence[int]], ridges: Sequence[float]
) -> list[float]:
    """Return the errors of several subsets at once; see :func:`stableselect._core._batched_split.subset_errors`."""
    from ._batched_split import subset_errors

    return subset_errors(rounds, chosen, ridges)


def parts_in_memory(moments: Moments, n: int, n_arrays: int = 1) -> list[slice]:
    """Return parts of n searches, each of which may hold so many arrays of the size of the moments."""
    from ._batched_split import parted, room

    return parted([8.0 * n_arrays * int(moments.n_features or 0) ** 2] * n, room(moments._mean.device))

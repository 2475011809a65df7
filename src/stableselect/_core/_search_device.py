"""Searches where the moments are: on tensors many go in lock step, elsewhere as in the modules they are named after.

What is found is the same. Only moments held whole have a form for tensors; a thin factor is searched by the same code
as in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from array_api_compat import is_torch_array

from . import _forward_search, _subset_search
from ._arrays import Array
from ._forward_search import Lane
from ._gram import DualGram, Gram


def in_lock_step(gram: Gram) -> bool:
    """Tell whether searches on these moments go in lock step: they are held whole, in a torch tensor."""
    return not isinstance(gram, DualGram) and bool(is_torch_array(gram.diagonal()))


def forward_search(
    gram: Gram,
    k: int,
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
    **conditions: Any,
) -> list[int]:
    """Choose features one at a time; see :func:`stableselect._core._forward_search.forward_search`."""
    return forward_searches([(gram, alpha)], k, include, exclude, prices, **conditions)[0]


def forward_searches(
    lanes: Sequence[Lane],
    k: int,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
    **conditions: Any,
) -> list[list[int]]:
    """Search side by side; see :func:`stableselect._core._forward_search.forward_searches`."""
    if in_lock_step(lanes[0][0]) and not any(conditions.values()):
        from ._batched_forward import forward_in_lock_step

        return forward_in_lock_step(lanes, k, include, [exclude], prices)
    return _forward_search.forward_searches(lanes, k, include, exclude, prices, **conditions)


def exchange_search(
    gram: Gram,
    chosen: Sequence[int],
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
    **conditions: Any,
) -> tuple[list[int], int]:
    """Swap features while that helps; see :func:`stableselect._core._subset_search.exchange_search`."""
    if in_lock_step(gram) and not any(conditions.values()):
        from ._batched_exchange import Start, exchange_in_lock_step

        return exchange_in_lock_step([Start(gram, chosen, alpha, prices)], include, exclude)[0]
    return _subset_search.exchange_search(gram, chosen, alpha, include, exclude, prices, **conditions)

"""What subsets of features leave unexplained, for many second-moment matrices at once; torch tensors only.

The notation is that of :mod:`stableselect._core._swap_state`, with one more axis in front: a row of every array for
each search. One call on a device takes microseconds however little it does, so that a hundred searches take hardly
longer than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import torch

from ._arrays import memory_limit
from ._forward_search import Lane
from ._gram import Gram
from ._inverse import _RANK_TOLERANCE as RANK_TOLERANCE
from ._inverse import INDEPENDENT as INDEPENDENT

Tensor = torch.Tensor


def room(device: torch.device) -> float:
    """Return the bytes that arrays of several searches may take together."""
    if device.type != "cuda":
        return memory_limit() / 8
    free = torch.cuda.mem_get_info(device)[0]
    return 0.4 * (free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))


def parted(sizes: Sequence[float], limit: float) -> list[slice]:
    """Return parts of a list whose sizes add up to at most the limit, where one alone does not exceed it.

    Examples
    --------
    >>> parted([2, 2, 2, 9, 1], 4)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    parts, start, total = [], 0, 0.0
    for at, size in enumerate(sizes):
        if at > start and total + size > limit:
            parts.append(slice(start, at))
            start, total = at, 0.0
        total += size
    return [*parts, slice(start, len(sizes))] if sizes else []


def stacked(grams: Sequence[Gram]) -> Tensor:
    """Return the m x m arrays of several moments as one; that of a single one is not copied."""
    return grams[0].C[None] if len(grams) == 1 else torch.stack([gram.C for gram in grams])


def at_rows(array: Tensor, columns: Tensor) -> Tensor:
    """Return one entry of every row."""
    return array.gather(1, columns[:, None])[:, 0]


def inverses(M: Tensor, alpha: Tensor) -> Tensor:
    """Return (M + alpha I)^+ for symmetric positive semi-definite matrices M (b x k x k).

    As :func:`~stableselect._core._gram.pseudo_inverse`, but by a Cholesky factor where the features are far from
    combinations of each other: the eigenvalues of many small matrices take long on a device.
    """
    k = M.shape[-1]
    eye = torch.eye(k, dtype=M.dtype, device=M.device)
    total = M + alpha[:, None, None] * eye
    diagonal = total.diagonal(dim1=1, dim2=2)
    unit = torch.where(diagonal > 0, diagonal.clamp_min(0).sqrt().reciprocal(), 0.0)
    scaled = total * unit[:, :, None] * unit[:, None, :]
    factor, failed = torch.linalg.cholesky_ex(scaled)
    pivots = factor.diagonal(dim1=1, dim2=2).square()
    good = (failed == 0) & (pivots > INDEPENDENT).all(dim=1)
    factor = torch.where(good[:, None, None], factor, eye)
    half = torch.linalg.solve_triangular(factor, eye.expand_as(M).contiguous(), upper=False)
    found = half.mT @ half
    bad = torch.nonzero(~good)[:, 0]
    if len(bad):
        values, vectors = torch.linalg.eigh(scaled[bad])
        kept = values > RANK_TOLERANCE * k
        inverse = torch.where(kept, 1 / torch.where(kept, values, 1.0), 0.0)
        found[bad] = (vectors * inverse[:, None, :]) @ vectors.mT
    return found * unit[:, :, None] * unit[:, None, :]


def maps(rows: Tensor, chosen: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Return P (b x k x k) and the refined V' (b x k x m) of subsets, from the rows C_S' of their moments (b x k x m).

    Parameters
    ----------
    rows : tensor of shape (b, k, m)
        The rows of C that belong to the kept features.
    chosen : tensor of int, shape (b, k)
        The kept features.
    alpha : tensor of shape (b,)
        Ridge weights.

    Returns
    -------
    P, V : tensors
    """
    M = rows.gather(2, chosen[:, None, :].expand(-1, chosen.shape[1], -1))
    P = inverses(M, alpha)
    V = P @ rows
    for _ in range(2):
        V = V + P @ (rows - M @ V - alpha[:, None, None] * V)
    return P, V


def rows_of(C: Tensor, which: Tensor, chosen: Tensor) -> Tensor:
    """Return the rows of kept features (b x k x m) of the matrices ``which`` of C (f x m x m)."""
    return C[which[:, None], chosen]


def residuals(C: Tensor, which: Tensor, rows: Tensor, V: Tensor) -> Tensor:
    """Return R = C - V C_S' of subsets, b x m x m, a new array."""
    return C[which].baddbmm_(V.mT, rows, alpha=-1)


def subset_losses(lanes: Sequence[Lane], chosen: Sequence[Sequence[int]]) -> list[float]:
    """Return tr R of subsets, each for its own moments and ridge weight."""
    grams = [gram for gram, _ in lanes]
    at, rows = _rows_each(grams, chosen)
    _, V = maps(rows, at, torch.tensor([alpha for _, alpha in lanes], dtype=rows.dtype, device=rows.device))
    return (_totals(grams) - (V * rows).sum(dim=(1, 2))).tolist()


def subset_errors(
    rounds: Sequence[tuple[Gram, Gram, Tensor]], chosen: Sequence[Sequence[int]], ridges: Sequence[float]
) -> list[float]:
    """Return the squared error per sample, on other samples, of the ridge maps of subsets; as many as fit in memory.

    Parameters
    ----------
    rounds : sequence of (Gram, Gram, tensor of length m)
        For every subset the moments of the samples that its map is fitted on, those of the others in the same units,
        and the difference of their means. Subsets of the same samples lie together.
    chosen : sequence of sequences of int
        The subsets.
    ridges : sequence of float
        Their ridge weights.

    Returns
    -------
    list of float
    """
    shift = rounds[0][2]
    size, errors = 64.0 * len(chosen[0]) * len(shift), []
    for part in parted([size] * len(chosen), room(shift.device)):
        errors += _errors(rounds[part], chosen[part], ridges[part])
    return errors


def _errors(
    rounds: Sequence[tuple[Gram, Gram, Tensor]], chosen: Sequence[Sequence[int]], ridges: Sequence[float]
) -> list[float]:
    grams, targets, shifts = zip(*rounds, strict=True)
    at, rows = _rows_each(grams, chosen)
    _, V = maps(rows, at, torch.tensor(ridges, dtype=rows.dtype, device=rows.device))
    shift, width = torch.stack(shifts), at.shape[1]
    T_S = _rows_each(targets, chosen)[1] + shift.gather(1, at)[:, :, None] * shift[:, None, :]
    T_SS = T_S.gather(2, at[:, None, :].expand(-1, width, -1))
    total = _totals(targets) + (shift * shift).sum(dim=1)
    return (total - (V * (2 * T_S - T_SS @ V)).sum(dim=(1, 2))).tolist()


def _totals(grams: Sequence[Gram]) -> Tensor:
    """Return the sum of the variances of every one of several moments."""
    found = {key: gram.diagonal().sum() for key, gram in {id(gram): gram for gram in grams}.items()}
    return torch.stack([found[id(gram)] for gram in grams])


def _rows_each(grams: Sequence[Gram], chosen: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return subsets as an array (b x k), and the rows of each subset's own moments (b x k x m)."""
    runs = [list(run) for _, run in groupby(zip(grams, chosen, strict=True), key=lambda both: id(both[0]))]
    rows = torch.cat([run[0][0].rows([j for _, subset in run for j in subset]) for run in runs])
    at = torch.as_tensor(np.array(chosen, dtype=np.int64), device=rows.device)
    return at, rows.reshape(*at.shape, -1)

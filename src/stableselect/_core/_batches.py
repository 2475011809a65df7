"""Moments within batches of samples: each batch is moved to the mean of all samples.

With x_i in batch b(i), the samples x_i - mean_b(i) + mean have the mean of all samples, and second moments in which
what differs between batches has no part. Sums of a batch are moved without another look at its samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arrays import Array, like, memory_limit, namespace, to_dense, to_numpy
from ._folds import merged, row_folds
from ._moment_units import varying
from ._moments import Moments


@dataclass(frozen=True)
class Batches:
    """A table read by batches.

    Attributes
    ----------
    labels : ndarray of shape (B,)
        The batches.
    codes : ndarray of shape (n,)
        Which of them every sample belongs to.
    means, mean : ndarrays of shape (B, m) and (m,)
        Means of the batches, and of all samples.
    moments : list of Moments
        Those of the batches.
    folds : list of Moments
        Those of the folds of the samples, each batch moved to the mean of all.
    """

    labels: np.ndarray
    codes: np.ndarray
    means: np.ndarray
    mean: np.ndarray
    moments: list[Moments]
    folds: list[Moments]

    def centred(self, X: Array) -> np.ndarray:
        """Return a table, made dense, with every batch moved to the mean of all."""
        return to_dense(X) - (self.means - self.mean)[self.codes]


def check_batch(batch: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the batches, and which of them every sample belongs to."""
    given = np.asarray(to_numpy(batch)) if hasattr(batch, "__array__") or hasattr(batch, "ndim") else np.array(batch)
    if given.ndim != 1:
        raise ValueError(f"batch must hold one label for each sample, but has shape {given.shape}; give a plain list.")
    if any(label is None or label != label for label in given.tolist()):
        raise ValueError("batch has a missing label; give every sample one, or leave these samples out.")
    if given.dtype.kind not in "biuU":
        given = np.array([str(label) for label in given.tolist()])
    labels, codes = np.unique(given, return_inverse=True)
    return labels, codes


def read_batches(
    pieces: Iterable[tuple[Array, np.ndarray | None]], batch: Any, n_folds: int, folds: np.ndarray | None = None
) -> Batches:
    """Read a table piece by piece, with the label of every sample's batch.

    Parameters
    ----------
    pieces : iterable of (samples, weights)
        The table.
    batch : array of shape (n,)
        Labels of all samples.
    n_folds : int
        Number of folds; 0 for none.
    folds : ndarray of shape (n,), optional
        The fold of every sample; by default that of :func:`row_folds`.
    """
    labels, codes = check_batch(batch)
    parts = [[Moments() for _ in labels] for _ in range(max(1, n_folds))]
    n = 0
    for X, weights in pieces:
        own = codes[n : n + X.shape[0]]
        n += int(X.shape[0])
        if len(own) < X.shape[0]:
            continue  # counted for the message
        if n == X.shape[0]:
            _check_memory(int(X.shape[1]), codes, len(labels), n_folds)
        if folds is not None:
            fold = folds[n - int(X.shape[0]) : n]
        else:
            fold = row_folds(X, n_folds) if n_folds else np.zeros(X.shape[0], dtype=np.intp)
        place = fold * len(labels) + own
        if weights is not None:
            place[weights == 0] = -1
        for at in np.unique(place[place >= 0]):
            rows = np.flatnonzero(place == at)
            moments = parts[at // len(labels)][at % len(labels)]
            moments._add(X, None if weights is None else weights[rows], rows=rows)
    if n != len(codes):
        raise ValueError(
            f"batch must hold one label for each sample, but holds {len(codes)}, and the table has {n} samples."
        )
    return _moved(labels, codes, parts)


def _check_memory(m: int, codes: np.ndarray, n_batches: int, n_folds: int) -> None:
    """Raise if moments of every batch in every fold take too much memory; those of few samples keep the samples."""
    parts = n_batches * max(1, n_folds)
    needed, limit = 8.0 * m * min(parts * m, len(codes)), memory_limit()
    if needed > limit:
        folds = f" in {n_folds} folds" if n_folds else ""
        raise ValueError(
            f"The moments of {n_batches} batches{folds} take {needed / 2**30:.1f} GiB of the {limit / 2**30:.1f} that "
            "may be used; join batches, give a ridge so that nothing is held out, or use fewer features."
        )


def _moved(labels: np.ndarray, codes: np.ndarray, parts: list[list[Moments]]) -> Batches:
    """Return the batches with the moments of the folds; ``parts`` are by fold and batch."""
    of_batch = [[fold[b] for fold in parts if fold[b].n_samples] for b in range(len(labels))]
    present = [b for b, found in enumerate(of_batch) if found]
    if not present:
        raise ValueError("Every sample_weight is zero; give at least one sample some weight.")
    moments = [merged(of_batch[b]) for b in present]
    for b, found in zip(present, moments, strict=True):
        if found.n_samples == 1:
            raise ValueError(
                f"Batch {labels[b].item()!r} has one sample, in which nothing varies; join it to another batch or "
                "leave it out."
            )
    means = np.zeros((len(labels), int(moments[0].n_features or 0)))
    means[present] = [to_numpy(found.mean) for found in moments]
    mean = np.average(means[present], axis=0, weights=[found.weight_sum for found in moments])
    means[np.setdiff1d(np.arange(len(labels)), present)] = mean  # a batch without weight stays where it is
    xp, varies = namespace(moments[0]._mean), varying(moments)
    centres = [like(values, moments[0]._mean, xp) for values in (mean, *means[present])]
    folds = []
    for fold in parts:
        own = [(fold[b], centre) for b, centre in zip(present, centres[1:], strict=True) if fold[b].n_samples]
        moved = [part._moved(centre, centres[0], varies) for part, centre in own]
        folds.append(merged(moved) if moved else Moments())
    codes = np.searchsorted(present, codes)
    return Batches(labels[present], np.minimum(codes, len(present) - 1), means[present], mean, moments, folds)


@dataclass(frozen=True)
class BatchReport:
    """How a map from the selected features serves each batch.

    Attributes
    ----------
    explained : ndarray of shape (B,)
        Fraction of the variance within each batch that the map explains.
    specific : ndarray of int
        Selected features that serve one batch only.
    """

    explained: np.ndarray
    specific: np.ndarray


_ONE_BATCH = 0.95
"""A feature serves one batch only if so much of the rise of the error without it is in that batch."""


def batch_report(moments: Sequence[Moments], coef: np.ndarray, kept: np.ndarray, scale: np.ndarray) -> BatchReport:
    """Return how a map serves each batch.

    With e_j what of the selected feature j the others do not predict in all batches, and w_j its row of the map W, the
    residuals R = x - W'x_S become R + w_j e_j without it; their squares rise by 2 w_j'cov(R, e_j) + |w_j|^2 var(e_j).

    Parameters
    ----------
    moments : sequence of Moments
        Those of the batches.
    coef : ndarray of shape (k, m)
        The map from the selected to all features.
    kept : ndarray of shape (k,)
        The selected features, in the order of the map's rows.
    scale : ndarray of shape (m,)
        What features are divided by.
    """
    W = coef * scale[kept, None] / scale
    weights = np.array([part.weight_sum for part in moments])
    blocks = []
    for part in moments:
        C = part.operator()
        C_S = to_numpy(C.rows(list(kept))).T / scale[:, None] / scale[kept]
        blocks.append((C_S, float(np.sum(to_numpy(C.diagonal()) / scale**2))))
    pooled = sum(w * C_S[kept] for w, (C_S, _) in zip(weights, blocks, strict=True)) / weights.sum()
    P = np.linalg.pinv(pooled, hermitian=True)
    Q = np.divide(P, np.diag(P), out=np.zeros_like(P), where=np.diag(P) > 0)  # e_j = x_S Q[:, j]
    explained, rises = [], []
    for C_S, total in blocks:
        M = C_S[kept]
        left = C_S - W.T @ M  # cov(R, x_S)
        loss = total - float(np.sum(W.T * (C_S + left)))
        explained.append(1 - loss / total if total > 0 else np.nan)
        rises.append(2 * np.sum(W.T * (left @ Q), axis=0) + np.sum(W**2, axis=1) * np.sum(Q * (M @ Q), axis=0))
    rise = np.maximum(weights[:, None] * np.array(rises), 0.0)
    whole = rise.sum(axis=0)
    alone = (whole > 0) & (rise.max(axis=0) >= _ONE_BATCH * whole) & (len(weights) > 1)
    return BatchReport(np.array(explained), kept[alone])

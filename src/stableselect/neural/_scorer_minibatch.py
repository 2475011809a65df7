"""The published training of the scorer-selector network: mini-batches of samples, Adam, biases.

Features are not centred, both paths share every weight, the set of selected features is found anew for each batch and
is a constant in the gradient, the weights of the last epoch are kept, and the final ranking is by the *signed* w.
"""

from __future__ import annotations

import numpy as np

from .._core import Array
from ._scorer_parameters import (
    Network,
    Objective,
    Parameters,
    ScorerTrainable,
    score_slope,
    score_weights,
    top_features,
    top_features_with_ties,
)
from ._training import RowReader, check_loss


class MinibatchTrainable(ScorerTrainable):
    """The linear network and its samples, in NumPy.

    Parameters
    ----------
    begin : Parameters
        The initial weights, with biases.
    X : ndarray, memory map or CSR matrix of shape (n, m)
        The data, neither centred nor changed here.
    objective : Objective
        What to train for.
    deviation : ndarray of shape (m,)
        Standard deviations of the features, for the ranking while annealing.
    split : tuple of two arrays of int
        Samples to train on and samples to validate on.
    learning_rate : float
        Learning rate of Adam.
    batch_size : int
        Samples per step.
    rng : RandomState
        Draws the batches.
    dtype : type
        Precision of the training.
    """

    def __init__(
        self,
        begin: Parameters,
        X: Array,
        objective: Objective,
        deviation: np.ndarray,
        split: tuple[np.ndarray, np.ndarray],
        *,
        learning_rate: float,
        batch_size: int,
        rng: np.random.RandomState,
        dtype: type = np.float32,
    ) -> None:
        super().__init__(begin.around(begin.flat.astype(dtype)), objective, deviation.astype(dtype))
        self._rate, self._batch_size, self._rng = learning_rate, batch_size, rng
        self._rows, self._held_out = (RowReader(X, part, dtype) for part in split)

    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Train on every sample once; return the objective, the selector's and the scorer's error."""
        n, m = self._rows.shape
        order = self._rng.permutation(n)
        firsts = range(0, n, self._batch_size)
        errors = np.zeros(2)
        with np.errstate(over="ignore", invalid="ignore"):  # the training loop checks the losses
            for i, first in enumerate(firsts):
                batch = self._rows[order[first : first + self._batch_size]]
                count = self._objective.n_selected(start + (end - start) * i / len(firsts), m)
                losses = self._errors(batch, top_features_with_ties(self._ranks(), count))
                errors += np.asarray(losses) * (len(batch) / n)
                self._step(self._rate)
        self.settled = count == self._objective.k
        return float(errors[0] + self._objective.scorer_weight * errors[1]), float(errors[0]), float(errors[1])

    def validate(self) -> float | None:
        """Return the selector's error with exactly k features on the held-out samples."""
        return self._errors_on(self._held_out)[0] if self._held_out.shape[0] else None

    def state(self) -> np.ndarray:
        """Return a copy of the weights."""
        return self._at.flat.copy()

    def network(self, losses: np.ndarray) -> Network:
        """Return the network as it is; ``losses`` are those of its epochs."""
        errors = self._errors_on(self._rows)
        check_loss(errors, len(losses))
        return self._network(self._ranks() if self._objective.anneal else self._at.w, losses[:, 1:], errors)

    def _errors_on(self, rows: RowReader) -> tuple[float, float]:
        """Return the errors of both paths on some samples, with exactly k features."""
        n, total = rows.shape[0], np.zeros(2)
        selected = np.sort(top_features(self._ranks(), self._objective.k))
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, n, 4096):
                block = rows[np.arange(first, min(first + 4096, n))]
                total += np.asarray(self._errors(block, selected)) * (len(block) / n)
        return float(total[0]), float(total[1])

    def _errors(self, batch: np.ndarray, selected: np.ndarray) -> tuple[float, float]:
        return batch_gradient(batch, self._at, selected, self._gradient, self._objective)


def batch_gradient(
    X: np.ndarray, at: Parameters, selected: np.ndarray, gradient: Parameters, objective: Objective
) -> tuple[float, float]:
    """Write the gradient of selector + scorer_weight * scorer for a batch of samples; return the two errors.

    With Z (b x d+1) the latent units and a one, and H = [G', b_D] (m x d+1), a path gives Y = Z H'. Its error
    ||Y - X||^2 / (b m) has, with c = 2/(b m),

        dZ = c (Z H'H - X H),    dH = c (H Z'Z - X'Z),    d(sE) = X' dZ,

    so the b x m residual is never formed: X [sE, H] and X' [dZ, Z] are the only products with all of X, and one of each
    serves both paths. From D = d(sE) follow dE_j = s_j D_j and ds_j = <D_j, E_j>.
    """
    b, d = X.shape[0], at.width
    score, scorer_weight = objective.score, objective.scorer_weight
    s = score_weights(at.w, score, np)
    F = s[:, None] * at.encoder
    products = X @ np.hstack([F, at.decoder])
    XH = products[:, d:]
    X_selected = X[:, selected]

    Z = np.empty((2, b, d + 1), dtype=X.dtype)
    Z[0, :, :d] = products[:, :d]
    Z[1, :, :d] = X_selected @ F[selected]
    Z[:, :, :d] += at.encoder_bias
    Z[:, :, d] = 1
    scorer, selector = Z

    R = Z @ (at.decoder.T @ at.decoder)
    R -= XH
    total = np.vdot(X, X)
    errors = [float(np.vdot(R[path], Z[path]) - np.vdot(XH, Z[path]) + total) / X.size for path in (1, 0)]

    c = 2 / X.size
    R *= c
    R[0] *= scorer_weight
    weighted = scorer * (c * scorer_weight)
    curvature = weighted.T @ scorer + c * (selector.T @ selector)
    weighted += c * selector

    products = X.T @ np.hstack([R[0, :, :d], weighted])
    D = gradient.encoder
    D[:] = products[:, :d]
    D[selected] += X_selected.T @ R[1, :, :d]
    dH = np.matmul(at.decoder, curvature, out=gradient.decoder)
    dH -= products[:, d:]
    gradient.w[:] = np.einsum("jl,jl->j", D, at.encoder) * score_slope(at.w, score, np)
    D *= s[:, None]
    gradient.encoder_bias[:] = R[:, :, :d].sum(axis=(0, 1))
    return errors[0], errors[1]

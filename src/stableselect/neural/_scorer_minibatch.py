"""The published training protocol of the scorer-selector network: mini-batches of rows, Adam, biases.

Nothing is centred, both paths share every weight, the mask of kept columns is found anew for each batch and is a
constant to the gradient, the last epoch's weights are kept, and the export takes the k largest *signed* w.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from .._core import Array, DualGram, Gram, PrimalGram
from ._rows import RowReader
from ._scorer_parameters import (
    Adam,
    Init,
    Network,
    Parameters,
    Score,
    kept_columns,
    kept_count,
    pca_parameters,
    random_parameters,
    reach,
    score_slope,
    score_weights,
    top_columns,
)
from ._training import Stopping, Trainee, check_loss, train


class SgdTrainee(Trainee):
    """The linear network with its rows, in NumPy.

    Parameters
    ----------
    begin : Parameters
        The weights at the start, with biases.
    X : ndarray, memory map or CSR matrix of shape (n, m)
        The table, neither centred nor changed here.
    k : int
        Number of columns to keep.
    deviation : ndarray of shape (m,)
        The columns' standard deviations, for ranking while annealing.
    score : {"abs", "square"}
        phi in s = phi(w).
    scorer_weight : float
        Weight of the scorer's error beside the selector's.
    learning_rate : float
        Adam's rate.
    batch_size : int
        Rows per step.
    anneal : bool
        Shrink the kept columns from m to k, and rank by reach instead of by score.
    rng : RandomState
        Draws the batches.
    rows, held_out : ndarray of int
        Rows to learn from, and to validate on.
    dtype : type
        Precision of the training.
    """

    def __init__(
        self,
        begin: Parameters,
        X: Array,
        k: int,
        deviation: np.ndarray,
        *,
        score: Score,
        scorer_weight: float,
        learning_rate: float,
        batch_size: int,
        anneal: bool,
        rng: np.random.RandomState,
        rows: np.ndarray,
        held_out: np.ndarray,
        dtype: type = np.float32,
    ) -> None:
        self._at = begin.around(begin.flat.astype(dtype))
        self._gradient = self._at.around(np.zeros_like(self._at.flat))
        self._deviation: np.ndarray = deviation.astype(dtype)
        self._k, self._score, self._scorer_weight, self._anneal = k, score, scorer_weight, anneal
        self._rate, self._batch_size, self._rng = learning_rate, batch_size, rng
        self._rows, self._held_out = RowReader(X, rows, dtype), RowReader(X, held_out, dtype)
        self._adam = Adam(self._at)
        self.settled = not anneal

    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Learn from every row once; return the objective, the selector's and the scorer's error."""
        n, m = self._rows.shape
        order = self._rng.permutation(n)
        firsts = range(0, n, self._batch_size)
        errors = np.zeros(2)
        with np.errstate(over="ignore", invalid="ignore"):  # the loop looks at the losses
            for i, first in enumerate(firsts):
                batch = self._rows[order[first : first + self._batch_size]]
                count = kept_count(start + (end - start) * i / len(firsts), 1, m, self._k, self._anneal)
                losses = self._errors(batch, kept_columns(self._ranks(), count))
                errors += np.asarray(losses) * (len(batch) / n)
                self._adam.step(self._at, self._gradient, self._rate)
        self.settled = count == self._k
        return float(errors[0] + self._scorer_weight * errors[1]), float(errors[0]), float(errors[1])

    def validate(self) -> float | None:
        """Return the selector's error with exactly k columns on the rows held out."""
        return self._errors_on(self._held_out)[0] if self._held_out.shape[0] else None

    def state(self) -> np.ndarray:
        """Return a copy of the weights."""
        return self._at.flat.copy()

    def restore(self, state: np.ndarray) -> None:
        """Take weights back."""
        self._at.flat[:] = state

    def network(self, history: np.ndarray) -> Network:
        """Return the network as it is, with the errors of its epochs."""
        ranks = self._ranks() if self._anneal else self._at.w
        errors = self._errors_on(self._rows)
        check_loss(errors, len(history))
        return self._at.network(self._score, top_columns(ranks, self._k), ranks, history, errors)

    def _ranks(self) -> np.ndarray:
        s = score_weights(self._at.w, self._score, np)
        return reach(s, self._at.encoder, self._deviation, np) if self._anneal else s

    def _errors_on(self, rows: RowReader) -> tuple[float, float]:
        """Return both paths' errors on some rows, with exactly k columns."""
        n, total = rows.shape[0], np.zeros(2)
        kept = np.sort(top_columns(self._ranks(), self._k))
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, n, 4096):
                block = rows[np.arange(first, min(first + 4096, n))]
                total += np.asarray(self._errors(block, kept)) * (len(block) / n)
        return float(total[0]), float(total[1])

    def _errors(self, batch: np.ndarray, kept: np.ndarray) -> tuple[float, float]:
        return batch_gradient(
            batch, self._at, kept, self._gradient, score=self._score, scorer_weight=self._scorer_weight
        )


def train_sgd(
    X: np.ndarray,
    k: int,
    *,
    score: Score = "abs",
    scorer_weight: float = 1 / 128,
    latent_width: int | None = None,
    learning_rate: float = 1e-3,
    epochs: int = 200,
    batch_size: int = 64,
    init: Init = "published",
    anneal: bool = False,
    random_state: object = None,
    dtype: type = np.float32,
) -> Network:
    """Train one network on all rows for a number of epochs, as published or annealed.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Rows, finite, neither centred nor changed here.
    k : int
        Number of columns to keep.
    score, scorer_weight, learning_rate, batch_size, anneal, dtype
        As in :class:`SgdTrainee`.
    latent_width : int or None
        d; None means k.
    epochs : int
        Passes over the rows, shuffled anew for each; the last batch may be short.
    init : {"published", "pca"}
        Random start, or the principal components (see ``pca_parameters``).
    random_state : int, RandomState or None
        Draws the start and the batches.

    Returns
    -------
    Network
        ``history`` has one row per epoch, the mean over its batches while they were being learnt from.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((40, 6))
    >>> network = train_sgd(X, 2, epochs=3, batch_size=16, random_state=0)
    >>> network.selected.shape, network.history.shape
    ((2,), (3, 2))
    """
    rng = check_random_state(random_state)
    n, m = X.shape
    d = k if latent_width is None else latent_width
    mean = X.mean(axis=0, dtype=np.float64)
    begin = random_parameters(m, d, True, rng) if init == "published" else pca_parameters(gram_of(X - mean), d, mean)
    trainee = SgdTrainee(
        begin,
        X,
        k,
        X.std(axis=0),
        score=score,
        scorer_weight=scorer_weight,
        learning_rate=learning_rate,
        batch_size=batch_size,
        anneal=anneal,
        rng=rng,
        rows=np.arange(n),
        held_out=np.arange(0),
        dtype=dtype,
    )
    with one_thread():
        history = train(trainee, Stopping(epochs))
    return trainee.network(np.array(history.losses)[:, 1:])


def one_thread() -> threadpool_limits:
    """Hold BLAS to one thread.

    The products of a batch are too small to share out: a second thread gains little when the machine is idle, costs a
    factor of ten when it is not, and would make the path depend on the number of cores.
    """
    return threadpool_limits(limits=1, user_api="blas")


def gram_of(centred: np.ndarray) -> Gram:
    """Return the moments of centred rows in their smaller form."""
    n, m = centred.shape
    return PrimalGram(centred.T @ centred / n) if n >= m else DualGram(centred / n**0.5)


def batch_gradient(
    X: np.ndarray, at: Parameters, kept: np.ndarray, gradient: Parameters, *, score: Score, scorer_weight: float
) -> tuple[float, float]:
    """Write the gradient of selector + scorer_weight * scorer for a batch of rows; return the two errors.

    With Z (b x d+1) the latent units and a one, and H = [G', b_D] (m x d+1), a path gives Y = Z H'. Its error
    ||Y - X||^2 / (b m) has, with c = 2/(b m),

        dZ = c (Z H'H - X H),    dH = c (H Z'Z - X'Z),    d(sE) = X' dZ,

    so the b x m residual is never formed: X [sE, H] and X' [dZ, Z] are the only products with all of X, and one of each
    serves both paths. From D = d(sE) follow dE_j = s_j D_j and ds_j = <D_j, E_j>.
    """
    b, d = X.shape[0], at.width
    s = score_weights(at.w, score, np)
    F = s[:, None] * at.encoder
    products = X @ np.hstack([F, at.decoder])
    XH = products[:, d:]
    X_kept = X[:, kept]

    Z = np.empty((2, b, d + 1), dtype=X.dtype)
    Z[0, :, :d] = products[:, :d]
    Z[1, :, :d] = X_kept @ F[kept]
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
    D[kept] += X_kept.T @ R[1, :, :d]
    dH = np.matmul(at.decoder, curvature, out=gradient.decoder)
    dH -= products[:, d:]
    gradient.w[:] = np.einsum("jl,jl->j", D, at.encoder) * score_slope(at.w, score, np)
    D *= s[:, None]
    gradient.encoder_bias[:] = R[:, :, :d].sum(axis=(0, 1))
    return errors[0], errors[1]

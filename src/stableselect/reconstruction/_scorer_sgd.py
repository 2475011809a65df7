"""The published training protocol of the scorer-selector network: mini-batches of rows, Adam, biases.

Nothing is centred, both paths share every weight, the mask of kept columns is found anew for each batch and is a
constant to the gradient, the last epoch's weights are kept, and the export takes the k largest *signed* w.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from .._gram import DualGram, Gram, PrimalGram
from ._scorer_network import (
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


# The products of a batch are too small to share out: a second thread gains little when the machine is idle, costs a
# factor of ten when it is not, and would make the path depend on the number of cores.
@threadpool_limits.wrap(limits=1, user_api="blas")
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
    """Train the network on rows, as published or annealed.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Rows, finite, neither centred nor changed here.
    k : int
        Number of columns to keep.
    score : {"abs", "square"}
        phi in s = phi(w).
    scorer_weight : float
        Weight of the scorer's error beside the selector's.
    latent_width : int or None
        d; None means k.
    learning_rate : float
        Adam's rate.
    epochs : int
        Passes over the rows, shuffled anew for each; the last batch may be short.
    batch_size : int
        Rows per step.
    init : {"published", "pca"}
        Random start, or the principal components (see ``pca_parameters``).
    anneal : bool
        Start with every column kept, shrink to k over the first 70 % of the steps, and rank by
        s_j ||E_j|| sigma_j throughout instead of by the score.
    random_state : int, RandomState or None
        Draws the start and the batches.
    dtype : type
        Precision of the training; single, as published, is twice as fast.

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
    begin = random_parameters(m, d, True, rng) if init == "published" else _principal_start(X, d)
    at = begin.around(begin.flat.astype(dtype))
    gradient = at.around(np.zeros_like(at.flat))
    deviation = X.std(axis=0).astype(dtype)
    X = np.ascontiguousarray(X, dtype=dtype)
    adam = Adam(at)
    history = np.zeros((epochs, 2))
    step, steps = 0, epochs * -(-n // batch_size)
    for epoch in range(epochs):
        order = rng.permutation(n)
        for first in range(0, n, batch_size):
            batch = X[order[first : first + batch_size]]
            s = score_weights(at.w, score, np)
            ranks = reach(s, at.encoder, deviation, np) if anneal else s
            kept = kept_columns(ranks, kept_count(step, steps, m, k, anneal))
            losses = batch_gradient(batch, at, kept, gradient, score=score, scorer_weight=scorer_weight)
            history[epoch] += np.asarray(losses) * (len(batch) / n)
            adam.step(at, gradient, learning_rate)
            step += 1
    s = score_weights(at.w, score, np)
    ranks = reach(s, at.encoder, deviation, np) if anneal else at.w
    return at.network(score, top_columns(ranks, k), ranks, history)


def _principal_start(X: np.ndarray, d: int) -> Parameters:
    """Return the principal component start for these rows."""
    mean = X.mean(axis=0, dtype=np.float64)
    centred = (X - mean) / len(X) ** 0.5
    gram: Gram = PrimalGram(centred.T @ centred) if X.shape[0] >= X.shape[1] else DualGram(centred)
    return pca_parameters(gram, d, mean)


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

"""AEFS: an autoencoder whose first layer is made sparse by whole columns."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from .._core import Gram
from ._aefs_moments import AEFSTrainee
from ._elimination import Elimination
from ._sparse_input import SparseInputSelector
from ._specs import Spec


class AEFS(SparseInputSelector):
    """Keep the columns whose weights in the first layer of a penalised autoencoder are the longest.

    The network g(f(x)) minimises ::

        1/(2 v) |x - g(f(x))|^2 + alpha |W_1|_{2,1} + beta/2 sum_{l > 1} |W_l|_F^2

    on average over the rows, W_1 (m x d) the first layer, v the mean variance of the columns. ``|W_1|_{2,1}`` adds up
    the lengths of its rows, one row a column, so that rows become zero as a whole. The score of column j is the length
    of row j. Columns are centred (linear networks) or met by biases, never scaled.

    Linear networks are trained on the second moments alone, by exact alternating steps; nothing is drawn at random.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number, a share rounded up, or None for half.
    alpha : float, default=0.1
        Weight of the row penalty.
    beta : float or None, default=None
        Weight decay of every layer behind the first (the first has its own penalty), above 0; None for 1
        ("alternating") or 0.01 ("minibatch").
    eliminate : bool, default=True
        Drop the columns of the shortest rows as training goes on, the number left falling geometrically from m to k
        over the first 90 % of the epochs (70 % for "minibatch"). False trains with every column and ranks once, at the
        end.
    error_scale : {"variance", "cell"}, default="variance"
        "variance": the error is summed over the columns and halved, in units of their mean variance, so that alpha and
        beta do not depend on the table's units. "cell": the mean squared error per cell, as published.
    latent_width : int or None, default=None
        d; None for the number of kept columns, but with "alternating" at most one for every five rows, since more
        would follow the noise of a table with few rows, and 2 k + 4 for nonlinear networks with ``eliminate``.
    encoder, decoder : "linear", tuple of int or callable, default="linear"
        f and g: linear, with hidden layers of these sizes, or a function ``(n_in, n_out) -> torch.nn.Module``, of which
        the encoder's first layer must be linear.
    activation : {"relu", "gelu", "tanh", "sigmoid", "elu"}, default="relu"
        Between layers of given sizes.
    solver : {"auto", "alternating", "minibatch"}, default="auto"
        "alternating": full-batch steps on the moments, for linear networks, without torch. "minibatch": mini-batches of
        rows, with biases, in torch. "auto": "alternating" where it can be.
    epochs : int or None, default=None
        Full-batch steps (100, or 1000 without ``eliminate``) or passes over the rows (as many as make 10,000 batches).
    learning_rate : float or None, default=None
        Adam's rate for "minibatch", None for 0.003; with ``eliminate`` it falls to a tenth. The full-batch steps need
        none.
    batch_size : int or None, default=None
        Rows a step for "minibatch", None for 64.
    replace : bool, default=False
        For "minibatch": draw the rows of an epoch with replacement.
    validation_fraction : float, default=0.1
        Share of the rows that "minibatch" holds out to keep the best weights once the columns are chosen.
    tol : float, default=1e-5
        The least relative gain of an epoch that counts, in the validation loss ("minibatch") or the objective.
    patience : int or None, default=10
        Epochs without such a gain before training stops; None for never. Counted once the columns are chosen.
    max_time : float or None, default=None
        Seconds; columns are dropped faster where training would not end in time.
    device : str, default="auto"
        Where "minibatch" runs; "auto" is CUDA where there is one.
    random_state : int, RandomState instance or None, default=None
        For "minibatch": draws the start, the batches and the rows held out.

    Attributes
    ----------
    latent_width_ : int
        The width used.
    n_active_ : int
        Columns that the network still used at the end: rows longer than zero.
    converged_ : bool
        Whether training came to its end: with ``eliminate``, k columns were left; without, the objective had settled
        ("alternating") or the epochs were done ("minibatch"), and at least k columns were still used.
    encoder_weights_, decoder_weights_ : dict of str to ndarray
        The network, names and shapes as torch gives them: "0.weight" (outputs x inputs), "0.bias", ...
        Linear ones are for centred columns, in units of the square root of v.

    Notes
    -----
    A factor may move from W_1 to a linear decoder without a change of the output, so for linear networks only
    alpha^2 beta matters, and with beta = 0 alpha would not. For this reason beta must be above 0.

    With ``|w|`` below ``|w|^2 / (2 |w_0|) + |w_0| / 2`` every full-batch step solves a ridge regression for each layer,
    and the objective never rises between two drops. A row on its way to zero falls with every step; below 1e-10 of the
    longest it is dropped.

    A penalty that is strong for the table may take more columns out than ``eliminate`` asks for; k are kept all the
    same, the last to go first, and ``n_active_`` says how many the network still uses.

    ``scores_`` of a dropped column is the length of its row when it was dropped, but never above that of a column that
    stayed longer; constant columns score -1. :meth:`reconstruct` uses least squares, or the network where it is
    nonlinear and, by ``eliminate``, uses the kept columns alone.

    References
    ----------
    Han, Wang, Zhang, Li & Xu (2018), Autoencoder inspired unsupervised feature selection, ICASSP.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.neural import AEFS
    >>> X = load_iris().data
    >>> selector = AEFS(2).fit(X)
    >>> selector.transform(X).shape, selector.converged_, selector.n_active_
    ((150, 2), True, 2)
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        alpha: float = 0.1,
        beta: float | None = None,
        eliminate: bool = True,
        error_scale: Literal["variance", "cell"] = "variance",
        latent_width: int | None = None,
        encoder: Spec = "linear",
        decoder: Spec = "linear",
        activation: str = "relu",
        solver: Literal["auto", "alternating", "minibatch"] = "auto",
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        replace: bool = False,
        validation_fraction: float = 0.1,
        tol: float = 1e-5,
        patience: int | None = 10,
        max_time: float | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.beta = beta
        self.eliminate = eliminate
        self.error_scale = error_scale
        self.latent_width = latent_width
        self.encoder = encoder
        self.decoder = decoder
        self.activation = activation
        self.solver = solver
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.replace = replace
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.patience = patience
        self.max_time = max_time
        self.device = device
        self.random_state = random_state

    @classmethod
    def published(
        cls,
        n_features_to_select: int | float | None = None,
        *,
        epochs: int = 1000,
        batch_size: int = 8,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the selector with the settings of the published experiments.

        Linear layers with biases, alpha 0.1 against the mean squared error per cell, decay 0.001 on the decoder, Adam
        at 0.001 on batches of 8 rows drawn with replacement, 1000 epochs. Left out: one column per latent unit by its
        largest weight, which keeps columns twice (the rows are ranked by length instead); restarts meant to try other
        values of alpha that all used the same one; and their comparison on rows also used for fitting.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Columns to keep.
        epochs : int
            Passes over the rows.
        batch_size : int
            Rows a step.
        device : str
            Where to train.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        AEFS
        """
        return cls(
            n_features_to_select,
            alpha=0.1,
            beta=1e-3,
            eliminate=False,
            error_scale="cell",
            solver="minibatch",
            epochs=epochs,
            learning_rate=1e-3,
            batch_size=batch_size,
            replace=True,
            validation_fraction=0.0,
            patience=None,
            device=device,
            random_state=random_state,
        )

    def _moments_trainee(self, gram: Gram, k: int, width: int, scale: float) -> AEFSTrainee:
        alpha, decay = float(self.alpha) * scale, self._decay(1.0) * scale
        return AEFSTrainee(gram, k, width, alpha=alpha, decay=decay, eliminate=bool(self.eliminate))

    def _torch_model(self, elimination: Elimination, factor: float, width: int, rng: np.random.RandomState) -> Any:
        from ._torch._aefs import AEFSModel
        from ._torch._networks import build_network

        m = self.n_features_in_
        encoder = build_network(self.encoder, m, width, self.activation, rng, role="encoder")
        decoder = build_network(self.decoder, width, m, self.activation, rng, role="decoder")
        return AEFSModel(encoder, decoder, elimination, factor, alpha=float(self.alpha), beta=self._decay(1.0))

    def _penalty_name(self) -> str:
        return "alpha"

    def _check_settings(self) -> None:
        super()._check_settings()
        self._check_weight("alpha")
        if self.beta is not None:
            self._check_weight("beta")

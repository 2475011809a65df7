"""AEFS: an autoencoder with a penalty that removes whole features from its first layer."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from .._compat import Constraints
from ._row_sparse import AEFSTrainable
from ._sparse_input import SparseInputSelector
from ._specs import Spec
from ._trained_selector import POSITIVE


class AEFS(SparseInputSelector):
    """Select the features with the largest weights in the first layer of a penalised autoencoder.

    The network g(f(x)) minimises ::

        1/(2 v) |x - g(f(x))|^2 + alpha |W_1|_{2,1} + beta/2 sum_{l > 1} |W_l|_F^2

    on average over the samples. W_1 (m x d) is the first layer, v the mean variance of the features. ``|W_1|_{2,1}`` is
    the sum of the lengths of its rows, one per feature, so that whole rows become zero. The score of feature j is the
    length of row j. Features are centred (linear networks) or the network has biases; they are never scaled.

    Linear networks are trained on the second moments by exact alternating steps, without random numbers.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, a fraction of them (rounded up), or None for half.
    alpha : float, default=0.1
        Weight of the row penalty.
    beta : float or None, default=None
        Weight decay of every layer after the first, above 0; None for 1 ("alternating") or 0.01 ("minibatch").
    eliminate : bool, default=True
        Drop the features with the shortest rows during training; the number left falls geometrically from m to k over
        the first 90 % of the epochs (70 % for "minibatch"). False: train with all features and rank them at the end.
    error_scale : {"variance", "mean"}, default="variance"
        "variance": the squared error is summed over the features and divided by twice their mean variance, so that
        alpha and beta do not depend on the units of the data. "mean": the mean squared error, as published.
    latent_width : int or None, default=None
        d. None: the number of selected features, but with "alternating" at most one per five samples, since more would
        follow the noise, and 2 k + 4 for nonlinear networks with ``eliminate``.
    encoder, decoder : "linear", tuple of int or callable, default="linear"
        f and g: linear, with hidden layers of these sizes, or a function ``(n_in, n_out) -> torch.nn.Module``. The
        first layer of the encoder must be linear.
    activation : {"relu", "gelu", "tanh", "sigmoid", "elu"}, default="relu"
        Activation between layers of given sizes.
    solver : {"auto", "alternating", "minibatch"}, default="auto"
        "alternating": exact alternating steps on the second moments, for linear networks, without torch. "minibatch":
        Adam on mini-batches of samples, with biases, in torch. "auto": "alternating" for linear networks, "minibatch"
        for others.
    epochs : int or None, default=None
        Number of alternating steps (None: 100, or 1000 without ``eliminate``) or of passes over the samples (None: as
        many as give 10,000 batches).
    learning_rate : float or None, default=None
        Learning rate of Adam for "minibatch", None for 0.003; with ``eliminate`` it decays to a tenth.
    batch_size : int or None, default=None
        Samples per batch of "minibatch", None for 64.
    replace : bool, default=False
        For "minibatch": draw the samples of an epoch with replacement.
    validation_fraction : float, default=0.1
        Fraction of the samples that "minibatch" holds out to keep the best weights once k features are left.
    tol : float, default=1e-5
        Smallest relative improvement that counts, in the validation loss ("minibatch") or the objective.
    patience : int or None, default=10
        Stop after this many epochs without such an improvement, counted once k features are left. None: never.
    max_time : float or None, default=None
        Time limit in seconds. Features are dropped faster to end in time.
    device : str, default="auto"
        Where "minibatch" trains; "auto" is CUDA if available.
    random_state : int, RandomState instance or None, default=None
        For "minibatch": draws the start, the batches and the held-out samples.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    latent_width_ : int
        The latent width used.
    n_active_ : int
        Number of features that the network still used at the end.
    converged_ : bool
        Whether training was completed: with ``eliminate``, k features were left; without, the objective had settled
        ("alternating") or all epochs were done ("minibatch"), and at least k features were still used.
    encoder_weights_, decoder_weights_ : dict of str to ndarray
        The network, with torch's names and shapes: "0.weight" (outputs x inputs), "0.bias", ... Linear networks apply
        to centred features, in units of the square root of v.

    Notes
    -----
    A factor can move from W_1 to a linear decoder without changing the output, so that for linear networks only
    alpha^2 beta matters, and with beta = 0 alpha would have no effect. For this reason beta must be above 0.

    Since ``|w| <= |w|^2 / (2 |w_0|) + |w_0| / 2``, every alternating step solves a ridge regression for each layer, and
    the objective never increases between two drops. A row that converges to zero is dropped below 1e-10 of the longest.

    A strong penalty may drop more features than ``eliminate`` asks for. Exactly k are selected all the same, those
    dropped last first; ``n_active_`` is the number that the network still uses.

    ``scores_`` of a dropped feature is the length of its row when it was dropped, but never above that of a feature
    that stayed longer; constant features score -1. :meth:`reconstruct` uses least squares, or the network if it is
    nonlinear and, thanks to ``eliminate``, uses the selected features only.

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

    _penalty = "alpha"
    _moments_trainable = AEFSTrainable
    _linear_beta = 1.0
    _parameter_constraints: ClassVar[Constraints] = {
        **SparseInputSelector._parameter_constraints,
        "alpha": [POSITIVE],
        "beta": [POSITIVE, None],
        "replace": ["boolean"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        alpha: float = 0.1,
        beta: float | None = None,
        eliminate: bool = True,
        error_scale: Literal["variance", "mean"] = "variance",
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
        verbose: bool = False,
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
        self.verbose = verbose

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

        Linear layers with biases, alpha 0.1 beside the mean squared error, weight decay 0.001 of the decoder, Adam with
        learning rate 0.001 on batches of 8 samples drawn with replacement, 1000 epochs. Left out: selecting one feature
        per latent unit by its largest weight, which selects features twice (here the rows are ranked by length);
        restarts meant for other values of alpha that all used the same one; and their comparison on samples that were
        also used for fitting.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        epochs : int
            Number of passes over the samples.
        batch_size : int
            Samples per batch.
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
            error_scale="mean",
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

    def _torch_model(self, parts: tuple[Any, Any, Any], rng: np.random.RandomState) -> Any:
        from ._torch._sparse_input import AEFSModel

        return AEFSModel(*parts)

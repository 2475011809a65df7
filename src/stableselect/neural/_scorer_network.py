"""The scorer-selector network of the paper, trained."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from .._compat import Constraints, Interval, StrOptions
from .._core import MANY_FEATURES, Array, Moments, merged, normalised_moments, one_thread, to_numpy, units
from ..base import Selection, StreamingSelector, resolve_k
from ..subset import N_FOLDS
from ._scorer_fitted import FittedNetwork
from ._scorer_train import NetworkSettings, TrainingData, searched_features, train_network
from ._specs import Spec
from ._trained_selector import AT_LEAST_ONE, NETWORK, NOT_NEGATIVE, TrainedSelector


class ScorerSelectorNetwork(FittedNetwork, StreamingSelector):
    """Score all features and select k of them with one shared autoencoder, trained by gradient descent.

    Every feature j is multiplied by a score phi(w_j) >= 0. The *scorer* reconstructs the data from all scored features,
    the *selector* from the k features with the highest scores only, through the same encoder and decoder. Training
    minimises the selector's error plus ``scorer_weight`` times the scorer's.

    :class:`ScorerSelector` solves the linear model in closed form, without random numbers, and is usually better. Use
    this class to reproduce the published method (:meth:`published`), or if features depend on each other in a nonlinear
    way.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, a fraction of them (rounded up), or None for half.
    score_function : {"abs", "square"}, default="abs"
        phi(w) = abs(w) or w^2.
    scorer_weight : float, default=1/128
        Weight of the scorer's error.
    latent_width : int or None, default=None
        Width d of the autoencoder. None: the number of selected features, but at least 16 for nonlinear networks.
    solver : {"auto", "full_batch", "minibatch"}, default="auto"
        "full_batch": full-batch Adam on the second moments of the centred features, for linear networks, without torch.
        "minibatch": Adam on mini-batches of samples, with biases, as published; nonlinear networks need torch.
        "auto": "full_batch" for linear networks, "minibatch" for others.
    encoder, decoder : "linear", tuple of int, or callable, default="linear"
        A tuple gives the sizes of hidden layers; a callable ``(n_in, n_out) -> torch.nn.Module`` returns the module
        itself.
    activation : {"relu", "gelu", "tanh", "sigmoid", "elu"}, default="relu"
        Activation between the layers of a tuple.
    anneal : bool or None, default=None
        Start with all features selected and reduce their number to k over the first 70 % of the steps, ranking features
        by their reach through the encoder instead of by their score alone. This makes the selection depend much less on
        the random start. None: True for nonlinear networks with ``init="published"``.
    init : {"auto", "published", "pca", "search", "kernel"}, default="auto"
        Where training starts: the published random start; the principal components (linear networks only); the features
        that :class:`ColumnSubset` selects, with the weights of the closed form if the network is linear; or those that
        :class:`KernelSubset` selects (nonlinear networks only). "auto": "kernel" for nonlinear networks unless they are
        annealed, else "published". Nonlinear networks that start from a search without annealing keep its features and
        learn what a ridge regression from these leaves.
    learning_rate : float or None, default=None
        Learning rate of Adam. None: 0.01 ("full_batch"; 0.003 if annealed) decaying to 3 % of it, 0.001 ("minibatch"),
        or 0.005 decaying to 3 % of it (nonlinear networks; 0.002 if they start from a search, and n / 400 of that with
        fewer than 400 samples or groups).
    epochs : int or None, default=None
        Number of full-batch steps, or of passes over the samples ("minibatch"). None: 2000, 200, and for nonlinear
        networks as many as give 1.2e9 steps times weights over all starts, but between 500 and 9,000 steps.
    batch_size : int, default=64
        Samples per batch of "minibatch".
    n_starts : int or None, default=None
        Number of random starts, of which the one with the lowest validation loss is kept. None: 3 for nonlinear
        networks with ``init="published"``, else 1.
    validation_fraction : float or None, default=None
        Fraction of the samples that "minibatch" holds out; the weights with the lowest error on them are kept. None:
        0.1 for nonlinear networks (0 for fewer than ten samples); 0 for linear ones, which keeps the last weights.
    patience : int or None, default=None
        Stop after this many epochs without a relative improvement of ``tol`` in the validation loss (in the objective
        if no samples are held out), counted once k features are left. None: never, but for nonlinear networks that
        start from a search after a fifth of the epochs.
    tol : float, default=1e-4
        Smallest relative improvement that counts.
    max_time : float or None, default=None
        Time limit in seconds. The annealing is sped up to end in time, so results then depend on the machine.
    device : str, default="auto"
        Where torch trains: "auto" (CUDA if available), "cpu", "cuda", ... Linear networks are trained in NumPy on the
        CPU unless the data are a CUDA tensor or a CUDA device is named.
    random_state : int, RandomState instance or None, default=None
        Draws the start, the batches and the held-out samples.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    score_weights_ : ndarray of shape (m,)
        phi(w). The features are ranked by ``scores_``.
    encoder_ : ndarray of shape (m, d) or None
        Weights of the encoder; None for nonlinear networks, as the next four.
    decoder_ : ndarray of shape (d, m) or None
        Weights of the decoder.
    encoder_intercept_, scorer_intercept_ : ndarray of shape (d,) or None
        Intercepts of the encoder in the selector and in the scorer path ("minibatch" shares them).
    decoder_intercept_ : ndarray of shape (m,) or None
        Intercept of the decoder.
    encoder_weights_, decoder_weights_ : dict of str to ndarray, or None
        Weights of nonlinear networks, by torch's names; None for linear ones.
    latent_width_ : int
        d.
    loss_selector_, loss_scorer_ : float
        Mean squared error (averaged over samples and features) of the two paths on the training samples, with exactly k
        features.
    loss_history_ : ndarray of shape (n_epochs, 2)
        Both errors during training.
    validation_history_ : ndarray of shape (n_epochs,) or (0,)
        The selector's error on the held-out samples.
    n_epochs_, best_epoch_ : int
        Number of epochs, and the epoch whose weights were kept; 0 if the network was left out.
    stop_reason_ : str
        What ended the training: "epochs", "patience", "max_time", "callback" or "interrupted".
    objective_ : float
        ``loss_selector_ + scorer_weight * loss_scorer_``.
    lower_bound_ : float
        No linear network is below: (1 + scorer_weight) times the error of d principal components; 0 if nonlinear.
    optimality_gap_ : float
        ``(objective_ - lower_bound_) / objective_``.
    ridge_ : float
        Relative ridge weight of the regression on the features that a search found; 0 for other starts.
    network_weight_ : float or None
        Factor c of a nonlinear network that starts from a search, ``x_S B + b + c f(g(x))`` with the ridge regression B
        (``reconstruction_coef_``): the best for the held-out samples, or 0, which leaves the regression, if the network
        gains no more than one standard error on them; 1 if none are held out. None for others.

    See Also
    --------
    ScorerSelector : The linear model in closed form.

    Notes
    -----
    Features are never scaled. "minibatch" does not centre them either and expects them near unit scale. Weights of
    samples, :meth:`fit_moments` and :meth:`partial_fit`, which trains anew each time, need "full_batch".

    References
    ----------
    Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm, NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ScorerSelectorNetwork
    >>> X = load_iris().data
    >>> selector = ScorerSelectorNetwork(2, anneal=True, random_state=0).fit(X)
    >>> selector.transform(X).shape, selector.encoder_.shape, selector.stop_reason_
    ((150, 2), (4, 2), 'epochs')
    """

    _linear_solver = "full_batch"
    _parameter_constraints: ClassVar[Constraints] = {
        **TrainedSelector._parameter_constraints,
        "score_function": [StrOptions({"abs", "square"})],
        "scorer_weight": [NOT_NEGATIVE],
        "latent_width": [AT_LEAST_ONE, None],
        "solver": [StrOptions({"auto", "full_batch", "minibatch"})],
        "encoder": NETWORK,
        "anneal": ["boolean", None],
        "init": [StrOptions({"auto", "published", "pca", "search", "kernel"})],
        "batch_size": [AT_LEAST_ONE],
        "n_starts": [AT_LEAST_ONE, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="left"), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        score_function: Literal["abs", "square"] = "abs",
        scorer_weight: float = 1 / 128,
        latent_width: int | None = None,
        solver: Literal["auto", "full_batch", "minibatch"] = "auto",
        encoder: Spec = "linear",
        decoder: Spec = "linear",
        activation: str = "relu",
        anneal: bool | None = None,
        init: Literal["auto", "published", "pca", "search", "kernel"] = "auto",
        learning_rate: float | None = None,
        epochs: int | None = None,
        batch_size: int = 64,
        n_starts: int | None = None,
        validation_fraction: float | None = None,
        patience: int | None = None,
        tol: float = 1e-4,
        max_time: float | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.score_function = score_function
        self.scorer_weight = scorer_weight
        self.latent_width = latent_width
        self.solver = solver
        self.encoder = encoder
        self.decoder = decoder
        self.activation = activation
        self.anneal = anneal
        self.init = init
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.n_starts = n_starts
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.max_time = max_time
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def published(
        cls,
        n_features_to_select: int | float | None = None,
        *,
        score_function: Literal["abs", "square"] = "abs",
        batch_size: int = 64,
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the network with the settings of the published experiments.

        The published batch sizes are 128 (Mice Protein, COIL-20), 64 (Activity, ISOLET), 256 (Fashion-MNIST) and 16
        (the others). If scores are tied, exactly k features are selected.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        score_function : {"abs", "square"}
            phi.
        batch_size : int
            Samples per batch.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        ScorerSelectorNetwork
        """
        return cls(
            n_features_to_select,
            score_function=score_function,
            scorer_weight=1 / 128,
            solver="minibatch",
            anneal=False,
            init="published",
            learning_rate=1e-3,
            epochs=200,
            batch_size=batch_size,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : table of shape (n, m)
            The samples; "full_batch" takes them in anything that :meth:`Moments.from_batches()
            <stableselect.Moments.from_batches>` reads.
        y : None
            Ignored, for scikit-learn pipelines.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the samples, for "full_batch".
        groups : array-like of shape (n,), optional
            Labels of samples that belong together, such as replicates: they are held out together.

        Returns
        -------
        self
        """
        self._groups = groups
        shape: tuple[int, ...] = getattr(X, "shape", ())
        # Small moments too: several threads of BLAS would wait for each other on a busy machine.
        small = len(shape) == 2 and shape[1] < MANY_FEATURES
        try:
            with one_thread() if small else nullcontext():
                return super().fit(X, y, sample_weight)
        finally:
            del self._groups

    def _keeps_groups(self) -> bool:
        """Tell whether groups have a say in what is held out."""
        held_out = self._solver() == "minibatch" and bool(self.validation_fraction)
        return not self._is_linear() or self.init == "search" or held_out

    def _folds_needed(self) -> int:
        return N_FOLDS if self.init == "search" else 0

    def _moments_folds(self) -> int | None:
        return self._folds_needed() if self._solver() == "full_batch" else None

    def _select_from_folds(
        self, folds: Sequence[Moments], X: Array = None, sample_weight: np.ndarray | None = None
    ) -> Selection:
        moments, k = merged(folds), resolve_k(self.n_features_to_select, self.n_features_in_)
        gram, unit = normalised_moments(moments)
        n_samples = None if X is None or sample_weight is not None else int(X.shape[0])
        self._check_settings()
        groups = getattr(self, "_groups", None)
        if groups is not None:
            if X is None:
                raise ValueError("groups need samples in memory; give X as one table, or leave groups out.")
            groups = units(groups, int(X.shape[0]))[0]
            groups = groups if groups.any() else None  # a single one: none would be left
        parameters, n_groups = self.get_params(deep=False), None if groups is None else int(groups.max()) + 1
        settings = NetworkSettings(
            parameters, self._solver(), self._is_linear(), n_samples, gram.n_features, k, n_groups
        )
        searched = searched_features(settings.init, k, folds, X, sample_weight, groups)
        data = TrainingData(gram, unit, to_numpy(moments.mean), X, groups, searched)
        network, history = train_network(data, settings, check_random_state(self.random_state), self._train)
        return self._store_network(network, history, data, settings)

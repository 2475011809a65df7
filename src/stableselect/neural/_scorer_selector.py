"""The paper's scorer-selector network as a selector: searched, or trained in three ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core import column_roles, to_numpy
from ..base import Selection, least_squares_map
from ..scorer import ScorerObjective, scorer_finisher, search_scorer
from ..subset import Finish, MomentsSelector, Problem, bounds, search_columns
from ._scorer_parameters import Network, canonical_scores, top_columns
from ._scorer_settings import check_settings, check_weight
from ._scorer_train import Trained, train_network
from ._specs import Spec, fitted_activation, run_network
from ._training_mixin import TrainingMixin

_OF_ONE_KIND = (
    "encoder_",
    "decoder_",
    "encoder_intercept_",
    "scorer_intercept_",
    "decoder_intercept_",
    "encoder_weights_",
    "decoder_weights_",
    "_activations",
)
"""Attributes that only linear networks have, or only others: those of an earlier fit must not stay."""


class ScorerSelector(TrainingMixin, MomentsSelector):
    """Score all columns and select k of them with one shared autoencoder.

    Every column j is multiplied by a score phi(w_j) >= 0. The *scorer* rebuilds the table from all scored columns, the
    *selector* from the k of largest score only, through the same encoder and decoder; the model minimises the
    selector's error plus ``scorer_weight`` times the scorer's.

    For a fixed subset and linear maps that minimum has a closed form, so the default solver searches subsets and gives
    exact weights. The gradient solvers train the network instead, linear or not; their choice follows the seed unless
    ``anneal`` is set.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Columns to keep: a number, a share rounded up, or None for half. "auto" takes as many as
        ``min_explained_variance`` asks for on held-out rows; "search" only.
    score_function : {"abs", "square"}, default="abs"
        phi(w) = abs(w) or w^2. The search's columns are the same for both.
    scorer_weight : float, default=1/128
        Weight of the scorer's error; 0 leaves the selector alone.
    latent_width : int or None, default=None
        Width d of the autoencoder. None: the number of kept columns, 16 at least where the network is not linear.
    ridge : float or "auto", default="auto"
        Ridge weight of the selector's map, relative to the mean variance, as in :class:`ColumnSubset`; used by
        "search".
    solver : {"search", "full_batch", "minibatch"}, default="search"
        "search": subsets by forward search and exchange, weights in closed form. "full_batch": full-batch Adam on the
        moments. "minibatch": mini-batches of rows with biases, the published protocol.
    encoder, decoder : "linear", tuple of int, or callable, default="linear"
        The two maps. A tuple gives the sizes of hidden layers; a callable ``(n_in, n_out) -> torch.nn.Module`` makes
        the module itself. Anything but "linear" needs ``solver="minibatch"`` and torch.
    activation : {"relu", "gelu", "tanh", "sigmoid", "elu"}, default="relu"
        Between the layers of a tuple.
    anneal : bool or None, default=None
        For the gradient solvers: start with every column selected and shrink to k over the first 70 % of the steps,
        ranking by the reach of a column through the encoder rather than by its score alone. None: for networks that
        are not linear, unless ``init="search"``.
    init : {"published", "pca", "search"}, default="published"
        Start of the gradient solvers: the published random one; the principal components (linear only); or the columns
        that "search" finds, with its weights where the network is linear.
    learning_rate : float or None, default=None
        Adam's rate; None for 0.001 ("minibatch"; 0.005 falling to 3 % of it where the network is not linear) or the
        full-batch default ("full_batch").
    epochs : int or None, default=None
        Passes over the rows ("minibatch") or full-batch steps ("full_batch"). None: 200, 2000, and for networks that
        are not linear as many as make 1.2e9 steps times weights in all starts together, between 500 and 9,000 steps.
    batch_size : int, default=64
        Rows per batch for "minibatch".
    n_starts : int or None, default=None
        Trainings from different random starts, of which the one of least validation loss is kept. None: 3 for networks
        that are not linear, unless ``init="search"``, and 1 otherwise.
    validation_fraction : float or None, default=None
        Share of the rows held out by "minibatch"; the weights of least error on them are kept. None: 0.1 for networks
        that are not linear (0 below ten rows), and 0 otherwise, which keeps the last epoch's weights.
    patience : int or None, default=None
        Stop after so many epochs without a relative gain of ``tol`` in the validation loss (in the objective where no
        rows are held out), counted once the schedule has reached k columns. None: never.
    tol : float, default=1e-4
        The least relative gain that counts.
    max_time : float or None, default=None
        Seconds of training; the schedule runs faster where it would not end in time, so results then depend on the
        machine.
    device : str, default="auto"
        Where torch trains: "auto" (CUDA where there is one), "cpu", "cuda", ... Linear networks train in NumPy on the
        CPU unless the table is a CUDA tensor or a CUDA device is named.
    include, exclude : sequence of str or int, optional
        Columns, by name or index, that must or must not be kept; "search" only.
    min_explained_variance : float or "elbow", default=0.9
        For "auto", as in :class:`ColumnSubset`: the smallest number of columns that explains this share of the variance
        of held-out rows, or the elbow of the logarithm of their error.
    max_features : int or None, default=None
        For "auto": the most columns to look at; None for 200 beyond those included.
    criterion : {"error", "stability"}, default="error"
        "stability", with "search" only: of many ways to search, take a compromise between those whose choice repeats
        best on other rows while its held-out error is within ``max_error_increase`` of the least, as in
        :class:`ColumnSubset`. The ways also differ in latent width, where that is None.
    max_error_increase : float, default=0.05
        For ``criterion="stability"``: the share by which the held-out error may lie above the least.
    min_stability : float or None, default=None
        Take the way of least held-out error that is at least this stable, as in :class:`ColumnSubset`.
    random_state : int, RandomState instance or None, default=None
        Seed of the gradient solvers; "search" is deterministic.

    Attributes
    ----------
    frontier_, selection_frequency_
        After asking for stability, as in :class:`ColumnSubset`.
    path_ : SelectionPath
        After "auto": explained share against the number of columns, and how far the number moves between folds.
    score_weights_ : ndarray of shape (m,)
        Phi; with "search" larger inside the selection than outside. What a trained network ranks columns by is in
        ``scores_``.
    encoder_ : ndarray of shape (m, d)
        W_E; linear networks only, as the three that follow.
    decoder_ : ndarray of shape (d, m)
        W_D.
    encoder_intercept_, scorer_intercept_ : ndarray of shape (d,)
        Encoder intercepts of the selector and of the scorer path (the same for "minibatch", which shares its bias).
    decoder_intercept_ : ndarray of shape (m,)
        Decoder intercept.
    encoder_weights_, decoder_weights_ : dict of str to ndarray
        The weights by torch's names; networks that are not linear only.
    latent_width_ : int
        d.
    loss_selector_, loss_scorer_ : float
        Mean squared error per cell of the two paths, with exactly k columns, on the rows learnt from.
    loss_history_ : ndarray of shape (steps, 2)
        Both losses as training went on, with the columns and weights of each moment; one row for "search".
    validation_history_ : ndarray of shape (steps,) or (0,)
        The selector's error on the rows held out.
    n_epochs_, best_epoch_ : int
        Epochs trained, and the one whose weights were kept; 0 for "search".
    stop_reason_ : str
        What ended the training: "epochs", "patience", "max_time", "callback", "interrupted", or "search".
    objective_ : float
        The model's objective per cell, ridge term included; for "search" it is J(S), exact.
    lower_bound_ : float
        No subset's J lies below it: the error of min(k, d) principal components, shrunk by the same ridge, plus
        scorer_weight times that of d. 0 for networks that are not linear, which no such bound holds for.
    optimality_gap_ : float
        ``(objective_ - lower_bound_) / objective_``.
    n_swaps_ : int
        Swaps made by "search" (0 for the others). The set before the last, J-driven swaps is a certified 1-swap
        optimum of the plain loss; of J, the most promising swaps were tested.
    ridge_ : float
        The relative ridge weight used.

    Notes
    -----
    Columns are centred but never scaled. Directions of variance below 1e-12 of the largest are beyond the closed form's
    precision and are left unexplained; put a scaler before it when units differ that much.

    References
    ----------
    Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm, NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ScorerSelector
    >>> X = load_iris().data
    >>> selector = ScorerSelector(2).fit(X)
    >>> selector.selected_
    array([2, 0])
    >>> selector.encoder_.shape, selector.decoder_.shape
    ((4, 2), (2, 4))
    """

    _chooses_validation = True

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = None,
        *,
        score_function: Literal["abs", "square"] = "abs",
        scorer_weight: float = 1 / 128,
        latent_width: int | None = None,
        ridge: float | str = "auto",
        solver: Literal["search", "full_batch", "minibatch"] = "search",
        encoder: Spec = "linear",
        decoder: Spec = "linear",
        activation: str = "relu",
        anneal: bool | None = None,
        init: Literal["published", "pca", "search"] = "published",
        learning_rate: float | None = None,
        epochs: int | None = None,
        batch_size: int = 64,
        n_starts: int | None = None,
        validation_fraction: float | None = None,
        patience: int | None = None,
        tol: float = 1e-4,
        max_time: float | None = None,
        device: str = "auto",
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        min_explained_variance: float | Literal["elbow"] = 0.9,
        max_features: int | None = None,
        criterion: Literal["error", "stability"] = "error",
        max_error_increase: float = 0.05,
        min_stability: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.score_function = score_function
        self.scorer_weight = scorer_weight
        self.latent_width = latent_width
        self.ridge = ridge
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
        self.include = include
        self.exclude = exclude
        self.min_explained_variance = min_explained_variance
        self.max_features = max_features
        self.criterion = criterion
        self.max_error_increase = max_error_increase
        self.min_stability = min_stability
        self.random_state = random_state

    @classmethod
    def published(
        cls,
        n_features_to_select: int | float | None = None,
        *,
        score_function: Literal["abs", "square"] = "abs",
        batch_size: int = 64,
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the selector with the settings of the published experiments.

        The published batch sizes are 128 (Mice Protein, COIL-20), 64 (Activity, ISOLET), 256 (Fashion-MNIST) and 16
        (the others). The columns of a tie in the score beyond k are not kept, so that k is exact.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Columns to keep.
        score_function : {"abs", "square"}
            phi.
        batch_size : int
            Rows per batch.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        ScorerSelector
        """
        return cls(
            n_features_to_select,
            score_function=score_function,
            scorer_weight=1 / 128,
            ridge=0.0,
            solver="minibatch",
            anneal=False,
            init="published",
            learning_rate=1e-3,
            epochs=200,
            batch_size=batch_size,
            random_state=random_state,
        )

    def forward(self, X: Any, path: Literal["selector", "scorer"] = "selector") -> np.ndarray:
        """Run the whole table through the network.

        Parameters
        ----------
        X : table of shape (n, m)
            All columns.
        path : {"selector", "scorer"}
            Through the kept columns or through all.

        Returns
        -------
        ndarray of shape (n, m)
            The network's output.
        """
        check_is_fitted(self)
        if path not in ("selector", "scorer"):
            raise ValueError(f"path must be 'selector' or 'scorer', got {path!r}.")
        X = self._check_table(X, reset=False)
        X = X.toarray() if sparse.issparse(X) else np.asarray(to_numpy(X), dtype=np.float64)
        scored = X * np.where(self.support_ | (path == "scorer"), self.score_weights_, 0.0)
        if hasattr(self, "decoder_weights_"):
            return self._run(scored)
        intercept = self.scorer_intercept_ if path == "scorer" else self.encoder_intercept_
        return (scored @ self.encoder_ + intercept) @ self.decoder_ + self.decoder_intercept_

    def _run(self, scored: np.ndarray) -> np.ndarray:
        """Run scored columns through a network that is not linear."""
        first, second = self._activations
        latent = run_network(self.encoder, self.encoder_weights_, first, scored, self.latent_width_)
        return run_network(self.decoder, self.decoder_weights_, second, latent, self.n_features_in_)

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        if not hasattr(self, "decoder_weights_"):
            return None
        scored = np.zeros((len(values), self.n_features_in_))
        scored[:, self.support_] = values * self.score_weights_[self.support_]
        return self._run(scored)

    def _select_from(self, problem: Problem) -> Selection:
        settings = check_settings(self, problem)
        self.latent_width_ = settings.width if problem.setting.width is None else problem.setting.width
        for name in _OF_ONE_KIND:
            self.__dict__.pop(name, None)
        if self.solver == "search":
            return self._search(problem, self.latent_width_)
        trained = train_network(self, problem, settings, check_random_state(self.random_state))
        self.n_swaps_ = 0
        if isinstance(trained, Network):
            return self._keep_linear(trained, problem, settings.width)
        return self._keep_nonlinear(trained, problem)

    def _check_choices(self) -> None:
        super()._check_choices()
        if self._prefers_stability():  # the frontier is measured before the other settings are looked at
            check_weight(self.scorer_weight)
            self._check_training()

    def _uses_ridge(self) -> bool:
        return self.solver == "search" or self.init == "search"

    def _widths(self, k: int) -> tuple[int | None, ...]:
        return (self.latent_width,) if self.latent_width is not None else (k, -(-k // 2)) if k > 1 else (k,)

    def _map_ridges(self) -> tuple[float | None, ...]:
        return (None,)  # the objective has one ridge weight, for the search and for the map

    def _finisher(self, include: Sequence[int], exclude: Sequence[int]) -> Finish:
        return scorer_finisher(float(self.scorer_weight), include, exclude)

    def _search(self, problem: Problem, width: int) -> Selection:
        """Search subsets, then put the closed-form weights into the network."""
        gram, mean, unit = problem.gram, problem.mean, problem.unit
        found = search_columns(problem)
        objective = ScorerObjective(gram, width, float(self.scorer_weight), problem.ridge)
        chosen, self.n_swaps_ = found.chosen, found.n_swaps
        if problem.setting.exchange:
            chosen, swaps = search_scorer(objective, chosen, problem.include, problem.exclude, found.prices)
            self.n_swaps_ += swaps
        J, top = objective.exact(chosen)
        m = gram.n_features
        self.objective_, self.lower_bound_, self.optimality_gap_ = bounds(
            J / m, objective.floor(problem.k) / m, problem
        )
        M, W_D = objective.weights(chosen, top)
        self.loss_selector_, self.loss_scorer_ = (loss * unit for loss in objective.losses(M, W_D, chosen))
        self.loss_history_ = np.array([[self.loss_selector_, self.loss_scorer_]])
        self.validation_history_, self.n_epochs_, self.best_epoch_, self.stop_reason_ = np.zeros(0), 0, 0, "search"
        M, self.decoder_ = to_numpy(M), to_numpy(W_D)
        deviation = np.sqrt(np.maximum(to_numpy(gram.diagonal()), 0.0))
        self.score_weights_ = canonical_scores(M, deviation, chosen)
        positive = self.score_weights_[:, None] > 0
        self.encoder_ = np.where(positive, M / np.where(positive, self.score_weights_[:, None], 1.0), 0.0)
        self._set_intercepts(M, chosen, mean)
        self._keep_roles(column_roles(gram, chosen, problem.ridge, problem.exclude))
        order = top_columns(np.where(np.isin(np.arange(m), chosen), self.score_weights_, -1.0), problem.k).tolist()
        return Selection(order, self.score_weights_, M[order] @ self.decoder_)

    def _keep_linear(self, network: Network, problem: Problem, width: int) -> Selection:
        """Take over a trained linear network."""
        gram, order = problem.gram, network.selected.tolist()
        M = network.score_weights[:, None] * network.encoder
        self.score_weights_, self.encoder_, self.decoder_ = network.score_weights, network.encoder, network.decoder
        # The gradient solver saw moments of mean variance one, the sgd solver the rows themselves.
        unit = problem.unit if self.solver == "full_batch" else 1.0
        self._keep_losses(network.history * unit, [error * unit for error in network.errors])
        weight = float(self.scorer_weight)
        objective = (self.loss_selector_ + weight * self.loss_scorer_) / problem.unit
        floor = (1 + weight) * gram.floor(width) / gram.n_features
        self.objective_, self.lower_bound_, self.optimality_gap_ = bounds(objective, floor, problem)
        if network.encoder_bias is None or network.decoder_bias is None:
            self._set_intercepts(M, order, problem.mean)
        else:
            self.encoder_intercept_ = self.scorer_intercept_ = network.encoder_bias
            self.decoder_intercept_ = network.decoder_bias
        self._keep_roles(column_roles(gram, order, 0.0))
        intercept = self.encoder_intercept_ @ self.decoder_ + self.decoder_intercept_
        return Selection(order, network.scores, M[order] @ self.decoder_, intercept=intercept)

    def _keep_nonlinear(self, network: Trained, problem: Problem) -> Selection:
        """Take over a trained network that is not linear; the linear map beside it is the least-squares one."""
        order = network.selected
        self.score_weights_ = network.score_weights
        self.encoder_weights_, self.decoder_weights_ = network.encoder, network.decoder
        self._activations = tuple(fitted_activation(spec, self.activation) for spec in (self.encoder, self.decoder))
        self._keep_losses(network.history, network.errors)
        self.objective_ = self.loss_selector_ + float(self.scorer_weight) * self.loss_scorer_
        self.lower_bound_, self.optimality_gap_ = 0.0, 1.0
        self._keep_roles(column_roles(problem.gram, order.tolist(), 0.0))
        coefficients, _ = least_squares_map(problem.rows, order)
        return Selection(order.tolist(), network.scores, coefficients)

    def _keep_losses(self, history: np.ndarray, errors: Sequence[float]) -> None:
        self.loss_history_ = history
        self.loss_selector_, self.loss_scorer_ = (float(loss) for loss in errors)

    def _set_intercepts(self, M: np.ndarray, chosen: Sequence[int], mean: np.ndarray) -> None:
        """Give a network trained on centred columns the intercepts that centre them."""
        self.encoder_intercept_ = -(mean[chosen] @ M[chosen])
        self.scorer_intercept_ = -(mean @ M)
        self.decoder_intercept_ = mean

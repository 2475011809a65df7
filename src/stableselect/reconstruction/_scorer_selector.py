"""The paper's scorer-selector network as a selector, with three ways to train it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._arrays import to_numpy
from .._base import Selection
from .._roles import column_roles
from ._column_subset import bounds, search_columns
from ._moments_selector import MomentsSelector, Problem
from ._scorer_gradient import train_gradient
from ._scorer_network import Network, top_columns
from ._scorer_objective import ScorerObjective
from ._scorer_search import search_scorer
from ._scorer_sgd import train_sgd


class ScorerSelector(MomentsSelector):
    """Score all columns and select k of them with one shared linear autoencoder.

    Every column j is multiplied by a score phi(w_j) >= 0. The *scorer* rebuilds the table from all scored columns, the
    *selector* from the k of largest score only, through the same encoder and decoder; the model minimises the
    selector's error plus ``scorer_weight`` times the scorer's.

    For a fixed subset that minimum has a closed form, so the default solver searches subsets and gives exact weights.
    The gradient solvers train the network instead; their choice follows the seed unless ``anneal`` is set.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number, a share rounded up, or None for half.
    score_function : {"abs", "square"}, default="abs"
        phi(w) = abs(w) or w^2. The search's columns are the same for both.
    scorer_weight : float, default=1/128
        Weight of the scorer's error; 0 leaves the selector alone.
    latent_width : int or None, default=None
        Width d of the autoencoder, None for the number of kept columns.
    ridge : float or "auto", default="auto"
        Ridge weight of the selector's map, relative to the mean variance, as in :class:`ColumnSubset`; used by
        "search".
    solver : {"search", "gradient", "sgd"}, default="search"
        "search": subsets by forward search and exchange, weights in closed form. "gradient": full-batch Adam on the
        moments. "sgd": mini-batches of rows with biases, the published protocol.
    anneal : bool, default=False
        For the gradient solvers: start with every column selected and shrink to k over the first 70 % of the steps,
        ranking by the reach of a column through the encoder rather than by its score alone.
    learning_rate : float or None, default=None
        Adam's rate; None for 0.001 ("sgd") or the full-batch default ("gradient").
    epochs : int or None, default=None
        Passes over the rows ("sgd", 200) or full-batch steps ("gradient", 2000).
    batch_size : int, default=64
        Rows per batch for "sgd".
    init : {"published", "pca"}, default="published"
        Start of the gradient solvers: the published random one, or the principal components.
    include, exclude : sequence of str or int, optional
        Columns, by name or index, that must or must not be kept; "search" only.
    random_state : int, RandomState instance or None, default=None
        Seed of the gradient solvers; "search" is deterministic.

    Attributes
    ----------
    score_weights_ : ndarray of shape (m,)
        Phi, larger inside the selection than outside.
    encoder_ : ndarray of shape (m, d)
        W_E.
    decoder_ : ndarray of shape (d, m)
        W_D.
    encoder_intercept_, scorer_intercept_ : ndarray of shape (d,)
        Encoder intercepts of the selector and of the scorer path (the same for "sgd", which shares its bias).
    decoder_intercept_ : ndarray of shape (m,)
        Decoder intercept.
    loss_selector_, loss_scorer_ : float
        Mean squared error per cell of the two paths on the rows fitted on.
    loss_history_ : ndarray of shape (steps, 2)
        Both losses as training went on; one row for "search".
    objective_ : float
        The model's objective per cell, ridge term included; for "search" it is J(S), exact.
    floor_ : float
        No subset's J lies below it: the error of min(k, d) principal components, shrunk by the same ridge, plus
        scorer_weight times that of d.
    gap_ : float
        (objective_ - floor_) / objective_.
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

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        score_function: Literal["abs", "square"] = "abs",
        scorer_weight: float = 1 / 128,
        latent_width: int | None = None,
        ridge: float | str = "auto",
        solver: Literal["search", "gradient", "sgd"] = "search",
        anneal: bool = False,
        learning_rate: float | None = None,
        epochs: int | None = None,
        batch_size: int = 64,
        init: Literal["published", "pca"] = "published",
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.score_function = score_function
        self.scorer_weight = scorer_weight
        self.latent_width = latent_width
        self.ridge = ridge
        self.solver = solver
        self.anneal = anneal
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.init = init
        self.include = include
        self.exclude = exclude
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
            solver="sgd",
            learning_rate=1e-3,
            epochs=200,
            batch_size=batch_size,
            init="published",
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
        intercept = self.scorer_intercept_ if path == "scorer" else self.encoder_intercept_
        return (scored @ self.encoder_ + intercept) @ self.decoder_ + self.decoder_intercept_

    def _select_from(self, problem: Problem) -> Selection:
        width = self._check_parameters(problem)
        if self.solver == "search":
            return self._search(problem, width)
        return self._keep_network(self._train(problem, width), problem, width)

    def _uses_ridge(self) -> bool:
        return self.solver == "search"

    def _search(self, problem: Problem, width: int) -> Selection:
        """Search subsets, then put the closed-form weights into the network."""
        gram, mean, unit = problem.gram, problem.mean, problem.unit
        chosen, plain_swaps = search_columns(problem)
        objective = ScorerObjective(gram, width, float(self.scorer_weight), problem.ridge)
        chosen, scorer_swaps = search_scorer(objective, chosen, problem.include, problem.exclude)
        self.n_swaps_ = plain_swaps + scorer_swaps
        J, top = objective.exact(chosen)
        m = gram.n_features
        self.objective_, self.floor_, self.gap_ = bounds(J / m, objective.floor(problem.k) / m, problem)
        M, W_D = objective.weights(chosen, top)
        self.loss_selector_, self.loss_scorer_ = (loss * unit for loss in objective.losses(M, W_D, chosen))
        self.loss_history_ = np.array([[self.loss_selector_, self.loss_scorer_]])
        M, self.decoder_ = to_numpy(M), to_numpy(W_D)
        deviation = np.sqrt(np.maximum(to_numpy(gram.diagonal()), 0.0))
        self.score_weights_ = canonical_scores(M, deviation, chosen)
        positive = self.score_weights_[:, None] > 0
        self.encoder_ = np.where(positive, M / np.where(positive, self.score_weights_[:, None], 1.0), 0.0)
        self._set_intercepts(M, chosen, mean)
        self._keep_roles(column_roles(gram, chosen, problem.ridge, problem.exclude))
        order = top_columns(np.where(np.isin(np.arange(m), chosen), self.score_weights_, -1.0), problem.k).tolist()
        return Selection(order, self.score_weights_, M[order] @ self.decoder_)

    def _train(self, problem: Problem, width: int) -> Network:
        settings: dict[str, Any] = {
            "score": self.score_function,
            "scorer_weight": float(self.scorer_weight),
            "latent_width": width,
            "init": self.init,
            "anneal": self.anneal,
            "random_state": self.random_state,
        }
        if self.solver == "gradient":
            return train_gradient(
                problem.gram, problem.k, learning_rate=self.learning_rate, epochs=self.epochs, **settings
            )
        rows = problem.rows
        return train_sgd(
            np.asarray(rows.toarray() if sparse.issparse(rows) else to_numpy(rows), dtype=np.float64),
            problem.k,
            learning_rate=1e-3 if self.learning_rate is None else self.learning_rate,
            epochs=200 if self.epochs is None else self.epochs,
            batch_size=self.batch_size,
            **settings,
        )

    def _keep_network(self, network: Network, problem: Problem, width: int) -> Selection:
        """Take over a trained network."""
        gram, order = problem.gram, network.selected.tolist()
        M = network.score_weights[:, None] * network.encoder
        self.n_swaps_ = 0
        self.score_weights_, self.encoder_, self.decoder_ = network.score_weights, network.encoder, network.decoder
        # The gradient solver saw moments of mean variance one, the sgd solver the rows themselves.
        self.loss_history_ = network.history * (problem.unit if self.solver == "gradient" else 1.0)
        self.loss_selector_, self.loss_scorer_ = (float(loss) for loss in self.loss_history_[-1])
        weight = float(self.scorer_weight)
        objective = (self.loss_selector_ + weight * self.loss_scorer_) / problem.unit
        floor = (1 + weight) * gram.floor(width) / gram.n_features
        self.objective_, self.floor_, self.gap_ = bounds(objective, floor, problem)
        if network.encoder_bias is None or network.decoder_bias is None:
            self._set_intercepts(M, order, problem.mean)
        else:
            self.encoder_intercept_ = self.scorer_intercept_ = network.encoder_bias
            self.decoder_intercept_ = network.decoder_bias
        self._keep_roles(column_roles(gram, order, 0.0))
        intercept = self.encoder_intercept_ @ self.decoder_ + self.decoder_intercept_
        return Selection(order, network.scores, M[order] @ self.decoder_, intercept=intercept)

    def _set_intercepts(self, M: np.ndarray, chosen: Sequence[int], mean: np.ndarray) -> None:
        """Give a network trained on centred columns the intercepts that centre them."""
        self.encoder_intercept_ = -(mean[chosen] @ M[chosen])
        self.scorer_intercept_ = -(mean @ M)
        self.decoder_intercept_ = mean

    def _check_parameters(self, problem: Problem) -> int:
        """Refuse settings that make no sense; return the latent width."""
        choices = {
            "score_function": ("abs", "square"),
            "solver": ("search", "gradient", "sgd"),
            "init": ("published", "pca"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}.")
        if not isinstance(self.scorer_weight, Real) or not 0 <= self.scorer_weight < float("inf"):
            raise ValueError(f"scorer_weight must be a number of at least 0, got {self.scorer_weight!r}.")
        for name in ("latent_width", "epochs", "batch_size"):
            value = getattr(self, name)
            if value is None and name != "batch_size":
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        if self.learning_rate is not None and not (isinstance(self.learning_rate, Real) and self.learning_rate > 0):
            raise ValueError(f"learning_rate must be above 0 or None, got {self.learning_rate!r}.")
        if self.solver != "search" and (problem.include or problem.exclude):
            raise ValueError("include and exclude work with solver='search' only; use it or drop them.")
        if self.solver == "sgd" and (problem.rows is None or problem.weighted):
            raise ValueError("solver='sgd' trains on unweighted rows; use solver='search' or 'gradient' here.")
        return problem.k if self.latent_width is None else int(self.latent_width)


def canonical_scores(M: np.ndarray, deviation: np.ndarray, chosen: Sequence[int]) -> np.ndarray:
    """Return phi_j = |M_j| sigma_j, scaled outside the selection to stay below every score inside.

    The size of a score is not identified by the model, since the encoder can take any factor over.
    """
    scores = np.linalg.norm(M, axis=1) * deviation
    inside = np.zeros(len(scores), dtype=bool)
    inside[list(chosen)] = True
    scores[inside] = np.maximum(scores[inside], 1e-12 * (scores[inside].max() or 1.0))
    outside = scores[~inside].max(initial=0.0)
    limit = 0.5 * scores[inside].min()
    if outside > limit:
        scores[~inside] *= limit / outside
    return scores

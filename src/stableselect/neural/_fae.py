"""FAE: an autoencoder behind one weight per feature, and a copy of it that sees the largest weights only."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from .._compat import Constraints, StrOptions
from .._core import EXHAUSTED, Array, Gram, Moments, in_own_order, is_foreign, normalised_moments, to_numpy
from ..base import SamplesSelector, Selection
from ._scorer_full_batch import FullBatchTrainable
from ._scorer_minibatch import MinibatchTrainable
from ._scorer_parameters import Network, Objective, ScorerTrainable, pca_parameters, random_parameters
from ._sparse_input import SAMPLES_PER_UNIT
from ._trained_selector import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, TrainedSelector
from ._training import History, Stopping, warn_not_converged

_STEPS, _PASSES = 1000, 200
"""Default number of full-batch steps and of passes over the samples."""
_BATCH, _RATE, _MINIBATCH_RATE = 128, 0.01, 1e-3
"""Samples per batch, and Adam's learning rates; the first, and l1, by test error on Mice Protein, USPS and COIL-20."""
_NOT_HERE = ("activation", "decoder", "device", "patience", "tol", "validation_fraction")
"""Parameters of the other networks that this one has no use for."""


class FAE(TrainedSelector, SamplesSelector):
    """Select the features with the largest weights in front of a fractal autoencoder.

    Every feature is multiplied by a weight w_j >= 0 before it enters a linear autoencoder f. The same autoencoder also
    has to work as a *sub-network* that sees only the features of the k largest weights, the others set to zero.
    Training minimises ::

        1/(2 v) (|x - f(w * x)|^2 + subset_weight |x - f(w_k * x)|^2) + l1 sum_j w_j

    on average over the samples; w_k is w with all but its k largest entries set to zero, v the mean variance of the
    features. Features are centred, or the network has biases; they are never scaled.

    By default the network is trained on the second moments, from the principal components, without random numbers.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, a fraction of them (rounded up), or None for half.
    l1 : float, default=3.0
        Weight of the penalty on w.
    subset_weight : float, default=2.0
        Weight of the sub-network's error beside that of the whole network.
    anneal : bool, default=True
        Start with a sub-network of all features and reduce their number to k over the first 70 % of the steps, ranking
        features by their reach, w_j times the length of row j of the encoder times the standard deviation of the
        feature. False: k features from the start, ranked by w, as published.
    error_scale : {"variance", "mean"}, default="variance"
        "variance": the squared errors are summed over the features and divided by twice their mean variance, so that
        l1 does not depend on the units of the data. "mean": the mean squared errors, as published.
    latent_width : int or None, default=None
        Width of the autoencoder. None: the number of selected features, but with "full_batch" at most one per five
        samples, since more would follow the noise.
    bias : bool, default=True
        For "minibatch": whether encoder and decoder have biases. "full_batch" centres the features instead.
    solver : {"full_batch", "minibatch"}, default="full_batch"
        "full_batch": full-batch Adam on the second moments of the centred features. "minibatch": Adam on mini-batches
        of samples, from a random start, as published.
    epochs : int or None, default=None
        Number of full-batch steps (None: 1000) or of passes over the samples (None: 200).
    learning_rate : float or None, default=None
        Learning rate of Adam. None: 0.01 ("full_batch"), which decays to 3 % of it, or 0.001 ("minibatch").
    batch_size : int or None, default=None
        Samples per batch of "minibatch", None for 128.
    max_time : float or None, default=None
        Time limit in seconds. The annealing is sped up to end in time.
    random_state : int, RandomState instance or None, default=None
        For "minibatch": draws the start and the batches.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (m,)
        w. ``scores_`` is the reach if annealed, w otherwise, and -1 for constant features.
    latent_width_ : int
        The latent width used.
    n_active_ : int
        Number of features whose weight is above 0.
    converged_ : bool
        Whether the sub-network had come down to k features, and as many have a weight above 0.
    loss_history_ : ndarray of shape (epochs run, 3)
        The objective, and the mean squared errors of the sub-network and of the whole network.
    encoder_weights_, decoder_weights_ : dict of str to ndarray
        The autoencoder, with torch's names and shapes: "0.weight" (outputs x inputs) and, for "minibatch", "0.bias".
        Without biases it applies to centred features.

    See Also
    --------
    ScorerSelectorNetwork : The authors' later method: no penalty, and a smaller weight of the whole network.

    Notes
    -----
    A factor can move from w to the encoder without changing the output, so that the penalty has no minimum: w keeps
    shrinking, and how far features fall behind depends on the number of steps and the learning rate.

    :meth:`reconstruct` uses least squares.

    References
    ----------
    Wu & Cheng (2021), Fractal autoencoders for feature selection, AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.neural import FAE
    >>> X = load_iris().data
    >>> selector = FAE(2).fit(X)
    >>> selector.transform(X).shape, selector.converged_
    ((150, 2), True)
    """

    _networks = ()  # both layers are linear
    _linear_solver = "full_batch"
    _parameter_constraints: ClassVar[Constraints] = {
        **{key: kind for key, kind in TrainedSelector._parameter_constraints.items() if key not in _NOT_HERE},
        "l1": [NOT_NEGATIVE],
        "subset_weight": [POSITIVE],
        "anneal": ["boolean"],
        "error_scale": [StrOptions({"variance", "mean"})],
        "latent_width": [AT_LEAST_ONE, None],
        "bias": ["boolean"],
        "solver": [StrOptions({"full_batch", "minibatch"})],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        l1: float = 3.0,
        subset_weight: float = 2.0,
        anneal: bool = True,
        error_scale: Literal["variance", "mean"] = "variance",
        latent_width: int | None = None,
        bias: bool = True,
        solver: Literal["full_batch", "minibatch"] = "full_batch",
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_time: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.l1 = l1
        self.subset_weight = subset_weight
        self.anneal = anneal
        self.error_scale = error_scale
        self.latent_width = latent_width
        self.bias = bias
        self.solver = solver
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def published(
        cls,
        n_features_to_select: int | float | None = None,
        *,
        bias: bool = True,
        epochs: int = 1000,
        batch_size: int = 128,
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the selector with the settings of the published experiments.

        Weights 1 and 2 of the two mean squared errors, l1 0.1, Adam with learning rate 0.001 on batches of 128 samples,
        1000 epochs, with biases or without. Left out: selecting fewer than k features where fewer weights are above 0
        (``n_active_`` is their number; the others follow by their index).

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        bias : bool
            Whether the network has biases; both were published.
        epochs : int
            Number of passes over the samples.
        batch_size : int
            Samples per batch.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        FAE
        """
        return cls(
            n_features_to_select,
            l1=0.1,
            subset_weight=2.0,
            anneal=False,
            error_scale="mean",
            bias=bias,
            solver="minibatch",
            epochs=epochs,
            learning_rate=1e-3,
            batch_size=batch_size,
            random_state=random_state,
        )

    def _select(self, X: Array, k: int) -> Selection:
        moments = Moments.from_array(*in_own_order(X))
        gram, unit = normalised_moments(moments)
        varying = to_numpy(moments.maximum) > to_numpy(moments.minimum)
        few = max(1, X.shape[0] // SAMPLES_PER_UNIT) if self.solver == "full_batch" else k
        self.latent_width_ = int(self.latent_width or min(k, few))
        objective = Objective(k, "identity", 1 / self.subset_weight, bool(self.anneal))
        if self.solver == "full_batch":
            make, epochs = self._on_moments(gram, unit, objective), _STEPS
        else:
            make, epochs = self._on_samples(X, np.sqrt(to_numpy(gram.diagonal()) * unit), objective), _PASSES
        trained, history = self._train(make, Stopping(self.epochs or epochs, max_time=self.max_time))
        network = trained.network(np.array(history.losses))
        self._store_history(history)
        self._store_network(network)
        self.converged_ = self._has_converged(trained.settled, history, gram, k)
        scores = np.where(varying, network.scores, -1.0)
        return Selection(np.argsort(-scores, kind="stable")[:k].tolist(), scores)

    def _on_moments(self, gram: Gram, unit: float, objective: Objective) -> Callable[[int], FractalTrainable]:
        # The gradient is that of half the squared error, summed over features of mean variance one.
        half = gram.n_features / 2
        factor = 1.0 if self.error_scale == "variance" else unit / half

        def make(start: int) -> FractalTrainable:
            begin = pca_parameters(gram, self.latent_width_)
            trainable = FractalOnMoments(begin, gram, objective, float(self.learning_rate or _RATE))
            trainable.penalise(float(self.subset_weight), float(self.l1), factor, error=half, unit=unit)
            return trainable

        return make

    def _on_samples(self, X: Array, deviation: np.ndarray, objective: Objective) -> Callable[[int], FractalTrainable]:
        X = to_numpy(X) if is_foreign(X) else X
        n, m = X.shape
        rng = check_random_state(self.random_state)
        # The gradient is that of the mean squared error, in the units of the data.
        factor = 1.0 if self.error_scale == "mean" else m / (2 * (float(np.mean(deviation**2)) or 1.0))

        def make(start: int) -> FractalTrainable:
            trainable = FractalOnSamples(
                random_parameters(m, self.latent_width_, True, rng),
                X,
                objective,
                deviation,
                (np.arange(n), np.arange(0)),
                learning_rate=float(self.learning_rate or _MINIBATCH_RATE),
                batch_size=int(self.batch_size or _BATCH),
                rng=rng,
            )
            trainable.penalise(float(self.subset_weight), float(self.l1), factor, bias=bool(self.bias))
            return trainable

        return make

    def _store_network(self, network: Network) -> None:
        self.feature_weights_ = network.score_weights
        self.n_active_ = int(np.sum(network.score_weights > 0))
        self.encoder_weights_, self.decoder_weights_ = (
            {"0.weight": weight.T.copy()} | ({} if bias is None or not self.bias else {"0.bias": bias})
            for weight, bias in ((network.encoder, network.encoder_bias), (network.decoder, network.decoder_bias))
        )

    def _has_converged(self, settled: bool, history: History, gram: Gram, k: int) -> bool:
        """Tell whether training was completed, and warn if it was not; more features than the rank add nothing."""
        wanted = k
        if self.n_active_ < k:
            wanted = min(k, int(np.sum(to_numpy(gram.eigenvalues()) > EXHAUSTED * gram.trace())))
        if self.n_active_ < wanted:
            warn_not_converged(
                f"The penalty left {self.n_active_} features with a weight above 0, but {wanted} are to be selected; "
                "the others were taken by their index. Lower l1."
            )
        elif not settled:
            reason = history.stop_reason
            warn_not_converged(
                f"Training stopped after {len(history.losses)} epochs ({reason}) while the sub-network still saw more "
                f"than k features. Increase {'max_time' if reason == 'max_time' else 'epochs'}."
            )
        return settled and self.n_active_ >= wanted


class FractalTrainable(ScorerTrainable):
    """What FAE adds to the training of the scorer-selector network: the penalty, and weights that stay at or above 0.

    The scorer is the whole network, the selector the sub-network.
    """

    def penalise(
        self, subset_weight: float, l1: float, factor: float, error: float = 1.0, unit: float = 1.0, bias: bool = True
    ) -> None:
        """Set the objective, ``factor error (whole + subset_weight sub) + l1 sum_j w_j``.

        Parameters
        ----------
        subset_weight, l1 : float
            Weights of the sub-network's error and of the penalty.
        factor : float
            From the units of the gradient to those of the objective.
        error, unit : float
            From the mean squared errors of the engine to the units of its gradient, and to those of the data.
        bias : bool
            Whether the biases are trained; otherwise they stay zero.
        """
        self._subset_weight, self._l1, self._factor = subset_weight, l1, factor
        self._error, self._unit, self._has_bias = error, unit, bias
        self._sums: list[float] = []

    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Train for one epoch; return the objective, the sub-network's and the whole network's error."""
        self._sums.clear()
        _, sub, whole = super().train_epoch(start, end)  # type: ignore[safe-super]
        objective = self._factor * self._error * (whole + self._subset_weight * sub) + self._l1 * np.mean(self._sums)
        return float(objective), sub * self._unit, whole * self._unit

    def _step(self, learning_rate: float) -> None:
        """Add the penalty's gradient, whose slope is zero at w = 0, make a step, and set negative weights to zero."""
        at, gradient = self._at, self._gradient
        gradient.flat *= self._subset_weight
        gradient.w += self._l1 / self._factor * self._above_zero()
        if at.bias and not self._has_bias:
            gradient.encoder_bias[...] = 0
            gradient.decoder[:, at.width] = 0
        self._sums.append(float(self._xp.sum(at.w)))
        super()._step(learning_rate)
        at.w[...] = self._xp.abs(at.w * self._above_zero())  # 0.0, not -0.0

    def _above_zero(self) -> Array:
        return self._xp.astype(self._at.w > 0, self._at.w.dtype)


class FractalOnMoments(FractalTrainable, FullBatchTrainable):
    """FAE on the moments of the centred features."""


class FractalOnSamples(FractalTrainable, MinibatchTrainable):
    """FAE on mini-batches of samples."""

"""CAE: a concrete autoencoder, whose nodes each settle on one feature as a temperature falls."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from .._compat import Constraints, StrOptions
from .._core import Array, Gram, Moments, in_own_order, normalised_moments, to_numpy
from ..base import SamplesSelector, Selection
from ._cae_moments import ConcreteTrainable, assign, default_steps, fill, log_odds, noise_source, sampling_quality, take
from ._specs import Spec, is_linear, require_torch
from ._trained_selector import NOT_NEGATIVE, POSITIVE, TrainedSelector
from ._training import History, Stopping, hold_out, warn_not_converged

Trained = tuple[np.ndarray, dict[str, np.ndarray] | None, History]
"""Result of training: logits of the varying features, weights of a nonlinear decoder, and the history."""
_STEPS, _FEWEST_STEPS, _WORK = 1000, 150, 1.5e8
"""Full-batch steps: maximum, minimum, and steps x nodes x features in between."""
_MINIBATCH_STEPS, _FEWEST_MINIBATCH_STEPS, _MINIBATCH_WORK = 6000, 1000, 6e8
"""The same for mini-batches."""
_LOGIT_RATE, _MINIBATCH_LOGIT_RATE, _DECODER_RATE = 0.6, 0.1, 3e-3
"""Adam's initial rates; chosen by test error on Mice Protein, USPS, ISOLET and arcene ("minibatch": the first two)."""
_SETTLED = 0.8
"""Sampling quality from which the nodes count as settled."""


class CAE(TrainedSelector, SamplesSelector):
    """Select the features that the nodes of a concrete autoencoder settle on.

    Each of k nodes mixes all features with weights softmax((logits + Gumbel noise) / T); a decoder reconstructs all
    features from the k mixtures. The temperature T falls during training, so that each mixture becomes a single
    feature. At the end every node gets a different feature, by the assignment with the largest joint probability.

    With a linear decoder the default is to train on the second moments: the best decoder for the current mixtures is
    computed in closed form, and only the logits take gradient steps, which needs far fewer of them. Other decoders are
    trained together with the logits, on mini-batches, in torch.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, a fraction of them (rounded up), or None for half.
    temperature : tuple of two floats, default=(10.0, 0.2)
        T at the start and at the end; the decay is geometric.
    ridge : float, default=1e-3
        Ridge weight of the closed-form decoder, relative to the mean variance; used by "full_batch".
    duplicate_penalty : float, default=0.1
        Weight of a penalty on features that several nodes use, sum_j max(0, sum_h P_hj - 1)^2 / k, relative to the
        unexplained fraction of the variance.
    decoder : "linear", tuple of int or callable, default="linear"
        From the k nodes to all features: linear, with hidden layers of these sizes, or a function
        ``(n_in, n_out) -> torch.nn.Module``.
    activation : {"relu", "gelu", "tanh", "sigmoid", "elu"}, default="relu"
        Activation between layers of given sizes.
    solver : {"auto", "full_batch", "minibatch"}, default="auto"
        "full_batch": full-batch Adam on the second moments, for the linear decoder, without torch. "minibatch": Adam on
        mini-batches of samples, in torch. "auto": "full_batch" for the linear decoder, "minibatch" for others.
    epochs : int or None, default=None
        Number of full-batch steps, or of passes over the samples ("minibatch"). None: 1.5e8 / (m k) steps within
        [150, 1000], or passes that give 6e8 / (m k) steps within [1000, 6000].
    logit_learning_rate : float or None, default=None
        Learning rate of Adam for the logits. None: 0.6 sqrt(1000 / epochs), at most 1.55, decaying to a tenth
        ("full_batch"), or 0.1 ("minibatch").
    learning_rate : float or None, default=None
        Learning rate of Adam for the decoder of "minibatch"; None for 0.003.
    batch_size : int or None, default=None
        Samples per batch of "minibatch"; None for n // 256, at least 16.
    validation_fraction : float, default=0.1
        Fraction of the samples that "minibatch" holds out with a nonlinear decoder, to keep its best weights once the
        features are selected.
    tol : float, default=1e-4
        Smallest relative improvement of the validation loss that counts.
    patience : int or None, default=None
        Stop a nonlinear decoder after this many epochs without such an improvement. None: never.
    max_time : float or None, default=None
        Time limit in seconds. The temperature falls faster to end in time.
    device : str, default="auto"
        Where "minibatch" trains; "auto" is CUDA if available.
    random_state : int, RandomState instance or None, default=None
        Draws the noise; for "minibatch" also the start, the batches and the held-out samples.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    node_features_ : ndarray of int, shape (min(k, varying features),)
        The feature of each node.
    mean_max_probability_ : float
        Mean over the nodes of the largest probability (T = 1, no noise). The published criterion asks for 0.998.
    sampling_quality_ : float
        How much features drawn from the probabilities of the nodes would explain, as a fraction of what the selected
        features explain: 1 if every node is certain, or hesitates only between equivalent features.
    converged_ : bool
        Whether ``sampling_quality_`` is at least 0.8.
    n_duplicates_ : int
        Number of nodes whose most probable feature was already taken by an earlier node; they got another one.
    decoder_weights_ : dict of str to ndarray, or None
        Weights of a nonlinear decoder, which :meth:`reconstruct` uses; None for the linear one, for which
        :meth:`reconstruct` uses least squares.

    Notes
    -----
    ``scores_`` holds the largest probability that any node gives a feature; ``selected_`` starts with the node that is
    most certain of its feature. Constant features are selected only after all others. ``loss_history_`` holds the
    objective and the mean squared error without the penalty. A nonlinear decoder learns from the mixtures while T falls
    (80 % of the epochs), then from the selected features. A step of "full_batch" costs min(2 m^2 k, 4 n m k) products.

    References
    ----------
    Abid, Balin & Zou (2019), Concrete autoencoders: differentiable feature selection and reconstruction, ICML.

    Golub & Pereyra (1973), The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate, SIAM Journal on Numerical Analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.neural import CAE
    >>> X = load_iris().data
    >>> selector = CAE(2, random_state=0).fit(X)
    >>> selector.transform(X).shape, selector.converged_, selector.n_duplicates_
    ((150, 2), True, 0)
    """

    _networks = ("decoder",)
    _linear_solver = "full_batch"
    _parameter_constraints: ClassVar[Constraints] = {
        **TrainedSelector._parameter_constraints,
        "temperature": [tuple, list],
        "ridge": [POSITIVE],
        "duplicate_penalty": [NOT_NEGATIVE],
        "solver": [StrOptions({"auto", "full_batch", "minibatch"})],
        "logit_learning_rate": [POSITIVE, None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        temperature: tuple[float, float] = (10.0, 0.2),
        ridge: float = 1e-3,
        duplicate_penalty: float = 0.1,
        decoder: Spec = "linear",
        activation: str = "relu",
        solver: Literal["auto", "full_batch", "minibatch"] = "auto",
        epochs: int | None = None,
        logit_learning_rate: float | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-4,
        patience: int | None = None,
        max_time: float | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.temperature = temperature
        self.ridge = ridge
        self.duplicate_penalty = duplicate_penalty
        self.decoder = decoder
        self.activation = activation
        self.solver = solver
        self.epochs = epochs
        self.logit_learning_rate = logit_learning_rate
        self.learning_rate = learning_rate
        self.batch_size = batch_size
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
        batch_size: int | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the selector with the settings of the published experiments.

        Mini-batches of max(n // 256, 16) samples, 1000 epochs, T from 10 to 0.1, Adam with learning rate 0.001 for
        logits and decoder, Glorot-normal logits, a linear decoder with bias, one try. The published package starts
        again with twice the epochs, up to five times, while ``mean_max_probability_`` is below 0.998; this selector
        warns. Left out: features selected twice, samples taken for features in ``transform``, and test samples used for
        validation.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        epochs : int
            Number of passes over the samples.
        batch_size : int or None
            Samples per batch; None for the published rule.
        device : str
            Where to train.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        CAE
        """
        return cls(
            n_features_to_select,
            temperature=(10.0, 0.1),
            duplicate_penalty=0.0,
            decoder="linear",
            solver="minibatch",
            epochs=epochs,
            logit_learning_rate=1e-3,
            learning_rate=1e-3,
            batch_size=batch_size,
            validation_fraction=0.0,
            device=device,
            random_state=random_state,
        )

    def _select(self, X: Array, k: int) -> Selection:
        self._check_settings()
        self._activations = self._fitted_activations()
        moments = Moments.from_array(*in_own_order(X))
        gram, unit = normalised_moments(moments)
        spread = to_numpy(moments.maximum) > to_numpy(moments.minimum)
        varying = np.flatnonzero(spread & (to_numpy(gram.diagonal()) > 0))
        gram = take(gram, varying)
        n_nodes, m = min(k, len(varying)), X.shape[1]
        if n_nodes == 0 or (is_linear(self.decoder) and n_nodes == len(varying)):
            return self._select_all(varying, m, k)
        if self._solver() == "full_batch":
            logits, decoder, history = self._train_on_moments(gram, unit, n_nodes)
        else:
            logits, decoder, history = self._train_on_samples(X, varying, unit, n_nodes)
        nodes, probabilities = assign(logits), softmax(logits, axis=1)
        self._store_history(history)
        self.decoder_weights_ = decoder
        self.node_features_ = varying[nodes]
        self.n_duplicates_ = len(logits) - len(np.unique(np.argmax(logits, axis=1)))
        self.mean_max_probability_ = float(np.mean(np.max(probabilities, axis=1)))
        self.sampling_quality_ = sampling_quality(gram, logits, nodes)
        self.converged_ = self.sampling_quality_ >= _SETTLED
        if not self.converged_:
            more = "max_time" if history.stop_reason == "max_time" else "epochs"
            warn_not_converged(
                f"The nodes have not settled on features: mean largest probability {self.mean_max_probability_:.3g}, "
                f"sampling quality {self.sampling_quality_:.2f} ({_SETTLED} needed) after {len(history.losses)} "
                f"epochs. Increase {more} or logit_learning_rate, or lower the final temperature (now "
                f"{self.temperature[1]:g})."
            )
        scores = np.zeros(m)
        scores[varying] = np.max(probabilities, axis=0)
        order = self.node_features_[np.argsort(-log_odds(logits, nodes), kind="stable")]
        return Selection(fill(order, m, k), scores)

    def _select_all(self, varying: np.ndarray, m: int, k: int) -> Selection:
        """Select every varying feature: there is nothing to choose and, with least squares, nothing to train."""
        self._store_history(History())
        self.decoder_weights_, self.node_features_ = None, varying
        self.n_duplicates_, self.mean_max_probability_, self.sampling_quality_, self.converged_ = 0, 1.0, 1.0, True
        return Selection(fill(varying, m, k), np.isin(np.arange(m), varying).astype(np.float64))

    def _train_on_moments(self, gram: Gram, unit: float, n_nodes: int) -> Trained:
        steps = self.epochs or default_steps(n_nodes * gram.n_features, _STEPS, _FEWEST_STEPS, _WORK)
        rate = self.logit_learning_rate or _LOGIT_RATE * (_STEPS / max(_FEWEST_STEPS, steps)) ** 0.5
        rng = check_random_state(self.random_state)

        def make(start: int) -> ConcreteTrainable:
            return ConcreteTrainable(
                gram,
                n_nodes,
                ridge=float(self.ridge),
                penalty=float(self.duplicate_penalty),
                temperature=self.temperature,
                learning_rate=rate,
                unit=unit,
                rng=rng,
            )

        trained, history = self._train(make, Stopping(steps, max_time=self.max_time))
        return trained.logits, None, history

    def _train_on_samples(self, X: Array, varying: np.ndarray, unit: float, n_nodes: int) -> Trained:
        torch = require_torch()
        from ._torch._cae import ConcreteModel
        from ._torch._networks import build_network, to_arrays
        from ._torch._trainable import train_in_torch

        n, m = X.shape
        rng = check_random_state(self.random_state)
        linear = is_linear(self.decoder)
        split = hold_out(n, 0.0 if linear else self.validation_fraction, rng)
        n_rows = len(split[0])
        batch_size = self.batch_size or max(n_rows // 256, 16)
        logit_rate = self.logit_learning_rate or _MINIBATCH_LOGIT_RATE
        decoder_rate = self.learning_rate or _DECODER_RATE
        steps = default_steps(n_nodes * m, _MINIBATCH_STEPS, _FEWEST_MINIBATCH_STEPS, _MINIBATCH_WORK)
        epochs = self.epochs or -(-steps // -(-n_rows // batch_size))
        stopping = Stopping(epochs, None if linear else self.patience, self.tol, self.max_time)

        def make(rows: Any) -> ConcreteModel:
            start = rng.normal(scale=(2 / (m + n_nodes)) ** 0.5, size=(n_nodes, m)).astype(np.float32)
            return ConcreteModel(
                build_network(self.decoder, n_nodes, m, self.activation, rng, role="decoder"),
                torch.from_numpy(start),
                torch.from_numpy(np.isin(np.arange(m), varying)),
                temperature=self.temperature,
                penalty=self.duplicate_penalty * unit,
                logit_scale=logit_rate / decoder_rate,
                fine_tune=not linear,
                source=noise_source(rng),
            )

        trained, history = train_in_torch(
            self._train,
            X,
            split,
            make,
            stopping,
            device=self.device,
            batch_size=batch_size,
            rng=rng,
            learning_rate=decoder_rate,
        )
        model: Any = trained.model
        logits = model.logits.detach().cpu().double().numpy()[:, varying]
        return logits, None if linear else to_arrays(model.decoder), history

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        """Reconstruct with the nonlinear decoder, if there is one."""
        if self.decoder_weights_ is None:
            return None
        return self._run_networks(values[:, np.searchsorted(np.sort(self.selected_), self.node_features_)])

    def _check_settings(self) -> None:
        super()._check_settings()
        if len(self.temperature) != 2 or not all(POSITIVE.is_satisfied_by(T) for T in self.temperature):
            raise ValueError(
                f"temperature must be two numbers above 0, the first and the last; got {self.temperature!r}."
            )

"""The common part of AEFS and AgnoS-S: an autoencoder whose input features are penalised and dropped."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from .._compat import Constraints, StrOptions
from .._core import Array, Moments, in_own_order, normalised_moments, to_numpy
from ..base import SamplesSelector, Selection
from ._elimination import Elimination
from ._row_sparse import RowSparseTrainable
from ._specs import require_torch
from ._trained_selector import AT_LEAST_ONE, NETWORK, TrainedSelector
from ._training import History, Stopping, hold_out, warn_not_converged

_STEPS = {True: 100, False: 1000}
"""Default number of full-batch steps, with and without elimination; chosen on Mice Protein, COIL-20, USPS and
arcene."""
_MINIBATCHES = 10_000
"""Default number of mini-batches, in whole passes over the samples."""
_MINIBATCH_FRACTION = 0.7
"""Fraction of the schedule over which mini-batch training drops features; its networks need longer to settle."""
SAMPLES_PER_UNIT = 5
"""Minimum number of samples per latent unit: with fewer, the units follow the noise; chosen on arcene."""
_MINIBATCH_RATE, _MINIBATCH_DECAY, _MINIBATCH_BETA = 3e-3, 0.1, 0.01
"""Adam's learning rate, the fraction of it left at the end of an elimination, and the weight decay of nonlinear
networks; chosen on Mice Protein and USPS."""
_BATCH = 64
_FEWEST_TO_HOLD_OUT = 10
"""With fewer samples none are held out."""


class SparseInputSelector(TrainedSelector, SamplesSelector):
    """Base class of the two selectors: subclasses implement the penalty on the moments and in torch.

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
        The network, with torch's names and shapes: "0.weight" (outputs x inputs), "0.bias", ...
    """

    beta: float | None
    latent_width: int | None
    eliminate: bool
    error_scale: str
    encoder: Any
    decoder: Any
    epochs: int | None
    learning_rate: float | None
    batch_size: int | None
    replace: bool = False
    validation_fraction: float
    tol: float
    patience: int | None
    max_time: float | None
    device: str
    random_state: Any

    _linear_solver = "alternating"
    _penalty: ClassVar[str]
    """Name of the parameter that is the weight of the penalty."""
    _moments_trainable: ClassVar[type[RowSparseTrainable]]
    """The linear network on the moments."""
    _linear_beta: ClassVar[float]
    """Default weight decay of linear networks."""
    _parameter_constraints: ClassVar[Constraints] = {
        **TrainedSelector._parameter_constraints,
        "eliminate": ["boolean"],
        "error_scale": [StrOptions({"variance", "mean"})],
        "latent_width": [AT_LEAST_ONE, None],
        "encoder": NETWORK,
        "solver": [StrOptions({"auto", "alternating", "minibatch"})],
    }

    @abstractmethod
    def _torch_model(self, parts: tuple[Any, Any, Any], rng: np.random.RandomState) -> Any:
        """Return the network in torch; ``parts`` are the arguments of ``SparseInputModel``."""

    def _input_factors(self, strength: np.ndarray) -> np.ndarray:
        """Return the factors of the features before the encoder; ``strength`` is 0 for the features dropped."""
        return np.ones_like(strength)

    def _decay(self) -> float:
        """Return beta, or its default."""
        if self.beta is not None:
            return float(self.beta)
        return self._linear_beta if self._solver() == "alternating" else _MINIBATCH_BETA

    def _select(self, X: Array, k: int) -> Selection:
        self._check_settings()
        train = self._train_on_moments if self._solver() == "alternating" else self._train_on_samples
        trained, self.latent_width_, history = train(X, k)
        order, scores = trained.elimination.ranking()
        strength = trained.elimination.strength_left()
        self._store_history(history)
        self.encoder_weights_, self.decoder_weights_ = trained.weights()
        self._factors = self._input_factors(strength)
        self.n_active_ = int(np.sum(strength > 0))
        self.converged_ = self._has_converged(trained.elimination.done, history, min(k, int(np.sum(scores >= 0))))
        self._activations = self._fitted_activations()
        self._decodes = not self._is_linear() and bool(self.eliminate) and self.converged_
        return Selection(order[:k].tolist(), scores)

    def _width(self, X: Array, k: int) -> int:
        n, m = X.shape
        if self.latent_width is not None:
            return int(self.latent_width)
        if self._solver() == "alternating":
            return min(k, max(1, n // SAMPLES_PER_UNIT))
        # The features left are the bottleneck; a nonlinear code as narrow as that is hard to train.
        return k if self._is_linear() or not self.eliminate else min(m, 2 * k + 4)

    def _train_on_moments(self, X: Array, k: int) -> tuple[Any, int, History]:
        gram, unit = normalised_moments(Moments.from_array(*in_own_order(X)))
        width = self._width(X, k)
        # The trainable uses half of the error, summed over features of mean variance one.
        scale = 1.0 if self.error_scale == "variance" else gram.n_features / (2 * unit)
        steps = self.epochs or _STEPS[bool(self.eliminate)]
        stopping = Stopping(steps, patience=self.patience, tol=float(self.tol), max_time=self.max_time)
        weight, decay = scale * float(getattr(self, self._penalty)), scale * self._decay()
        trained, history = self._train(
            lambda start: self._moments_trainable(gram, k, width, weight, decay, bool(self.eliminate)), stopping
        )
        return trained, trained.rank, history

    def _train_on_samples(self, X: Array, k: int) -> tuple[Any, int, History]:
        require_torch()
        from ._torch._networks import build_network
        from ._torch._trainable import train_in_torch

        rng = check_random_state(self.random_state)
        width, batch_size = self._width(X, k), self.batch_size or _BATCH
        fraction = self.validation_fraction if X.shape[0] >= _FEWEST_TO_HOLD_OUT else 0.0
        split = hold_out(X.shape[0], fraction, rng)
        varying = _varying(X)

        def make(rows: Any) -> Any:
            deviation = rows.deviation().cpu().double().numpy()
            unit = float(np.mean(deviation**2)) or 1.0
            factor = 1 / (2 * unit) if self.error_scale == "variance" else 1 / X.shape[1]
            elimination = Elimination(varying, k, bool(self.eliminate), _MINIBATCH_FRACTION)
            encoder = build_network(self.encoder, X.shape[1], width, self.activation, rng, role="encoder")
            decoder = build_network(self.decoder, width, X.shape[1], self.activation, rng, role="decoder")
            weight = float(getattr(self, self._penalty))
            return self._torch_model(((encoder, decoder), elimination, (factor, weight, self._decay())), rng)

        epochs = self.epochs or -(-_MINIBATCHES // -(-len(split[0]) // batch_size))
        trained, history = train_in_torch(
            self._train,
            X,
            split,
            make,
            Stopping(epochs, self.patience, float(self.tol), self.max_time),
            device=self.device,
            batch_size=batch_size,
            rng=rng,
            learning_rate=self.learning_rate or _MINIBATCH_RATE,
            decay=_MINIBATCH_DECAY if self.eliminate else 1.0,
            replace=bool(self.replace),
        )
        return trained.model, width, history

    def _has_converged(self, done: bool, history: History, wanted: int) -> bool:
        """Tell whether training was completed, and warn if it was not; ``done``: at most k features are left."""
        reason, n_active = history.stop_reason, self.n_active_
        if self.eliminate:
            enough, ended = n_active > 0 or wanted == 0, done
        else:
            settled = reason == "patience" or (self._solver() == "minibatch" and reason == "epochs")
            enough, ended = n_active >= wanted, settled or n_active == 0
        if not enough:
            warn_not_converged(
                f"The penalty left {n_active} features in use, but {wanted} are to be selected; the others were taken "
                f"from the dropped features. Lower {self._penalty}."
            )
        elif not ended:
            warn_not_converged(
                f"Training stopped after {len(history.losses)} epochs ({reason}) with {n_active} features in use, "
                f"before it had converged. Increase {'max_time' if reason == 'max_time' else 'epochs'}."
            )
        return enough and ended

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        """Reconstruct with the network if it is nonlinear and uses the selected features only."""
        if not self._decodes:
            return None
        inputs = np.zeros((len(values), self.n_features_in_))
        inputs[:, self.support_] = values * self._factors[self.support_]
        return self._run_networks(inputs)


def _varying(X: Array) -> np.ndarray:
    """Return which features vary; raise if the variation of one is lost in single precision."""
    moments = Moments.from_array(X)
    low, high = to_numpy(moments.minimum), to_numpy(moments.maximum)
    varying = high > low
    lost = np.flatnonzero(varying & (low.astype(np.float32) == high.astype(np.float32)))
    if len(lost):
        raise ValueError(
            f"Feature {lost[0]} varies too little relative to its size for training in single precision; centre or "
            "scale the data first, for instance with StandardScaler."
        )
    return varying

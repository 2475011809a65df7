"""What AEFS and AgnoS-S share: an autoencoder that is made to do with few columns, and the columns it keeps."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._core import Array, Gram, Moments, normalised_moments, to_numpy
from ..base import SamplesSelector, Selection
from ._elimination import Elimination
from ._layers import ACTIVATIONS
from ._lazy import require_torch
from ._row_sparse import RowSparseTrainee
from ._specs import check_network, fitted_activation, run_network
from ._training import Stopping
from ._training_mixin import TrainingMixin, hold_out, is_number, warn_not_converged

_STEPS = {True: 100, False: 1000}
"""Full-batch steps by default, with and without elimination; chosen on Mice Protein, COIL-20, USPS and arcene."""
_SGD_STEPS = 10_000
"""Mini-batches by default, in whole passes over the rows."""
_SGD_SHARE = 0.7
"""Share of the schedule over which mini-batch training drops columns; its networks need longer to settle after it."""
_ROWS_PER_UNIT = 5
"""Rows behind every latent unit at least: with fewer, the units follow the noise of the rows; chosen on arcene."""
_SGD_RATE, _SGD_DECAY, _SGD_BETA = 3e-3, 0.1, 0.01
"""Adam's rate, the share of it left at the end of an elimination, and the weight decay of nonlinear networks; chosen on
Mice Protein and USPS."""
_BATCH = 64
_FEWEST_ROWS = 10
"""Below so many rows none are held out."""


class SparseInputSelector(TrainingMixin, SamplesSelector):
    """Base of the two selectors: implement the penalty for the moments and for torch, and inherit the rest.

    Attributes
    ----------
    latent_width_ : int
        The width used.
    n_active_ : int
        Columns that the network still used at the end.
    converged_ : bool
        Whether training came to its end: with ``eliminate``, k columns were left; without, the objective had settled
        ("alternating") or the epochs were done ("minibatch"), and at least k columns were still used.
    encoder_weights_, decoder_weights_ : dict of str to ndarray
        The network, names and shapes as torch gives them: "0.weight" (outputs x inputs), "0.bias", ...
    """

    beta: float | None
    latent_width: int | None
    eliminate: bool
    error_scale: str
    encoder: Any
    decoder: Any
    activation: str
    solver: str
    epochs: int | None
    learning_rate: float | None
    batch_size: int | None
    validation_fraction: float
    tol: float
    patience: int | None
    max_time: float | None
    device: str
    random_state: Any

    @abstractmethod
    def _moments_trainee(self, gram: Gram, k: int, width: int, scale: float) -> RowSparseTrainee:
        """Return the linear network on the moments, its penalties times ``scale``."""

    @abstractmethod
    def _torch_model(self, elimination: Elimination, factor: float, width: int, rng: np.random.RandomState) -> Any:
        """Return the network in torch; ``factor`` brings a row's squared error to the scale of the penalties."""

    def _decay(self, linear: float) -> float:
        """Return beta; None for ``linear`` on the moments and for the default of mini-batches otherwise."""
        if self.beta is not None:
            return float(self.beta)
        return linear if self._solver() == "alternating" else _SGD_BETA

    @abstractmethod
    def _penalty_name(self) -> str:
        """Name the setting to lower where too few columns are left."""

    def _select(self, X: Array, k: int) -> Selection:
        self._check_settings()
        self._activations = (
            None
            if self._is_linear()
            else tuple(fitted_activation(spec, self.activation) for spec in (self.encoder, self.decoder))
        )
        self.latent_width_ = int(self.latent_width or self._default_width(X, k))
        use = self._select_on_moments if self._solver() == "alternating" else self._select_on_rows
        self._eliminated = bool(self.eliminate)
        elimination, strength = use(X, k, self.latent_width_)
        order, scores = elimination.ranking()
        self.n_active_ = int(np.sum(strength > 0))
        self._judge(elimination, min(k, int(np.sum(scores >= 0))))
        return Selection(order[:k].tolist(), scores)

    def _solver(self) -> str:
        if self.solver == "auto":
            return "alternating" if self._is_linear() else "minibatch"
        return self.solver

    def _default_width(self, X: Array, k: int) -> int:
        n, m = X.shape
        if self._solver() == "alternating":
            return min(k, max(1, n // _ROWS_PER_UNIT))
        # The columns left are the bottleneck; a nonlinear code as narrow as that is hard to train.
        return k if self._is_linear() or not self.eliminate else min(m, 2 * k + 4)

    def _is_linear(self) -> bool:
        linear = isinstance(self.encoder, str) and isinstance(self.decoder, str)
        return linear and getattr(self, "output_activation", None) is None

    def _select_on_moments(self, X: Array, k: int, width: int) -> tuple[Elimination, np.ndarray]:
        gram, unit = normalised_moments(Moments.from_array(X))
        # The trainee weighs 1/2 of the error summed over columns of mean variance one.
        scale = 1.0 if self.error_scale == "variance" else gram.n_features / (2 * unit)
        steps = self.epochs or _STEPS[bool(self.eliminate)]
        stopping = Stopping(steps, patience=self.patience, tol=float(self.tol), max_time=self.max_time)
        trainee = self._train(lambda start: self._moments_trainee(gram, k, width, scale), stopping)
        self.latent_width_ = trainee.rank
        self._keep_linear(trainee)
        return trainee.elimination, trainee.strength()

    def _keep_linear(self, trainee: RowSparseTrainee) -> None:
        self.encoder_weights_ = {"0.weight": trainee.encoder().T.copy()}
        self.decoder_weights_ = {"0.weight": trainee.G.T.copy()}

    def _select_on_rows(self, X: Array, k: int, width: int) -> tuple[Elimination, np.ndarray]:
        torch = require_torch()
        from ._torch._networks import to_arrays
        from ._torch._rows import Rows
        from ._torch._session import resolve_device, session
        from ._torch._trainee import TorchTrainee

        rng = check_random_state(self.random_state)
        device, batch_size = resolve_device(self.device, X), self.batch_size or _BATCH
        share = self.validation_fraction if X.shape[0] >= _FEWEST_ROWS else 0.0
        train_rows, held_rows = hold_out(X.shape[0], share, rng)
        varying = self._varying(X)

        def make(start: int) -> TorchTrainee:
            rows = Rows(X, train_rows, dtype=torch.float32, device=device)
            held = Rows(X, held_rows, dtype=torch.float32, device=device) if len(held_rows) else None
            deviation = rows.deviation().cpu().double().numpy()
            unit = float(np.mean(deviation**2)) or 1.0
            factor = 1 / (2 * unit) if self.error_scale == "variance" else 1 / X.shape[1]
            elimination = Elimination(varying, k, bool(self.eliminate), _SGD_SHARE)
            model = self._torch_model(elimination, factor, width, rng).float().to(device)
            return TorchTrainee(
                model,
                rows,
                held,
                batch_size=batch_size,
                learning_rate=self.learning_rate or _SGD_RATE,
                rng=rng,
                decay=_SGD_DECAY if self.eliminate else 1.0,
                replace=bool(getattr(self, "replace", False)),
            )

        epochs = self.epochs or -(-_SGD_STEPS // -(-len(train_rows) // batch_size))
        stopping = Stopping(epochs, self.patience, float(self.tol), self.max_time)
        with session(device, batch_size, rng):
            model: Any = self._train(make, stopping).model
        strength = model.finish()
        self.encoder_weights_, self.decoder_weights_ = to_arrays(model.encoder), to_arrays(model.decoder)
        self._keep_model(model)
        return model.elimination, strength

    def _varying(self, X: Array) -> np.ndarray:
        """Return which columns vary; refuse those whose variation is lost in single precision."""
        moments = Moments.from_array(X)
        low, high = to_numpy(moments.minimum), to_numpy(moments.maximum)
        varying = high > low
        lost = np.flatnonzero(varying & (low.astype(np.float32) == high.astype(np.float32)))
        if len(lost):
            raise ValueError(
                f"Column {lost[0]} varies too little beside its size for training in single precision; centre or scale "
                "the table first, for instance with StandardScaler."
            )
        return varying

    def _keep_model(self, model: Any) -> None:
        """Keep what a torch model has besides its encoder and decoder."""

    def _judge(self, elimination: Elimination, wanted: int) -> None:
        """Set ``converged_`` and warn where it is False."""
        if self.eliminate:
            enough, ended = self.n_active_ > 0 or wanted == 0, elimination.done
        else:
            settled = self.stop_reason_ == "patience" or (
                self._solver() == "minibatch" and self.stop_reason_ == "epochs"
            )
            enough, ended = self.n_active_ >= wanted, settled or self.n_active_ == 0
        self.converged_ = enough and ended
        if not enough:
            warn_not_converged(
                f"The penalty left {self.n_active_} columns in use where {wanted} are to be kept; the rest were "
                f"filled in from those given up. Lower {self._penalty_name()}."
            )
        elif not ended:
            more = "max_time" if self.stop_reason_ == "max_time" else "epochs"
            warn_not_converged(
                f"Training stopped after {self.n_epochs_} epochs ({self.stop_reason_}) with {self.n_active_} columns "
                f"in use, before it had settled. Raise {more}."
            )

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        """Rebuild all columns with the network, where it is not linear and uses the kept columns alone."""
        if self._activations is None or not (self._eliminated and self.converged_):
            return None
        first, second = self._activations
        inputs = np.zeros((len(values), self.n_features_in_))
        inputs[:, self.support_] = values * self._input_factor()[self.support_]
        hidden = self._finish_layers(
            run_network(self.encoder, self.encoder_weights_, first, inputs, self.latent_width_)
        )
        output = run_network(self.decoder, self.decoder_weights_, second, hidden, self.n_features_in_)
        return self._finish_layers(output)

    def _input_factor(self) -> np.ndarray:
        """Return what the columns are multiplied with before the encoder."""
        return np.ones(self.n_features_in_)

    def _finish_layers(self, values: np.ndarray) -> np.ndarray:
        """Apply what follows the encoder's and the decoder's last layer."""
        final = getattr(self, "output_activation", None)
        return values if final is None else ACTIVATIONS[final](values)

    def _check_settings(self) -> None:
        self._check_training()
        choices = {"solver": ("auto", "alternating", "minibatch"), "error_scale": ("variance", "cell")}
        for name, allowed in {**choices, "activation": tuple(ACTIVATIONS)}.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}.")
        for name in ("encoder", "decoder"):
            check_network(name, getattr(self, name))
        if self.solver == "alternating" and not self._is_linear():
            raise ValueError(
                "solver='alternating' trains linear networks; use solver='minibatch' or 'auto' for others."
            )

    def _check_weight(self, name: str, *, zero: bool = False) -> None:
        """Refuse a penalty that is not a finite number above 0, or at least 0."""
        value = getattr(self, name)
        if not (is_number(value) and (value > 0 or (zero and value == 0)) and value < float("inf")):
            raise ValueError(f"{name} must be a finite number {'of at least' if zero else 'above'} 0, got {value!r}.")

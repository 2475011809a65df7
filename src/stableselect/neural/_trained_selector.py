"""The base class of the selectors that train a network: callbacks, training history, common parameter constraints."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import ClassVar, TypeVar

import numpy as np

from .._compat import HAS_CALLBACKS, CallbackSupportMixin, Constraints, Interval, StrOptions, with_callbacks
from ..base import BaseSelector
from ._specs import ACTIVATIONS, check_network, is_linear, require_torch, run_network
from ._training import History, Stopping, Trainable, train_starts

T = TypeVar("T", bound=Trainable)

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 1e-100, 1e100, closed="both")
NOT_NEGATIVE = Interval(Real, 0, 1e100, closed="both")
NETWORK = [StrOptions({"linear"}), tuple, list, callable]
"""An encoder or decoder; ``check_network`` looks at the sizes."""


class TrainedSelector(CallbackSupportMixin, BaseSelector):
    """Base class of selectors that train a network; it adds training to a base class that fits.

    Attributes
    ----------
    n_epochs_ : int
        Number of epochs of the start that was kept (full-batch steps for solvers that work on the moments).
    best_epoch_ : int
        The epoch whose weights were kept.
    loss_history_ : ndarray of shape (n_epochs_, number of losses)
        Mean losses of every epoch.
    validation_history_ : ndarray of shape (n_epochs_,) or (0,)
        Loss on the held-out samples, if there are any.
    stop_reason_ : str
        What ended the training: "epochs", "patience", "max_time", "callback" or "interrupted".
    """

    solver: str
    activation: str
    output_activation: str | None = None
    device: str
    latent_width_: int
    _activations: list[str | None]

    _networks: ClassVar[tuple[str, ...]] = ("encoder", "decoder")
    """The parameters that are networks."""
    _linear_solver: ClassVar[str]
    """The solver that trains linear networks on the moments."""
    _parameter_constraints: ClassVar[Constraints] = {
        **BaseSelector._parameter_constraints,
        "activation": [StrOptions(set(ACTIVATIONS))],
        "decoder": NETWORK,
        "epochs": [AT_LEAST_ONE, None],
        "learning_rate": [POSITIVE, None],
        "batch_size": [AT_LEAST_ONE, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="left")],
        "patience": [AT_LEAST_ONE, None],
        "max_time": [POSITIVE, None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["boolean"],
    }

    def _is_linear(self) -> bool:
        specs = [getattr(self, name) for name in self._networks]
        return all(is_linear(spec) for spec in specs) and self.output_activation is None

    def _solver(self) -> str:
        if self.solver == "auto":
            return self._linear_solver if self._is_linear() else "minibatch"
        return self.solver

    def _check_settings(self) -> None:
        """Raise if parameters contradict each other."""
        for name in self._networks:
            check_network(name, getattr(self, name))
        if self.solver == self._linear_solver and not self._is_linear():
            raise ValueError(
                f"solver={self.solver!r} trains linear networks; use solver='minibatch' or 'auto' for others."
            )
        if getattr(self, "device", "cpu") not in ("auto", "cpu"):  # named, so it must be there, whatever trains
            require_torch()
            from ._torch._device import resolve_device

            resolve_device(self.device)

    def _fitted_activations(self) -> list[str | None]:
        """Return the activation between the layers of each network, None for a user-defined module."""
        return [None if callable(getattr(self, name)) else self.activation for name in self._networks]

    def _run_networks(self, values: np.ndarray) -> np.ndarray:
        """Run samples through the fitted networks, one after the other."""
        for name, activation in zip(self._networks, self._activations, strict=True):
            n_out = self.latent_width_ if name == "encoder" else self.n_features_in_
            weights = getattr(self, f"{name}_weights_")
            values = run_network(getattr(self, name), weights, activation, values, n_out)
            if self.output_activation is not None:
                values = ACTIVATIONS[self.output_activation](values)
        return values

    @with_callbacks
    def _train(self, make: Callable[[int], T], stopping: Stopping, n_starts: int = 1) -> tuple[T, History]:
        """Train with the callbacks of this selector, and store nothing on it; see :func:`train_starts`."""
        if not HAS_CALLBACKS:
            return train_starts(make, stopping, n_starts)
        whole = self._init_callback_context(max_subtasks=n_starts * stopping.epochs)
        whole.call_on_fit_task_begin(estimator=self)

        def watch(number: int, work: Callable[[], tuple[float, ...]]) -> bool:
            task = whole.subcontext(task_name="epoch")
            task.call_on_fit_task_begin(estimator=self)
            losses = work()
            return task.call_on_fit_task_end(estimator=self, metadata={"epoch": number + 1, "losses": losses})

        trained = train_starts(make, stopping, n_starts, watch)
        whole.call_on_fit_task_end(estimator=self)
        return trained

    def _store_history(self, history: History, losses: np.ndarray | None = None) -> None:
        """Set the attributes that describe the training; ``losses`` replaces those of the history."""
        if losses is None:
            losses = np.array(history.losses, dtype=np.float64) if history.losses else np.zeros((0, 2))
        self.n_epochs_ = len(history.losses)
        self.best_epoch_ = history.best_epoch
        self.loss_history_ = losses
        self.validation_history_ = np.array(history.validation, dtype=np.float64)
        self.stop_reason_ = history.stop_reason

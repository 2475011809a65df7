"""What every selector that trains shares: its settings' checks, its callbacks, its record of the training."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._compat import HAS_CALLBACKS, CallbackSupportMixin, with_callbacks
from ._training import Diverged, History, Stopping, Trainee, Watch, train, unwatched

T = TypeVar("T", bound=Trainee)


class TrainingMixin(CallbackSupportMixin):
    """Train with scikit-learn's callbacks where it has them, and keep the history.

    Attributes
    ----------
    n_epochs_ : int
        Epochs trained (full-batch steps where the moments are trained on), of the start that was kept.
    best_epoch_ : int
        The epoch whose weights were kept.
    loss_history_ : ndarray of shape (n_epochs_, number of losses)
        Mean losses of every epoch.
    validation_history_ : ndarray of shape (n_epochs_,) or (0,)
        Loss on the rows held out, where there are any.
    stop_reason_ : str
        What ended the training: "epochs", "patience", "max_time", "callback" or "interrupted".
    """

    _chooses_validation = False
    """Whether ``validation_fraction=None`` has a meaning."""

    @with_callbacks
    def _train(self, make: Callable[[int], T], stopping: Stopping, starts: int = 1) -> T:
        """Train what ``make(start)`` returns for every start; keep the one of least validation loss.

        Without rows held out the objective decides. A start whose loss is no longer finite drops out.
        """
        watch, finish = self._watcher(starts * stopping.epochs)
        best: tuple[float, T, History] | None = None
        failure: BaseException | None = None
        for start in range(starts):
            try:
                trainee = make(start)
                history = train(trainee, stopping, watch)
            except (Diverged, KeyboardInterrupt) as error:
                failure = error
                if isinstance(error, Diverged):
                    continue
                break
            losses = history.validation or [losses[0] for losses in history.losses]
            loss = losses[history.best_epoch - 1]
            if best is None or loss < best[0]:
                best = loss, trainee, history
            if history.stopped in ("interrupted", "callback"):
                break
        finish()
        if best is None:
            assert failure is not None
            raise failure
        if isinstance(failure, KeyboardInterrupt):
            warnings.warn(f"Interrupted in start {start + 1} of {starts}; the best before it is kept.", stacklevel=2)
        self._keep_history(best[2])
        return best[1]

    def _keep_history(self, history: History) -> None:
        self.n_epochs_ = len(history.losses)
        self.best_epoch_ = history.best_epoch
        self.loss_history_ = np.array(history.losses, dtype=np.float64) if history.losses else np.zeros((0, 2))
        self.validation_history_ = np.array(history.validation, dtype=np.float64)
        self.stop_reason_ = history.stopped

    def _watcher(self, n_epochs: int) -> tuple[Watch, Callable[[], Any]]:
        """Return what runs an epoch between the callbacks, and what ends the fit's own task."""
        if not HAS_CALLBACKS:
            return unwatched, lambda: None
        whole = self._init_callback_context(max_subtasks=n_epochs)
        whole.call_on_fit_task_begin(estimator=self)

        def watch(number: int, work: Callable[[], tuple[float, ...]]) -> bool:
            task = whole.subcontext(task_name="epoch")
            task.call_on_fit_task_begin(estimator=self)
            losses = work()
            return task.call_on_fit_task_end(estimator=self, metadata={"epoch": number + 1, "losses": losses})

        return watch, lambda: whole.call_on_fit_task_end(estimator=self)

    def _check_training(self) -> None:
        """Refuse training settings that make no sense; those a selector does not have are not looked at."""
        for name, least in (("epochs", 1), ("batch_size", 1), ("patience", 1), ("n_starts", 1), ("latent_width", 1)):
            value = getattr(self, name, None)
            if value is None:
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
        for name in ("learning_rate", "max_time"):
            value = getattr(self, name, None)
            if value is not None and not (is_number(value) and 0 < value < float("inf")):
                raise ValueError(f"{name} must be above 0 or None, got {value!r}.")
        tol = getattr(self, "tol", 0.0)
        if not (is_number(tol) and 0 <= tol < 1):
            raise ValueError(f"tol must be a number of at least 0 and below 1, got {tol!r}.")
        share = getattr(self, "validation_fraction", 0.0)
        if share is None and self._chooses_validation:
            return
        if not (is_number(share) and 0 <= share < 1):
            raise ValueError(f"validation_fraction must be at least 0 and below 1, got {share!r}.")


def is_number(value: object) -> bool:
    """Tell whether a setting is a real number and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def warn_not_converged(message: str) -> None:
    """Warn that training ended too early, saying what to raise."""
    warnings.warn(message, ConvergenceWarning, stacklevel=2)


def hold_out(n: int, share: float, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and those held out, both in order; at least one row is left to train on."""
    if share == 0:
        return np.arange(n), np.arange(0)
    n_held = min(n - 1, max(1, round(share * n)))
    held = np.zeros(n, dtype=bool)
    held[rng.permutation(n)[:n_held]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)

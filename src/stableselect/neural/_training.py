"""The training loop, shared by the networks in NumPy and in torch, and the samples that it reads.

The loop handles epochs, early stopping, the time limit, several starts and interruption. A :class:`Trainable` knows
what an epoch is, a :class:`RowReader` how to get the samples of a batch.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from .._core import Array, to_numpy
from ..base import may_stop_short, steps

Watch = Callable[[int, Callable[[], tuple[float, ...]]], bool]
"""Runs one epoch, a function that returns its losses, between callbacks; returns True to stop the training."""
_RESIDENT_BYTES = 2**30
"""Tables up to this size are copied once in the required precision; larger ones are read batch by batch."""
BLOCK_ROWS = 4096
"""Samples that are read at a time."""


class Diverged(ValueError):
    """A loss is NaN or infinite."""


class Trainable(ABC):
    """A model together with its training data, trained epoch by epoch.

    ``settled`` is True once the schedule (of the number of selected features, or of a temperature) has ended. Only
    epochs after that compete for the best weights or use up patience.
    """

    settled = True

    @abstractmethod
    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Train on every sample once while the schedule goes from ``start`` to ``end`` (between 0 and 1).

        Returns the mean losses over the epoch; the first is the objective.
        """

    @abstractmethod
    def state(self) -> Any:
        """Return a copy of the weights."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Set the weights to those of an earlier :meth:`state`."""

    def validate(self) -> float | None:
        """Return the loss on held-out samples, or None if there are none."""
        return None


T = TypeVar("T", bound=Trainable)


@dataclass(frozen=True)
class Stopping:
    """When to stop training.

    Attributes
    ----------
    epochs : int
        Maximum number of epochs.
    patience : int or None
        Stop after this many epochs without a relative improvement of ``tol`` in the validation loss (in the objective
        if no samples are held out); None to never stop early.
    tol : float
        Smallest relative improvement that counts.
    max_time : float or None
        Time limit in seconds. The schedule is sped up so that it ends in time.
    """

    epochs: int
    patience: int | None = None
    tol: float = 1e-4
    max_time: float | None = None


@dataclass
class History:
    """Record of one training.

    Attributes
    ----------
    losses : list of tuple of float
        The losses of every epoch.
    validation : list of float
        The validation loss of every epoch; empty if no samples are held out.
    best_epoch : int
        The epoch, counted from 1, whose weights were kept.
    stop_reason : str
        "epochs", "patience", "max_time", "callback" or "interrupted".
    """

    losses: list[tuple[float, ...]] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    best_epoch: int = 0
    stop_reason: str = "epochs"


def unwatched(epoch: int, work: Callable[[], tuple[float, ...]]) -> bool:
    """Run an epoch without callbacks."""
    work()
    return False


def check_loss(losses: tuple[float, ...], epoch: int) -> None:
    """Raise if a loss is NaN or infinite."""
    for loss in losses:
        if not np.isfinite(loss):
            raise Diverged(
                f"The loss became {loss} in epoch {epoch}. The features are probably far from unit scale: scale them, "
                "for instance with MinMaxScaler, or lower learning_rate."
            )


def train(
    trainable: Trainable, stopping: Stopping, watch: Watch = unwatched, advance: Callable[[], None] = lambda: None
) -> History:
    """Train until one of the limits is reached, and leave the best weights in place.

    The best weights are those with the lowest validation loss since the schedule ended. Without held-out samples they
    are those with the lowest objective if ``patience`` is set, and the last ones otherwise.

    Parameters
    ----------
    trainable : Trainable
        The model and its data.
    stopping : Stopping
        The limits.
    watch : callable
        Runs each epoch between callbacks.
    advance : callable
        Called after each epoch.

    Returns
    -------
    History
    """
    history, begin = History(), time.monotonic()
    best, best_state, waited, progress = np.inf, None, 0, 0.0

    def epoch(start: float, end: float) -> tuple[float, ...]:
        losses = trainable.train_epoch(start, end)
        check_loss(losses, len(history.losses) + 1)
        history.losses.append(losses)
        advance()
        return losses

    for number in range(stopping.epochs):
        step = 1 / stopping.epochs
        if stopping.max_time is not None and number:
            elapsed = (time.monotonic() - begin) / stopping.max_time
            if elapsed >= 1:
                history.stop_reason = "max_time"
                break
            progress, step = max(progress, elapsed), max(step, elapsed / number)
        end = min(1.0, progress + step)
        try:
            stop = watch(number, partial(epoch, progress, end))
            progress, held_out = end, trainable.validate()
            if held_out is not None:
                check_loss((held_out,), number + 1)
                history.validation.append(held_out)
            if best_state is None:
                history.best_epoch = number + 1
            if trainable.settled and (held_out is not None or stopping.patience is not None):
                loss = history.losses[-1][0] if held_out is None else held_out
                waited = 0 if loss < best * (1 - stopping.tol) else waited + 1
                if loss < best:
                    best, best_state, history.best_epoch = loss, trainable.state(), number + 1
                if stopping.patience is not None and waited >= stopping.patience:
                    history.stop_reason = "patience"
                    break
        except KeyboardInterrupt:
            if not (history.losses and may_stop_short()):
                raise
            history.stop_reason = "interrupted"
            history.best_epoch = max(1, history.best_epoch)
            warnings.warn(
                f"Interrupted after {len(history.losses)} of {stopping.epochs} epochs; the best weights so far are "
                "kept.",
                stacklevel=2,
            )
            break
        if stop:
            history.stop_reason = "callback"
            break
    if best_state is not None:
        trainable.restore(best_state)
    return history


def train_starts(
    make: Callable[[int], T], stopping: Stopping, n_starts: int = 1, watch: Watch = unwatched
) -> tuple[T, History]:
    """Train ``make(start)`` for every start; return the one with the lowest validation loss, and its history.

    Without held-out samples the objective decides. Starts whose loss is no longer finite are skipped.

    Parameters
    ----------
    make : callable
        Returns the trainable of a start, counted from 0.
    stopping : Stopping
        The limits of each start.
    n_starts : int
        Number of starts.
    watch : callable
        Runs each epoch between callbacks.

    Returns
    -------
    trainable : Trainable
        The best of all starts.
    history : History
        Its record.
    """
    best: tuple[float, T, History] | None = None
    failure: BaseException | None = None
    with steps("epochs", n_starts * stopping.epochs) as advance:
        for start in range(n_starts):
            try:
                trainable = make(start)
                history = train(trainable, stopping, watch, advance)
            except (Diverged, KeyboardInterrupt) as error:
                failure = error
                if isinstance(error, Diverged):
                    continue
                if not may_stop_short():
                    raise
                break
            losses = history.validation or [losses[0] for losses in history.losses]
            loss = losses[history.best_epoch - 1]
            if best is None or loss < best[0]:
                best = loss, trainable, history
            if history.stop_reason in ("interrupted", "callback"):
                break
    if best is None:
        assert failure is not None
        raise failure
    if isinstance(failure, KeyboardInterrupt):
        warnings.warn(
            f"Interrupted in start {start + 1} of {n_starts}; the best of the earlier starts is kept.", stacklevel=2
        )
    return best[1:]


def hold_out(
    n: int, fraction: float, rng: np.random.RandomState, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples to train on and the held-out samples, both sorted; at least one is left to train on.

    Whole ``groups``, numbered from 0, are held out if there are some.
    """
    if fraction == 0:
        return np.arange(n), np.arange(0)
    n_units = n if groups is None else int(groups.max()) + 1
    n_held = min(n_units - 1, max(1, round(fraction * n_units)))
    held = np.zeros(n_units, dtype=bool)
    held[rng.permutation(n_units)[:n_held]] = True
    if groups is not None:
        held = held[groups]
    return np.flatnonzero(~held), np.flatnonzero(held)


def warn_not_converged(message: str) -> None:
    """Warn that training ended too early."""
    warnings.warn(message, ConvergenceWarning, stacklevel=2)


def read_rows(X: Array, rows: np.ndarray, dtype: type) -> np.ndarray:
    """Return rows of an array, memory map, CSR matrix or tensor as a new dense array."""
    if sparse.issparse(X):
        return X[rows].toarray().astype(dtype, copy=False)
    return np.array(to_numpy(X[rows]), dtype=dtype, order="C")


class RowReader:
    """Samples of a table by position: ``reader[positions]`` is a dense array in the required precision.

    Parameters
    ----------
    X : ndarray, memory map, CSR matrix or tensor of shape (n, m)
        The data; never changed.
    rows : ndarray of int
        Which samples.
    dtype : type
        Precision.
    """

    def __init__(self, X: Array, rows: np.ndarray, dtype: type) -> None:
        self._X, self._rows, self._dtype = X, rows, dtype
        self.shape = len(rows), int(X.shape[1])
        self._table: np.ndarray | None = None
        if self.shape[0] * self.shape[1] * np.dtype(dtype).itemsize <= _RESIDENT_BYTES:
            self._table = np.empty(self.shape, dtype=dtype)
            for first in range(0, len(rows), BLOCK_ROWS):
                self._table[first : first + BLOCK_ROWS] = read_rows(X, rows[first : first + BLOCK_ROWS], dtype)

    def __getitem__(self, positions: np.ndarray) -> np.ndarray:
        return read_rows(self._X, self._rows[positions], self._dtype) if self._table is None else self._table[positions]

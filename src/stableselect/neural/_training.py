"""The one training loop, for networks in NumPy and in torch alike.

The loop knows epochs, early stopping, the clock and interruption; what an epoch is, a :class:`Trainee` knows.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

Watch = Callable[[int, Callable[[], tuple[float, ...]]], bool]
"""Runs the work of an epoch, which returns its losses, between callbacks; True asks to stop."""


class Diverged(ValueError):
    """A loss is no longer a number."""


class Trainee(ABC):
    """Something that learns by epochs: a network with its rows, or with the moments of its rows.

    ``settled`` says that the schedule (of kept columns, of a temperature) has reached its end; only then do epochs
    compete for the best weights, and only then may patience run out.
    """

    settled = True

    @abstractmethod
    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Learn from every row once while the schedule goes from ``start`` to ``end`` (of 1).

        Returns the mean losses over the epoch; the first is the objective.
        """

    @abstractmethod
    def state(self) -> Any:
        """Return a copy of the weights."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Take the weights of :meth:`state` back."""

    def validate(self) -> float | None:
        """Return the loss on rows held out, or None where none are."""
        return None


@dataclass(frozen=True)
class Stopping:
    """When to stop.

    Attributes
    ----------
    epochs : int
        At the latest after so many.
    patience : int or None
        Epochs without a relative gain of ``tol`` in the validation loss (in the objective, where no rows are held out)
        before training stops; None for never.
    tol : float
        The least relative gain that counts.
    max_time : float or None
        Seconds. The schedule runs faster where it would not end in time.
    """

    epochs: int
    patience: int | None = None
    tol: float = 1e-4
    max_time: float | None = None


@dataclass
class History:
    """What happened.

    Attributes
    ----------
    losses : list of tuple of float
        One entry an epoch, as the trainee returned them.
    validation : list of float
        One entry an epoch where rows were held out.
    best_epoch : int
        The epoch, from 1, whose weights were kept.
    stopped : str
        "epochs", "patience", "max_time", "callback" or "interrupted".
    """

    losses: list[tuple[float, ...]] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    best_epoch: int = 0
    stopped: str = "epochs"


def unwatched(epoch: int, work: Callable[[], tuple[float, ...]]) -> bool:
    """Run an epoch's work without callbacks."""
    work()
    return False


def check_loss(losses: tuple[float, ...], epoch: int) -> None:
    """Stop where a loss is no longer finite."""
    for loss in losses:
        if not np.isfinite(loss):
            raise Diverged(
                f"The loss became {loss} in epoch {epoch}. The likely cause is a table whose columns are far from unit "
                "scale: scale it, for instance with MinMaxScaler; or lower learning_rate."
            )


def train(trainee: Trainee, stopping: Stopping, watch: Watch = unwatched) -> History:
    """Train until one of the limits, and leave the trainee with the best weights.

    The best are those of least validation loss since the schedule ended; without rows held out, of least objective
    where ``patience`` is set, and the last otherwise.

    Parameters
    ----------
    trainee : Trainee
        What learns.
    stopping : Stopping
        The limits.
    watch : callable
        Runs each epoch between callbacks.

    Returns
    -------
    History
    """
    history, begin = History(), time.monotonic()
    best, best_state, waited, progress = np.inf, None, 0, 0.0

    def epoch(start: float, end: float) -> tuple[float, ...]:
        losses = trainee.train_epoch(start, end)
        check_loss(losses, len(history.losses) + 1)
        history.losses.append(losses)
        return losses

    for number in range(stopping.epochs):
        step = 1 / stopping.epochs
        if stopping.max_time is not None and number:
            elapsed = (time.monotonic() - begin) / stopping.max_time
            if elapsed >= 1:
                history.stopped = "max_time"
                break
            progress, step = max(progress, elapsed), max(step, elapsed / number)
        end = min(1.0, progress + step)
        try:
            stop = watch(number, partial(epoch, progress, end))
            progress, held_out = end, trainee.validate()
            if held_out is not None:
                check_loss((held_out,), number + 1)
                history.validation.append(held_out)
            if best_state is None:
                history.best_epoch = number + 1
            if trainee.settled and (held_out is not None or stopping.patience is not None):
                loss = history.losses[-1][0] if held_out is None else held_out
                waited = 0 if loss < best * (1 - stopping.tol) else waited + 1
                if loss < best:
                    best, best_state, history.best_epoch = loss, trainee.state(), number + 1
                if stopping.patience is not None and waited >= stopping.patience:
                    history.stopped = "patience"
                    break
        except KeyboardInterrupt:
            if not history.losses:
                raise
            history.stopped = "interrupted"
            history.best_epoch = max(1, history.best_epoch)
            warnings.warn(
                f"Interrupted after {len(history.losses)} of {stopping.epochs} epochs; the best weights so far are "
                "kept.",
                stacklevel=2,
            )
            break
        if stop:
            history.stopped = "callback"
            break
    if best_state is not None:
        trainee.restore(best_state)
    return history

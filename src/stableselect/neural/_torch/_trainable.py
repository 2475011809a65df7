"""A torch model and its samples, for the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import torch
from torch import nn

from .._training import History, Stopping, Trainable
from ._cuda_graph import Recorder
from ._device import Rows, resolve_device, session

_EPSILON = 1e-7
"""Adam's epsilon, that of Keras."""


class Model(nn.Module, ABC):
    """A network that computes its losses.

    ``settled`` is False until the end of its schedule.
    """

    settled = True

    @abstractmethod
    def losses(self, batch: torch.Tensor, progress: float) -> torch.Tensor:
        """Return the losses of a batch (at least one; the first is minimised) at this point of the schedule."""

    def validation_loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the loss on held-out samples."""
        return self.losses(batch, 1.0)[0]

    def project(self) -> None:
        """Project the weights back into their bounds after a step."""

    def finish(self, rows: Rows, held_out: Rows | None) -> None:
        """Complete the trained model; ``rows`` are the samples it was trained on."""

    def is_settled(self, progress: float) -> bool:
        """Tell whether the schedule has ended; ``progress`` is that of the last step."""
        return self.settled

    def form(self, progress: float) -> Hashable | None:
        """Return a key for the operations of a step: steps with the same key differ in the values of tensors only.

        Such steps are recorded once on a GPU and then replayed. None if steps must be run one by one, for instance
        because they draw numbers on the host.
        """
        return None


class TorchTrainable(Trainable):
    """Mini-batch Adam on a model's losses.

    Parameters
    ----------
    model : Model
        The model, already on its device.
    rows : Rows
        Samples to train on.
    held_out : Rows or None
        Samples to validate on.
    batch_size : int
        Samples per step.
    learning_rate : float
        Initial learning rate of Adam.
    rng : RandomState
        Draws the order of the samples on the host, so that every device sees the same batches.
    decay : float
        Fraction of the initial learning rate left at the end of the schedule; the decay is geometric.
    replace : bool
        Draw the samples of an epoch with replacement.
    """

    def __init__(
        self,
        model: Model,
        rows: Rows,
        held_out: Rows | None = None,
        *,
        batch_size: int,
        learning_rate: float,
        rng: np.random.RandomState,
        decay: float = 1.0,
        replace: bool = False,
    ) -> None:
        self.model, self._rows, self._held_out = model, rows, held_out
        self._batch_size, self._rate, self._decay = batch_size, learning_rate, decay
        self._rng, self._replace = rng, replace
        device = next(model.parameters()).device
        on_gpu = device.type == "cuda"
        self._now = torch.tensor(learning_rate, device=device) if on_gpu else learning_rate
        self._adam = torch.optim.Adam(
            model.parameters(), lr=self._now, eps=_EPSILON, fused=on_gpu or device.type == "cpu", capturable=on_gpu
        )
        self._progress = 0.0
        self._recorder = Recorder(self._step) if on_gpu else None

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Whether the model's schedule has ended."""
        return self.model.is_settled(self._progress)

    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Train on every sample once."""
        n, size = self._rows.n_rows, self._batch_size
        order = self._rng.randint(n, size=n) if self._replace else self._rng.permutation(n)
        step = (end - start) / self._rows.n_batches(size)
        total: Any = 0.0
        self.model.train()
        for i, batch in enumerate(self._rows.batches(size, order)):
            progress = start + i * step
            self._set_rate(self._rate * self._decay**progress)
            form = self.model.form(progress) if len(batch) == size else None
            if self._recorder is None or form is None:
                losses = self._step(batch, progress)
            else:
                losses = self._recorder(form, batch, progress)
            total = total + losses * (len(batch) / n)
        self._progress = progress
        return tuple(total.tolist())

    def _step(self, batch: torch.Tensor, progress: float) -> torch.Tensor:
        self._adam.zero_grad(set_to_none=True)
        losses = self.model.losses(batch, progress)
        if losses.requires_grad:  # a user-defined module may have nothing to train
            losses[0].backward()
            self._adam.step()
        self.model.project()
        return losses.detach()

    def _set_rate(self, rate: float) -> None:
        if isinstance(self._now, torch.Tensor):
            self._now.fill_(rate)
        else:
            for group in self._adam.param_groups:
                group["lr"] = rate

    @torch.no_grad()
    def validate(self) -> float | None:
        """Return the mean validation loss."""
        if self._held_out is None:
            return None
        self.model.eval()
        total, n = 0.0, self._held_out.n_rows
        for batch in self._held_out.batches(4096):
            total += float(self.model.validation_loss(batch)) * len(batch) / n
        return total

    @torch.no_grad()
    def finish(self) -> None:
        """Complete the trained model, in evaluation mode."""
        self.model.eval()
        self.model.finish(self._rows, self._held_out)

    def state(self) -> dict[str, torch.Tensor]:
        """Return a copy of the weights."""
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        """Set the weights."""
        self.model.load_state_dict(state)


def train_in_torch(
    run: Callable[[Callable[[int], TorchTrainable], Stopping, int], tuple[TorchTrainable, History]],
    X: Any,
    split: tuple[np.ndarray, np.ndarray],
    make: Callable[[Rows], Model],
    stopping: Stopping,
    n_starts: int = 1,
    *,
    device: str,
    batch_size: int,
    rng: np.random.RandomState,
    **adam: Any,
) -> tuple[TorchTrainable, History]:
    """Train a model on mini-batches; return it and the history.

    Parameters
    ----------
    run : callable
        Runs the training loop, as ``train_starts``.
    X : array of shape (n, m)
        The data.
    split : tuple of two arrays of int
        Samples to train on and samples to validate on.
    make : callable
        Returns the model of a start for the samples to train on.
    stopping : Stopping
        The limits of each start.
    n_starts : int
        Number of starts.
    device : str
        Where to train; "auto" is CUDA if available.
    batch_size, rng, **adam
        As in :class:`TorchTrainable`.
    """
    where = resolve_device(device, X)
    with session(where, batch_size, rng):
        rows, held_out = (Rows(X, part, dtype=torch.float32, device=where) if len(part) else None for part in split)
        assert rows is not None

        def trainable(start: int) -> TorchTrainable:
            model = make(rows).float().to(where)
            return TorchTrainable(model, rows, held_out, batch_size=batch_size, rng=rng, **adam)

        trained, history = run(trainable, stopping, n_starts)
        trained.finish()
    return trained, history

"""Training steps recorded as CUDA graphs: launching the kernels one by one takes ten times as long as running them."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import torch

_WARM_UP = 3
"""Steps that are run one by one before one is recorded, as torch requires."""

Step = Callable[[torch.Tensor, float], torch.Tensor]


class Recorder:
    """Runs steps, and replays those whose form has occurred often enough.

    Parameters
    ----------
    step : callable
        ``step(batch, progress)`` makes one step and returns its losses; its operations may depend on ``progress`` only
        through the form of the step.
    """

    def __init__(self, step: Step) -> None:
        self._step, self._met = step, 0
        self._form: Hashable = None
        self._graph: torch.cuda.CUDAGraph | None = None
        self._batch = self._losses = torch.empty(0)

    def __call__(self, form: Hashable, batch: torch.Tensor, progress: float) -> torch.Tensor:
        """Make one step; return its losses."""
        if form != self._form or batch.shape != self._batch.shape:
            self._form, self._met, self._graph = form, 0, None
            self._batch = torch.empty_like(batch)
        self._batch.copy_(batch)
        if self._graph is None and self._met < _WARM_UP:
            self._met += 1
            return self._apart(progress)
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._losses = self._step(self._batch, progress)
        self._graph.replay()
        return self._losses.clone()

    def _apart(self, progress: float) -> torch.Tensor:
        """Make a step on a separate stream, as torch requires before recording."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            losses = self._step(self._batch, progress)
        torch.cuda.current_stream().wait_stream(stream)
        return losses

"""Device, threads, random state and memory errors of a training in torch."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def resolve_device(device: str, X: Any = None) -> torch.device:
    """Return the device: "auto" is that of the data if they are a CUDA tensor, else CUDA if available, else the CPU."""
    if device == "auto":
        if isinstance(X, torch.Tensor) and X.device.type != "cpu":
            return X.device
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        float(torch.zeros(1, device=chosen))
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"The device {device!r} is not available ({reason}); use device='auto' or 'cpu'.") from None
    return chosen


@contextmanager
def session(device: torch.device, batch_size: int, rng: np.random.RandomState) -> Iterator[None]:
    """Train on one thread, without denormal numbers, with a local seed; explain what to do if memory runs out.

    The products of a batch are too small for several threads: a second one gains little on an idle machine, costs a
    factor of ten or more on a busy one, and would make the result depend on the number of cores. Adam's moments of a
    unit without a gradient decay into denormal numbers, which are many times slower. A user-defined module may draw
    random numbers (dropout): the seed comes from ``rng``, which is not advanced, and torch's own state is restored.
    """
    threads = torch.get_num_threads()
    flushes = bool(torch.tensor([1e-40], dtype=torch.float32) * 1.0 == 0)
    seed = int(copy.deepcopy(rng).randint(2**31 - 1))
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        with (
            torch.random.fork_rng([device] if device.type == "cuda" else []),
            torch.inference_mode(False),
            torch.enable_grad(),
        ):
            torch.manual_seed(seed)
            yield
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, (torch.OutOfMemoryError, MemoryError)) and "allocate" not in str(error):
            raise
        raise MemoryError(
            f"Training ran out of memory on {device}; lower batch_size (now {batch_size}) or the hidden sizes"
            + ("." if device.type == "cpu" else ", or use device='cpu'.")
        ) from error
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(flushes)

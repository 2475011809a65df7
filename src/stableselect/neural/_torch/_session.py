"""Where and under which conditions a network trains: device, threads, small numbers, memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def resolve_device(device: str, X: Any = None) -> torch.device:
    """Return the device: "auto" is the table's own where it is a CUDA tensor, then CUDA where there is one."""
    if device == "auto":
        if isinstance(X, torch.Tensor) and X.device.type != "cpu":
            return X.device
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        float(torch.zeros(1, device=chosen))
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"There is no device {device!r} here ({reason}); use device='auto' or 'cpu'.") from None
    return chosen


@contextmanager
def session(device: torch.device, batch_size: int, rng: np.random.RandomState) -> Iterator[None]:
    """Train on one thread, without denormal numbers, with seeds of our own; turn an allocation failure into advice.

    The products of a batch are too small to share out: a second thread gains little on an idle machine, costs a factor
    of ten and more on a busy one, and would make the path depend on the number of cores. Adam's moments of a unit that
    gets no gradient decay into denormal numbers, which are many times slower. A caller's module may draw numbers
    (dropout): the seed comes from ``rng``, which is not moved, and torch's own state is put back.
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

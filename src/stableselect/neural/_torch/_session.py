"""Where and under which conditions a network trains: device, threads, small numbers, memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


def resolve_device(device: str, X: Any = None) -> torch.device:
    """Return the device: "auto" is the table's own where it is a CUDA tensor, then CUDA where there is one."""
    if device == "auto":
        if isinstance(X, torch.Tensor) and X.device.type != "cpu":
            return X.device
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"There is no device {device!r} here ({reason}); use device='auto' or 'cpu'.") from None
    return chosen


@contextmanager
def session(device: torch.device, batch_size: int) -> Iterator[None]:
    """Train on one thread, without denormal numbers, and turn an allocation failure into advice.

    The products of a batch are too small to share out: a second thread gains little on an idle machine, costs a factor
    of ten and more on a busy one, and would make the path depend on the number of cores. Adam's moments of a unit that
    gets no gradient decay into denormal numbers, which are many times slower.
    """
    threads, flushes = torch.get_num_threads(), bool(torch.tensor([1e-40]) * 1.0 == 0)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
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

"""Where torch trains: the device, its threads, random state and memory errors, and batches of samples on it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from .._training import read_rows

_RESIDENT_BYTES = 2**30
"""Data up to this size, and on a GPU up to half of its free memory, are copied to the device as a whole."""
_BLOCK_ROWS = 4096


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


class Rows:
    """Samples of a table, in batches on a device.

    Parameters
    ----------
    X : ndarray, memory map, CSR matrix or tensor of shape (n, m)
        The data; never changed, and copied only if they are small.
    rows : ndarray of int
        Which samples.
    dtype : torch.dtype
        Precision of the batches.
    device : torch.device
        Where the batches are put.
    """

    def __init__(self, X: Any, rows: np.ndarray, *, dtype: torch.dtype, device: torch.device) -> None:
        self._X, self._rows, self._dtype, self._device = X, np.asarray(rows), dtype, device
        self._exact = dtype == torch.float64
        self.n_rows, self.n_columns = len(self._rows), int(X.shape[1])
        size = self.n_rows * self.n_columns * torch.empty(0, dtype=dtype).element_size()
        limit = _RESIDENT_BYTES
        if device.type == "cuda":
            limit = max(limit, torch.cuda.mem_get_info(device)[0] // 2)
        self._table = self._whole() if size <= limit else None

    def batches(self, batch_size: int, order: np.ndarray | None = None) -> Iterator[torch.Tensor]:
        """Yield the samples batch by batch, in the given order of 0 ... n_rows - 1, or as stored."""
        sizes = self._sizes(batch_size)
        if self._table is not None and order is None:
            yield from torch.split(self._table, sizes)
            return
        order = np.arange(self.n_rows) if order is None else order
        if self._table is not None:
            # The order is copied to the device once per epoch.
            for part in torch.split(torch.as_tensor(order, device=self._device), sizes):
                yield self._table[part]
            return
        for positions in np.split(order, np.cumsum(sizes)[:-1]):
            yield self._read(positions)

    def n_batches(self, batch_size: int) -> int:
        """Return the number of batches."""
        return len(self._sizes(batch_size))

    def _sizes(self, batch_size: int) -> list[int]:
        """Return the sizes of the batches; a last batch of one sample, which has no variance, joins the one before."""
        full, rest = divmod(self.n_rows, batch_size)
        if rest == 1 and full and batch_size > 1:
            return [*[batch_size] * (full - 1), batch_size + 1]
        return [*[batch_size] * full, *([rest] if rest else [])]

    def deviation(self) -> torch.Tensor:
        """Return the standard deviations of the features."""
        total = torch.zeros(2, self.n_columns, dtype=torch.float64, device=self._device)
        first = next(self.batches(1))[0].double()
        for block in self.batches(_BLOCK_ROWS):
            shifted = block.double() - first
            total += torch.stack([shifted.sum(0), shifted.square().sum(0)])
        mean, square = total / self.n_rows
        return (square - mean.square()).clamp(min=0).sqrt().to(self._dtype)

    def _whole(self) -> torch.Tensor:
        table = torch.empty(self.n_rows, self.n_columns, dtype=self._dtype, device=self._device)
        for first in range(0, self.n_rows, _BLOCK_ROWS):
            part = np.arange(first, min(first + _BLOCK_ROWS, self.n_rows))
            table[first : first + _BLOCK_ROWS] = self._read(part)
        return table

    def _read(self, positions: np.ndarray) -> torch.Tensor:
        where = self._rows[positions]
        if isinstance(self._X, torch.Tensor):
            block = self._X[torch.as_tensor(where, device=self._X.device)]
        else:
            block = torch.from_numpy(read_rows(self._X, where, np.float64 if self._exact else np.float32))
        return block.to(device=self._device, dtype=self._dtype)

"""Threads, random state and memory errors of a training."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stableselect.neural._torch._device import resolve_device, session  # noqa: E402

CPU = torch.device("cpu")


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory")])
def test_running_out_of_memory_says_what_to_lower(error):
    with pytest.raises(MemoryError, match=r"lower batch_size \(now 64\)"), session(CPU, 64, np.random.RandomState(0)):
        raise error


def test_threads_and_small_numbers_are_put_back():
    threads = torch.get_num_threads()
    with session(CPU, 8, np.random.RandomState(0)):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == threads
    assert float(torch.tensor([1e-40]) * 1.0) != 0
    assert resolve_device("cpu") == CPU

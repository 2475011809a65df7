"""Batches of samples on the device."""

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch")

from stableselect.neural._torch import _device  # noqa: E402
from stableselect.neural._torch._device import Rows  # noqa: E402

CPU = torch.device("cpu")


@pytest.mark.parametrize("resident", [2**30, 0])
def test_batches_come_alike_from_every_kind_of_table(rng, tmp_path, monkeypatch, resident):
    monkeypatch.setattr(_device, "_RESIDENT_BYTES", resident)
    X = np.where(rng.random((30, 5)) < 0.4, rng.normal(size=(30, 5)), 0.0)
    rows, order = np.arange(3, 27), rng.permutation(24)
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    for table in (X, np.asfortranarray(X), mapped, sparse.csr_array(X), torch.from_numpy(X)):
        reader = Rows(table, rows, dtype=torch.float32, device=CPU)
        batches = list(reader.batches(7, order))
        assert [len(batch) for batch in batches] == [7, 7, 7, 3] and reader.n_batches(7) == 4
        np.testing.assert_array_equal(torch.cat(batches).numpy(), X[rows][order].astype(np.float32))
        np.testing.assert_array_equal(torch.cat(list(reader.batches(7))).numpy(), X[rows].astype(np.float32))
        np.testing.assert_allclose(reader.deviation().numpy(), X[rows].std(axis=0), rtol=1e-5)

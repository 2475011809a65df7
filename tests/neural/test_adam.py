"""Adam: its steps beside torch's, and no denormal numbers."""

import numpy as np
import pytest

from stableselect.neural._adam import Adam


def test_steps_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    ours = rng.normal(size=7)
    theirs = torch.tensor(ours.copy(), requires_grad=True)
    adam, other = Adam(ours, epsilon=1e-16), torch.optim.Adam([theirs], lr=0.01, eps=1e-16)
    for _ in range(150):
        gradient = rng.normal(size=7)
        theirs.grad = torch.from_numpy(gradient.copy())
        other.step()
        adam.step(ours, gradient, 0.01)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-10)


def test_adam_never_keeps_denormal_moments():
    weights = np.ones(5, dtype=np.float32)
    adam = Adam(weights)
    gradient = np.full(5, 1e-3, dtype=np.float32)
    adam.step(weights, gradient, 1e-3)
    for _ in range(2000):
        gradient[:] = 0
        adam.step(weights, gradient, 1e-3)
        moments = np.concatenate([adam._first, adam._second])
        assert not np.any((moments != 0) & (np.abs(moments) < np.finfo(np.float32).tiny))
    assert not adam._first.any()

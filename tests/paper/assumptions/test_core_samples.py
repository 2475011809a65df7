"""Core samples against brute force, and the published networks against torch and least squares."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from stableselect.paper.assumptions import _core_samples as cores


def test_core_samples_are_the_best_of_all_on_a_small_table(rng):
    for shape in ((9, 4), (7, 12)):
        X = rng.normal(size=shape)

        def left_over(chosen, X=X):
            alpha = np.linalg.lstsq(X[list(chosen)].T, X.T, rcond=None)[0]
            return np.sum((X.T - X[list(chosen)].T @ alpha) ** 2)

        best = min(combinations(range(len(X)), 3), key=left_over)
        assert left_over(cores.core_samples(X, 3)) == pytest.approx(left_over(best))


def test_representation_is_least_squares(rng):
    Z, X = rng.normal(size=(3, 8)), rng.normal(size=(5, 8))
    models = [LinearRegression(fit_intercept=False).fit(Z.T, x) for x in X]
    eta = [np.linalg.norm(x - model.predict(Z.T)) for x, model in zip(X, models, strict=True)]
    found = cores.representation(Z, X)
    assert found["eta_max"] == pytest.approx(max(eta))
    assert found["eta_median"] == pytest.approx(np.median(eta))
    assert found["alpha_max"] == pytest.approx(max(np.linalg.norm(model.coef_) for model in models))
    assert found["mse"] == pytest.approx(np.mean(np.square(eta)) / 8)
    residuals = X.T - LinearRegression().fit(Z.T, X.T).predict(Z.T)
    assert cores.best_reconstruction(Z, X) == pytest.approx(np.mean(residuals**2))


def test_the_second_network_comes_to_its_optimum(rng):
    Z = rng.normal(size=(3, 40))
    X = rng.normal(size=(4, 3)) @ Z + 0.5 + 0.1 * rng.normal(size=(4, 40))
    short, long = (cores.published_reconstruction(Z, X, np.random.RandomState(0), epochs) for epochs in (2, 6000))
    best = cores.best_reconstruction(Z, X)
    assert long == pytest.approx(best, rel=1e-4)
    assert short > 2 * best


def test_the_core_network_follows_its_loss(rng, monkeypatch):
    """Against torch: the same start and batches, the same scores."""
    torch = pytest.importorskip("torch")
    X = rng.random((12, 20))
    monkeypatch.setattr(cores, "_BATCH", 8)
    chosen, scores = cores.published_core_samples(X, 4, np.random.RandomState(3), epochs=5)
    state = np.random.RandomState(3)
    # The published start: scores just below 1, Glorot uniform weights, biases of zero.
    limit = (6 / (12 + 4)) ** 0.5
    start = [
        state.uniform(0.999999, 0.9999999, 12),
        state.uniform(-limit, limit, (12, 4)),
        np.zeros(4),
        state.uniform(-limit, limit, (4, 12)),
        np.zeros(12),
    ]
    a, E, b, G, c = (torch.tensor(part.astype(np.float32), requires_grad=True) for part in start)
    table = torch.tensor(X.T.astype(np.float32))
    adam = torch.optim.Adam([a, E, b, G, c], lr=1e-3, eps=1e-7)
    for batch in cores._batches(20, state, 5):
        x = table[torch.as_tensor(batch)]
        mask = (a >= a.detach().topk(4).values[-1]).float()
        scorer, selector = (torch.mean((((x * s) @ E + b) @ G + c - x) ** 2) for s in (a, a * mask))
        adam.zero_grad()
        (scorer + 2 * selector + 0.1 * a.sum()).backward()
        adam.step()
        with torch.no_grad():
            a.clamp_(min=0)
    np.testing.assert_allclose(scores, a.detach().numpy(), rtol=2e-4)
    assert chosen.tolist() == sorted(np.argsort(-scores, kind="stable")[:4].tolist())

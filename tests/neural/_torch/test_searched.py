"""Networks that start from a search: what they add to a ridge regression, and when they are left out."""

import numpy as np
import pytest

import stableselect as ss
from stableselect.neural._scorer_parameters import LinearMap, Objective
from stableselect.neural._scorer_train import linear_map, map_without
from stableselect.neural._specs import Networks

torch = pytest.importorskip("torch")

from stableselect.neural._torch._device import Rows  # noqa: E402
from stableselect.neural._torch._searched import scorer_model  # noqa: E402

M, K = 6, 2


def curved(n, seed):
    """Six features, four of them functions of the first two, one of these linear."""
    u, v = np.random.default_rng(seed).uniform(-1, 1, size=(2, n))
    return np.column_stack([u, v, u - v, np.cos(2 * u), u * v, v**2])


def rows_of(X):
    return Rows(X, np.arange(len(X)), dtype=torch.float64, device=torch.device("cpu"))


def model_on(X, groups, seed=0):
    """A network with weights in general position, and two maps from features 0 and 1."""
    rng = np.random.default_rng(seed)
    maps = tuple(LinearMap(rng.normal(size=(K, M)), rng.normal(size=M), np.arange(K)) for _ in range(2))
    for linear in maps:
        linear.coefficients[:, :K], linear.intercept[:K] = np.eye(K), 0.0
    networks, objective = Networks("linear", (5,), "tanh", 3), Objective(K, "abs", 0.3, False)
    draw = np.random.RandomState(seed)
    return scorer_model(networks, objective, np.ones(M), None, rows_of(X), draw, maps, groups).double(), maps


def outputs_of(model, X):
    """Return what the network makes of the first two features of samples, by definition."""
    with torch.no_grad():
        return model.decoder(model.encoder(torch.from_numpy(X * (np.arange(M) < K)))).numpy()


def test_the_last_layer_starts_at_zero_and_only_the_map_is_left(rng):
    X = rng.normal(size=(8, M))
    model, (begin, _) = model_on(X, np.arange(8))
    left = X - X[:, :K] @ begin.coefficients - begin.intercept
    losses = model.losses(torch.from_numpy(X), 0.0).detach().numpy()
    np.testing.assert_allclose(losses, np.mean(left**2) * np.array([1.3, 1.0, 1.0]))
    np.testing.assert_array_equal(outputs_of(model, X), 0)


@pytest.mark.parametrize(("signal", "kept"), [(0.6, True), (3.0, True), (-1.0, False)])
def test_the_factor_is_the_best_for_held_out_samples_or_zero(rng, signal, kept):
    X = rng.normal(size=(40, M))
    groups = np.repeat(np.arange(20), 2)
    model, (begin, final) = model_on(X, groups)
    torch.nn.init.normal_(model.decoder[-1].weight, generator=torch.Generator().manual_seed(0))
    # What is left is so much of the output, and noise. The targets do not enter the network.
    output = outputs_of(model, X)
    X[:, K:] = (signal * output + X[:, :K] @ begin.coefficients + begin.intercept)[:, K:]
    X[:, K:] += 0.5 * rng.normal(size=(40, M - K))
    left = X - X[:, :K] @ begin.coefficients - begin.intercept
    best = min(np.linspace(0, 1, 2001), key=lambda c: np.sum((left - c * output) ** 2))
    gains = np.sum(left**2 - (left - best * output) ** 2, axis=1).reshape(20, 2).sum(axis=1)
    assert (gains.mean() > gains.std(ddof=1) / 20**0.5) == kept
    with torch.no_grad():
        model.finish(rows_of(X), rows_of(X))
    assert model.network_weight == pytest.approx(best if kept else 0.0, abs=5e-4)
    left = X - X[:, :K] @ final.coefficients - final.intercept
    assert model.errors[0] == pytest.approx(np.mean((left - model.network_weight * output) ** 2))


def test_the_first_layer_starts_with_units_of_mean_zero_and_variance_one(rng):
    X = 5 + 0.01 * rng.normal(size=(30, M))
    model, _ = model_on(X, np.arange(30))
    with torch.no_grad():
        latent = model.encoder(torch.from_numpy(X * (np.arange(M) < K))).numpy()
    np.testing.assert_allclose(latent.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(latent.std(axis=0), 1, rtol=1e-4)


def test_one_held_out_group_decides_nothing(rng):
    X = rng.normal(size=(9, M))
    model, _ = model_on(X, np.full(9, 3))
    model.decoder[-1].weight.data.normal_()
    with torch.no_grad():
        model.finish(rows_of(X), rows_of(X))
    assert model.network_weight == 0.0


def test_the_map_is_a_ridge_regression_without_the_held_out_samples():
    X, rows = curved(50, 0), np.arange(5, 50)
    searched = ss.ColumnSubset(2, include=[0, 1], ridge=0.1).fit(X)
    kept = map_without(searched, X, rows)
    centred = X[rows] - X[rows].mean(axis=0)
    S = centred[:, :2]
    ridge = 0.1 * np.mean(centred**2) * len(rows)
    expected = np.linalg.solve(S.T @ S + ridge * np.eye(2), S.T @ centred)
    np.testing.assert_allclose(kept.coefficients[:, 2:], expected[:, 2:], rtol=1e-8)
    np.testing.assert_array_equal(kept.coefficients[:, :2], np.eye(2))
    assert not np.allclose(linear_map(searched).coefficients, kept.coefficients)


def test_what_is_linear_is_left_to_the_ridge_regression():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 8)) + rng.normal(size=(120, 8))
    selector = ss.ScorerSelectorNetwork(3, decoder=(8,), random_state=0).fit(X)
    linear = ss.ColumnSubset(3, include=selector.selected_.tolist()).fit(X)
    assert selector.network_weight_ == 0.0 and selector.best_epoch_ == 0
    np.testing.assert_allclose(selector.reconstruct(X[:, selector.support_]), linear.reconstruct(X[:, linear.support_]))
    assert selector.ridge_ == linear.ridge_


def test_what_is_curved_is_not():
    X, test = curved(300, 0), curved(300, 1)
    selector = ss.ScorerSelectorNetwork(2, decoder=(16,), epochs=60, random_state=0).fit(X)
    linear = ss.ColumnSubset(2, include=selector.selected_.tolist()).fit(X)
    assert selector.network_weight_ > 0.5 and selector.best_epoch_ > 0
    assert selector.score(test) > 0.5 * linear.score(test)


def test_groups_are_held_out_together_and_numbered_in_any_way(monkeypatch):
    X, groups = np.repeat(curved(30, 0), 4, axis=0), np.repeat(np.arange(30), 4)
    X = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)
    seen = []
    from stableselect.neural import _scorer_train

    hold_out = _scorer_train.hold_out
    monkeypatch.setattr(_scorer_train, "hold_out", lambda *given: seen.append(hold_out(*given)) or seen[-1])
    settings = {"decoder": (4,), "epochs": 2, "random_state": 0}
    first, second = (ss.ScorerSelectorNetwork(2, **settings).fit(X, groups=g) for g in (groups, 7 * groups - 3))
    np.testing.assert_array_equal(first.loss_history_, second.loss_history_)
    train, held = seen[0]
    assert len(held) == 12 and not set(groups[train]) & set(groups[held])
    with pytest.raises(ValueError, match="one label for each of the 120 samples"):
        ss.ScorerSelectorNetwork(2, **settings).fit(X, groups=groups[:-1])


def test_a_single_group_is_no_group():
    X = curved(60, 0)
    for settings in ({"decoder": (4,), "epochs": 3}, {"init": "search", "epochs": 3}):
        found = [ss.ScorerSelectorNetwork(2, random_state=0, **settings).fit(X, groups=g) for g in (["a"] * 60, None)]
        assert found[0].selected_.tolist() == found[1].selected_.tolist()


def test_weights_count_beside_groups():
    """Samples of weight 0 have a feature that varies more than all others."""
    X, groups, weights = curved(60, 0), np.repeat(list("abcdefghijklmno"), 4), np.repeat([1.0, 0.0], 30)
    X[30:, 3] *= 50.0
    settings = {"init": "search", "epochs": 3, "random_state": 0}
    selector = ss.ScorerSelectorNetwork(1, **settings).fit(X, sample_weight=weights, groups=groups)
    expected = ss.ScorerSelectorNetwork(1, **settings).fit(X[:30], groups=groups[:30])
    assert selector.selected_.tolist() == expected.selected_.tolist()


def test_groups_of_a_stream_are_refused_in_a_sentence():
    parts = (np.random.default_rng(seed).normal(size=(2000, 300)) for seed in range(40))
    with pytest.raises(ValueError, match="groups need samples in memory"):
        ss.ScorerSelectorNetwork(2, init="search", epochs=1).fit(parts, groups=["a"] * 80_000)

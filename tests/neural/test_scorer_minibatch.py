from __future__ import annotations

import numpy as np
import pytest

from stableselect import ScorerSelectorNetwork
from stableselect.neural._scorer_minibatch import MinibatchTrainable, batch_gradient
from stableselect.neural._scorer_parameters import (
    Objective,
    random_parameters,
    top_features_with_ties,
)
from stableselect.neural._training import Stopping, train

PHI = {"abs": np.abs, "square": np.square}
SLOPE = {"abs": np.sign, "square": lambda w: 2 * w}


def drawn(rng, m, d, tied=False):
    """Weights in general position; with ``tied``, four columns share one score and some scores are negative."""
    parameters = random_parameters(m, d, True, np.random.RandomState(0))
    parameters.flat[:] = rng.normal(size=parameters.flat.size)
    if tied:
        parameters.w[[1, 3, 4, 7]] = [0.8, -0.8, 0.8, 0.8]
    return parameters


def path_error(X, parameters, score, mask):
    """Mean squared error of one path, straight from its definition."""
    d = parameters.width
    s = PHI[score](parameters.w) * mask
    Z = X @ np.diag(s) @ parameters.encoder + parameters.encoder_bias
    return np.mean((Z @ parameters.decoder[:, :d].T + parameters.decoder[:, d] - X) ** 2)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("score", ["abs", "square"])
@pytest.mark.parametrize("scorer_weight", [0.0, 0.3])
def test_batch_gradient_and_errors_match_the_definition(rng, score, tied, scorer_weight):
    m, d, k = 9, 3, 4
    X = rng.normal(size=(7, m)) + 1
    at = drawn(rng, m, d, tied)
    if tied:
        at.w[[0, 2, 5]] = [2, 1.5, 1.2]
        at.w[[6, 8]] = [0.1, 0.2]
    kept = top_features_with_ties(PHI[score](at.w), k)
    assert len(kept) == (7 if tied else k)
    mask = np.isin(np.arange(m), kept)

    def objective(flat):
        here = at.around(flat)
        return path_error(X, here, score, mask) + scorer_weight * path_error(X, here, score, 1.0)

    gradient = at.around(np.zeros_like(at.flat))
    errors = batch_gradient(X, at, kept, gradient, Objective(k, score, scorer_weight, False))
    assert errors == pytest.approx([path_error(X, at, score, mask), path_error(X, at, score, 1.0)], rel=1e-11)
    step = 1e-6
    numeric = [
        (objective(at.flat + step * unit) - objective(at.flat - step * unit)) / (2 * step)
        for unit in np.eye(at.flat.size)
    ]
    np.testing.assert_allclose(gradient.flat, numeric, rtol=1e-6, atol=1e-7)
    dropped = ~mask
    assert np.all((gradient.w[dropped] == 0) == (scorer_weight == 0))


def plain_loop(X, k, score, weight, rate, epochs, batch_size, seed):
    """The published protocol, one row and one array at a time."""
    rng = np.random.RandomState(seed)
    n, m = X.shape
    w = rng.uniform(0.999999, 0.9999999, m).astype(np.float32).astype(float)
    limit = np.sqrt(6 / (m + k))
    E, G = rng.uniform(-limit, limit, (m, k)), rng.uniform(-limit, limit, (k, m))
    weights = [w, E, np.zeros(k), G, np.zeros(m)]
    first, second = [np.zeros_like(a) for a in weights], [np.zeros_like(a) for a in weights]
    t, history = 0, np.zeros((epochs, 2))
    for epoch in range(epochs):
        order = rng.permutation(n)
        for begin in range(0, n, batch_size):
            rows = order[begin : begin + batch_size]
            w, E, a, G, b = weights
            s = PHI[score](w)
            mask = s >= np.sort(s)[-k]
            grads = [np.zeros_like(v) for v in weights]
            for x in X[rows]:
                for path, (share, kept) in enumerate([(1.0, mask), (weight, np.ones(m, bool))]):
                    inputs = x * s * kept
                    z = inputs @ E + a
                    residual = z @ G + b - x
                    history[epoch, path] += residual @ residual / (n * m)
                    dy = share * 2 * residual / (m * len(rows))
                    dz = G @ dy
                    for grad, part in zip(
                        grads,
                        [x * kept * (E @ dz) * SLOPE[score](w), np.outer(inputs, dz), dz, np.outer(z, dy), dy],
                        strict=True,
                    ):
                        grad += part
            t += 1
            step = rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            for i, g in enumerate(grads):
                first[i] = 0.9 * first[i] + 0.1 * g
                second[i] = 0.999 * second[i] + 0.001 * g * g
                weights[i] = weights[i] - step * first[i] / (np.sqrt(second[i]) + 1e-7)
    return weights, history


def trained(X, k, *, epochs, score="abs", batch_size=16, anneal=False, seed=0, rate=1e-3, weight=1 / 128):
    """Train in double precision from the published start on all samples; return the network."""
    rng = np.random.RandomState(seed)
    trainable = MinibatchTrainable(
        random_parameters(X.shape[1], k, True, rng),
        X,
        Objective(k, score, weight, anneal),
        X.std(axis=0),
        (np.arange(len(X)), np.arange(0)),
        learning_rate=rate,
        batch_size=batch_size,
        rng=rng,
        dtype=np.float64,
    )
    return trainable.network(np.array(train(trainable, Stopping(epochs)).losses))


@pytest.mark.parametrize("score", ["abs", "square"])
def test_training_follows_a_plain_loop_over_the_samples(rng, score):
    X = rng.random((23, 11))
    (w, E, a, G, b), history = plain_loop(X, 4, score, 0.2, rate=1e-2, epochs=2, batch_size=5, seed=3)
    network = trained(X, 4, score=score, weight=0.2, rate=1e-2, epochs=2, batch_size=5, seed=3)
    for ours, theirs in [
        (network.scores, w),
        (network.encoder, E),
        (network.encoder_bias, a),
        (network.decoder, G),
        (network.decoder_bias, b),
        (network.losses, history),
    ]:
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(network.selected, np.argsort(-w, kind="stable")[:4])
    np.testing.assert_array_equal(network.score_weights, PHI[score](network.scores))
    # The estimator trains in single precision.
    selector = ScorerSelectorNetwork(
        4,
        solver="minibatch",
        score_function=score,
        scorer_weight=0.2,
        learning_rate=1e-2,
        epochs=2,
        batch_size=5,
        random_state=3,
    ).fit(X)
    np.testing.assert_allclose(selector.score_weights_, PHI[score](w), atol=1e-4)
    np.testing.assert_allclose(selector.loss_history_, history, rtol=1e-4)


@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("shape", [(40, 12), (10, 30)])
def test_same_seed_same_network_and_global_generator_untouched(rng, shape, anneal):
    X = rng.random(shape)
    before = X.copy()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    settings = {"solver": "minibatch", "epochs": 4, "batch_size": 16, "anneal": anneal}
    first, second, other = (ScorerSelectorNetwork(5, random_state=seed, **settings).fit(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.encoder_, second.encoder_)
    np.testing.assert_array_equal(first.selected_, second.selected_)
    assert not np.array_equal(first.encoder_, other.encoder_)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    np.testing.assert_array_equal(X, before)
    assert len(np.unique(first.selected_)) == 5
    assert first.loss_history_.shape == (4, 2)


def test_the_final_ranking_is_by_the_signed_score():
    X = np.random.default_rng(0).random((30, 8))
    network = trained(X, 3, epochs=60, batch_size=4, rate=0.1)
    assert network.scores.min() < 0
    np.testing.assert_array_equal(network.score_weights, np.abs(network.scores))
    np.testing.assert_array_equal(network.selected, np.argsort(-network.scores, kind="stable")[:3])


def test_the_annealed_ranking_is_by_reach(rng):
    X = rng.random((30, 8)) * np.arange(1, 9)
    network = trained(X, 3, epochs=20, batch_size=8, anneal=True)
    reach = network.score_weights * np.linalg.norm(network.encoder, axis=1) * X.std(axis=0)
    np.testing.assert_allclose(network.scores, reach)
    np.testing.assert_array_equal(network.selected, np.argsort(-reach, kind="stable")[:3])


@pytest.mark.parametrize("shape", [(40, 12), (10, 30)])
def test_principal_start_begins_at_the_principal_component_error(rng, shape):
    X = rng.random(shape) + 3
    selector = ScorerSelectorNetwork(4, solver="minibatch", epochs=1, learning_rate=1e-12, init="pca").fit(X)
    singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert selector.loss_history_[0, 1] == pytest.approx(np.sum(singular[4:] ** 2) / X.size, rel=5e-3)


def test_wider_latent_layer_and_no_scorer_term(rng):
    X = rng.random((30, 8))
    settings = {"solver": "minibatch", "latent_width": 5, "scorer_weight": 0.0, "epochs": 3, "random_state": 0}
    selector = ScorerSelectorNetwork(3, **settings).fit(X)
    assert selector.encoder_.shape == (8, 5)
    assert np.isfinite(selector.loss_history_).all()

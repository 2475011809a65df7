from __future__ import annotations

import numpy as np
import pytest

from stableselect._core._dual_gram import DualGram
from stableselect._core._gram import Gram
from stableselect.neural._scorer_full_batch import FullBatchTrainable, MomentsLoss
from stableselect.neural._scorer_parameters import Objective, pca_parameters, random_parameters, top_features_with_ties
from stableselect.neural._training import Stopping, train

PHI = {"abs": np.abs, "square": np.square}
SHAPES = [(40, 12), (7, 12)]


def centred(rng, shape):
    X = rng.normal(size=shape) @ rng.normal(size=(shape[1], shape[1]))
    return X - X.mean(axis=0)


def primal(X):
    return Gram(X.T @ X / len(X))


def dual(X):
    return DualGram(X / len(X) ** 0.5)


def path_error(X, parameters, score, mask):
    """||X - X diag(s mask) E G||^2 / (n m)."""
    s = PHI[score](parameters.w) * mask
    return np.mean((X - X @ np.diag(s) @ parameters.encoder @ parameters.decoder.T) ** 2)


def trained(gram, k, *, epochs=2000, score="abs", weight=1 / 128, rate=None, init="published", anneal=False, seed=0):
    """Train a network of latent width k on moments; return it."""
    m = gram.n_features
    drawn = random_parameters(m, k, False, np.random.RandomState(seed))
    begin = drawn if init == "published" else pca_parameters(gram, k)
    trainable = FullBatchTrainable(begin, gram, Objective(k, score, weight, anneal), rate)
    return trainable.network(np.array(train(trainable, Stopping(epochs)).losses))


def drawn(rng, m, d):
    parameters = random_parameters(m, d, False, np.random.RandomState(0))
    parameters.flat[:] = rng.normal(size=parameters.flat.size)
    return parameters


@pytest.mark.parametrize("form", [primal, dual])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("score", ["abs", "square"])
@pytest.mark.parametrize(("k", "tied"), [(3, False), (3, True), (10, False), (12, False)])
def test_errors_and_gradient_match_the_definition(rng, form, shape, score, k, tied):
    X = centred(rng, shape)
    m, scorer_weight = shape[1], 0.3
    gram, at = form(X), drawn(rng, m, 4)
    if tied:
        at.w[:] = np.linspace(0.1, 0.5, m)
        at.w[[1, 3, 4, 7, 9]] = [0.8, -0.8, 0.8, 0.8, 2]
    kept = top_features_with_ties(PHI[score](at.w), k)
    assert len(kept) == (5 if tied else k)
    mask = np.isin(np.arange(m), kept)

    def objective(flat):
        here = at.around(flat)
        return path_error(X, here, score, mask) + scorer_weight * path_error(X, here, score, 1.0)

    gradient = at.around(np.zeros_like(at.flat))
    errors = MomentsLoss(gram, Objective(k, score, scorer_weight, False))(at, kept, gradient)
    assert errors == pytest.approx([path_error(X, at, score, mask), path_error(X, at, score, 1.0)], rel=1e-10)
    step = 1e-5
    numeric = np.array(
        [
            (objective(at.flat + step * unit) - objective(at.flat - step * unit)) / (2 * step)
            for unit in np.eye(at.flat.size)
        ]
    )
    # The gradient is of half the objective, summed over the columns rather than averaged.
    numeric *= m / 2
    np.testing.assert_allclose(gradient.flat, numeric, rtol=1e-5, atol=1e-6 * np.abs(numeric).max())


@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_whole_and_thin_moments_give_the_same_path(rng, shape, anneal):
    X = centred(rng, shape)
    whole, thin = (trained(g, 3, epochs=60, anneal=anneal, seed=0) for g in (primal(X), dual(X)))
    np.testing.assert_allclose(whole.losses, thin.losses, rtol=1e-7)
    np.testing.assert_allclose(whole.encoder, thin.encoder, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(whole.selected, thin.selected)


@pytest.mark.parametrize("init", ["published", "pca"])
@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_torch_gives_the_same_path(rng, form, anneal, init):
    torch = pytest.importorskip("torch")
    X = centred(rng, (40, 12))
    array = X.T @ X / len(X) if form == "primal" else X / len(X) ** 0.5
    wrap = Gram if form == "primal" else DualGram
    ours, theirs = (
        trained(wrap(a), 3, epochs=60, anneal=anneal, init=init, seed=0) for a in (array, torch.asarray(array))
    )
    assert isinstance(theirs.encoder, np.ndarray)
    np.testing.assert_allclose(theirs.losses, ours.losses, rtol=1e-7)
    np.testing.assert_array_equal(theirs.selected, ours.selected)


@pytest.mark.parametrize("score", ["abs", "square"])
@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("epochs", [1, 50])
def test_last_row_of_history_is_the_objective_of_the_exported_network(rng, epochs, anneal, score):
    X = centred(rng, (40, 12))
    network = trained(primal(X), 3, score=score, epochs=epochs, anneal=anneal, seed=0)
    assert network.losses.shape == (epochs, 2)
    assert network.encoder_bias is None and network.decoder_bias is None
    if not anneal:
        np.testing.assert_array_equal(network.score_weights, network.scores)
    for column, columns in enumerate([network.selected, np.arange(12)]):
        F = network.score_weights[columns, None] * network.encoder[columns]
        error = np.mean((X - X[:, columns] @ F @ network.decoder) ** 2)
        assert network.losses[-1, column] == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("anneal", [False, True])
def test_same_seed_same_network_and_global_generator_untouched(rng, anneal):
    gram = primal(centred(rng, (40, 12)))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second, other = (trained(gram, 5, epochs=30, anneal=anneal, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.encoder, second.encoder)
    np.testing.assert_array_equal(first.selected, second.selected)
    assert not np.array_equal(first.encoder, other.encoder)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert len(np.unique(first.selected)) == 5


def test_principal_start_needs_no_seed_and_begins_at_the_principal_component_error(rng):
    X = centred(rng, (40, 12))
    gram = primal(X)
    start = trained(gram, 4, epochs=1, rate=1e-12, init="pca")
    assert start.losses[0, 1] == pytest.approx(gram.floor(4) / 12, rel=1e-2)
    first, second = (trained(gram, 4, epochs=40, init="pca", seed=s) for s in (0, 1))
    np.testing.assert_array_equal(first.encoder, second.encoder)


def test_training_lowers_the_objective_towards_the_best_of_the_chosen_columns(rng):
    X = centred(rng, (60, 12))
    network = trained(primal(X), 4, weight=0.0, anneal=True, seed=0)
    kept = X[:, network.selected]
    best = np.mean((X - kept @ np.linalg.lstsq(kept, X, rcond=None)[0]) ** 2)
    assert best <= network.losses[-1, 0] <= 1.05 * best


@pytest.mark.slow
def test_annealing_takes_one_column_from_every_group(rng):
    signals = rng.normal(size=(200, 4))
    X = np.repeat(signals, 6, axis=1) + 0.3 * rng.normal(size=(200, 24))
    gram = primal(X - X.mean(axis=0))
    for seed in range(4):
        network = trained(gram, 4, anneal=True, seed=seed)
        assert sorted(network.selected // 6) == [0, 1, 2, 3]


def test_units_of_the_table_do_not_change_the_path(rng):
    X = centred(rng, (40, 12))
    small, large = (trained(primal(X * unit), 3, epochs=50, seed=0) for unit in (1e-4, 1e4))
    np.testing.assert_allclose(small.losses * 1e16, large.losses, rtol=1e-7)
    np.testing.assert_array_equal(small.selected, large.selected)


@pytest.mark.parametrize("init", ["published", "pca"])
@pytest.mark.parametrize("anneal", [False, True])
def test_constant_columns_and_more_units_than_rank_are_harmless(rng, anneal, init):
    X = np.zeros((20, 8))
    X[:, :2] = centred(rng, (20, 2))
    network = trained(dual(X), 4, epochs=200, anneal=anneal, init=init, seed=0)
    assert np.isfinite(network.losses).all()
    assert len(np.unique(network.selected)) == 4
    if anneal:
        assert {0, 1} <= set(network.selected)
    empty = trained(primal(np.zeros((5, 6))), 2, epochs=5, anneal=anneal, init=init, seed=0)
    np.testing.assert_array_equal(empty.losses, 0)

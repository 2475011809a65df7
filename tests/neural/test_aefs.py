"""AEFS against its definition: stationarity, the rows, torch, and the elimination's bookkeeping."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from stableselect import Moments, RandomSelector
from stableselect._core._dual_gram import DualGram
from stableselect._core._gram import Gram
from stableselect.metrics import reconstruction_error
from stableselect.neural import AEFS
from stableselect.neural._elimination import Elimination
from stableselect.neural._row_sparse import AEFSTrainable
from stableselect.neural._training import Stopping, train

PLAIN = {"eliminate": False, "tol": 1e-13, "patience": 20, "epochs": 20_000}
NONLINEAR = {"encoder": (16,), "decoder": (16,), "activation": "tanh", "alpha": 0.01, "beta": 1e-3}


def layers(selector):
    return selector.encoder_weights_["0.weight"].T, selector.decoder_weights_["0.weight"].T


def objective(X, W, G, alpha, beta):
    """The definition, row by row."""
    centred = X - X.mean(axis=0)
    v = centred.var(axis=0).mean()
    error = np.sum((centred - centred @ W @ G) ** 2) / (2 * v * len(X))
    return error + alpha * np.sum(np.sqrt(np.sum(W**2, axis=1))) + 0.5 * beta * np.sum(G**2)


@pytest.fixture
def groups(rng):
    """Four signals, each in five noisy copies of the same scale."""
    return np.repeat(rng.normal(size=(200, 4)), 5, axis=1) + 0.3 * rng.normal(size=(200, 20))


def test_minimum_keeps_the_optimality_conditions(tall):
    alpha, beta = 0.4, 0.7
    selector = AEFS(4, alpha=alpha, beta=beta, latent_width=3, **PLAIN).fit(tall)
    W, G = layers(selector)
    C = np.cov(tall.T, bias=True)
    C *= 12 / np.trace(C)
    gradient = C @ W @ G @ G.T - C @ G.T
    lengths = np.linalg.norm(W, axis=1)
    used = lengths > 1e-8
    assert 3 <= used.sum() == selector.n_active_ < 12
    np.testing.assert_allclose(gradient[used], -alpha * W[used] / lengths[used, None], atol=1e-4)
    assert np.all(np.linalg.norm(gradient[~used], axis=1) <= alpha)
    np.testing.assert_allclose(W.T @ C @ (np.eye(12) - W @ G), beta * G, atol=1e-7)
    np.testing.assert_array_equal(selector.selected_, np.argsort(-lengths)[:4])


def test_objective_is_that_of_the_rows_and_never_rises(tall):
    selector = AEFS(4, alpha=0.3, beta=0.5, **PLAIN).fit(3 * tall + 1)
    losses = selector.loss_history_
    assert np.all(np.diff(losses[:, 0]) <= 1e-12 * losses[0, 0])
    W, G = layers(selector)
    np.testing.assert_allclose(objective(3 * tall + 1, W, G, 0.3, 0.5), losses[selector.best_epoch_ - 1, 0], rtol=1e-9)
    assert selector.converged_ and selector.stop_reason_ == "patience"


def test_only_the_product_of_the_penalties_matters(tall):
    first = AEFS(4, alpha=0.2, beta=1.0).fit(tall)
    second = AEFS(4, alpha=2.0, beta=0.01).fit(tall)
    np.testing.assert_array_equal(first.selected_, second.selected_)
    np.testing.assert_allclose(first.scores_, second.scores_ * 10, rtol=1e-6)


def test_scaling_the_table_changes_nothing(tall):
    once, larger = AEFS(4).fit(tall), AEFS(4).fit(1000 * tall - 5)
    np.testing.assert_array_equal(once.selected_, larger.selected_)
    np.testing.assert_allclose(once.scores_, larger.scores_, rtol=1e-7)


def test_mean_error_is_a_change_of_the_weights(tall):
    v = tall.var(axis=0).mean()
    mean = AEFS(4, alpha=0.01, beta=0.02, error_scale="mean").fit(tall)
    scale = 12 / (2 * v)
    relative = AEFS(4, alpha=0.01 * scale, beta=0.02 * scale).fit(tall)
    np.testing.assert_allclose(mean.scores_, relative.scores_, rtol=1e-10)


@pytest.mark.parametrize("k", [2, 15])
def test_thin_and_whole_moments_agree(wide, k):
    A = Moments.from_array(wide).operator().normalised()[0].A
    results = []
    for gram in (DualGram(A), Gram(A.T @ A)):
        trainable = AEFSTrainable(gram, k, 4, weight=0.1, decay=1.0, eliminate=True)
        history = train(trainable, Stopping(60))
        order, scores = trainable.elimination.ranking()
        results.append((order[:k], scores, [losses[0] for losses in history.losses]))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-7)
    np.testing.assert_allclose(results[0][2], results[1][2], rtol=1e-8)


def test_takes_one_column_of_every_group(groups):
    assert sorted(AEFS(4).fit(groups).selected_ // 5) == [0, 1, 2, 3]


@pytest.mark.parametrize(("name", "k"), [("mice_protein", 10), ("usps", 50)])
def test_rebuilds_better_than_random_columns(load_data, name, k):
    X = load_data(name)[0]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    spread = np.ptp(X, axis=0)
    X = (X - X.min(axis=0)) / np.where(spread > 0, spread, 1.0)
    half = np.random.default_rng(0).permutation(len(X)) < len(X) // 2
    chosen = reconstruction_error(X[half], X[~half], AEFS(k).fit(X[half]).selected_)
    draws = [RandomSelector(k, random_state=seed).fit(X[half]).selected_ for seed in range(5)]
    assert chosen < 0.8 * np.mean([reconstruction_error(X[half], X[~half], draw) for draw in draws])


def test_too_few_steps_are_said(tall):
    with pytest.warns(ConvergenceWarning, match="Increase epochs"):
        selector = AEFS(3, eliminate=False, epochs=3).fit(tall)
    assert not selector.converged_ and len(set(selector.selected_)) == 3
    with pytest.warns(ConvergenceWarning, match="Increase max_time"):
        selector = AEFS(3, max_time=1e-9).fit(tall)
    assert not selector.converged_ and len(set(selector.selected_)) == 3


def test_a_penalty_that_is_too_strong_is_said(tall):
    with pytest.warns(ConvergenceWarning, match="Lower alpha"):
        selector = AEFS(6, alpha=1e4, eliminate=False).fit(tall)
    assert selector.n_active_ < 6 and not selector.converged_ and len(set(selector.selected_)) == 6


@pytest.mark.parametrize(
    "given",
    [
        {"alpha": 0},
        {"alpha": np.inf},
        {"beta": 0},
        {"beta": "1"},
        {"solver": "lbfgs"},
        {"activation": "softmax"},
        {"error_scale": "row"},
        {"encoder": "wide"},
        {"decoder": (0,)},
        {"epochs": 0},
    ],
)
def test_bad_settings_are_refused(tall, given):
    with pytest.raises(ValueError, match=f"{next(iter(given))}'? (parameter of AEFS )?must be"):
        AEFS(3, **given).fit(tall)


def test_moments_train_linear_networks_only(tall):
    with pytest.raises(ValueError, match="use solver='minibatch'"):
        AEFS(3, encoder=(4,), solver="alternating").fit(tall)


@pytest.mark.slow
def test_torch_agrees_on_the_objective_and_stands_still_at_the_minimum(tall):
    torch = pytest.importorskip("torch")
    from stableselect.neural._torch._networks import build_network
    from stableselect.neural._torch._sparse_input import AEFSModel

    selector = AEFS(4, alpha=0.01, beta=0.7, **PLAIN).fit(tall)
    used = np.linalg.norm(selector.encoder_weights_["0.weight"], axis=0) > 0
    assert used.sum() == selector.n_active_ >= 4
    rng = np.random.RandomState(0)
    encoder, decoder = (
        build_network("linear", *sizes, "relu", rng, role="", bias=False).double() for sizes in ((12, 4), (4, 12))
    )
    for network, arrays in ((encoder, selector.encoder_weights_), (decoder, selector.decoder_weights_)):
        network.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    centred = torch.from_numpy(tall - tall.mean(axis=0))
    factor = 1 / (2 * tall.var(axis=0).mean())
    model = AEFSModel((encoder, decoder), Elimination(np.ones(12, dtype=bool), 4, False), (factor, 0.01, 0.7))
    loss = model.double().losses(centred, 0.0)[0]
    loss.backward()
    np.testing.assert_allclose(float(loss.detach()), selector.loss_history_[-1, 0], rtol=1e-9)
    np.testing.assert_allclose(encoder[0].weight.grad.numpy()[:, used], 0, atol=2e-4)
    np.testing.assert_allclose(decoder[0].weight.grad.numpy(), 0, atol=2e-4)
    # Full-batch Adam from elsewhere must not find anything below.
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.from_numpy(rng.normal(size=tuple(weight.shape))))
    adam = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(1500):
        adam.zero_grad()
        moved = model.losses(centred, 0.0)[0]
        moved.backward()
        adam.step()
    assert abs(float(moved.detach()) / float(loss.detach()) - 1) < 1e-3


@pytest.mark.slow
def test_nonlinear_network_rebuilds_from_the_kept_columns_alone(tall):
    torch = pytest.importorskip("torch")
    X = tall / tall.std()
    with torch.random.fork_rng():
        before = torch.random.get_rng_state().clone()
        selector = AEFS(4, epochs=60, batch_size=8, validation_fraction=0.0, random_state=0, **NONLINEAR).fit(X)
        assert torch.equal(torch.random.get_rng_state(), before)
    kept = selector.transform(X)
    rebuilt = selector.reconstruct(kept)
    W1, b1, W2, b2 = (selector.encoder_weights_[name] for name in ("0.weight", "0.bias", "2.weight", "2.bias"))
    V1, c1, V2, c2 = (selector.decoder_weights_[name] for name in ("0.weight", "0.bias", "2.weight", "2.bias"))
    hidden = np.tanh(kept @ W1[:, selector.support_].T + b1) @ W2.T + b2
    expected = np.tanh(hidden @ V1.T + c1) @ V2.T + c2
    expected[:, selector.support_] = kept
    np.testing.assert_allclose(rebuilt, expected, rtol=1e-10)
    assert np.mean((rebuilt - X) ** 2) < 0.6 * np.mean((X - X.mean(axis=0)) ** 2)
    assert selector.converged_ and selector.n_active_ == 4
    again = AEFS(4, epochs=60, batch_size=8, validation_fraction=0.0, random_state=0, **NONLINEAR).fit(X)
    np.testing.assert_array_equal(selector.scores_, again.scores_)


def test_constant_columns_carry_nothing_into_the_network(tall):
    pytest.importorskip("torch")
    X = np.column_stack([np.full(60, 7.0), tall[:, :3] / tall.std()])
    selector = AEFS(4, epochs=2, random_state=0, **NONLINEAR).fit(X)
    assert not selector.encoder_weights_["0.weight"][:, 0].any() and selector.selected_[-1] == 0
    assert selector.scores_[0] == -1 and selector.n_active_ == 3


def test_width_follows_the_rows(rng):
    X = rng.normal(size=(23, 40))
    assert AEFS(10).fit(X).latent_width_ == 4
    assert AEFS(10, latent_width=7).fit(X).latent_width_ == 7
    assert AEFS(3).fit(X[:, :5]).latent_width_ == 3


def test_encoders_of_the_caller_need_a_linear_front(tall):
    nn = pytest.importorskip("torch").nn

    def front(n_in, n_out):
        return nn.Sequential(nn.Linear(n_in, 8), nn.Tanh(), nn.Linear(8, n_out))

    selector = AEFS(3, encoder=front, epochs=5, random_state=0).fit(tall)
    assert selector.reconstruct(selector.transform(tall)).shape == tall.shape
    with pytest.raises(ValueError, match="first layer"):
        AEFS(3, encoder=lambda n_in, n_out: nn.Sequential(nn.Tanh(), nn.Linear(n_in, n_out)), epochs=1).fit(tall)


def test_published_settings(tall):
    pytest.importorskip("torch")
    selector = AEFS.published(3, epochs=4)
    settings = selector.get_params()
    expected = {
        "alpha": 0.1,
        "beta": 1e-3,
        "batch_size": 8,
        "replace": True,
        "learning_rate": 1e-3,
        "solver": "minibatch",
    }
    assert expected.items() <= settings.items() and AEFS.published().epochs == 1000
    selector.fit(tall)
    lengths = np.linalg.norm(selector.encoder_weights_["0.weight"], axis=0)
    np.testing.assert_array_equal(selector.selected_, np.argsort(-lengths, kind="stable")[:3])
    assert selector.encoder_weights_["0.weight"].shape == (3, 12) and "0.bias" in selector.decoder_weights_
    assert selector.n_epochs_ == 4 and selector.converged_

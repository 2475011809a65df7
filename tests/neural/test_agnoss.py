"""AgnoS-S against its definition: slacks, the rows, torch, and the published fault."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from stableselect import ColumnSubset, Moments
from stableselect._core._dual_gram import DualGram
from stableselect._core._gram import Gram
from stableselect.neural import AgnoSS
from stableselect.neural._elimination import Elimination
from stableselect.neural._row_sparse import AgnoSSTrainable
from stableselect.neural._training import Stopping, train

PLAIN = {"eliminate": False, "tol": 1e-13, "patience": 20, "epochs": 20_000}


def objective(X, a, E, G, l1, beta):
    """The definition, row by row."""
    centred = X - X.mean(axis=0)
    v = centred.var(axis=0).mean()
    error = np.sum((centred - (centred * a) @ E @ G) ** 2) / (2 * v * len(X))
    return error + l1 * np.sum(a) + 0.5 * beta * (np.sum(E**2) + np.sum(G**2))


def parts(selector):
    return selector.slack_, selector.encoder_weights_["0.weight"].T, selector.decoder_weights_["0.weight"].T


def test_slack_is_the_best_one_for_its_row(tall):
    gram = Moments.from_array(tall).operator().normalised()[0]
    trainable = AgnoSSTrainable(gram, 4, 3, weight=0.3, decay=0.2, eliminate=False)
    total = 0.0
    for length, slack in zip(trainable.lengths(), trainable.strength(), strict=True):
        best = minimize_scalar(lambda a, w=length: 0.3 * a + 0.1 * (w / a) ** 2, bounds=(1e-3, 20), method="bounded")
        assert slack == pytest.approx(best.x, rel=1e-4)
        total += best.fun
    assert trainable.penalty(trainable.lengths()) == pytest.approx(total, rel=1e-6)


def test_objective_is_that_of_the_rows_and_never_rises(tall):
    selector = AgnoSS(4, l1=0.02, beta=0.5, **PLAIN).fit(3 * tall + 1)
    losses = selector.loss_history_
    assert np.all(np.diff(losses[:, 0]) <= 1e-12 * losses[0, 0])
    value = objective(3 * tall + 1, *parts(selector), 0.02, 0.5)
    np.testing.assert_allclose(value, losses[selector.best_epoch_ - 1, 0], rtol=1e-8)
    assert selector.converged_ and selector.n_active_ >= 4


def test_gradient_is_zero_at_the_minimum(tall):
    l1, beta = 0.02, 0.5
    selector = AgnoSS(4, l1=l1, beta=beta, **PLAIN).fit(tall)
    a, E, G = parts(selector)
    used = np.flatnonzero(a > 0)
    start = np.concatenate([a[used], E[used].ravel(), G.ravel()])

    def value(flat):
        slack, encoder = np.zeros(12), np.zeros_like(E)
        n, size = len(used), E[used].size
        slack[used], encoder[used] = flat[:n], flat[n : n + size].reshape(n, -1)
        return objective(tall, slack, encoder, flat[n + size :].reshape(G.shape), l1, beta)

    for i, direction in enumerate(np.eye(len(start))):
        slope = (value(start + 1e-5 * direction) - value(start - 1e-5 * direction)) / 2e-5
        assert abs(slope) < 1e-3, i


def test_scaling_the_table_changes_nothing(tall):
    once, larger = AgnoSS(4).fit(tall), AgnoSS(4).fit(1000 * tall - 5)
    np.testing.assert_array_equal(once.selected_, larger.selected_)
    np.testing.assert_allclose(once.slack_, larger.slack_, rtol=1e-7)


@pytest.mark.parametrize("k", [2, 15])
def test_thin_and_whole_moments_agree(wide, k):
    A = Moments.from_array(wide).operator().normalised()[0].A
    results = []
    for gram in (DualGram(A), Gram(A.T @ A)):
        trainable = AgnoSSTrainable(gram, k, 4, weight=0.01, decay=0.1, eliminate=True)
        train(trainable, Stopping(60))
        results.append(trainable.elimination.ranking())
    np.testing.assert_array_equal(results[0][0][:k], results[1][0][:k])
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-7)


def test_takes_one_column_of_every_group(rng):
    X = np.repeat(rng.normal(size=(200, 4)), 5, axis=1) + 0.3 * rng.normal(size=(200, 20))
    selector = AgnoSS(4).fit(X)
    assert sorted(selector.selected_ // 5) == [0, 1, 2, 3]
    np.testing.assert_array_equal(selector.selected_, np.argsort(-selector.slack_)[:4])
    np.testing.assert_array_equal(selector.slack_[selector.selected_], selector.scores_[selector.selected_])
    assert np.count_nonzero(selector.slack_) == selector.n_active_ == 4


def test_without_decay_the_slacks_mean_nothing(tall):
    with pytest.raises(ValueError, match="l1 has no effect"):
        AgnoSS(3, beta=0.0).fit(tall)


def test_torch_agrees_on_the_objective(tall):
    torch = pytest.importorskip("torch")
    from stableselect.neural._torch._networks import build_network
    from stableselect.neural._torch._sparse_input import AgnoSSModel

    selector = AgnoSS(4, l1=0.02, beta=0.5, **PLAIN).fit(tall)
    rng = np.random.RandomState(0)
    encoder, decoder = (
        build_network("linear", *sizes, "relu", rng, role="", bias=False).double() for sizes in ((12, 4), (4, 12))
    )
    for network, arrays in ((encoder, selector.encoder_weights_), (decoder, selector.decoder_weights_)):
        network.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    elimination = Elimination(np.ones(12, dtype=bool), 4, False)
    factor = 1 / (2 * tall.var(axis=0).mean())
    model = AgnoSSModel((encoder, decoder), elimination, (factor, 0.02, 0.5), selector.slack_, None)
    loss = model.double().losses(torch.from_numpy(tall - tall.mean(axis=0)), 0.0)[0]
    np.testing.assert_allclose(float(loss.detach()), selector.loss_history_[-1, 0], rtol=1e-8)


@pytest.mark.slow
def test_nonlinear_network_finds_the_two_columns_that_make_all_others(rng):
    pytest.importorskip("torch")
    u, v = rng.uniform(-1, 1, (2, 300))
    X = np.column_stack([np.sin(3 * u), u**2, u, v**2, u * v, v, np.cos(3 * v), np.abs(u) * v])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    settings = {"encoder": (24,), "decoder": (24,), "activation": "tanh", "learning_rate": 1e-2, "batch_size": 32}
    selector = AgnoSS(2, epochs=200, random_state=0, **settings).fit(X)
    assert set(selector.selected_) == {2, 5} and selector.latent_width_ == 8
    linear = ColumnSubset(2, ridge=0.0).fit(X)
    errors = [np.mean((chosen.reconstruct(chosen.transform(X)) - X) ** 2) for chosen in (selector, linear)]
    assert errors[0] < 0.1 * errors[1]


@pytest.mark.slow
def test_published_settings_lose_columns_and_say_so(tall):
    pytest.importorskip("torch")
    X = (tall - tall.min(axis=0)) / np.ptp(tall, axis=0)
    selector = AgnoSS.published(6, epochs=150, batch_size=16)
    settings = selector.get_params()
    expected = {"l1": 1.0, "beta": 0.0, "output_activation": "tanh", "learning_rate": 1e-2, "init": "published"}
    assert expected.items() <= settings.items() and AgnoSS.published().epochs == 1000
    with pytest.warns(ConvergenceWarning, match="Lower l1"):
        selector.fit(X)
    assert selector.n_active_ == np.count_nonzero(selector.slack_) < 6
    assert not selector.converged_ and len(set(selector.selected_)) == 6
    filled = selector.selected_[selector.n_active_ :]
    idle = np.flatnonzero(selector.slack_ == 0)
    np.testing.assert_array_equal(filled, idle[: len(filled)])
    assert np.all(selector.slack_ >= 0)


def test_slacks_that_survive_are_ranked_by_size(tall):
    pytest.importorskip("torch")
    X = tall / tall.std()
    selector = AgnoSS(4, solver="minibatch", eliminate=False, epochs=10, batch_size=16, random_state=0).fit(X)
    np.testing.assert_array_equal(selector.selected_, np.argsort(-selector.slack_, kind="stable")[:4])
    assert selector.converged_ and selector.reconstruct(selector.transform(X)).shape == X.shape


@pytest.mark.parametrize(
    "given", [{"l1": -1}, {"beta": -1}, {"init": "zeros"}, {"output_activation": "softmax"}, {"solver": None}]
)
def test_bad_settings_are_refused(tall, given):
    with pytest.raises(ValueError, match=f"The '{next(iter(given))}' parameter of AgnoSS must be"):
        AgnoSS(3, **given).fit(tall)

"""CAE: its loss and gradient by definition, the moments path beside torch, the assignment, what it finds."""

import itertools

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from stableselect import ColumnSubset
from stableselect._core._dual_gram import DualGram
from stableselect._core._gram import Gram
from stableselect._core._moments import Moments
from stableselect.neural import CAE
from stableselect.neural._cae_moments import (
    ConcreteTrainable,
    ProjectedLoss,
    assign,
    crowding,
    log_odds,
    sampling_quality,
)

RIDGE, PENALTY = 1e-2, 0.1


@pytest.fixture
def mixtures(rng):
    return softmax(rng.normal(size=(4, 12)), axis=1)


def centred(X):
    return X - X.mean(axis=0)


def subset_loss(X, columns):
    """Return the share of the variance that least squares leaves, by definition."""
    Z = centred(X)
    fitted = Z[:, columns] @ np.linalg.lstsq(Z[:, columns], Z, rcond=None)[0]
    return np.sum((Z - fitted) ** 2) / np.sum(Z**2)


def engine(gram, n_nodes, seed=0, temperature=(10.0, 0.2), rate=0.6):
    return ConcreteTrainable(
        gram,
        n_nodes,
        ridge=RIDGE,
        penalty=PENALTY,
        temperature=temperature,
        learning_rate=rate,
        unit=1.0,
        rng=np.random.RandomState(seed),
    )


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_loss_is_that_of_a_ridge_regression_on_the_mixtures(tall, mixtures, form):
    Z = centred(tall) / len(tall) ** 0.5
    gram = Gram(Z.T @ Z) if form == "primal" else DualGram(Z)
    mixed = np.vstack([Z @ mixtures.T, RIDGE**0.5 * np.eye(4)])
    target = np.vstack([Z, np.zeros((4, 12))])
    decoder = np.linalg.lstsq(mixed, target, rcond=None)[0]
    expected = np.sum((target - mixed @ decoder) ** 2) / np.sum(Z**2)
    assert ProjectedLoss(gram, RIDGE)(mixtures)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_gradient_agrees_with_finite_differences(tall, mixtures, rng, form):
    Z = centred(tall)[:9] / 3
    loss = ProjectedLoss(Gram(Z.T @ Z) if form == "primal" else DualGram(Z), RIDGE)
    gradient = loss(mixtures)[1]
    for _ in range(5):
        direction = rng.normal(size=mixtures.shape)
        ahead, behind = (loss(mixtures + step * direction)[0] for step in (1e-5, -1e-5))
        assert np.vdot(gradient, direction) == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


def test_fifty_steps_agree_with_torch_on_the_rows(tall):
    """The same noise, but losses from the rows, gradients by autograd and torch's own Adam."""
    torch = pytest.importorskip("torch")
    Z = centred(tall) / (np.mean(np.var(tall, axis=0)) * len(tall)) ** 0.5
    Z = Z[:, np.argsort(-np.sum((Z.T @ Z) ** 2, axis=0))]  # the order in which the noise is dealt out
    ours = engine(Gram(Z.T @ Z), 3)
    noise = np.random.Generator(np.random.PCG64(np.random.RandomState(0).randint(2**31 - 1)))
    rows = torch.from_numpy(Z)
    logits = torch.zeros(3, 12, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([logits], eps=1e-12)
    for step in range(50):
        adam.param_groups[0]["lr"] = 0.6 * 0.1 ** (step / 50)
        gumbel = -np.log(noise.standard_exponential((3, 12), dtype=np.float32)).astype(np.float64)
        P = torch.softmax((logits + torch.from_numpy(gumbel)) / (10 * 0.02 ** (step / 50)), dim=1)
        mixed = rows @ P.T
        decoder = torch.linalg.solve(mixed.T @ mixed + RIDGE * torch.eye(3), mixed.T @ rows)
        loss = ((rows - mixed @ decoder).square().sum() + RIDGE * decoder.square().sum()) / 12
        objective = loss + PENALTY * (P.sum(0) - 1).clamp(min=0).square().sum() / 3
        adam.zero_grad()
        objective.backward()
        adam.step()
        expected = objective.item(), loss.item()
        assert ours.train_epoch(step / 50, (step + 1) / 50) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(ours.logits, logits.detach().numpy(), atol=1e-4)


def test_model_on_rows_has_the_loss_of_the_moments(tall):
    """Centred rows, zero bias: tr C - 2 tr(G'PC) + tr(P C P' G G') a cell, G from k to m."""
    torch = pytest.importorskip("torch")
    from stableselect.neural._torch._cae import ConcreteModel
    from stableselect.neural._torch._networks import build_network

    rng = np.random.RandomState(0)
    decoder = build_network("linear", 3, 12, "relu", rng, role="decoder").double()
    start = torch.from_numpy(rng.normal(size=(3, 12)))
    model = ConcreteModel(
        decoder,
        start,
        torch.ones(12, dtype=torch.bool),
        temperature=(4.0, 1.0),
        penalty=0.0,
        logit_scale=5.0,
        fine_tune=False,
        source=np.random.default_rng(1),
    )
    loss = model.losses(torch.from_numpy(centred(tall)), 0.5)[0].item()
    noise = -np.log(np.random.default_rng(1).standard_exponential((3, 12), dtype=np.float32))
    P = softmax((start.numpy() + noise) / 2.0, axis=1)
    C, G = np.cov(tall.T, bias=True), decoder[0].weight.detach().numpy().T
    expected = np.trace(C) - 2 * np.trace(G.T @ P @ C) + np.trace(P @ C @ P.T @ G @ G.T)
    assert loss == pytest.approx(expected / 12, rel=1e-10)


def test_penalty_is_the_mass_above_one(tall):
    torch = pytest.importorskip("torch")
    from stableselect.neural._torch._cae import ConcreteModel

    start = torch.zeros(3, 12)
    start[:2, 4] = 1e6  # two nodes that are certain of the same column
    start[2, 7] = 1e6
    model = ConcreteModel(
        torch.nn.Linear(3, 12),
        start,
        torch.ones(12, dtype=torch.bool),
        temperature=(1.0, 1.0),
        penalty=6.0,
        logit_scale=1.0,
        fine_tune=False,
        source=np.random.default_rng(0),
    )
    objective, error = model.losses(torch.from_numpy(tall).float(), 0.0)
    assert (objective - error).item() == pytest.approx(6.0 * (2 - 1) ** 2 / 3, rel=1e-5)


def test_draws_follow_the_probabilities(tall):
    """The Gumbel-max law: at a low temperature a node draws column j with its probability, whatever T."""
    ours = engine(Gram(np.cov(tall.T)), 1)
    logits = np.linspace(0, 2, 12)[None]
    ours.restore(logits)
    counts = np.bincount([ours._draw(0.01).argmax() for _ in range(6000)], minlength=12)
    p = softmax(logits[0])
    assert np.sum((counts - 6000 * p) ** 2 / (6000 * p)) < 31.3  # 0.1 % of chi-squared, 11 degrees


def test_assignment_is_the_best_of_all(rng):
    logits = 3 * rng.normal(size=(3, 5))
    logits[:2, 1] += 9
    log_p = np.log(softmax(logits, axis=1))
    best = max(itertools.permutations(range(5), 3), key=lambda c: sum(log_p[range(3), c]))
    assert tuple(assign(logits)) == best
    p = softmax(logits, axis=1)[range(3), best]
    np.testing.assert_allclose(log_odds(logits, np.array(best)), np.log(p / (1 - p)))


def test_worth_of_draws_by_definition(tall, rng):
    gram, _ = Moments.from_array(tall).operator().normalised()
    columns, logits = np.array([1, 5, 8]), rng.normal(size=(3, 12))
    loss = subset_loss(tall, columns)
    own = [subset_loss(tall, np.delete(columns, a)) - loss for a in range(3)]
    expected = 0.0
    for a, j in itertools.product(range(3), range(12)):
        rest = np.delete(columns, a)
        worth = subset_loss(tall, rest) - subset_loss(tall, [*rest, j] if j not in rest else rest)
        expected += softmax(logits, axis=1)[a, j] * min(worth, own[a])
    assert sampling_quality(gram, logits, columns) == pytest.approx(expected / sum(own), rel=1e-4)


def test_wavering_between_copies_is_no_lack_of_convergence(tall):
    gram, _ = Moments.from_array(tall[:, [0, 0, 3, 3]]).operator().normalised()
    logits = np.array([[50.0, 50.0, 0.0, 0.0], [0.0, 0.0, 50.0, 50.0]])
    assert sampling_quality(gram, logits, np.array([0, 2])) == pytest.approx(1.0)
    assert sampling_quality(gram, np.zeros((2, 4)), np.array([0, 2])) < 0.8


def test_penalty_has_the_gradient_of_finite_differences(rng):
    P = softmax(3 * rng.normal(size=(8, 6)), axis=1)
    direction = rng.normal(size=P.shape)
    ahead, behind = (crowding(P + step * direction)[0] for step in (1e-6, -1e-6))
    assert np.sum(crowding(P)[1] * direction) == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


def test_penalty_spreads_nodes_that_have_little_left_to_explain(rng):
    X = rng.normal(size=(60, 1)) @ rng.normal(size=(1, 30))
    spread, crowded = (CAE(20, duplicate_penalty=p, random_state=0).fit(X) for p in (0.1, 0.0))
    assert spread.n_duplicates_ == 0 and crowded.n_duplicates_ > 0
    assert len(set(spread.selected_)) == len(set(crowded.selected_)) == 20


@pytest.mark.parametrize("seed", range(3))
def test_comes_close_to_the_best_subset(tall, seed):
    best = min(subset_loss(tall, c) for c in itertools.combinations(range(12), 3))
    selector = CAE(3, random_state=seed).fit(tall)
    assert subset_loss(tall, selector.selected_) < 1.1 * best
    assert selector.converged_ and selector.n_duplicates_ == 0


def test_every_group_of_copies_gets_one_node(rng):
    X = np.repeat(rng.normal(size=(50, 5)), 3, axis=1)
    selector = CAE(5, random_state=0).fit(X)
    assert sorted(selector.selected_ // 3) == [0, 1, 2, 3, 4]


def test_both_forms_of_the_moments_choose_alike(wide):
    Z = centred(wide)
    logits = []
    for gram in (Gram(Z.T @ Z), DualGram(Z)):
        ours = engine(gram, 5)
        for step in range(100):
            ours.train_epoch(step / 100, (step + 1) / 100)
        logits.append(ours.logits)
    np.testing.assert_allclose(*logits, atol=1e-6)


def test_more_columns_than_the_rank_are_still_distinct(wide):
    selector = CAE(20, random_state=0).fit(wide)
    assert len(set(selector.selected_)) == 20 and subset_loss(wide, selector.selected_) < 1e-10


def test_history_is_in_the_units_of_the_table(tall):
    one, ten = (CAE(4, random_state=0).fit(factor * tall) for factor in (1.0, 10.0))
    np.testing.assert_array_equal(one.selected_, ten.selected_)
    np.testing.assert_allclose(100 * one.loss_history_, ten.loss_history_, rtol=1e-6)
    kept = subset_loss(tall, one.selected_) * np.mean(np.var(tall, axis=0))
    assert kept == pytest.approx(np.median(one.loss_history_[-50:, 1]), rel=0.1)


def test_constant_columns_come_last_and_need_no_training(tall):
    X = np.where(np.arange(12) % 3 == 0, 0.1, tall)
    selector = CAE(9, random_state=0).fit(X)
    assert selector.selected_.tolist() == [1, 2, 4, 5, 7, 8, 10, 11, 0]
    assert selector.n_epochs_ == 0 and selector.node_features_.shape == (8,)


def test_a_short_training_says_what_to_raise(tall):
    with pytest.warns(ConvergenceWarning, match="after 3 epochs. Increase epochs or logit_learning_rate"):
        selector = CAE(4, epochs=3, random_state=0).fit(tall)
    assert not selector.converged_ and len(set(selector.selected_)) == 4
    with pytest.warns(ConvergenceWarning, match="Increase max_time"):
        assert CAE(4, max_time=1e-9, random_state=0).fit(tall).stop_reason_ == "max_time"


def test_steps_fall_with_the_size():
    from stableselect.neural._cae import _FEWEST_STEPS, _STEPS, _WORK, default_steps

    sizes = [12 * 4, 784 * 50, 4434 * 64, 10_000 * 64, 2_000 * 600]
    assert [default_steps(size, _STEPS, _FEWEST_STEPS, _WORK) for size in sizes] == [1000, 1000, 528, 234, 150]


def nonlinear_table(rng, n):
    a, b = rng.uniform(-1, 1, size=(2, n))
    return np.stack([a * b, a**2, a, b**2, b, a**2 * b, a * b**2, a**2 - b**2], axis=1)


@pytest.mark.slow
def test_nonlinear_decoder_finds_what_no_linear_map_can(rng):
    pytest.importorskip("torch")
    train, test = nonlinear_table(rng, 400), nonlinear_table(rng, 200)
    selector = CAE(2, decoder=(32,), epochs=80, random_state=0).fit(train)
    linear = ColumnSubset(2).fit(train)
    error, best_linear = (np.mean((s.reconstruct(s.transform(test)) - test) ** 2) for s in (selector, linear))
    assert set(selector.selected_) == {2, 4} and error < 0.2 * best_linear
    assert selector.best_epoch_ > 64  # the columns were chosen by then
    assert all(type(value) is np.ndarray for value in selector.decoder_weights_.values())


def test_own_decoder_agrees_with_the_same_layers(tall):
    torch = pytest.importorskip("torch")

    def factory(n_in, n_out):
        return torch.nn.Sequential(torch.nn.Linear(n_in, 8), torch.nn.Tanh(), torch.nn.Linear(8, n_out))

    settings = {"epochs": 30, "batch_size": 16, "logit_learning_rate": 1.0, "random_state": 0}
    own = CAE(4, decoder=factory, **settings).fit(tall)
    plain = CAE(4, decoder=(8,), activation="tanh", **settings).fit(tall)
    assert own.decoder_weights_.keys() == plain.decoder_weights_.keys()
    kept = own.transform(tall)
    rebuilt = own._predict_features(kept)
    plain.decoder_weights_, plain.node_features_, plain.selected_ = (
        own.decoder_weights_,
        own.node_features_,
        own.selected_,
    )
    np.testing.assert_allclose(plain._predict_features(kept), rebuilt, atol=1e-4)
    with torch.no_grad():
        network = factory(4, 12)
        network.load_state_dict({name: torch.from_numpy(w) for name, w in own.decoder_weights_.items()})
        inputs = torch.from_numpy(tall[:, own.node_features_]).float()
        np.testing.assert_allclose(network(inputs).numpy(), rebuilt, atol=1e-4)


@pytest.mark.slow
def test_rows_give_the_linear_choice_too(tall):
    torch = pytest.importorskip("torch")
    before = torch.random.get_rng_state()
    best = min(subset_loss(tall, c) for c in itertools.combinations(range(12), 3))
    first, second = (CAE(3, solver="minibatch", epochs=200, random_state=1).fit(tall / 4) for _ in range(2))
    np.testing.assert_array_equal(first.scores_, second.scores_)
    assert torch.equal(before, torch.random.get_rng_state())
    assert first.decoder_weights_ is None and subset_loss(tall, first.selected_) < 1.3 * best


def test_rows_never_give_a_constant_column(tall):
    pytest.importorskip("torch")
    X = np.where(np.arange(12) % 3 == 0, 0.1, tall)
    with pytest.warns(ConvergenceWarning):
        selector = CAE.published(7, epochs=1).fit(X)
    assert not set(selector.selected_) & {0, 3, 6, 9} and np.all(selector.scores_[[0, 3, 6, 9]] == 0)


def test_published_settings(tall):
    pytest.importorskip("torch")
    settings = CAE.published(4).get_params()
    assert settings["temperature"] == (10.0, 0.1) and settings["epochs"] == 1000
    assert settings["logit_learning_rate"] == settings["learning_rate"] == 1e-3
    with pytest.warns(ConvergenceWarning, match="after 2 epochs"):
        selector = CAE.published(4, epochs=2).fit(tall)
    assert len(set(selector.selected_)) == 4 and selector.loss_history_.shape == (2, 2)
    # Nearly equal logits: Glorot-normal ones give about the same probability to all.
    assert selector.mean_max_probability_ < 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "adam"}, "The 'solver' parameter of CAE must be"),
        ({"decoder": (0,)}, "decoder must be 'linear', a tuple"),
        (
            {"decoder": (8,), "solver": "full_batch"},
            "solver='full_batch' trains linear networks; use solver='minibatch'",
        ),
        ({"activation": "step"}, "The 'activation' parameter of CAE must be"),
        ({"temperature": (10.0, 0.0)}, "temperature must be two numbers above 0"),
        ({"temperature": 1.0}, "The 'temperature' parameter of CAE must be"),
        ({"ridge": 0.0}, "The 'ridge' parameter of CAE must be"),
        ({"duplicate_penalty": -1.0}, "The 'duplicate_penalty' parameter of CAE must be"),
        ({"logit_learning_rate": 0.0}, "The 'logit_learning_rate' parameter of CAE must be"),
        ({"epochs": 0}, "The 'epochs' parameter of CAE must be"),
    ],
)
def test_bad_settings_raise(tall, settings, message):
    with pytest.raises(ValueError, match=message):
        CAE(3, **settings).fit(tall)


def test_a_decoder_of_the_wrong_width_and_a_missing_device_are_named(tall):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"decoder returned shape \(2, 5\).*\(2, 12\) is needed"):
        CAE(3, decoder=lambda n_in, n_out: torch.nn.Linear(n_in, 5)).fit(tall)
    with pytest.raises(ValueError, match="The device 'abacus' is not available"):
        CAE(3, solver="minibatch", device="abacus").fit(tall)

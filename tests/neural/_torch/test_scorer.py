"""The scorer-selector with any encoder and decoder, on torch."""

import itertools
import sys

import numpy as np
import pytest

import stableselect as ss
from stableselect._core._gram import Gram
from stableselect.metrics import reconstruction_error
from stableselect.neural import _scorer_full_batch
from stableselect.neural._scorer_full_batch import FullBatchTrainable
from stableselect.neural._scorer_parameters import Objective, random_parameters
from stableselect.neural._training import Stopping, train
from stableselect.persistence import save

torch = pytest.importorskip("torch")

from stableselect.neural._torch import _scorer, _trainable  # noqa: E402
from stableselect.neural._torch._device import Rows  # noqa: E402
from stableselect.neural._torch._networks import build_network  # noqa: E402
from stableselect.neural._torch._scorer import ScorerModel  # noqa: E402
from stableselect.neural._torch._trainable import TorchTrainable  # noqa: E402

CPU = torch.device("cpu")
QUICK = {"solver": "minibatch", "epochs": 4, "n_starts": 1, "batch_size": 16, "random_state": 0}
QUICK |= {"validation_fraction": 0.0}  # so that no held-out samples leave the network out


def model_of(
    rng, m, k, *, encoder="linear", decoder=(5,), score="abs", scorer_weight=0.3, anneal=False, activation="tanh"
):
    """Weights in general position, in double precision."""
    draw = np.random.RandomState(0)
    networks = [
        build_network(spec, *sizes, activation, draw, role="encoder").double()
        for spec, sizes in ((encoder, (m, 3)), (decoder, (3, m)))
    ]
    w, deviation = rng.normal(size=m), torch.from_numpy(rng.random(m) + 0.5)
    return ScorerModel(w, *networks, deviation, Objective(k, score, scorer_weight, anneal))


def by_definition(model, X, kept, score):
    """Both paths' errors, with the columns multiplied and masked as the model's equation says."""
    s = np.abs(model.w.detach().numpy()) if score == "abs" else model.w.detach().numpy() ** 2
    mask = np.isin(np.arange(len(s)), kept)
    with torch.no_grad():
        rebuilt = [model.decoder(model.encoder(torch.from_numpy(X * s * part))).numpy() for part in (mask, 1.0)]
    return [np.mean((X - Y) ** 2) for Y in rebuilt]


@pytest.mark.parametrize("score", ["abs", "square"])
@pytest.mark.parametrize(
    "encoder", ["linear", (4,), lambda i, o: torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(i, o))]
)
def test_errors_match_the_definition_and_gradients_finite_differences(rng, score, encoder):
    m, k, weight = 7, 3, 0.3
    X = rng.normal(size=(9, m))
    model = model_of(rng, m, k, encoder=encoder, score=score)
    kept = np.argsort(-np.abs(model.w.detach().numpy()))[:k]
    batch = torch.from_numpy(X)
    objective, selector, scorer = model.losses(batch, 0.0)
    assert [float(selector.detach()), float(scorer.detach())] == pytest.approx(
        by_definition(model, X, kept, score), rel=1e-12
    )
    assert float(objective.detach()) == pytest.approx(float((selector + weight * scorer).detach()))
    objective.backward()
    step = 1e-6
    for parameter in model.parameters():
        flat, slope = parameter.data.view(-1), parameter.grad.view(-1)
        for i in range(len(flat)):
            values = []
            for sign in (1, -1):
                flat[i] += sign * step
                values.append(float(model.losses(batch, 0.0)[0].detach()))
                flat[i] -= sign * step
            assert float(slope[i]) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-5, abs=1e-8)


def test_the_mask_shrinks_from_all_columns_to_k(rng):
    model = model_of(rng, 20, 4, anneal=True)
    batch = torch.from_numpy(rng.normal(size=(5, 20)))
    _, selector, scorer = model.losses(batch, 0.0)
    assert float(selector.detach()) == pytest.approx(float(scorer.detach()))
    assert [model.is_settled(progress) for progress in (0.0, 0.6, 0.71)] == [False, False, True]


@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("score", ["abs", "square"])
def test_full_batches_follow_the_moments(rng, anneal, score, monkeypatch):
    for module in (_scorer_full_batch, _trainable):
        monkeypatch.setattr(module, "_EPSILON", 1e-16)  # torch's Adam puts its eps elsewhere
    monkeypatch.setattr(_scorer, "_LEVELS", 2**40)
    n, m, k, rate = 50, 10, 4, 0.02
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, m))
    X -= X.mean(axis=0)
    gram = Gram(X.T @ X / n)
    begin = random_parameters(m, k, False, np.random.RandomState(0))
    begin.w[:] = np.linspace(0.8, 1.2, m)[rng.permutation(m)]
    objective = Objective(k, score, 0.2, anneal)
    on_moments = FullBatchTrainable(begin, gram, objective, rate)
    draw = np.random.RandomState(0)
    encoder, decoder = (
        build_network("linear", *sizes, "relu", draw, role="encoder", bias=False).double() for sizes in ((m, k), (k, m))
    )
    with torch.no_grad():
        encoder[0].weight.copy_(torch.from_numpy(begin.encoder.T.copy()))
        decoder[0].weight.copy_(torch.from_numpy(begin.decoder.copy()))
    rows = Rows(X, np.arange(n), dtype=torch.float64, device=CPU)
    model = ScorerModel(begin.w.copy(), encoder, decoder, rows.deviation(), objective)
    on_rows = TorchTrainable(model, rows, batch_size=n, learning_rate=rate, rng=draw, decay=0.03)
    a, b = (np.array(train(trainable, Stopping(50)).losses) for trainable in (on_moments, on_rows))
    np.testing.assert_allclose(a, b, rtol=1e-5)
    network = on_moments.network(a)
    ranks = model.ranks().numpy()
    assert set(np.argsort(-ranks)[:k]) == set(network.selected)


def planted(n, seed):
    """Eight columns, all functions of columns 1 and 5; no other two determine the rest, and none is linear in them."""
    u, v = np.random.default_rng(seed).uniform(-1, 1, (2, n))
    columns = [np.sin(3 * u + v), v, np.cos(3 * u), np.sin(2 * u - 3 * v), np.cos(4 * v + 1), u, np.sin(3 * u) * v]
    X = np.column_stack([*columns, np.cos(2 * (u + v))])
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.slow
def test_the_nonlinear_model_finds_what_no_linear_one_can_see():
    X, test = planted(600, 0), planted(400, 1)
    selector = ss.ScorerSelectorNetwork(2, solver="minibatch", decoder=(128,), epochs=120, random_state=0).fit(X)
    assert set(selector.selected_) == {1, 5}
    own = np.mean((selector.reconstruct(selector.transform(test)) - test) ** 2)
    best_linear = min(reconstruction_error(X, test, list(pair)) for pair in itertools.combinations(range(8), 2))
    assert own < 0.25 * best_linear
    assert set(ss.ScorerSelector(2).fit(X).selected_) != {1, 5}


@pytest.mark.parametrize("encoder", ["linear", (6, 5)])
@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh", "sigmoid", "elu"])
def test_a_fitted_network_runs_without_torch_as_it_trained(tall, encoder, activation, monkeypatch):
    selector = ss.ScorerSelectorNetwork(4, encoder=encoder, decoder=(7,), activation=activation, **QUICK).fit(tall)
    draw = np.random.RandomState(0)
    specs = ((encoder, 12, selector.latent_width_), ((7,), selector.latent_width_, 12))
    networks = [build_network(*spec, activation, draw, role="encoder").double() for spec in specs]
    for network, arrays in zip(networks, (selector.encoder_weights_, selector.decoder_weights_), strict=True):
        network.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    masked = tall * selector.score_weights_ * selector.support_
    with torch.no_grad():
        expected = networks[1](networks[0](torch.from_numpy(masked))).numpy()
    expected *= selector.network_weight_
    expected += tall[:, selector.support_] @ selector.reconstruction_coef_ + selector.reconstruction_intercept_
    monkeypatch.setitem(sys.modules, "torch", None)
    np.testing.assert_allclose(selector.forward(tall), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(selector._predict_features(selector.transform(tall)), expected, rtol=1e-9, atol=1e-12)


def small(n_in, n_out):
    return torch.nn.Sequential(torch.nn.Linear(n_in, 6), torch.nn.ReLU(), torch.nn.Linear(6, n_out))


def test_own_modules_train_and_run(tall):
    before = torch.random.get_rng_state()
    selectors = [ss.ScorerSelectorNetwork(4, encoder=small, decoder=small, **QUICK).fit(tall) for _ in range(2)]
    rebuilt = [selector.reconstruct(selector.transform(tall)) for selector in selectors]
    np.testing.assert_array_equal(*rebuilt)
    assert selectors[0].loss_selector_ > 0 and rebuilt[0].shape == tall.shape
    assert torch.equal(before, torch.random.get_rng_state())


def test_own_modules_come_back_from_a_file(tall, tmp_path):
    selector = ss.ScorerSelectorNetwork(4, encoder=small, decoder=(6,), **QUICK).fit(tall)
    save(selector, tmp_path / "panel.sselect")
    with pytest.raises(ValueError, match="encoder"):
        ss.load(tmp_path / "panel.sselect")
    loaded = ss.load(tmp_path / "panel.sselect", encoder=small)
    np.testing.assert_array_equal(loaded.forward(tall), selector.forward(tall))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"decoder": lambda i, o: torch.nn.Linear(i, o + 1)}, r"decoder returned shape \(2, 13\).*\(2, 12\) is needed"),
        ({"encoder": lambda i, o: torch.nn.Linear(i + 1, o)}, "encoder does not accept samples of 12 values"),
        ({"decoder": lambda i, o: 3}, "decoder must be .* returned int"),
        ({"decoder": "deep"}, "The 'decoder' parameter of ScorerSelectorNetwork must be"),
        ({"encoder": (4, 0)}, "encoder must be 'linear'"),
        ({"encoder": ()}, "encoder must be 'linear'"),
        ({"decoder": (4,), "activation": "swish"}, "The 'activation' parameter of ScorerSelectorNetwork must be"),
        ({"decoder": (4,), "solver": "full_batch"}, "use solver='minibatch'"),
        ({"decoder": (4,), "init": "pca"}, "init='pca' starts linear networks"),
        ({"decoder": (4,), "device": "tpu9"}, "The device 'tpu9' is not available"),
        ({"device": "cuda:99"}, "The device 'cuda:99' is not available"),
    ],
)
def test_what_cannot_work_raises(tall, settings, words):
    with pytest.raises(ValueError, match=words):
        ss.ScorerSelectorNetwork(4, **(QUICK | settings)).fit(tall)


def test_a_missing_torch_is_named(tall, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "stableselect\[torch\]"'):
        ss.ScorerSelectorNetwork(4, decoder=(4,), **QUICK).fit(tall)


def test_linear_networks_on_torch_agree_with_numpy(tall, monkeypatch):
    from stableselect.neural import _scorer_train

    settings = QUICK | {"init": "pca"}  # the published start has ties, which NumPy's mask keeps and torch's does not
    expected = ss.ScorerSelectorNetwork(4, **settings).fit(tall)
    monkeypatch.setattr(_scorer_train, "_wants_cuda", lambda device, X: True)
    selector = ss.ScorerSelectorNetwork(4, **settings).fit(tall)
    np.testing.assert_allclose(selector.loss_history_, expected.loss_history_, rtol=1e-4)
    np.testing.assert_array_equal(selector.selected_, expected.selected_)
    np.testing.assert_allclose(selector.forward(tall), selector._predict_features(selector.transform(tall)), atol=1e-9)


def test_a_searched_start_keeps_the_searched_columns(tall):
    found = ss.ColumnSubset(4).fit(tall)
    settings = QUICK | {"learning_rate": 0.5}  # scores pass each other
    selector = ss.ScorerSelectorNetwork(4, decoder=(8,), init="search", **settings).fit(tall)
    assert set(selector.selected_) == set(found.selected_)
    assert selector.score_weights_[selector.support_].min() < selector.score_weights_[~selector.support_].max()


def test_nonlinear_networks_start_from_the_kernel_search():
    u, v = np.random.default_rng(0).uniform(-1, 1, size=(2, 150))
    X = np.column_stack([u**2, v**2, np.sin(3 * u), u, u * v, np.exp(v), v, np.cos(3 * v)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = set(ss.KernelSubset(2).fit(X).selected_.tolist())
    assert found == {3, 6} != set(ss.ColumnSubset(2).fit(X).selected_.tolist())
    for seed in range(2):
        settings = {"decoder": (16,), "epochs": 5, "random_state": seed}
        default, named = (ss.ScorerSelectorNetwork(2, **settings, **init).fit(X) for init in ({}, {"init": "kernel"}))
        assert set(default.selected_.tolist()) == found
        np.testing.assert_array_equal(default.loss_history_, named.loss_history_)
        assert len(default.validation_history_) == default.n_epochs_  # samples are held out


def test_annealed_and_linear_networks_start_as_published(tall):
    for settings in ({}, {"decoder": (4,), "anneal": True}):
        default, named = (
            ss.ScorerSelectorNetwork(3, **settings, **init, epochs=3, random_state=0).fit(tall)
            for init in ({}, {"init": "published"})
        )
        np.testing.assert_array_equal(default.loss_history_, named.loss_history_)
    with pytest.raises(ValueError, match="init='kernel' starts nonlinear networks"):
        ss.ScorerSelectorNetwork(3, init="kernel").fit(tall)

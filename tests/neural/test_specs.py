"""Callers' own modules, odd torch settings, and tables at the edge of what the networks can take."""

import numpy as np
import pytest

import stableselect as ss

torch = pytest.importorskip("torch")
nn = torch.nn

QUICK = {"solver": "minibatch", "epochs": 4, "random_state": 0}
KINDS = {
    "ScorerSelectorNetwork": lambda **settings: ss.ScorerSelectorNetwork(3, n_starts=1, **(QUICK | settings)),
    "AEFS": lambda **settings: ss.AEFS(3, **(QUICK | settings)),
    "AgnoSS": lambda **settings: ss.AgnoSS(3, **(QUICK | settings)),
    "CAE": lambda **settings: ss.CAE(3, **(QUICK | settings)),
}


@pytest.fixture
def table(rng):
    return rng.normal(size=(65, 4)) @ rng.normal(size=(4, 8)) / 2


@pytest.fixture(params=KINDS)
def make(request):
    return KINDS[request.param]


def layers(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 6), nn.ReLU(), nn.Linear(6, n_out))


class Shifted(nn.Sequential):
    """A sequence with a step of its own before the layers."""

    def __init__(self, n_in, n_out):
        super().__init__(nn.Linear(n_in, 6), nn.ReLU(), nn.Linear(6, n_out))

    def forward(self, x):
        return super().forward(x + 3)


class Drawn(nn.Linear):
    """A layer with a random constant that its state does not hold."""

    def __init__(self, n_in, n_out):
        super().__init__(n_in, n_out)
        self.factor = torch.rand(n_in) * 5

    def forward(self, x):
        return super().forward(x * self.factor)


def error(selector, X):
    return np.mean((selector.forward(X) - X) ** 2)


@pytest.mark.parametrize("encoder", [layers, Shifted, nn.Linear])
def test_what_runs_is_what_was_trained(table, encoder):
    selector = KINDS["ScorerSelectorNetwork"](encoder=encoder, decoder=layers, validation_fraction=0.0, epochs=20).fit(
        table
    )
    assert error(selector, table) == pytest.approx(selector.loss_selector_, rel=1e-4)


def test_a_module_that_cannot_be_rebuilt_is_refused(table):
    with pytest.raises(ValueError, match="parameters or persistent buffers"):
        KINDS["ScorerSelectorNetwork"](decoder=Drawn).fit(table)


def test_a_function_that_hands_out_one_module_leaves_it_alone(table):
    module = layers(16, 8)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    fits = [KINDS["ScorerSelectorNetwork"](decoder=lambda n_in, n_out: module).fit(table) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].forward(table), fits[1].forward(table))
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert module[0].weight.dtype == torch.float32


@pytest.mark.parametrize("layer", [nn.Dropout(0.3), nn.Identity()], ids=["dropout", "lazy"])
def test_seeds_are_local(table, layer):
    def decoder(n_in, n_out):
        first = nn.LazyLinear(6) if isinstance(layer, nn.Identity) else nn.Linear(n_in, 6)
        return nn.Sequential(first, nn.ReLU(), layer, nn.Linear(6, n_out))

    losses = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.random.get_rng_state()
        losses.append(KINDS["ScorerSelectorNetwork"](decoder=decoder).fit(table).loss_selector_)
        assert torch.equal(before, torch.random.get_rng_state())
    assert losses[0] == losses[1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_odd_torch_settings_do_not_matter(make, table):
    expected = make(decoder=(5,)).fit(table).scores_
    torch.set_default_dtype(torch.float64)
    try:
        np.testing.assert_allclose(make(decoder=(5,)).fit(table).scores_, expected, rtol=1e-4, atol=1e-6)
        make(decoder=layers).fit(table)
    finally:
        torch.set_default_dtype(torch.float32)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            np.testing.assert_allclose(make(decoder=(5,)).fit(table).scores_, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batch_normalisation_meets_no_batch_of_one(make, table):
    def decoder(n_in, n_out):
        return nn.Sequential(nn.Linear(n_in, 6), nn.BatchNorm1d(6), nn.Linear(6, n_out))

    selector = make(decoder=decoder, batch_size=16, validation_fraction=0.0).fit(table)
    assert selector.reconstruct(selector.transform(table)).shape == table.shape


class Tiled(nn.Module):
    """Repeats its inputs over the outputs; nothing to train."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.n_out = n_out

    def forward(self, x):
        return x.repeat(1, -(-self.n_out // x.shape[1]))[:, : self.n_out]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_decoder_without_weights_is_no_obstacle(make, table):
    assert make(decoder=Tiled).fit(table).selected_.shape == (3,)


@pytest.mark.parametrize(
    ("decoder", "words"),
    [
        (nn.Linear(16, 8), "decoder is a module; pass a function"),
        (lambda n_in, n_out: nn.LSTM(n_in, n_out), r"decoder returned shape tuple"),
    ],
)
def test_what_is_no_decoder_is_refused(make, table, decoder, words):
    with pytest.raises(ValueError, match=words):
        make(decoder=decoder).fit(table)


def test_no_device_of_that_kind(table):
    with pytest.raises(ValueError, match="device 'meta' is not available"):
        KINDS["ScorerSelectorNetwork"](decoder=(4,), device="meta").fit(table)


@pytest.mark.parametrize("name", ["ScorerSelectorNetwork", "AEFS", "AgnoSS", "CAE"])
def test_a_device_that_is_not_there_is_told_without_torch_training(table, name):
    with pytest.raises(ValueError, match=r"device 'nowhere' is not available .*; use device='auto' or 'cpu'\."):
        getattr(ss, name)(3, device="nowhere").fit(table)


def test_a_refit_of_another_kind_leaves_nothing_behind(table):
    selector = KINDS["ScorerSelectorNetwork"]().fit(table)
    linear = ("encoder_", "decoder_", "encoder_intercept_", "scorer_intercept_", "decoder_intercept_")
    nonlinear = ("encoder_weights_", "decoder_weights_")
    for decoder, own, others in (
        ("linear", linear, nonlinear),
        ((4,), nonlinear, linear),
        ("linear", linear, nonlinear),
    ):
        selector.set_params(decoder=decoder).fit(table)
        assert all(getattr(selector, name) is not None for name in own)
        assert all(getattr(selector, name) is None for name in others)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_settings_changed_after_the_fit_change_nothing(make, table):
    selector = make(decoder=(5,), activation="tanh", epochs=30, validation_fraction=0.0).fit(table)
    before = selector.reconstruct(selector.transform(table))
    changed = selector.set_params(activation="relu", decoder="linear")
    np.testing.assert_array_equal(changed.reconstruct(changed.transform(table)), before)


def test_a_module_of_another_form_is_named(table):
    selector = KINDS["ScorerSelectorNetwork"](decoder=layers, validation_fraction=0).fit(table)
    with pytest.raises(ValueError, match="another form than the fitted one"):
        selector.set_params(decoder=nn.Linear).forward(table)
    with pytest.raises(ValueError, match="set the function that returns the module again"):
        selector.set_params(decoder=(6,)).forward(table)


@pytest.mark.parametrize("cls", [ss.AEFS, ss.AgnoSS, ss.CAE, ss.ColumnSubset])
@pytest.mark.parametrize("factor", [1e-170, 1e170])
def test_variances_beyond_double_precision_are_refused(table, cls, factor):
    with pytest.raises(ValueError, match="leave the range of double precision"):
        cls(3).fit(table * factor)


@pytest.mark.parametrize("cls", [ss.AEFS, ss.AgnoSS])
def test_features_lost_in_single_precision_are_named(table, cls):
    with pytest.raises(ValueError, match="single precision"):
        cls(3, **QUICK).fit(table + 1e9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", [ss.AEFS, ss.AgnoSS])
def test_two_rows_are_both_learnt_from(table, cls):
    selector = cls(3, **QUICK).fit(table[:2])
    assert selector.scores_.max() > 0


@pytest.mark.parametrize("setting", [{"alpha": 1e-100}, {"alpha": 1e-30, "beta": 1e-100}])
def test_penalties_far_off_are_refused(table, setting):
    with pytest.raises(ValueError, match="nearer to the defaults"):
        ss.AEFS(3, **setting).fit(table)


@pytest.mark.parametrize("cls", [ss.AEFS, ss.AgnoSS, ss.CAE])
def test_a_fraction_must_be_a_number(table, cls):
    with pytest.raises(ValueError, match="The 'validation_fraction' parameter"):
        cls(3, **QUICK, validation_fraction=None).fit(table)

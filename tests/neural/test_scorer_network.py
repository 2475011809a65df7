"""The scorer-selector network as an estimator: solvers, moments, weights, attributes."""

import numpy as np
import pytest

from stableselect import Moments, ScorerSelectorNetwork

QUICK = {"epochs": 30, "random_state": 0}


def test_linear_networks_train_on_the_moments_by_default(tall):
    by_default = ScorerSelectorNetwork(4, **QUICK).fit(tall)
    full_batch = ScorerSelectorNetwork(4, solver="full_batch", **QUICK).fit(tall)
    np.testing.assert_array_equal(by_default.loss_history_, full_batch.loss_history_)
    assert by_default.n_epochs_ == 30 and by_default.stop_reason_ == "epochs"


def test_nonlinear_networks_train_on_batches_by_default(tall):
    pytest.importorskip("torch")
    settings = {"decoder": (5,), "epochs": 2, "anneal": False, "n_starts": 1, "random_state": 0}
    by_default = ScorerSelectorNetwork(4, **settings).fit(tall)
    minibatch = ScorerSelectorNetwork(4, solver="minibatch", **settings).fit(tall)
    np.testing.assert_array_equal(by_default.loss_history_, minibatch.loss_history_)


@pytest.mark.parametrize("init", ["published", "pca", "search"])
def test_moments_in_parts_or_in_one_give_what_the_samples_give(tall, init):
    settings = QUICK | {"init": init, "solver": "full_batch"}
    parts = [Moments.from_array(part) for part in np.array_split(tall, 3)]
    whole = ScorerSelectorNetwork(4, **settings).fit_moments(Moments.from_array(tall))
    split = ScorerSelectorNetwork(4, **settings).fit_moments(parts, feature_names=[f"x{j}" for j in range(12)])
    assert split.get_feature_names_out().tolist() == [f"x{j}" for j in sorted(split.selected_)]
    if init != "search":  # parts also serve to choose the ridge of the search
        np.testing.assert_allclose(split.loss_history_, whole.loss_history_, rtol=1e-6)
        fitted = ScorerSelectorNetwork(4, **settings).fit(tall)
        np.testing.assert_allclose(fitted.loss_history_, whole.loss_history_, rtol=1e-9)
        np.testing.assert_allclose(fitted.reconstruction_coef_, whole.reconstruction_coef_, rtol=1e-9)


def test_a_weight_of_two_is_a_sample_twice(tall):
    weights = np.where(np.arange(60) < 20, 2.0, 1.0)
    weighted = ScorerSelectorNetwork(4, init="pca", **QUICK).fit(tall, sample_weight=weights)
    twice = ScorerSelectorNetwork(4, init="pca", **QUICK).fit(np.vstack([tall, tall[:20]]))
    np.testing.assert_allclose(weighted.loss_history_, twice.loss_history_, rtol=1e-6)
    np.testing.assert_array_equal(weighted.selected_, twice.selected_)


def test_partial_fit_trains_on_all_samples_so_far(tall):
    network = ScorerSelectorNetwork(4, init="pca", **QUICK).partial_fit(tall[:25]).partial_fit(tall[25:])
    np.testing.assert_allclose(
        network.loss_history_, ScorerSelectorNetwork(4, init="pca", **QUICK).fit(tall).loss_history_, rtol=1e-6
    )


@pytest.mark.parametrize(
    "fit",
    [
        lambda network, X: network.fit(X, sample_weight=np.ones(len(X))),
        lambda network, X: network.fit_moments(Moments.from_array(X)),
        lambda network, X: network.partial_fit(X),
    ],
)
def test_batches_need_unweighted_samples(tall, fit):
    with pytest.raises(ValueError, match=r"trains on unweighted samples.*use solver='full_batch'"):
        fit(ScorerSelectorNetwork(4, solver="minibatch", epochs=1), tall)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"solver": "full_batch", "decoder": (4,)},
            "solver='full_batch' trains linear networks; use solver='minibatch'",
        ),
        ({"decoder": (4,), "init": "pca"}, "init='pca' starts linear networks"),
        ({"solver": "full_batch", "validation_fraction": 0.1}, "use solver='minibatch' or drop validation_fraction"),
        ({"decoder": (4,), "n_features_to_select": "auto"}, "'n_features_to_select' parameter"),
    ],
)
def test_parameters_that_contradict_each_other_raise(tall, settings, words):
    with pytest.raises(ValueError, match=words):
        ScorerSelectorNetwork(**settings).fit(tall)


def test_a_single_sample_cannot_be_held_out():
    with pytest.raises(ValueError, match="needs at least two samples"):
        ScorerSelectorNetwork(1, solver="minibatch", validation_fraction=0.5).fit(np.ones((1, 3)))


@pytest.mark.parametrize("solver", ["full_batch", "minibatch"])
def test_no_network_is_below_the_lower_bound(tall, solver):
    X = tall / tall.std()
    network = ScorerSelectorNetwork(4, solver=solver, epochs=200, learning_rate=0.01, random_state=0).fit(X)
    singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    bound = (1 + network.scorer_weight) * np.sum(singular[4:] ** 2) / X.size
    assert network.lower_bound_ == pytest.approx(bound, rel=1e-9)
    assert network.objective_ > network.lower_bound_
    assert network.objective_ == pytest.approx(network.loss_selector_ + network.scorer_weight * network.loss_scorer_)
    assert network.optimality_gap_ == pytest.approx(1 - bound / network.objective_)


def test_published_settings():
    published = ScorerSelectorNetwork.published(3, score_function="square", batch_size=128, random_state=7).get_params()
    expected = {
        "n_features_to_select": 3,
        "score_function": "square",
        "scorer_weight": 1 / 128,
        "solver": "minibatch",
        "anneal": False,
        "init": "published",
        "learning_rate": 1e-3,
        "epochs": 200,
        "batch_size": 128,
        "random_state": 7,
        "encoder": "linear",
        "decoder": "linear",
        "validation_fraction": None,
    }
    assert expected.items() <= published.items() and len(published) == 21

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV

from stableselect._core._refits import RIDGE_GRID, leave_one_out_errors, outside_of, refit_errors, thin_svd
from stableselect.metrics import mean_predictor_error, pca_reconstruction_error, random_error, reconstruction_error


def correlated(n, m, rank, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    loadings = np.random.default_rng(1000 + seed).normal(size=(rank, m))
    return 2.0 + rng.normal(size=(n, rank)) @ loadings + noise * rng.normal(size=(n, m))


@pytest.fixture(params=[(30, 12, 4), (15, 40, 6), (8, 30, 10)], ids=["tall", "wide", "fewer rows than selected"])
def tables(request):
    n, m, k = request.param
    X = correlated(n + 20, m, 5, seed=3)
    selected = np.random.default_rng(0).permutation(m)[:k]
    return X[:n], X[n:], selected


def test_least_squares_is_linear_regression(tables):
    train, test, selected = tables
    model = LinearRegression().fit(train[:, selected], train)
    expected = np.mean((test - model.predict(test[:, selected])) ** 2)
    assert reconstruction_error(train, test, selected) == pytest.approx(expected, rel=1e-8)


def test_both_refits_of_several_sets_at_once(tables):
    train, test, selected = tables
    sets = [selected, selected[:3], np.arange(5)]
    for chosen, errors in zip(sets, refit_errors(train, lambda chosen: test, sets), strict=True):
        model = LinearRegression().fit(train[:, chosen], train)
        assert errors[0] == pytest.approx(reconstruction_error(train, test, chosen, refit="ridge"), rel=1e-9)
        assert errors[1] == pytest.approx(np.mean((test - model.predict(test[:, chosen])) ** 2), rel=1e-8)


@pytest.mark.parametrize("noise", [1e-9, 0.3])
def test_refits_of_few_samples_are_exact_where_digits_would_cancel(noise):
    X = correlated(25, 60, 4, seed=2, noise=noise)
    train, test, sets = X[:15], X[15:], [np.arange(4), np.arange(6), np.arange(20)]
    for chosen, errors in zip(sets, refit_errors(train, lambda chosen: test, sets), strict=True):
        assert errors[0] == pytest.approx(reconstruction_error(train, test, chosen, refit="ridge"), rel=1e-9)
        assert errors[1] == pytest.approx(reconstruction_error(train, test, chosen), rel=1e-9)


@pytest.mark.parametrize("ridge", [1e-4, 0.1, 3])
def test_ridge_weight_is_relative_to_the_selected_columns(tables, ridge):
    train, test, selected = tables
    alpha = ridge * len(train) * train[:, selected].var(axis=0).mean()
    model = Ridge(alpha=alpha).fit(train[:, selected], train)
    expected = np.mean((test - model.predict(test[:, selected])) ** 2)
    assert reconstruction_error(train, test, selected, refit="ridge", ridge=ridge) == pytest.approx(expected, rel=1e-8)


def left_out_error(train, selected, alpha):
    total = 0.0
    for i in range(len(train)):
        rest = np.delete(train, i, axis=0)
        model = Ridge(alpha=alpha, solver="svd").fit(rest[:, selected], rest)
        total += np.sum((train[i] - model.predict(train[i : i + 1, selected])) ** 2)
    return total


def test_leave_one_out_errors_are_those_of_leaving_each_row_out_in_turn(tables):
    train, _, selected = tables
    centred = train - train.mean(axis=0)
    left, singular, _ = thin_svd(centred[:, selected])
    alphas = RIDGE_GRID[::3] * (singular @ singular) / selected.size
    Q = left.T @ centred
    errors = leave_one_out_errors(*outside_of(centred, left, Q), Q @ Q.T, left, singular, alphas)
    expected = [left_out_error(train, selected, alpha) for alpha in alphas]
    np.testing.assert_allclose(errors, expected, rtol=1e-6)


@pytest.mark.slow
def test_automatic_ridge_takes_the_smallest_leave_one_out_error(tables):
    train, test, selected = tables
    alphas = RIDGE_GRID * len(train) * train[:, selected].var(axis=0).mean()
    best = alphas[np.argmin([left_out_error(train, selected, alpha) for alpha in alphas])]
    model = Ridge(alpha=best, solver="svd").fit(train[:, selected], train)
    expected = np.mean((test - model.predict(test[:, selected])) ** 2)
    assert reconstruction_error(train, test, selected, refit="ridge") == pytest.approx(expected, rel=1e-6)


def test_automatic_ridge_agrees_with_ridge_cv():
    X = correlated(90, 25, 6, seed=5, noise=1.0)
    train, test, selected = X[:50], X[50:], [0, 3, 4, 9, 20]
    alphas = RIDGE_GRID * len(train) * train[:, selected].var(axis=0).mean()
    model = RidgeCV(alphas=alphas).fit(train[:, selected], train)
    expected = np.mean((test - model.predict(test[:, selected])) ** 2)
    assert alphas[0] < model.alpha_ < alphas[-1]
    assert reconstruction_error(train, test, selected, refit="ridge") == pytest.approx(expected, rel=1e-8)


def test_ridge_refit_holds_where_least_squares_explodes():
    X = correlated(72, 300, 5, seed=7)
    train, test, selected = X[:52], X[52:], np.arange(50)
    least_squares = reconstruction_error(train, test, selected)
    ridge = reconstruction_error(train, test, selected, refit="ridge")
    assert ridge < mean_predictor_error(train, test) < least_squares


def test_all_columns_selected_leave_no_error():
    X = correlated(40, 6, 3, seed=1)
    assert reconstruction_error(X[:30], X[30:], np.arange(6)) < 1e-24
    assert reconstruction_error(X[:30], X[30:], np.arange(6), refit="ridge", ridge=0) < 1e-24


def test_exact_linear_dependence_is_recovered_off_the_training_rows():
    base = np.random.default_rng(0).normal(size=(30, 2))
    X = np.column_stack([base, base @ [[1.0, 2.0], [3.0, -1.0]] + 5.0])
    assert reconstruction_error(X[:10], 100 * X[10:], [0, 1]) == pytest.approx(
        np.mean((np.array([0, 0, 5.0, 5.0]) * 99) ** 2)
    )


@pytest.mark.parametrize("refit", ["least_squares", "ridge"])
def test_one_training_row_predicts_itself(refit):
    X = correlated(5, 4, 2, seed=0)
    expected = np.mean((X[1:] - X[0]) ** 2)
    assert reconstruction_error(X[:1], X[1:], [0, 2], refit=refit) == pytest.approx(expected)
    assert mean_predictor_error(X[:1], X[1:]) == pytest.approx(expected)
    assert pca_reconstruction_error(X[:1], X[1:], 2) == pytest.approx(expected)


@pytest.mark.parametrize("refit", ["least_squares", "ridge"])
def test_columns_constant_in_training_say_nothing(refit):
    X = correlated(40, 6, 3, seed=2)
    # The mean of these is not exactly 0.1, so careless centring leaves a residue to fit on.
    X[:30, 4:] = 0.1
    assert reconstruction_error(X[:30], X[30:], [4, 5], refit=refit) == pytest.approx(
        mean_predictor_error(X[:30], X[30:])
    )
    with_constant = reconstruction_error(X[:30], X[30:], [0, 1, 4], refit=refit, ridge=0)
    assert with_constant == pytest.approx(reconstruction_error(X[:30], X[30:], [0, 1], refit=refit, ridge=0))


@pytest.mark.parametrize("refit", ["least_squares", "ridge"])
def test_duplicate_columns_do_not_break_the_fit(refit):
    X = correlated(40, 6, 3, seed=2)
    doubled = np.column_stack([X, X[:, 0]])
    once = reconstruction_error(doubled[:30], doubled[30:], [0, 1], refit=refit, ridge=0)
    twice = reconstruction_error(doubled[:30], doubled[30:], [0, 1, 6], refit=refit, ridge=0)
    assert twice == pytest.approx(once)


@given(seed=st.integers(0, 10_000), refit=st.sampled_from(["least_squares", "ridge"]))
@settings(max_examples=20, deadline=None)
def test_error_ignores_row_order_column_order_and_offsets_and_scales_with_the_square(seed, refit):
    rng = np.random.default_rng(seed)
    X = correlated(40, 8, 3, seed=seed)
    train, test, selected = X[:30], X[30:], np.array([1, 4, 6])
    expected = reconstruction_error(train, test, selected, refit=refit)
    order = rng.permutation(8)
    moved = np.flatnonzero(np.isin(order, selected))
    shuffled = reconstruction_error(
        10 * train[rng.permutation(30)][:, order] - 3, 10 * test[:, order] - 3, rng.permutation(moved), refit=refit
    )
    assert shuffled == pytest.approx(100 * expected, rel=1e-6)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_no_columns_beat_the_floor_on_the_training_rows_and_all_beat_the_mean(seed, k):
    X = correlated(20, 8, 3, seed=seed)
    selected = np.random.default_rng(seed).permutation(8)[:k]
    error = reconstruction_error(X, X, selected)
    assert pca_reconstruction_error(X, X, k) <= error + 1e-12
    assert error <= mean_predictor_error(X, X) + 1e-12


@pytest.mark.parametrize("shape", [(50, 9), (9, 50)])
@pytest.mark.parametrize("n_components", [1, 4, 8])
def test_floor_is_the_error_of_full_pca(shape, n_components):
    X = correlated(shape[0] + 15, shape[1], 4, seed=11)
    train, test = X[: shape[0]], X[shape[0] :]
    pca = PCA(n_components, svd_solver="full").fit(train)
    expected = np.mean((test - pca.inverse_transform(pca.transform(test))) ** 2)
    assert pca_reconstruction_error(train, test, n_components) == pytest.approx(expected, rel=1e-9)


def test_floor_uses_no_more_directions_than_the_training_rows_span():
    X = correlated(40, 60, 4, seed=1)
    assert pca_reconstruction_error(X[:10], X[10:], 60) == pca_reconstruction_error(X[:10], X[10:], 9)


@pytest.mark.parametrize("n", [30, 90], ids=["wide", "tall"])
def test_floor_leaves_alone_the_columns_constant_in_training(n):
    X = correlated(n + 20, 60, 4, seed=1)
    X[:n, :50] = 0.1
    expected = np.mean((X[n:, :50] - 0.1) ** 2) * 50 / 60
    assert pca_reconstruction_error(X[:n], X[n:], 10) == pytest.approx(expected)
    assert pca_reconstruction_error(X[:n], X[n:], 25) == pytest.approx(expected)


def test_floor_with_every_component_is_zero():
    X = correlated(40, 6, 3, seed=4)
    assert pca_reconstruction_error(X[:30], X[30:], 6) < 1e-24


def test_mean_predictor_by_hand():
    assert mean_predictor_error([[0.0, 1.0], [2.0, 1.0]], [[3.0, 1.0], [1.0, 3.0]]) == (4 + 0 + 0 + 4) / 4


@pytest.mark.parametrize("refit", ["least_squares", "ridge"])
def test_random_error_averages_the_draws_its_seed_gives(refit):
    X = correlated(40, 10, 3, seed=4)
    rng = np.random.RandomState(7)
    errors = [reconstruction_error(X[:30], X[30:], rng.choice(10, 3, replace=False), refit=refit) for _ in range(6)]
    mean, std = random_error(X[:30], X[30:], 3, n_draws=6, refit=refit, random_state=7)
    assert mean == pytest.approx(np.mean(errors))
    assert std == pytest.approx(np.std(errors, ddof=1))


def test_masks_indices_frames_and_integer_tables_agree():
    X = np.random.default_rng(0).integers(0, 255, size=(30, 5)).astype(np.uint8)
    expected = reconstruction_error(X[:20].astype(float), X[20:].astype(float), [1, 3])
    names = list("abcde")
    pandas, polars = pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)
    assert reconstruction_error(X[:20], X[20:], np.array([False, True, False, True, False])) == expected
    assert reconstruction_error(pandas[:20], pandas[20:], pd.Series([3, 1])) == expected
    assert reconstruction_error(polars[:20], polars[20:], (1, 3)) == expected


def test_tables_are_left_as_they_came():
    X = correlated(30, 5, 2, seed=0)
    before = X.copy()
    reconstruction_error(X[:20], X[20:], [0, 1], refit="ridge")
    reconstruction_error(X[:20], X[20:], [0, 1])
    pca_reconstruction_error(X[:20], X[20:], 2)
    np.testing.assert_array_equal(X, before)


X = correlated(30, 5, 2, seed=0)
WITH_NAN = np.where(np.eye(30, 5, dtype=bool), np.nan, X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reconstruction_error(WITH_NAN, X, [0]), "X_train must hold finite numbers"),
        (lambda: reconstruction_error(X, WITH_NAN, [0]), "X_test must hold finite numbers"),
        (lambda: mean_predictor_error(X, X[:, :3]), "same features but have 5 and 3"),
        (lambda: mean_predictor_error(pd.DataFrame(X), pd.DataFrame(X)[[1, 0, 2, 3, 4]]), "same order"),
        (lambda: reconstruction_error(X, X, [0, 5]), "indices from 0 to 4 but holds 0 to 5"),
        (lambda: reconstruction_error(X, X, [-1, 2]), "indices from 0 to 4 but holds -1 to 2"),
        (lambda: reconstruction_error(X, X, [2, 2, 1]), "repeats 1 of 3"),
        (lambda: reconstruction_error(X, X, []), "at least one feature but is empty"),
        (lambda: reconstruction_error(X, X, np.zeros(5, dtype=bool)), "at least one feature but is empty"),
        (lambda: reconstruction_error(X, X, [True, False]), "mask of 5 values but has 2"),
        (lambda: reconstruction_error(X, X, ["a", "b"]), "integer feature indices"),
        (lambda: reconstruction_error(X, X, [0.0, 1.0]), "integer feature indices"),
        (lambda: reconstruction_error(X, X, [[0, 1]]), "one-dimensional"),
        (lambda: reconstruction_error(X, X, [0], refit="lasso"), "'least_squares' or 'ridge'"),
        (lambda: reconstruction_error(X, X, [0], refit="ridge", ridge=-1.0), "at least 0"),
        (lambda: reconstruction_error(X, X, [0], refit="ridge", ridge="cv"), "'auto' or a finite number"),
        (lambda: pca_reconstruction_error(X, X, 0), "n_components must be an integer from 1 to 5"),
        (lambda: pca_reconstruction_error(X, X, 6), "n_components must be an integer from 1 to 5"),
        (lambda: random_error(X, X, 2.5), "n_features_to_select must be an integer from 1 to 5"),
        (lambda: random_error(X, X, 2, n_draws=1), "n_draws must be an integer of at least 2"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("m", "n_components"), [(8, 1), (18, 2)])
def test_pca_error_of_one_hot_features(m, n_components):
    X = np.vstack([np.eye(m), np.eye(m)])  # all variances of components are equal
    left = 1 - n_components / (m - 1)
    assert pca_reconstruction_error(X, X, n_components) == pytest.approx(left * X.var())

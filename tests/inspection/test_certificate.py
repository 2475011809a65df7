from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from stableselect import ColumnSubset, Moments
from stableselect._core import EXHAUSTED, ROUNDING, SwapState, best_swap, exchange_search, open_columns
from stableselect.inspection import _sample_removal
from stableselect.inspection._certificate import leave_one_out_certificate, leave_one_out_change_rate


def correlated(n, m, seed, rank=4, noise=0.4):
    rng = np.random.default_rng(seed)
    return 3.0 + rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m)) + noise * rng.normal(size=(n, m))


def loss_of(centred, columns, alpha):
    """Return the least of |X - X_S B|^2 / n + alpha |B|^2 over B: the definition, by one least-squares problem."""
    n, k = len(centred), len(columns)
    kept = np.vstack([centred[:, columns] / np.sqrt(n), np.sqrt(alpha) * np.eye(k)])
    wanted = np.vstack([centred / np.sqrt(n), np.zeros((k, centred.shape[1]))])
    B = np.linalg.lstsq(kept, wanted, rcond=1e-11)[0]
    return np.sum((wanted - kept @ B) ** 2)


def brute_force(X, selected, ridge, row, include=(), exclude=()):
    """Return the loss of the other rows, and the best gain of all swaps, each loss from its definition."""
    others = np.delete(X, row, axis=0)
    centred = others - others.mean(axis=0)
    alpha = ridge * np.var(X, axis=0).mean()
    loss = loss_of(centred, selected, alpha)
    outside = [j for j in range(X.shape[1]) if j not in selected and j not in exclude]
    gains = {
        (a, j): loss - loss_of(centred, [c for c in selected if c != a] + [j], alpha)
        for a in selected
        if a not in include
        for j in outside
    }
    return loss, gains


def by_search(X, selected, ridge, row):
    """Return loss, best gain and verdict of the exchange search's own state on moments computed without the row."""
    gram = Moments.from_array(np.delete(X, row, axis=0)).operator()
    alpha = ridge * np.var(X, axis=0).mean()
    state = SwapState(gram, selected, alpha)
    gain, rounding, a, j = best_swap(state, open_columns(gram, selected), ())
    stands = state.loss <= EXHAUSTED * gram.trace() or gain <= max(rounding, ROUNDING * gram.trace())
    return state.loss, gain, stands, (state.chosen[a], j)


def with_duplicate(X):
    X[:, 5] = X[:, 1]
    return X


def with_constant(X):
    X[:, [2, 6]] = [0.1, 7.0]
    return X


def with_mean_row(X):
    X[3] = np.delete(X, 3, axis=0).mean(axis=0)
    return X


def with_lone_value(X):
    """Make columns that only one row keeps from being constant, and one where that row is all but everything."""
    X[:, 4], X[:, 7] = 0.3, 0.2
    X[2, 4], X[9, 7] = 2.0, -1.0
    X[:, 6] *= 1e-4
    X[5, 6] = 50.0
    return X


TABLES = {
    "tall": lambda: correlated(30, 9, 0),
    "wide": lambda: correlated(12, 25, 1, rank=8),
    "mean row": lambda: with_mean_row(correlated(20, 8, 2)),
    "duplicate": lambda: with_duplicate(correlated(20, 8, 3)),
    "constant": lambda: with_constant(correlated(20, 8, 4)),
    "lone value": lambda: with_lone_value(correlated(20, 9, 5)),
    "units": lambda: correlated(20, 8, 6) * np.logspace(-3, 3, 8),
}


@pytest.mark.parametrize("ridge", [0.0, 0.05, pytest.param(2.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("k", [1, 3, -1])
def test_verdict_gain_and_swap_are_those_of_the_search_without_the_row(name, k, ridge):
    X = TABLES[name]()
    m = X.shape[1]
    selector = ColumnSubset(k % m, ridge=ridge).fit(X)
    for selected in (np.sort(selector.selected_), np.arange(m)[:: -(m // (k % m))][: k % m][::-1]):
        selected = np.sort(selected)
        if ridge == 0 and np.linalg.matrix_rank(X[:, selected] - X[:, selected].mean(axis=0)) < len(selected):
            continue  # the search's formulas do not hold for a start with superfluous columns
        certificate = leave_one_out_certificate(X, selected, ridge=ridge)
        for row in range(len(X)):
            loss, gain, stands, swap = by_search(X, selected.tolist(), ridge, row)
            assert certificate.is_optimal[row] == stands
            if loss > EXHAUSTED * np.var(X, axis=0).sum():
                assert certificate.margin[row] == pytest.approx(-gain / loss, rel=1e-8, abs=1e-8)
                assert np.isinf(gain) or tuple(certificate.swaps[row]) == swap


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "selected", [[0], [2, 4, 6], *(pytest.param(kept, marks=pytest.mark.slow) for kept in ([1, 5], [0, 1, 2, 4, 5]))]
)
def test_margin_is_the_least_squares_loss_of_every_swap(name, selected, ridge):
    X = TABLES[name]()
    certificate = leave_one_out_certificate(X, selected, ridge=ridge)
    for row in range(0, len(X), 1 if name == "lone value" else 4):
        loss, gains = brute_force(X, selected, ridge, row)
        best = max(gains.values())
        if loss > EXHAUSTED * np.var(X, axis=0).sum():
            assert certificate.margin[row] == pytest.approx(-best / loss, rel=1e-6, abs=1e-8)
            assert gains[tuple(certificate.swaps[row].tolist())] == pytest.approx(best, abs=1e-8 * loss)
            assert certificate.is_optimal[row] == (best <= 1e-8 * loss)


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(4, 25), st.integers(2, 12), st.sampled_from([0.0, 0.01, 1.0]), st.data())
@settings(max_examples=60, deadline=None)
def test_random_tables_against_exchange_started_from_the_set(seed, n, m, ridge, data):
    X = correlated(n, m, seed, rank=3)
    k = data.draw(st.integers(1, m - 1))
    selected = np.sort(ColumnSubset(k, ridge=ridge).fit(X).selected_)
    certificate = leave_one_out_certificate(X, selected, ridge=ridge)
    for row in range(n):
        loss, gain, stands, _ = by_search(X, selected.tolist(), ridge, row)
        assert certificate.is_optimal[row] == stands
        if np.isfinite(certificate.margin[row]):
            # Where the selected features all but span the samples left, so little is unexplained that digits are lost.
            digits = 1e-7 if k <= n - 4 else 1e-2
            assert certificate.margin[row] == pytest.approx(-gain / loss, rel=digits, abs=1e-8)
        if not stands:
            gram = Moments.from_array(np.delete(X, row, axis=0)).operator()
            assert exchange_search(gram, selected, ridge * np.var(X, axis=0).mean())[1] > 0


def test_some_rows_stand_and_some_do_not():
    X = correlated(40, 12, 6, rank=8, noise=1.0)
    certificate = leave_one_out_certificate(X, ColumnSubset(5, ridge=0).fit(X).selected_)
    assert 0 < certificate.fraction_optimal < 1
    assert certificate.fraction_optimal == np.mean(certificate.margin >= 0)
    assert certificate.full_margin > 0


def test_wide_tables_agree_with_the_dense_form():
    X = correlated(30, 90, 0, rank=12)
    assert Moments.from_array(X).form == "dual"
    selected = ColumnSubset(6, ridge=0.1).fit(X).selected_
    certificate = leave_one_out_certificate(X, selected, ridge=0.1)
    for row in range(30):
        loss, gain, stands, swap = by_search(X, np.sort(selected).tolist(), 0.1, row)
        assert (certificate.is_optimal[row], tuple(certificate.swaps[row])) == (stands, swap)
        assert certificate.margin[row] == pytest.approx(-gain / loss, rel=1e-8)


def test_rows_are_seldom_computed_afresh(monkeypatch):
    X = with_lone_value(correlated(20, 9, 5))
    asked = []
    gram_without = _sample_removal.SwapTask.gram_without
    monkeypatch.setattr(
        _sample_removal.SwapTask, "gram_without", lambda task, row: asked.append(row) or gram_without(task, row)
    )
    leave_one_out_certificate(X, [0, 1, 2])
    assert asked == [5]  # column 6 is nearly constant without it
    leave_one_out_certificate(X, [0, 4])
    assert asked[1:] == [2, 5]  # kept column 4 is constant without row 2


def test_block_size_and_choice_of_rows_do_not_matter(monkeypatch):
    X = correlated(40, 10, 7)
    whole = leave_one_out_certificate(X, [1, 4, 8])
    part = leave_one_out_certificate(X, [8, 1, 4], samples=[31, 2, 2])
    np.testing.assert_array_equal(part.samples, [31, 2, 2])
    np.testing.assert_allclose(part.margin, whole.margin[[31, 2, 2]], rtol=1e-12)
    monkeypatch.setattr(_sample_removal, "_BLOCK_ELEMENTS", 35)
    np.testing.assert_allclose(leave_one_out_certificate(X, [1, 4, 8]).margin, whole.margin, rtol=1e-12)


def test_units_do_not_matter():
    X = correlated(25, 8, 8)
    expected = leave_one_out_certificate(X, [0, 5], ridge=0.2)
    for factor in (1e-138, 1e138):
        scaled = leave_one_out_certificate(factor * X, [0, 5], ridge=0.2)
        np.testing.assert_allclose(scaled.margin, expected.margin, rtol=1e-9)


def test_include_and_exclude_limit_the_swaps():
    X = pd.DataFrame(correlated(20, 8, 9), columns=list("abcdefgh"))
    certificate = leave_one_out_certificate(X, [1, 3, 6], include=["b"], exclude=["a", "f"])
    for row in range(0, 20, 3):
        loss, gains = brute_force(X.to_numpy(), [1, 3, 6], 0.0, row, include=[1], exclude=[0, 5])
        assert certificate.margin[row] == pytest.approx(-max(gains.values()) / loss, rel=1e-8)
        assert tuple(certificate.swaps[row].tolist()) == max(gains, key=gains.get)
    nothing = leave_one_out_certificate(X, [1, 3], include=[1, 3])
    assert nothing.fraction_optimal == 1.0
    assert np.all(np.isinf(nothing.margin))


def test_included_twins_leave_the_free_columns_their_worth():
    X = with_duplicate(correlated(20, 8, 3))
    certificate = leave_one_out_certificate(X, [1, 3, 5], include=[1, 5])
    for row in range(0, 20, 5):
        loss, gains = brute_force(X, [1, 3, 5], 0.0, row, include=[1, 5])
        assert certificate.margin[row] == pytest.approx(-max(gains.values()) / loss, rel=1e-8)


def test_most_influential_rows_come_first():
    X = correlated(40, 10, 7)
    certificate = leave_one_out_certificate(X, [1, 4, 8], samples=np.arange(10, 40))
    first = certificate.influential(5)
    assert first.size == 5
    assert set(first) <= set(range(10, 40))
    margins = certificate.margin[first - 10]
    np.testing.assert_array_equal(margins, np.sort(certificate.margin)[:5])
    assert certificate.influential(1000).size == 30
    with pytest.raises(ValueError, match="n must be an integer of at least 1"):
        certificate.influential(0)
    with pytest.raises(FrozenInstanceError):
        certificate.full_margin = 0.0


def test_full_margin_tells_a_set_that_is_no_optimum():
    X = load_iris().data
    best = leave_one_out_certificate(X, ColumnSubset(2, ridge=0).fit(X).selected_)
    worst = leave_one_out_certificate(X, [1, 3])
    assert best.full_margin > 0 > worst.full_margin
    assert worst.fraction_optimal == 0.0
    np.testing.assert_array_equal(worst.influential(2), worst.samples[np.argsort(worst.margin)[:2]])


@pytest.mark.parametrize(("selected", "ridge"), [([0, 1, 2, 3], 0.0), ([3, 2, 1, 0], 0.5)])
def test_all_columns_kept_leaves_nothing_to_swap(selected, ridge):
    certificate = leave_one_out_certificate(load_iris().data, selected, ridge=ridge)
    assert certificate.fraction_optimal == 1.0
    assert np.all(np.isposinf(certificate.margin))
    assert np.all(certificate.swaps == -1)
    assert np.isposinf(certificate.full_margin)


@pytest.mark.parametrize("X", [np.ones((5, 3)), np.arange(5.0)[:, None] * [1.0, 2.0, -3.0], correlated(5, 12, 0)])
def test_nothing_to_gain_where_the_set_spans_the_table(X):
    certificate = leave_one_out_certificate(X, range(min(4, X.shape[1] - 1)))
    assert certificate.fraction_optimal == 1.0
    assert np.all(np.isposinf(certificate.margin))


@pytest.mark.parametrize(
    ("kind", "selected"),
    [
        (lambda X: pytest.importorskip("torch").from_numpy(X), np.array([True, False, False, True, False, False])),
        (pd.DataFrame, [3, 0]),
        (np.ndarray.tolist, (0, 3)),
    ],
    ids=["tensor", "frame", "list"],
)
def test_tensors_frames_and_masks_are_read_and_left_alone(kind, selected):
    X = correlated(15, 6, 1)
    before = X.copy()
    expected = leave_one_out_certificate(X, [0, 3]).margin
    np.testing.assert_allclose(leave_one_out_certificate(kind(X), selected).margin, expected, rtol=1e-12)
    np.testing.assert_array_equal(X, before)


def test_the_certificate_prints_a_summary_and_makes_a_frame():
    certificate = leave_one_out_certificate(correlated(40, 9, 3), [1, 4, 8])
    first = certificate.influential(1)[0]
    assert f"{certificate.is_optimal.sum()} of 40 samples leave the set a 1-swap optimum" in str(certificate)
    assert f"without sample {first} {certificate.margin.min():.3g}" in str(certificate)
    frame = certificate.to_frame()
    assert frame["sample"].tolist() == list(range(40))
    np.testing.assert_array_equal(frame[["dropped", "added"]].to_numpy(), certificate.swaps)
    np.testing.assert_array_equal(frame["margin"], certificate.margin)


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_fraction_that_differs_counts_searches_without_the_row(ridge):
    X = correlated(40, 12, 6, rank=8, noise=1.0)
    selected = ColumnSubset(5, ridge=ridge).fit(X).selected_
    found = []
    for row in range(40):
        others = np.delete(X, row, axis=0)
        relative = ridge * np.var(X, axis=0).sum() / np.var(others, axis=0).sum()
        found.append(set(ColumnSubset(5, ridge=relative).fit(others).selected_) != set(selected))
    assert 0 < np.mean(found) < 1
    assert leave_one_out_change_rate(X, selected, ridge=ridge, samples=range(40)) == np.mean(found)
    assert leave_one_out_change_rate(X, selected, ridge=ridge, samples=100) == np.mean(found)
    drawn = np.sort(np.random.RandomState(3).choice(40, 7, replace=False))
    assert leave_one_out_change_rate(X, selected, ridge=ridge, samples=7, random_state=3) == np.mean(
        np.array(found)[drawn]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones((2, 4))}, "X must have at least 3 samples, so that 2 are left, but has 2"),
        ({"X": [[1.0, np.nan]] * 4}, "X must hold finite numbers"),
        ({"X": 1e200 * correlated(9, 4, 0)}, "leave the range of double precision"),
        ({"selected": [0, 4]}, "selected must hold indices from 0 to 3 but holds 0 to 4"),
        ({"selected": [1, 1]}, "selected must hold distinct features"),
        ({"selected": []}, "selected must hold at least one feature"),
        ({"ridge": -1.0}, "ridge must be a number of at least 0 but is -1.0"),
        ({"ridge": "auto"}, "pass the selector's ridge_"),
        ({"samples": [0, 9]}, "samples must hold indices from 0 to 8 but holds 0 to 9"),
        ({"samples": [0.5]}, "samples must be a list of indices"),
        ({"include": [3]}, "Feature 3 must be selected because include names it, but is not"),
        ({"exclude": [1]}, "Feature 1 must not be selected because exclude names it, but is"),
    ],
)
@pytest.mark.parametrize("function", [leave_one_out_certificate, leave_one_out_change_rate])
def test_bad_input_is_refused_in_a_sentence(function, change, message):
    with pytest.raises(ValueError, match=message):
        function(**{"X": correlated(9, 4, 0), "selected": [0, 1], **change})

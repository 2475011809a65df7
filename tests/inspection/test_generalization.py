import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.base import clone

from stableselect import ColumnSubset, LaplacianScore, RandomSelector, ScorerSelector
from stableselect.inspection import (
    bousquet_elisseeff_bound,
    explicit_stability_bound,
    generalization_gap,
    uniform_stability,
)
from stableselect.metrics import mean_predictor_error


@pytest.fixture
def tables(rng):
    X = rng.normal(size=(34, 8)) @ rng.normal(size=(8, 8)) + 1.0
    return X[:20], X[20:]


def loss(fitted, points):
    scorer = isinstance(fitted, ScorerSelector)
    reconstructed = fitted.forward(points) if scorer else fitted.reconstruct(fitted.transform(points))
    return ((points - reconstructed) ** 2).mean(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("selector", [ColumnSubset(3), ScorerSelector(3), LaplacianScore(3)])
def test_agrees_with_fits_from_scratch(tables, selector):
    X, points = tables
    result = generalization_gap(selector, X, points, delta=0.1, n_left_out=None)
    full = clone(selector).fit(X)
    trained, tested = loss(full, X), loss(full, points)
    own, moved, seen = [], [], [trained, tested]
    for row in range(len(X)):
        fitted = clone(selector).fit(np.delete(X, row, axis=0))
        own.append(loss(fitted, X[row : row + 1])[0])
        moved += [abs(own[-1] - trained[row]), *abs(loss(fitted, points) - tested)]
        seen.append(loss(fitted, points))
    assert result.empirical == pytest.approx(trained.mean())
    assert result.test == pytest.approx(tested.mean())
    assert result.leave_one_out == pytest.approx(np.mean(own), rel=1e-6)
    assert result.beta == pytest.approx(max(moved), rel=1e-6)
    assert result.largest_loss == pytest.approx(max(np.concatenate([*seen, own])), rel=1e-6)
    assert result.mean_predictor == pytest.approx(mean_predictor_error(X, points))
    assert result.test_standard_error == pytest.approx(np.std(tested, ddof=1) / np.sqrt(14))
    assert result.leave_one_out_standard_error == 0
    assert result.gap == result.test - result.empirical
    assert result.gap_leave_one_out == result.test - result.leave_one_out
    slack = (4 * 20 * result.beta + result.largest_loss) * np.sqrt(np.log(10) / 40)
    assert result.bound_empirical == pytest.approx(result.empirical + 2 * result.beta + slack)
    assert result.bound_leave_one_out == pytest.approx(result.leave_one_out + result.beta + slack)
    assert result.beta >= uniform_stability(selector, X, points, n_left_out=None).beta * (1 - 1e-9)


def test_leave_one_out_loss_of_a_regression_in_closed_form(tables):
    X, points = tables
    result = generalization_gap(ColumnSubset(2, include=[0, 5], ridge=0.0), X, points, n_left_out=None)
    A = np.column_stack([np.ones(len(X)), X[:, [0, 5]]])
    hat = A @ np.linalg.pinv(A)
    residual = (X - hat @ X) / (1 - np.diag(hat))[:, None]  # Allen's PRESS
    assert result.leave_one_out == pytest.approx(np.mean(residual**2))


@pytest.mark.slow
def test_sampled_rows_have_a_standard_error(tables):
    X, points = tables
    selector = ColumnSubset(2, include=[0, 5], ridge=0.0)
    all_rows = generalization_gap(selector, X, points, n_left_out=None)
    found = [generalization_gap(selector, X, points, n_left_out=8, random_state=seed) for seed in range(40)]
    estimates = np.array([gap.leave_one_out for gap in found])
    errors = np.array([gap.leave_one_out_standard_error for gap in found])
    assert abs(estimates.mean() - all_rows.leave_one_out) < 4 * estimates.std() / np.sqrt(40)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(estimates.std(), rel=0.35)
    assert np.isnan(generalization_gap(selector, X, points[:1], n_left_out=1).test_standard_error)


def test_bousquet_elisseeff_by_hand():
    # sqrt(ln(1/delta) / (2n)) = sqrt(2 / 200) = 0.1, and 4 n beta + M = 5.
    settings = {"beta": 0.01, "largest_loss": 1.0, "n": 100, "delta": np.exp(-2)}
    assert bousquet_elisseeff_bound(0.2, **settings) == pytest.approx(0.2 + 0.02 + 0.5)
    assert bousquet_elisseeff_bound(0.2, **settings, leave_one_out=True) == pytest.approx(0.2 + 0.01 + 0.5)


def test_explicit_bound_by_hand():
    # a = 2*3/0.5 + 4 = 16; E = 5*2*16/10 + sqrt(16*7*1.1/(11*10)) = 16 + sqrt(1.12);
    # beta = 2*2*3*(10 E + 0.7).
    found = explicit_stability_bound(11, 0.5, kappa2=2, kappa3=7, kappa4=5, kappa5=9, kappa6=16, kappa7=1.1, n_core=4)
    assert found == pytest.approx(12 * (10 * (16 + np.sqrt(1.12)) + 0.7))


@pytest.mark.parametrize("weight", [1 / 128, 1.0, 30.0])
@pytest.mark.parametrize("row", [0, 3])
def test_every_step_of_the_explicit_bound(rng, weight, row):
    """The steps of docs/generalization.md, with scores that are exact minimisers for one fixed encoder and decoder."""
    n, m, kept = 25, 5, np.array([True, True, False, False, True])
    X, unseen = rng.uniform(size=(n, m)), rng.uniform(size=(10, m))
    B = np.eye(m) + 0.4 * rng.normal(size=(m, m))  # W_E W_D

    def best_scores(rows):
        # x diag(phi) B is linear in phi: least squares with phi >= 0, selector's cells above the scorer's.
        design = (rows[:, None, :] * B.T[None]).reshape(-1, m)
        stacked = np.vstack([design * kept, np.sqrt(weight) * design])
        return nnls(stacked, np.concatenate([rows.ravel(), np.sqrt(weight) * rows.ravel()]))[0]

    def selector_rest(phi, x):
        return x - (x * (phi * kept)) @ B

    def scorer_rest(phi, x):
        return x - (x * phi) @ B

    others = np.delete(X, row, axis=0)
    phi, without = best_scores(X), best_scores(others)
    change = without - phi

    def moved(x):
        return (x * change) @ B

    # Step 1: along the segment every scorer loss obeys the identity that turns Assumption 3 into one free of t.
    share = 0.3
    at = [np.sum(scorer_rest(phi + s * change, X) ** 2, axis=1) for s in (0, share, 1, 1 - share)]
    np.testing.assert_allclose(
        at[0] - at[1] + at[2] - at[3], 2 * share * (1 - share) * np.sum(moved(X) ** 2, axis=1), atol=1e-10
    )
    # Step 2: optimality of both fits.
    E2 = np.sum(moved(others) ** 2) / (n - 1)
    E2_selector = np.sum(((others * (change * kept)) @ B) ** 2) / (n - 1)
    x = X[row]
    inner = selector_rest(phi, x) @ ((x * (change * kept)) @ B) + weight * scorer_rest(phi, x) @ moved(x)
    assert (n - 1) * (weight * E2 + E2_selector) <= -inner + 1e-9
    # Step 3: the constants, over the sample and the unseen points, with all other rows as core samples.
    everything = np.vstack([X, unseen])
    norms = np.linalg.norm(moved(everything), axis=1)
    kappa2 = np.max(np.linalg.norm((everything * (change * kept)) @ B, axis=1) / norms)
    coefficients = np.linalg.lstsq(others.T, everything.T, rcond=None)[0]
    kappa4 = np.linalg.norm(coefficients, axis=0).max()
    kappa3 = n * np.linalg.norm(others.T @ coefficients - everything.T, axis=0).max()
    selector_losses = [np.sum(selector_rest(scores, everything) ** 2, axis=1) for scores in (phi, without)]
    kappa5, kappa6 = np.max(selector_losses), np.max(np.sum(scorer_rest(phi, everything) ** 2, axis=1))
    kappa7 = np.linalg.norm(change[:, None] * B, 2)
    assert weight * (n - 1) * E2 <= (kappa2 * np.sqrt(kappa5) + weight * np.sqrt(kappa6)) * np.linalg.norm(moved(x))
    assert (norms <= kappa4 * np.sqrt((n - 1) * E2) + kappa3 * kappa7 / n + 1e-12).all()
    bound = explicit_stability_bound(
        n,
        weight,
        kappa2=kappa2,
        kappa3=kappa3,
        kappa4=kappa4,
        kappa5=kappa5,
        kappa6=kappa6,
        kappa7=kappa7,
        n_core=n - 1,
    )
    assert np.abs(selector_losses[0] - selector_losses[1]).max() <= bound


def test_all_columns_kept_loses_nothing(tables):
    result = generalization_gap(ColumnSubset(8), *tables, n_left_out=5)
    assert max(result.empirical, result.leave_one_out, result.test, result.beta) < 1e-20
    assert not result.vacuous


def test_vacuous_and_not(rng):
    common = rng.uniform(size=(6000, 1))
    X = common + 0.01 * rng.uniform(size=(6000, 3))
    result = generalization_gap(RandomSelector(1), X[:4000], X[4000:], n_left_out=20)
    assert result.is_plug_in
    assert not result.vacuous
    assert result.test < result.bound_empirical < result.useful_below == result.largest_loss
    few = generalization_gap(RandomSelector(1), X[:20], X[4000:])
    assert few.vacuous
    assert few.n_left_out == 20
    text = str(few)
    assert text.count("(vacuous)") == 2
    assert "plug-in estimates, not guarantees" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones((1, 8))}, "at least 3 samples, so that 2 are left, but has 1"),
        ({"X_test": np.ones((4, 7))}, "have 8 and 7"),
        ({"n_left_out": 0}, "n_left_out must be an integer of at least 1"),
        ({"delta": 0.0}, "delta must be a finite number above 0 and below 1"),
        ({"delta": 1.0}, "delta must be a finite number above 0 and below 1"),
        ({"delta": "small"}, "delta must be a finite number above 0 and below 1"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(tables, changes, message):
    arguments = {"X": tables[0], "X_test": tables[1], **changes}
    with pytest.raises(ValueError, match=message):
        generalization_gap(ColumnSubset(3), **arguments)


def test_bad_constants_are_refused():
    kappas = {f"kappa{i}": 1.0 for i in range(2, 8)}
    with pytest.raises(ValueError, match="kappa4 must be a finite number"):
        explicit_stability_bound(10, 1.0, **{**kappas, "kappa4": np.inf}, n_core=2)
    with pytest.raises(ValueError, match="scorer_weight must be a finite number above 0"):
        explicit_stability_bound(10, 0.0, **kappas, n_core=2)
    with pytest.raises(ValueError, match="beta must be a finite number"):
        bousquet_elisseeff_bound(0.1, -1.0, 1.0, 10)

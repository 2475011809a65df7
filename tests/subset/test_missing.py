"""``missing="em"`` of the moments selectors: samples with gaps, completed by a Gaussian."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import MinMaxScaler

from stableselect import ColumnSubset, ScorerSelector, load, save
from stableselect._core import Stream, _missing, merged
from stableselect._core._factors import fit_factors
from stableselect._core._missing import fit_gaussian
from stableselect.base import FactorModelWarning


def with_gaps(X, rng, fraction=0.1):
    gaps = rng.random(X.shape) < fraction
    gaps[:5] = False
    return np.where(gaps, np.nan, X)


@pytest.fixture
def planted(rng):
    """600 samples of a Gaussian of five factors, and the same with a fifth of the values gone."""
    X = rng.normal(size=(600, 5)) @ rng.normal(size=(5, 12)) + 0.3 * rng.normal(size=(600, 12)) + 4
    return X, with_gaps(X, rng, 0.2)


@pytest.mark.parametrize("shrinkage", [0.0, None])
def test_steps_never_lower_what_they_maximise(planted, shrinkage):
    objectives = np.array(fit_gaussian(planted[1], shrinkage=shrinkage).objectives)
    assert len(objectives) > 3
    assert np.all(np.diff(objectives) > -1e-9 * np.abs(objectives[1:]))


def test_likelihood_is_that_of_the_values_that_are_there(planted):
    X = planted[1][:40, :5]
    model = fit_gaussian(X, shrinkage=0.0)
    expected = 0.0
    for x in X:
        at = np.flatnonzero(~np.isnan(x))
        if at.size:
            expected += multivariate_normal(model.mean[at], model.covariance[np.ix_(at, at)]).logpdf(x[at])
    assert model.objectives[-1] == pytest.approx(expected, rel=1e-8)


def test_closed_form_where_one_feature_ends_early(rng, monkeypatch):
    monkeypatch.setattr(_missing, "_RISE", 1e-13)
    x = rng.normal(size=300)
    y = 2 * x + 0.5 * rng.normal(size=300)
    X = np.column_stack([x, np.where(x > 0.3, np.nan, y)])  # missing at random, not completely
    there = ~np.isnan(X[:, 1])
    slope = np.cov(x[there], y[there], bias=True)[0, 1] / x[there].var()
    left = y[there] - y[there].mean() - slope * (x[there] - x[there].mean())
    model = fit_gaussian(X, shrinkage=0.0)
    mean = [x.mean(), y[there].mean() + slope * (x.mean() - x[there].mean())]
    np.testing.assert_allclose(model.mean, mean, atol=1e-4)
    covariance = [[x.var(), slope * x.var()], [slope * x.var(), left.var() + slope**2 * x.var()]]
    np.testing.assert_allclose(model.covariance, covariance, rtol=1e-3)


def test_weights_count_as_copies(planted):
    X, weights = planted[1][:100], np.arange(100) % 3
    one, other = fit_gaussian(X, weights.astype(float)), fit_gaussian(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-8)
    moments = one.moments(X, weights.astype(float))
    np.testing.assert_allclose(moments.gram, one.moments(np.repeat(X, weights, axis=0), None).gram, rtol=1e-8)


def test_recovers_the_moments_of_the_complete_table(planted):
    X, gaps = planted
    model = fit_gaussian(gaps)
    found = np.asarray(model.moments(gaps, None).gram)
    imputed = np.cov(np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps).T, bias=True)
    expected = np.cov(X.T, bias=True)
    assert np.linalg.norm(found - expected) < 0.25 * np.linalg.norm(imputed - expected)
    assert np.linalg.norm(found - expected) < 0.03 * np.linalg.norm(expected)
    gone = np.isnan(gaps)
    assert np.mean((model.fill(gaps) - X)[gone] ** 2) < 0.2 * X.var(axis=0).mean()


@pytest.mark.parametrize(("shape", "n_factors"), [((60, 40), 0), ((40, 80), 0), ((600, 12), 0), ((60, 40), 3)])
def test_values_are_filled_no_worse_than_by_means(rng, shape, n_factors):
    X = rng.normal(size=shape)
    X += rng.normal(size=(shape[0], n_factors)) @ rng.normal(size=(n_factors, shape[1]))
    gaps = with_gaps(X, rng)
    gone = np.isnan(gaps)
    by_means = np.mean((X - np.nanmean(gaps, axis=0))[gone] ** 2)
    least = fit_gaussian(gaps, shrinkage=1 + shape[1] / 10)
    error, of_least = (np.mean((model.fill(gaps) - X)[gone] ** 2) for model in (fit_gaussian(gaps), least))
    assert error < 1.001 * by_means
    assert error < of_least
    if n_factors:
        assert error < 0.6 * by_means


def test_rows_in_another_order_are_filled_alike(planted, rng):
    order = rng.permutation(600)
    one, other = fit_gaussian(planted[1]).fill(planted[1]), fit_gaussian(planted[1][order]).fill(planted[1][order])
    np.testing.assert_allclose(other, one[order], rtol=1e-6)


def test_moments_of_folds_are_those_of_the_whole(planted):
    gaps = planted[1]
    model, weights = fit_gaussian(gaps), np.linspace(0, 2, len(gaps))
    parts = [model.moments(gaps, weights, rows) for rows in np.array_split(np.arange(len(gaps)), 3)]
    np.testing.assert_allclose(merged(parts).gram, model.moments(gaps, weights).gram, rtol=1e-9)


@pytest.mark.parametrize("cls", [ColumnSubset, ScorerSelector])
def test_complete_samples_give_what_they_give_without_it(tall, cls):
    expected, found = cls(4).fit(tall), cls(4, missing="em").fit(tall)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    np.testing.assert_array_equal(found.reconstruction_coef_, expected.reconstruction_coef_)
    assert found.objective_ == expected.objective_


@pytest.mark.parametrize("name", ["usps", "isolet", "coil20"])
@pytest.mark.slow
def test_no_worse_than_means_on_real_tables(load_data, rng, name):
    X = load_data(name)[0]
    X = X[rng.permutation(len(X))[:900]][:, np.sort(rng.permutation(X.shape[1])[:200])]
    X = X[:, np.ptp(X[:500], axis=0) > 0]
    scaler = MinMaxScaler().fit(X[:500])
    train, test = scaler.transform(X[:500]), scaler.transform(X[500:])
    gaps = with_gaps(train, rng)
    filled = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    error, by_means = -ColumnSubset(15, missing="em").fit(gaps).score(test), -ColumnSubset(15).fit(filled).score(test)
    assert error <= by_means
    assert error <= -1.02 * ColumnSubset(15).fit(train).score(test)


@pytest.mark.parametrize(
    "parameters", [{}, {"scale": "standard"}, {"cv": KFold(4)}, {"n_features_to_select": "auto"}, {"ridge": 0.0}]
)
def test_goes_with_the_other_parameters(planted, parameters):
    X, gaps = planted
    selector = ColumnSubset(**{"n_features_to_select": 5, **parameters}, missing="em").fit(gaps)
    full = ColumnSubset(**{"n_features_to_select": 5, **parameters}).fit(X)
    assert selector.score(X) > 1.1 * full.score(X)
    assert selector.objective_ == pytest.approx(full.objective_, rel=0.1)
    error = (selector.reconstruct(gaps[:, selector.support_]) - gaps) / getattr(selector, "scale_", 1.0)
    assert selector.score(gaps) == pytest.approx(-np.nanmean(error**2))


def test_groups_stay_together(planted):
    selector = ColumnSubset(3, missing="em", cv=GroupKFold(3)).fit(planted[1], groups=np.arange(600) % 6)
    assert selector.fold_sizes_.tolist() == [200, 200, 200]
    with pytest.raises(ValueError, match="groups need a cv"):
        ColumnSubset(3, missing="em").fit(planted[1], groups=np.arange(600) % 6)


def test_fills_kept_values_by_their_conditional_means(planted):
    gaps = planted[1]
    selector = ColumnSubset(4, missing="em").fit(gaps)
    kept, support, C = selector.transform(gaps), selector.support_, selector.covariance_
    assert not np.isnan(kept).any()
    there = ~np.isnan(gaps[:, support])
    np.testing.assert_array_equal(kept[there], gaps[:, support][there])
    row = int(np.flatnonzero(np.isnan(gaps[:, support]).any(axis=1))[0])
    o, mu = ~np.isnan(gaps[row]), selector.location_
    expected = mu + C[:, o] @ np.linalg.solve(C[np.ix_(o, o)], gaps[row, o] - mu[o])
    np.testing.assert_allclose(kept[row], np.where(o, gaps[row], expected)[support], rtol=1e-8)
    values = gaps[:, support]  # reconstruct knows the kept features alone
    rebuilt = selector.reconstruct(values)
    assert not np.isnan(rebuilt).any()
    o, S = there[row], C[np.ix_(support, support)]
    expected = mu[support] + S[:, o] @ np.linalg.solve(S[np.ix_(o, o)], values[row, o] - mu[support][o])
    np.testing.assert_allclose(rebuilt[row, support], np.where(o, values[row], expected), rtol=1e-8)


def test_frames_and_files(planted, tmp_path):
    frame = pd.DataFrame(planted[1], columns=[f"f{j}" for j in range(12)])
    selector = ColumnSubset(4, missing="em").fit(frame)
    save(selector, tmp_path / "m.sselect")
    again = load(tmp_path / "m.sselect").set_output(transform="pandas")
    made = again.transform(frame)
    assert list(made.columns) == list(selector.get_feature_names_out())
    backwards = frame[made.columns[::-1]]
    np.testing.assert_array_equal(again.reconstruct(backwards), selector.reconstruct(frame[made.columns]))
    assert not hasattr(again.set_params(missing="raise").fit(planted[0]), "covariance_")


def test_what_does_not_do_is_said(planted):
    gaps = planted[1].copy()
    with pytest.raises(ValueError, match=r"contains NaN in .*SimpleImputer, or with missing='em'\."):
        ColumnSubset(4).fit(gaps)
    with pytest.raises(ValueError, match="infinity"):
        ColumnSubset(4, missing="em").fit(np.where(np.isnan(gaps), np.inf, gaps))
    with pytest.raises(ValueError, match="batch needs complete samples"):
        ColumnSubset(4, missing="em").fit(gaps, batch=np.arange(600) % 2)
    with pytest.raises(ValueError, match="sketch"):
        ColumnSubset(4, missing="em", sketch=True).fit(gaps)
    with pytest.raises(ValueError, match="Every sample_weight is zero"):
        ColumnSubset(4, missing="em").fit(gaps, sample_weight=np.zeros(600))
    gaps[:, 3] = np.nan
    with pytest.raises(ValueError, match=r"Feature 3 has no values at all; leave it out\."):
        ColumnSubset(4, missing="em").fit(gaps)


@pytest.mark.parametrize("cls", [ColumnSubset, ScorerSelector])
@pytest.mark.parametrize(
    "parameters", [{}, {"scale": "standard", "ridge": 0.1}, {"cv": KFold(4)}, {"cv": GroupKFold(3)}]
)
def test_tables_in_parts_are_completed_as_in_memory(planted, cls, parameters):
    support = pytest.importorskip("tools.support")
    weights, groups = np.arange(600.0) % 4, np.arange(600) % 9
    given = {"sample_weight": weights, "groups": groups if isinstance(parameters.get("cv"), GroupKFold) else None}
    expected = cls(4, missing="em", **parameters).fit(planted[1], **given)
    with support.small_pieces():
        parts = [sparse.csr_array(part) for part in np.array_split(planted[1], 6)]
        assert isinstance(cls(4)._open_table(parts), Stream)
        found = cls(4, missing="em", **parameters).fit(parts, **given)
    assert found.selected_.tolist() == expected.selected_.tolist()
    np.testing.assert_allclose(found.covariance_, expected.covariance_, rtol=1e-6)
    np.testing.assert_allclose(found.reconstruction_coef_, expected.reconstruction_coef_, rtol=1e-6, atol=1e-9)
    assert found.ridge_ == expected.ridge_
    assert found.fold_sizes_.tolist() == expected.fold_sizes_.tolist()


class OnePass:
    """Parts of a table that only one reader at a time may go through, as through a DuckDB connection."""

    def __init__(self, parts):
        self.parts, self.open, self.passes = parts, False, 0

    def __iter__(self):
        assert not self.open, "two passes at once"
        self.open, self.passes = True, self.passes + 1
        try:
            yield from self.parts
        finally:
            self.open = False


def test_no_two_passes_are_open_at_once(planted):
    support = pytest.importorskip("tools.support")
    with support.small_pieces():
        found = ColumnSubset(4, missing="em").fit(OnePass(np.array_split(planted[1], 6)))
    assert found.selected_.tolist() == ColumnSubset(4, missing="em").fit(planted[1]).selected_.tolist()


@pytest.mark.parametrize("chunks", [(600, 12), (200, 12)])
def test_chunks_of_dask_may_have_gaps(planted, chunks):
    da = pytest.importorskip("dask.array")
    expected, lazy = ColumnSubset(3, missing="em").fit(planted[1]), da.from_array(planted[1], chunks=chunks)
    found = ColumnSubset(3, missing="em").fit(lazy)
    np.testing.assert_array_equal(found.reconstruction_coef_, expected.reconstruction_coef_)
    assert found.score(lazy) == expected.score(planted[1])
    with pytest.raises(ValueError, match=r"NaN in .*, or with missing='em' \(in chunk"):
        ColumnSubset(3).fit(lazy)


def test_complete_tables_in_parts_give_what_they_give_without_it(planted):
    support = pytest.importorskip("tools.support")
    with support.small_pieces():
        parts = OnePass(np.array_split(planted[0], 6))
        found = ColumnSubset(4, missing="em").fit(parts)
        assert parts.passes == 3  # for gaps, for the selection, for the moments
        expected = ColumnSubset(4).fit(parts)
    np.testing.assert_array_equal(found.reconstruction_coef_, expected.reconstruction_coef_)
    np.testing.assert_allclose(found.covariance_, ColumnSubset(4, missing="em").fit(planted[0]).covariance_, rtol=1e-8)
    assert found.em_iterations_ == 0


@pytest.mark.parametrize("noise", [0.3, 3.0, 100.0])
def test_complete_tables_are_shrunk_by_generalised_cross_validation(rng, noise):
    """Against ridge regressions of every feature on the others, with their hat matrices."""
    X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 7)) + noise * rng.normal(size=(30, 7)) + 5
    centred, variance, errors = X - X.mean(axis=0), X.var(axis=0), []
    shrinkages = 1.7 * np.array(_missing._TIMES)
    for s in shrinkages:
        error = 0.0
        for j in range(7):
            others = np.delete(centred, j, axis=1)
            hat = others @ np.linalg.solve(others.T @ others + s * np.diag(np.delete(variance, j)), others.T)
            left = centred[:, j] - hat @ centred[:, j]
            error += left @ left / variance[j] / (1 - (1 + np.trace(hat)) / 30) ** 2
        errors.append(error)
    s = shrinkages[np.argmin(errors)]
    expected = (30 * np.cov(X.T, bias=True) + s * np.diag(variance)) / (30 + s)
    np.testing.assert_allclose(ColumnSubset(2, missing="em").fit(X).covariance_, expected, rtol=1e-9)


def test_wide_complete_tables_in_parts_are_not_inverted(planted, monkeypatch):
    support = pytest.importorskip("tools.support")
    monkeypatch.setattr(_missing, "MOST_FEATURES", 11)
    monkeypatch.setattr(_missing, "_inverse", None)
    with support.small_pieces():
        found = ColumnSubset(4, missing="em").fit(np.array_split(planted[0], 6))
    np.testing.assert_allclose(np.diag(found.covariance_), planted[0].var(axis=0), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 600])
def test_few_samples_and_constant_features_have_a_covariance(planted, n):
    assert ColumnSubset(2, missing="em").fit(np.ones((n, 4))).selected_.tolist() == [0, 1]
    X = np.where(np.arange(12) == 3, 1.0, planted[0][:n])
    found = ColumnSubset(2, missing="em", ridge=0.1).fit(X)
    assert np.linalg.eigvalsh(found.covariance_)[0] > 0
    assert np.isfinite(found.transform(np.where(np.arange(12) == found.selected_[0], np.nan, X))).all()


def test_what_does_not_do_in_parts_is_said(planted):
    support = pytest.importorskip("tools.support")
    parts = np.array_split(planted[1], 6)
    with support.small_pieces():
        with pytest.raises(TypeError, match="again for every step, but X is an iterator, which can be read only once"):
            ColumnSubset(4, missing="em").fit(iter(parts))
        with pytest.raises(TypeError, match="missing='factors' needs all samples in memory"):
            ColumnSubset(4, missing="factors").fit(parts)
        with pytest.raises(ValueError, match="batch needs complete samples"):
            ColumnSubset(4, missing="em").fit(parts, batch=np.arange(600) % 2)
        with pytest.raises(ValueError, match="Every sample_weight is zero"):
            ColumnSubset(4, missing="em").fit(parts, sample_weight=np.zeros(600))
        with pytest.raises(ValueError, match="NaN in"):
            ColumnSubset(4, missing="em").partial_fit(parts)
        with pytest.raises(ValueError, match=r"one label for each .*600 samples, but holds 599"):
            ColumnSubset(4, missing="em", cv=GroupKFold(3)).fit(parts, groups=np.arange(599) % 9)
        for part in parts:
            part[:, 3] = np.nan
        with pytest.raises(ValueError, match=r"Feature 3 has no values at all; leave it out\."):
            ColumnSubset(4, missing="em").fit(parts)
        with pytest.raises(ValueError, match=r"Feature 0 has no values at all; leave it out\."):
            ColumnSubset(4, missing="em").fit([np.full((100, 3), np.nan)] * 6)


def test_repeated_fits_see_the_samples():
    assert ColumnSubset(4)._moments_folds() == 5
    assert ColumnSubset(4, missing="em")._moments_folds() is None


def test_sparse_tables_are_made_dense(planted):
    expected = ColumnSubset(4, missing="em").fit(planted[1])
    found = ColumnSubset(4, missing="em").fit(sparse.csr_array(planted[1]))
    np.testing.assert_array_equal(found.selected_, expected.selected_)


def test_factors_are_the_gaussian_that_they_say(planted):
    gaps = planted[1]
    model = fit_factors(gaps)
    # The conditional mean by the covariance, for one sample after the other.
    filled = model.fill(gaps)
    for x, row in zip(gaps[:40], filled[:40], strict=True):
        gone = np.isnan(x)
        C = model.covariance
        expected = model.mean[gone] + C[np.ix_(gone, ~gone)] @ np.linalg.solve(
            C[np.ix_(~gone, ~gone)], x[~gone] - model.mean[~gone]
        )
        np.testing.assert_allclose(row[gone], expected, atol=1e-8)
        np.testing.assert_array_equal(row[~gone], x[~gone])
    np.testing.assert_allclose(model.part(np.array([3, 1])).covariance, model.covariance[np.ix_([3, 1], [3, 1])])


def test_factors_recover_the_moments_of_the_complete_table(planted):
    X, gaps = planted
    model = fit_factors(gaps, n_factors=5)
    found, expected = np.asarray(model.moments(gaps, None).gram), np.cov(X.T, bias=True)
    assert np.linalg.norm(found - expected) < 0.03 * np.linalg.norm(expected)
    gone = np.isnan(gaps)
    assert np.mean((model.fill(gaps) - X)[gone] ** 2) < 0.2 * X.var(axis=0).mean()


def test_factors_do_not_depend_on_units_or_copies(planted):
    gaps = planted[1]
    one, other = fit_factors(gaps), fit_factors(gaps * np.logspace(-4, 4, 12) + 3)
    np.testing.assert_allclose(one.covariance, other.covariance / np.outer(*[np.logspace(-4, 4, 12)] * 2), rtol=1e-6)
    weights = np.arange(600.0) % 3
    copies = fit_factors(np.repeat(gaps, weights.astype(int), axis=0), n_factors=5)
    np.testing.assert_allclose(fit_factors(gaps, weights, 5).covariance, copies.covariance, rtol=1e-5)


def test_wide_tables_are_completed_by_factors(rng, monkeypatch, tmp_path):
    X = rng.normal(size=(120, 4)) @ rng.normal(size=(4, 300)) + 0.3 * rng.normal(size=(120, 300))
    gaps = with_gaps(X, rng)
    monkeypatch.setattr(_missing, "MOST_FEATURES", 100)
    with pytest.warns(FactorModelWarning, match="all 300 features takes too long here"):
        fitted = ColumnSubset(6, missing="em").fit(gaps)
    asked = ColumnSubset(6, missing="factors").fit(gaps)
    assert fitted.selected_.tolist() == asked.selected_.tolist()
    assert not hasattr(fitted, "covariance_")
    kept = asked.transform(gaps)
    assert not np.isnan(kept).any()
    gone = np.isnan(gaps[:, asked.support_])
    assert np.mean((kept - X[:, asked.support_])[gone] ** 2) < 0.1 * X.var()
    rebuilt = asked.reconstruct(gaps[:, asked.support_])
    assert not np.isnan(rebuilt).any()
    # As good as what complete samples give.
    whole = ColumnSubset(6).fit(X)
    assert asked.score(X) > 1.1 * whole.score(X)
    save(asked, tmp_path / "s.sselect")
    np.testing.assert_array_equal(load(tmp_path / "s.sselect").transform(gaps), kept)
    assert ColumnSubset(6, missing="factors").fit(X).selected_.tolist() == whole.selected_.tolist()


def test_tables_that_take_long_are_those_with_many_features_or_wide_gaps():
    assert not _missing.takes_long(np.zeros((2, 3000)))
    assert _missing.takes_long(np.zeros((2, 3001)))
    assert _missing.takes_long(np.full((10, 2000), np.nan))


@pytest.mark.parametrize("missing", ["em", "factors"])
def test_few_samples_are_completed_and_left_out_one_by_one(rng, missing):
    X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 80)) + 0.5 * rng.normal(size=(30, 80))
    gaps = with_gaps(X, rng)
    found = ColumnSubset(4, missing=missing).fit(gaps)
    expected = ColumnSubset(4).fit(found._model().fill(gaps))
    assert found.selected_.tolist() == expected.selected_.tolist()
    assert found.leave_one_out_error_ == pytest.approx(expected.leave_one_out_error_)

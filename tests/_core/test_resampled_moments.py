import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import LeaveOneOut

from stableselect import ColumnSubset, Moments, ScorerSelector
from stableselect._core import _moment_sums
from stableselect._core._folds import fold_moments
from stableselect._core._resampled_moments import ResampledMoments
from stableselect._core._resampling import Resample, resamples
from stableselect._core._splitters import Bootstrap, Subsample

SPLITTERS = [Subsample(4), Subsample(4, train_size=0.3), Bootstrap(4), 4, LeaveOneOut()]


def table(rng, n=90, m=14, rank=6):
    return 5.0 + rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m)) + 0.3 * rng.normal(size=(n, m))


def tensor(X):
    return pytest.importorskip("torch").as_tensor(X)


def assert_same(moments, expected, atol=1e-12):
    assert moments.n_samples == expected.n_samples
    assert moments.weight_sum == pytest.approx(expected.weight_sum)
    assert np.allclose(moments.mean, expected.mean, rtol=1e-12, atol=atol)
    assert np.allclose(moments.gram, expected.gram, rtol=1e-10, atol=atol)


@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
def test_moments_are_those_of_the_rows_drawn(rng, cv):
    X = table(rng)
    shared = ResampledMoments(X, 0)
    for part in resamples(cv, X)[:5]:
        moments = shared.of(part)
        assert len(moments) == 1
        drawn = X[part.drawn]
        assert moments[0].weight_sum == len(drawn)
        assert np.allclose(moments[0].mean, drawn.mean(axis=0))
        assert np.allclose(moments[0].gram, np.cov(drawn.T, bias=True))


@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
@pytest.mark.parametrize("shape", [(90, 14), (20, 60)])
def test_folds_are_those_of_the_resample_itself(rng, cv, shape):
    X = table(rng, *shape)
    shared = ResampledMoments(X, 5)
    for part in resamples(cv, X)[:5]:
        expected = [fold for fold in fold_moments(X[part.drawn], None, 5) if fold.n_samples]
        found = shared.of(part)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one.weight_sum == other.weight_sum
            assert np.allclose(one.mean, other.mean)
            assert np.allclose(one.gram, other.gram, atol=1e-12)


@pytest.mark.parametrize("kind", [sparse.csr_array, tensor, np.float32])
def test_sparse_tensors_and_single_precision(rng, kind):
    X = np.where(rng.uniform(size=(60, 9)) < 0.5, 0.0, rng.normal(size=(60, 9))).astype(np.float32).astype(float)
    X[:, 4] = 0.0
    X[7, 4] = 3.0
    shared = ResampledMoments(kind(X), 3)
    for part in [*resamples(Subsample(3), X), Resample(np.delete(np.arange(60), 7))]:
        for one, other in zip(shared.of(part), fold_moments(X[part.rows], None, 3), strict=True):
            assert np.allclose(np.asarray(one.gram), other.gram, atol=1e-12)


def test_the_moments_of_all_rows_stay_as_they_were(rng):
    X = table(rng)
    X[:, 3] = 0.0
    X[11, 3] = 1.0
    shared = ResampledMoments(X, 0)
    shared.of(Resample(np.delete(np.arange(len(X)), 11)))
    shared.of(resamples(Subsample(2), X)[0])
    assert_same(shared.of(None)[0], Moments.from_array(X))
    assert shared.of(None)[0].maximum[3] == 1.0


def test_a_column_that_loses_its_variance_has_none(rng):
    X = table(rng)
    X[:, 2], X[5, 2] = 0.1, 7.0
    moments = ResampledMoments(X, 0).of(Resample(np.delete(np.arange(len(X)), 5)))[0]
    assert moments.minimum[2] == moments.maximum[2] == 0.1
    assert np.all(moments.gram[2] == 0)
    assert_same(moments, Moments.from_array(np.delete(X, 5, axis=0)))


def test_a_column_that_one_row_swamps_keeps_its_digits(rng):
    X = table(rng)
    X[5, 2] = 1e9
    rest = np.delete(X, 5, axis=0)
    kept = Resample(np.delete(np.arange(len(X)), 5))
    moments = ResampledMoments(X, 0).of(kept)[0]
    assert_same(moments, Moments.from_array(rest))
    assert moments.maximum[2] == rest[:, 2].max()
    # Taking the row out of the sums alone would not do.
    plain = Moments.from_array(X).remove(X[5:6])
    assert not np.allclose(plain.gram[2, 2], moments.gram[2, 2], rtol=1e-6)


def test_moments_are_gathered_once_and_rows_read_only_where_that_is_cheaper(rng, monkeypatch):
    X = table(rng)
    read = []
    read_blocks = _moment_sums.read_blocks

    def counted(*arguments, **named):
        for block in read_blocks(*arguments, **named):
            read.append(block.n_samples)
            yield block

    monkeypatch.setattr(_moment_sums, "read_blocks", counted)
    shared = ResampledMoments(X, 0)
    for part in resamples(LeaveOneOut(), X)[:6]:
        shared.of(part)
    assert read == [len(X)] + 6 * [1]  # all samples once, then each that is removed
    read.clear()
    shared.of(resamples(Subsample(2, train_size=0.2), X)[0])
    assert read == [18]


SELECTORS = [
    ColumnSubset(4, ridge=0),
    ColumnSubset(4),
    ColumnSubset(5, ridge=0.3, exchange=False, include=[2], exclude=[7]),
    pytest.param(ScorerSelector(4), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: f"{type(s).__name__}-{s.ridge}")
@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
@pytest.mark.parametrize("shape", [(90, 14), (12, 40)])
def test_the_choice_is_that_of_a_fit_on_the_rows(rng, selector, cv, shape):
    X = table(rng, *shape)
    X[:, 1], X[3, 1] = 0.0, 2.0  # constant without one row
    shared = ResampledMoments(X, selector._folds_needed())
    for part in resamples(cv, X)[:3]:
        by_moments = selector.fit_moments(shared.of(part))
        chosen, ridge = by_moments.selected_.copy(), by_moments.ridge_
        by_rows = selector.fit(X[part.drawn])
        assert np.array_equal(chosen, by_rows.selected_)
        assert ridge == by_rows.ridge_

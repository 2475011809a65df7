"""Methods of other packages: what they select, what happens where they are missing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import qr

from stableselect import ColumnSubset
from stableselect.paper.methods import _outside as module
from stableselect.paper.methods._outside import OUTSIDE, OutsideMethod

METHODS = {method.name: method for method in OUTSIDE}


@pytest.fixture(params=METHODS)
def method(request):
    method = METHODS[request.param]
    if not method.available():
        pytest.skip(f"{method.needs} is not installed")
    return method


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 4, 12])
def test_k_different_features(method, tall, k):
    before = tall.copy()
    found = method.select(tall, k)
    assert len(set(found.tolist())) == k == len(found) and set(found) <= set(range(12))
    np.testing.assert_array_equal(tall, before)


@pytest.mark.slow
def test_constant_features_come_last_and_few_samples_are_no_fault(method, wide):
    X = wide.copy()
    X[:, [2, 30]] = 1.5
    assert not {2, 30} & set(method.select(X, 5).tolist())
    if method.beyond_rank:
        assert len(set(method.select(X, 20).tolist())) == 20
    else:
        with pytest.raises(ValueError, match="selects at most 8 features"):
            method.select(X, 20)
    assert set(method.select(X[:, :4], 4).tolist()) == {0, 1, 2, 3}
    assert method.select(np.ones((5, 3)), 2).tolist() == [0, 1]


@pytest.mark.slow
def test_they_beat_random_features(method, tall, rng):
    def left(S):
        gram = np.cov(tall.T)
        return np.trace(gram - gram[:, S] @ np.linalg.solve(gram[np.ix_(S, S)], gram[S]))

    drawn = np.mean([left(rng.choice(12, 4, replace=False)) for _ in range(200)])
    assert left(ColumnSubset(4, ridge=0.0).fit(tall).selected_) <= left(method.select(tall, 4)) < drawn


@pytest.mark.slow
def test_the_interpolative_decomposition_is_pivoted_qr_of_the_samples(tall):
    expected = qr(tall - tall.mean(axis=0), mode="r", pivoting=True)[1][:5]
    np.testing.assert_array_equal(METHODS["scipy ID"].select(tall, 5), expected)


def test_a_missing_package_is_named_with_its_extra(tall):
    method = OutsideMethod("other", "no_such_package", lambda X, k: np.arange(k))
    assert not method.available()
    with pytest.raises(ImportError, match=r"other is not available: .*no_such_package.*stableselect\[bench\]"):
        method.select(tall, 3)
    assert METHODS["scipy ID"].why_not() == ""


def test_a_process_that_dies_is_an_error_and_no_more(tall, monkeypatch):
    monkeypatch.setattr(module, "_INTERPOLATIVE", "import os; os.abort()")
    with pytest.raises(RuntimeError, match="interpolative decomposition ended with exit code -"):
        METHODS["scipy ID"].select(tall, 3)


def test_the_wrong_number_of_features_is_refused(tall):
    method = replace(METHODS["scipy ID"], order=lambda X, k: np.zeros(k, dtype=int))
    with pytest.raises(RuntimeError, match="1 different features instead of 3"):
        method.select(tall, 3)

"""What a report shows of a selection: curves, summaries and fingerprints, against plain computations."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from stableselect import ColumnSubset, LaplacianScore
from stableselect.inspection import error_curve, overview, table_summary
from stableselect.metrics import reconstruction_error


def test_the_curve_is_that_of_forward_search_and_of_components(rng):
    X = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 15)) + 0.1 * rng.normal(size=(400, 15))
    curve = error_curve(X, [1, 4, 8], random_state=3)
    order = np.random.RandomState(3).permutation(400)
    test, train = X[np.sort(order[:80])], X[np.sort(order[80:])]
    mean = np.mean((test - train.mean(axis=0)) ** 2)
    assert (curve.n_train, curve.n_test, curve.n_features.tolist()) == (320, 80, [1, 4, 8])
    for i, k in enumerate([1, 4, 8]):
        chosen = ColumnSubset(k, ridge=0.0, exchange=False, search_criterion="training").fit(train).selected_
        assert curve.selected[i] == pytest.approx(reconstruction_error(train, test, chosen) / mean, rel=0.02)
        model = PCA(k).fit(train)
        error = np.mean((test - model.inverse_transform(model.transform(test))) ** 2) / mean
        assert curve.components[i] == pytest.approx(error, rel=0.05, abs=1e-4)
    assert (curve.selected <= curve.random + 2 * curve.random_std).all()
    assert len(curve.to_frame()) == 3


def test_one_number_stands_for_a_dozen_around_it(rng):
    X = rng.normal(size=(60, 30))
    sizes = error_curve(X, 7).n_features
    assert 7 in sizes and sizes[0] == 1 and sizes[-1] == 14 and (np.diff(sizes) > 0).all()
    bound = error_curve(X, 7, include=[4, 5], exclude=[0, 1])
    assert bound.n_features[0] == 2
    with pytest.raises(ValueError, match="at least 5 samples"):
        error_curve(X[:4], 2)


def test_a_summary_says_what_is_there(rng):
    X = rng.normal(size=(30, 4)) * 5 + 2
    X[2, 1] = X[3, 1] = np.nan
    found = table_summary(pd.DataFrame(X, columns=list("abcd")))
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert found.n_missing.tolist() == [0, 2, 0, 0] and found.feature_names == list("abcd")
    for name, expected in (("mean", frame.mean()), ("minimum", frame.min()), ("maximum", frame.max())):
        assert getattr(found, name) == pytest.approx(expected.to_numpy())
    assert found.std == pytest.approx(frame.std(ddof=0).to_numpy())


def test_the_fingerprint_is_of_names_and_numbers_alone(rng):
    X = np.where(rng.random((40, 5)) < 0.3, 0.0, rng.normal(size=(40, 5)))
    known = table_summary(X).fingerprint
    assert table_summary(X[rng.permutation(40)]).fingerprint == known
    assert table_summary(sparse.csr_array(X)).fingerprint == known
    assert table_summary(np.asfortranarray(X)).fingerprint == known
    others = [X + 1e-12, X[:, ::-1], X[:-1], np.vstack([X, X[:1]])]
    others = [table_summary(other).fingerprint for other in others]
    assert known not in others and len(set(others)) == 4
    assert table_summary(X, names=list("abcde")).fingerprint != known


def test_explained_on_samples_that_the_map_has_not_seen(rng):
    X = rng.normal(size=(2000, 2)) @ rng.normal(size=(2, 6)) + 0.2 * rng.normal(size=(2000, 6))
    X[:, 5] = rng.normal(size=2000)  # nothing explains it
    selector = ColumnSubset(2, ridge=0.0, exclude=[5]).fit(X)
    seen = overview(selector, X)
    training = {one.feature: one.r2 for one in selector.explain().discarded}
    assert [seen.r2[j] for j in training] == pytest.approx(list(training.values()), abs=0.05)
    assert seen.r2[5] < 0.02 and (seen.r2[selector.selected_] == 1).all()
    assert seen.stability.n_repeats == 10


def test_what_cannot_be_measured_is_left_out(rng):
    X = rng.normal(size=(6, 5))
    seen = overview(ColumnSubset(2).fit(X), X)
    assert seen.curve is None and seen.stability is None and seen.r2 is None
    X = rng.normal(size=(40, 5))
    assert overview(LaplacianScore(2).fit(X), X).stability.n_repeats == 5
    assert overview(ColumnSubset(5).fit(X), X).stability is None


def test_groups_are_held_out_whole(rng):
    groups = np.repeat(np.arange(12), 10)
    level = rng.normal(size=(12, 8))[groups]
    X = level + 0.01 * rng.normal(size=(120, 8))  # samples of one group are nearly the same
    loose, strict = (error_curve(X, [4], groups=given) for given in (None, groups))
    assert strict.n_test == 20 or strict.n_test == 30
    assert strict.components[0] > 1.2 * loose.components[0] or strict.selected[0] > 1.2 * loose.selected[0]
    seen = overview(ColumnSubset(3).fit(X), X, groups=groups)
    for run in seen.stability.selected:
        assert len(run) == 3
    with pytest.raises(ValueError, match="one label for each"):
        error_curve(X, [4], groups=groups[:5])

"""Tables read piece by piece: what is chosen by folds, few samples, stability and sketches, as from the whole array."""

import tracemalloc

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

import stableselect as ss
from stableselect import ColumnSubset, Moments, ScorerSelector, ScorerSelectorNetwork
from stableselect._core import Stream, open_table


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces of about twenty samples."""
    monkeypatch.setattr("stableselect._core._streams.FEWEST", 20)
    monkeypatch.setattr("stableselect._core._streams.BLOCK_ELEMENTS", 1)


@pytest.fixture
def long(rng):
    """240 x 12, correlated."""
    return rng.normal(size=(240, 12)) @ rng.normal(size=(12, 12)) + rng.normal(size=(240, 12))


def parts(X, n=9):
    return np.array_split(X, n)


def test_pieces_hold_at_least_so_many_samples_and_all_of_them(long):
    stream = open_table(parts(long, 100))
    assert isinstance(stream, Stream)
    pieces = [samples for samples, _ in stream.pieces()]
    assert {len(piece) for piece in pieces[:-1]} <= {20, 21, 22}
    np.testing.assert_array_equal(np.vstack(pieces), long)
    np.testing.assert_array_equal(np.vstack([samples for samples, _ in stream.pieces()]), long)  # again


SETTINGS = {
    "ridge by folds": lambda: ColumnSubset(4),
    "three folds": lambda: ColumnSubset(4, cv=3),
    "fixed ridge": lambda: ColumnSubset(4, ridge=0.1),
    "number of features": lambda: ColumnSubset("auto"),
    "stability": lambda: ColumnSubset(4, criterion="stability"),
    "scorer": lambda: ScorerSelector(4),
    "scorer, number of features": lambda: ScorerSelector("auto"),
    "network": lambda: ScorerSelectorNetwork(4, solver="full_batch", epochs=30, random_state=0),
    "network from a search": lambda: ScorerSelectorNetwork(
        4, solver="full_batch", init="search", epochs=3, random_state=0
    ),
}


@pytest.mark.parametrize(
    "setting", [pytest.param(name, marks=pytest.mark.slow if name == "stability" else ()) for name in SETTINGS]
)
def test_a_stream_gives_what_the_array_gives(setting, long):
    make = SETTINGS[setting]
    expected, found = make().fit(long), make().fit(iter(parts(long)))
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)
    if hasattr(expected, "fold_sizes_"):
        np.testing.assert_array_equal(found.fold_sizes_, expected.fold_sizes_)
        assert found.ridge_ == expected.ridge_


def test_the_order_of_the_parts_and_of_their_samples_does_not_matter(long, rng):
    expected = ColumnSubset(4).fit(long)
    for n in (2, 5, 11):
        found = ColumnSubset(4).fit(parts(rng.permutation(long), n))
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        np.testing.assert_array_equal(found.fold_sizes_, expected.fold_sizes_)
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)


def test_few_samples_against_features_are_left_out_one_at_a_time_too(rng):
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 300)) + 0.3 * rng.normal(size=(60, 300))
    for given in ({}, {"search_criterion": "leave_one_out", "ridge": 0.1}, {"search_criterion": "training"}):
        expected, found = ColumnSubset(5, **given).fit(X), ColumnSubset(5, **given).fit(iter(parts(X, 3)))
        assert isinstance(open_table(parts(X, 3)), Stream)
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        assert found.search_criterion_ == expected.search_criterion_
        assert found.ridge_ == expected.ridge_
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)
        np.testing.assert_array_equal(found.fold_sizes_, expected.fold_sizes_)


def test_what_needs_all_samples_says_so(long):
    with pytest.raises(TypeError, match=r"needs? all samples in memory, but X is a series of parts; pass"):
        ScorerSelectorNetwork(4, solver="minibatch", epochs=1).fit(parts(long))


def test_splitters_and_groups_hold_out_the_same_samples_of_parts(long):
    for cv, given in ((KFold(5), {}), (GroupKFold(3), {"groups": np.arange(240) % 6})):
        expected = ColumnSubset(4, cv=cv).fit(long, **given)
        for table in (parts(long), [long]):
            found = ColumnSubset(4, cv=cv).fit(table, **given)
            np.testing.assert_array_equal(found.selected_, expected.selected_)
            np.testing.assert_array_equal(found.fold_sizes_, expected.fold_sizes_)
            assert found.ridge_ == expected.ridge_
    with pytest.raises(ValueError, match="groups need a cv that keeps them together"):
        ColumnSubset(4).fit(parts(long), groups=np.arange(240) % 6)


def test_a_sketch_of_a_stream_has_the_exact_map_where_it_can_be_read_again(rng):
    X = rng.normal(size=(2000, 6)) @ rng.normal(size=(6, 30)) + 0.1 * rng.normal(size=(2000, 30))
    found = ColumnSubset(4, sketch=500).fit(parts(X, 7))
    assert found.sketch_size_ == 500
    weights = np.linspace(1, 2, 2000)
    weighted = ColumnSubset(4, sketch=500).fit(parts(X, 7), sample_weight=weights)
    for fitted, w in ((found, None), (weighted, weights)):
        mean = np.average(X, axis=0, weights=w)
        centred = (X - mean) * (1.0 if w is None else np.sqrt(w / w.mean())[:, None])
        coef = np.linalg.lstsq(centred[:, fitted.support_], centred, rcond=None)[0]
        np.testing.assert_allclose(fitted.reconstruction_coef_, coef, atol=1e-8)
    once = ColumnSubset(4, sketch=500).fit(iter(parts(X, 7)))
    np.testing.assert_array_equal(once.selected_, found.selected_)
    assert once.objective_ != found.objective_  # an estimate
    assert once.objective_ == pytest.approx(found.objective_, rel=0.2)


def test_a_sketch_is_taken_where_moments_of_a_stream_do_not_fit(rng, monkeypatch):
    X = rng.normal(size=(400, 30))
    monkeypatch.setattr("stableselect.subset._gathering.memory_limit", lambda: 8 * 30 * 30)
    for table in (parts(X), iter(parts(X))):
        with pytest.warns(ss.base.SketchWarning, match="selected from a sketch"):
            assert ColumnSubset(4).fit(table).sketch_size_ == 500


def test_a_missing_value_in_a_later_piece_is_told_by_name(long):
    pd = pytest.importorskip("pandas")
    long[200, 3] = np.nan
    for selector in (ColumnSubset(4), ss.VarianceScore(4)):
        with pytest.raises(ValueError, match=r"NaN in 'c3' \(1\); fill in or drop"):
            selector.fit([pd.DataFrame(part, columns=[f"c{j}" for j in range(12)]) for part in parts(long)])
        assert not hasattr(selector, "feature_names_in_")


def test_a_second_pass_that_gives_other_samples_is_told(long):
    class Changing:
        def __init__(self):
            self.passes = 0

        def __iter__(self):
            self.passes += 1
            return iter(parts(long)[self.passes - 1 :])

    with pytest.raises(ValueError, match="second pass over a series of parts gave other samples"):
        ss.VarianceScore(3).fit(Changing())


def test_a_failed_pass_leaves_a_selector_and_moments_as_they_were(long):
    def breaking():
        yield from parts(long)
        raise OSError("gone")

    selector = ColumnSubset(4).partial_fit(long[:100])
    before = selector.moments_.gram
    with pytest.raises(OSError, match="gone"):
        selector.partial_fit(breaking())
    np.testing.assert_array_equal(selector.moments_.gram, before)
    moments = Moments.from_array(long[:100])
    with pytest.raises(OSError, match="gone"):
        moments.update(breaking())
    assert moments.n_samples == 100


def test_memory_does_not_grow_with_the_number_of_parts():
    def peak(n):
        def samples():
            rng = np.random.default_rng(0)
            for _ in range(n):
                yield rng.normal(size=(400, 30))

        tracemalloc.start()
        ColumnSubset(3, ridge=0.1).fit(samples())
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(5)
    assert peak(60) < 1.5 * peak(6)


@pytest.mark.slow
def test_tables_of_many_values_are_read_in_pieces_of_their_usual_size(rng, monkeypatch):
    monkeypatch.undo()
    X = rng.normal(size=(30000, 20)) @ rng.normal(size=(20, 300))
    dask = pytest.importorskip("dask.array")
    lazy = dask.from_array(X, chunks=(3000, 300))
    assert isinstance(open_table(lazy), Stream)
    expected, found = ColumnSubset(6).fit(X), ColumnSubset(6).fit(lazy)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)

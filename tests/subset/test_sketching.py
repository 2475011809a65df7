"""ColumnSubset on a sketch of the samples: what it finds, what is exact, when it is taken, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import stableselect as ss
from stableselect import ColumnSubset, Moments, SketchedMoments
from stableselect.inspection import stability_analysis
from stableselect.persistence import _tree
from stableselect.subset import _gathering

BOUNDS = ("lower_bound_", "optimality_gap_", "proven_optimal_")


@pytest.fixture(scope="module")
def digits():
    return load_digits().data / 16


@pytest.fixture
def no_memory(monkeypatch):
    monkeypatch.setattr(_gathering, "memory_limit", lambda: 1.0)


def loss(X, chosen, ridge=0.0, weights=None):
    """The training loss from its definition: ridge regression of all on the chosen features."""
    w = np.ones(len(X)) if weights is None else weights
    A = (X - w @ X / w.sum()) * np.sqrt(w / w.sum())[:, None]
    alpha = ridge * (A**2).sum() / X.shape[1]
    S = A[:, chosen]
    B = np.linalg.solve(S.T @ S + alpha * np.eye(len(chosen)), S.T @ A)
    return ((A - S @ B) ** 2).sum() / X.shape[1] + alpha * (B**2).sum() / X.shape[1], B


@pytest.mark.parametrize("ridge", ["auto", 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_map_and_loss_are_exact_and_the_features_nearly_as_good(digits, rng, ridge, weighted):
    weights = rng.uniform(0.5, 2, size=len(digits)) if weighted else None
    found = ColumnSubset(10, sketch=True, ridge=ridge).fit(digits, sample_weight=weights)
    exact = ColumnSubset(10, ridge=0.0 if ridge == "auto" else ridge).fit(digits, sample_weight=weights)
    expected, B = loss(digits, found.selected_, found.ridge_, weights)
    assert found.sketch_size_ == 500 and exact.sketch_size_ is None
    assert found.ridge_ == (0.0 if ridge == "auto" else ridge)
    assert found.objective_ == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(found.reconstruction_coef_, B[np.argsort(found.selected_)], atol=1e-9)
    assert found.objective_ <= 1.03 * exact.objective_
    np.testing.assert_allclose(
        found.reconstruction_intercept_
        + found.reconstruction_coef_.T @ np.average(digits, axis=0, weights=weights)[found.support_],
        np.average(digits, axis=0, weights=weights),
        atol=1e-9,
    )


def test_what_a_feature_explains_is_exact(digits):
    found = ColumnSubset(10, sketch=600, ridge=0).fit(digits)
    centred = digits - digits.mean(axis=0)
    left = centred - centred[:, found.selected_] @ loss(digits, found.selected_)[1]
    varies = digits.var(axis=0) > 0
    np.testing.assert_allclose(
        found._roles[0][varies], 1 - (left**2).sum(axis=0)[varies] / (centred**2).sum(axis=0)[varies]
    )
    assert found.explain().selected[0].replacement is not None
    assert found.sketch_size_ == 600


def test_no_bound_is_reported_and_an_exact_fit_has_one_again(digits):
    selector = ColumnSubset(4, sketch=True).fit(digits)
    assert not any(hasattr(selector, name) for name in BOUNDS)
    selector.set_params(sketch=False, ridge=0).fit(digits)
    assert all(hasattr(selector, name) for name in BOUNDS) and selector.sketch_size_ is None
    selector.set_params(sketch=True).fit(digits)
    assert not any(hasattr(selector, name) for name in BOUNDS)


def test_containers_and_the_order_of_a_small_table_do_not_matter(digits, rng):
    X = digits[:800]
    expected = ColumnSubset(6, sketch=True).fit(X)
    tables = [
        X[rng.permutation(800)],
        sparse.csr_array(X),
        sparse.csc_array(X),
        X.astype(np.float32),
        np.asfortranarray(X),
    ]
    for table in tables:
        found = ColumnSubset(6, sketch=True).fit(table)
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(ColumnSubset(6, sketch=True).fit(torch.asarray(X)).selected_, expected.selected_)


def test_a_large_sparse_table_is_sketched_as_the_dense_one(rng):
    X = (rng.poisson(0.05, size=(3000, 400)) * rng.uniform(1, 3, size=400)).astype(float)
    dense, thin = ColumnSubset(5, sketch=True).fit(X), ColumnSubset(5, sketch=True).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(dense.selected_, thin.selected_)
    assert thin.objective_ == pytest.approx(dense.objective_) == pytest.approx(loss(X, thin.selected_)[0])


def test_a_sketch_is_taken_where_exact_moments_do_not_fit(digits, no_memory):
    with pytest.warns(UserWarning, match=r"1797 samples and 64 features take .* GiB.*sketched, r = 500.*sketch=False"):
        found = ColumnSubset(5).fit(digits)
    assert found.sketch_size_ == 500
    np.testing.assert_array_equal(found.selected_, ColumnSubset(5, sketch=True).fit(digits).selected_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ColumnSubset(5, sketch=False).fit(digits).sketch_size_ is None


def test_folds_count_for_memory(digits, monkeypatch):
    one = 8 * 64 * 64
    monkeypatch.setattr(_gathering, "memory_limit", lambda: 3 * one)
    assert ColumnSubset(5, ridge=0).fit(digits).sketch_size_ is None
    with pytest.warns(UserWarning, match="sketched"):
        assert ColumnSubset(5).fit(digits).sketch_size_ == 500
    monkeypatch.setattr(_gathering, "memory_limit", lambda: 16 * one)
    assert ColumnSubset(5).fit(digits).sketch_size_ is None


def test_a_sketch_smaller_than_the_number_of_features_is_refused(digits):
    for fit in (
        lambda: ColumnSubset(20, sketch=19).fit(digits),
        lambda: ColumnSubset(20, sketch=19).partial_fit(digits),
        lambda: ColumnSubset(20).fit_moments(SketchedMoments(19).update(digits)),
    ):
        with pytest.raises(
            ValueError, match=r"A sketch of 19 rows is too small to select 20 features; take at least 500"
        ):
            fit()
    with pytest.raises(ValueError, match="sketch"):
        ColumnSubset(3, sketch=0).fit(digits)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_features_to_select": "auto"}, "give the number of features"),
        ({"criterion": "stability"}, "leave out criterion='stability'"),
        ({"min_stability": 0.5}, "leave out criterion='stability' and min_stability"),
        ({"search_criterion": "leave_one_out"}, "needs the samples"),
        ({"cv": 3}, "cv divides the samples; leave it out"),
    ],
)
def test_what_needs_folds_or_samples_is_refused(digits, given, message):
    given = {"n_features_to_select": 4, **given}
    with pytest.raises(ValueError, match=f"Nothing can be held out of a sketch: .*{message}"):
        ColumnSubset(**given, sketch=True).fit(digits)
    with pytest.raises(ValueError, match=message):
        ColumnSubset(**given).fit_moments(SketchedMoments().update(digits))


def test_partial_fits_and_merged_parts_give_what_one_sketch_gives(digits):
    expected = ColumnSubset(6).fit_moments(SketchedMoments(500).update(digits))
    selector = ColumnSubset(6, sketch=True)
    for part in np.array_split(digits, 3):
        selector.partial_fit(part)
    np.testing.assert_array_equal(selector.selected_, expected.selected_)
    assert selector.objective_ == pytest.approx(expected.objective_)
    assert selector.sketch_size_ == 500 and selector.moments_.n_samples == len(digits)
    assert selector.objective_ == pytest.approx(loss(digits, selector.selected_)[0], rel=0.15)  # from the sketch
    parts = [
        SketchedMoments(part=name).update(rows) for name, rows in zip("ab", np.array_split(digits, 2), strict=True)
    ]
    listed = ColumnSubset(6).fit_moments(parts)
    whole = ColumnSubset(6).fit_moments(SketchedMoments().merge(parts[0]).merge(parts[1]))
    np.testing.assert_array_equal(listed.selected_, whole.selected_)
    assert listed.ridge_ == 0.0
    with pytest.raises(ValueError, match="cannot be merged"):
        ColumnSubset(6).fit_moments([parts[0], Moments.from_array(digits)])


@pytest.mark.parametrize("name", ["PivotedQR", "PFA", "ScorerSelectorNetwork"])
def test_other_selectors_refuse_a_sketch(digits, name):
    with pytest.raises(ValueError, match=f"{name} needs exact moments of all features.*use ColumnSubset"):
        getattr(ss, name)(4).fit_moments(SketchedMoments().update(digits))


def test_a_sketch_is_saved_and_goes_on(digits, tmp_path):
    selector = ColumnSubset(6, sketch=True).partial_fit(digits[:1000])
    ss.save(selector, tmp_path / "a.sselect")
    loaded = ss.load(tmp_path / "a.sselect")
    np.testing.assert_array_equal(loaded.moments_.gram, selector.moments_.gram)
    assert repr(loaded.moments_) == "SketchedMoments of 1000 samples and 64 features (sketched, r = 500)"
    for one in (selector, loaded):
        one.partial_fit(digits[1000:])
    np.testing.assert_array_equal(loaded.selected_, selector.selected_)
    np.testing.assert_array_equal(loaded.moments_._sketch, selector.moments_._sketch)


def test_a_damaged_sketch_is_refused(digits):
    packer = _tree.Packer()
    tree = packer.pack(SketchedMoments(60, part="a").update(digits), "moments")
    assert repr(_tree.Unpacker(packer.arrays.get).unpack(tree)).endswith("(sketched, r = 60)")
    for name, value in (("size", 7), ("part", 3), ("_counts", {"dict": {"a": "x"}}), ("_sketch", None), ("_spare", 1)):
        with pytest.raises((ValueError, TypeError)):
            _tree.Unpacker(packer.arrays.get).unpack({"sketch": {**tree["sketch"], name: value}})


def test_groups_without_cv_are_refused(digits):
    with pytest.raises(ValueError, match="groups need a cv"):
        ColumnSubset(4, sketch=True).fit(digits, groups=np.arange(len(digits)))


def test_repeated_fits_sketch_their_samples(digits):
    found = stability_analysis(ColumnSubset(4, sketch=True), digits[:300], cv=3)
    assert found.supports.shape == (3, 64)
    np.testing.assert_array_equal(found.supports.sum(axis=1), 4)


def test_booleans_of_numpy_are_booleans(rng):
    X = rng.normal(size=(60, 8))
    assert ColumnSubset(2, sketch=np.False_).fit(X).sketch_size_ is None
    assert ColumnSubset(2, sketch=np.True_).fit(X).sketch_size_ == 500

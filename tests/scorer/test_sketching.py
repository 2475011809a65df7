"""ScorerSelector on a sketch of the samples: what it finds, what is exact, and what is refused."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from stableselect import ScorerSelector, SketchedMoments
from stableselect.base import SketchWarning
from stableselect.subset import _gathering

BOUNDS = ("lower_bound_", "optimality_gap_")


@pytest.fixture(scope="module")
def digits():
    return load_digits().data / 16


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_selectors_error_is_exact_and_the_features_nearly_as_good(digits, rng, scale, weighted):
    X = digits[:, digits.std(axis=0) > 0.01]
    weights = rng.uniform(0.5, 2, size=len(X)) if weighted else None
    found = ScorerSelector(10, sketch=True, scale=scale).fit(X, sample_weight=weights)
    exact = ScorerSelector(10, ridge=0.0, scale=scale).fit(X, sample_weight=weights)
    unit = 1.0 if scale is None else found.scale_
    left = (X - found.forward(X)) / unit
    assert found.sketch_size_ == 500 and exact.sketch_size_ is None and found.ridge_ == 0
    assert found.loss_selector_ == pytest.approx(np.average((left**2).mean(axis=1), weights=weights), rel=1e-9)
    others = ~found.support_
    made = found.reconstruct(found.transform(X))
    np.testing.assert_allclose(made[:, others], found.forward(X)[:, others], atol=1e-9)
    scored = np.average((((X - found.forward(X, "scorer")) / unit) ** 2).mean(axis=1), weights=weights)
    assert found.loss_scorer_ == pytest.approx(scored, rel=0.1)
    assert found.objective_ <= 1.05 * exact.objective_
    assert found.objective_ == pytest.approx(found.loss_selector_ + found.loss_scorer_ / 128, rel=1e-9)


def test_no_bound_is_reported_and_an_exact_fit_has_one_again(digits):
    selector = ScorerSelector(4, sketch=True).fit(digits)
    assert not any(hasattr(selector, name) for name in BOUNDS)
    selector.set_params(sketch=False, ridge=0).fit(digits)
    assert all(hasattr(selector, name) for name in BOUNDS) and selector.sketch_size_ is None
    selector.set_params(sketch=700).fit(digits)
    assert not any(hasattr(selector, name) for name in BOUNDS) and selector.sketch_size_ == 700


def test_streams_and_moments_give_the_same_features(digits):
    found = ScorerSelector(5, sketch=600).fit(digits)
    blocks = ScorerSelector(5, sketch=600).fit([digits])
    np.testing.assert_array_equal(found.selected_, blocks.selected_)
    assert found.loss_selector_ == pytest.approx(blocks.loss_selector_, rel=1e-9)
    moments = SketchedMoments(600).update(digits)
    np.testing.assert_array_equal(ScorerSelector(5).fit_moments(moments).selected_.shape, (5,))
    assert found.explain().selected[0].replacement is not None


def test_taken_where_exact_moments_do_not_fit(digits, monkeypatch):
    monkeypatch.setattr(_gathering, "memory_limit", lambda: 1.0)
    with pytest.warns(SketchWarning, match="sketched, r = 500"):
        assert ScorerSelector(5).fit(digits).sketch_size_ == 500


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_features_to_select": "auto"}, "holds out folds"),
        ({"criterion": "stability"}, "stability is measured on folds"),
        ({"sketch": 3}, "too small to select 5"),
        ({"cv": 3}, "cv divides the samples"),
    ],
)
def test_refused_in_the_same_sentences(digits, settings, message):
    with pytest.raises(ValueError, match=message):
        ScorerSelector(**{"n_features_to_select": 5, "sketch": True, **settings}).fit(digits)

"""Explanations: the printed summary and the data frames."""

import sys

import numpy as np
import pytest

from stableselect import ColumnSubset, LaplacianScore


def test_a_long_explanation_is_cut_short_and_its_frames_are_whole(rng):
    X = rng.normal(size=(200, 40)) @ rng.normal(size=(40, 40))
    explanation = ColumnSubset(12, ridge=0.0).fit(X).explain()
    lines = str(explanation).splitlines()
    assert len(lines) == 24 and "to_frame('selected') has them all" in lines[11] and "18 more" in lines[-1]
    frame = explanation.to_frame()
    assert list(frame.columns[:4]) == ["feature", "r2", "explained_by_1", "fraction_1"] and len(frame) == 28
    first = explanation.discarded[0]
    assert (frame["explained_by_2"][0], frame["fraction_2"][0]) == first.explained_by[1]
    kept = explanation.to_frame("selected")
    assert kept["replacement"].tolist() == [item.replacement for item in explanation.selected]
    assert kept["correlation_3"].tolist() == [item.replacements[2].correlation for item in explanation.selected]
    assert kept["represents_1"].tolist() == [item.represents[0][0] for item in explanation.selected]
    with pytest.raises(ValueError, match="which must be 'selected' or 'discarded'"):
        explanation.to_frame("all")


def test_a_feature_explained_by_one_only_leaves_the_other_places_empty(rng):
    X = rng.normal(size=(50, 1)) @ np.ones((1, 3))
    frame = ColumnSubset(1, ridge=0.0).fit(X).explain().to_frame()
    assert frame["fraction_1"].tolist() == pytest.approx([1.0, 1.0]) and frame["fraction_2"].isna().all()


def test_the_frame_has_places_for_replacements_that_are_not_there(rng):
    frame = ColumnSubset(2).fit(rng.normal(size=(50, 3))).explain().to_frame("selected")
    assert frame["replacement_2"].isna().all() and frame["correlation_2"].isna().all()


def test_a_constant_is_like_nothing(rng):
    X = rng.normal(size=(50, 5))
    X[:, [1, 4]] = 2.0
    kept = ColumnSubset(2, include=[1]).fit(X).explain().selected[0]
    assert kept.feature == 1 and all(np.isnan(one.correlation) for one in kept.replacements) and not kept.represents


def test_without_pandas_an_error_names_it(tall, monkeypatch):
    explanation = ColumnSubset(2).fit(tall).explain()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        explanation.to_frame()


def test_no_feature_is_explained_by_more_than_all_of_it(rng):
    X = rng.normal(size=(4, 12))
    X[0, ::2] += 1e5  # one far sample: the selected features are almost copies of each other
    explanation = LaplacianScore(5, include=[0, 2, 4, 6, 8]).fit(X).explain(X)
    assert max(lost.r2 for lost in explanation.discarded) == 1

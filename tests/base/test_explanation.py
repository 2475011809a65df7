"""Explanations: the printed summary and the data frames."""

import sys
from itertools import permutations

import numpy as np
import pytest

from stableselect import ColumnSubset, Conditions, LaplacianScore


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


def losses_after(X, kept, exchanges):
    """Return the unexplained fraction of the variance, by least squares, after exchanges of kept features."""
    Z = X - X.mean(axis=0)
    S = Z[:, [exchanges.get(j, j) for j in kept]]
    return float(np.sum((Z - S @ np.linalg.lstsq(S, Z, rcond=None)[0]) ** 2) / np.sum(Z**2))


def test_joint_replacements_are_all_different_and_the_cheapest_such(rng):
    X = rng.normal(size=(60, 10)) @ (np.eye(10) + 0.1 * rng.normal(size=(10, 10)))
    explanation = ColumnSubset(4, ridge=0.0).fit(X).explain()
    kept = [one.feature for one in explanation.selected]
    others = [j for j in range(10) if j not in kept]
    base = losses_after(X, kept, {})
    costs = {(a, j): losses_after(X, kept, {a: j}) - base for a in kept for j in others}
    joint = [one.joint_replacement for one in explanation.selected]
    assert len({one.feature for one in joint}) == 4
    for a, one in zip(kept, joint, strict=True):
        assert one.error_increase == pytest.approx(costs[a, one.feature], abs=1e-9)
        assert one.correlation == pytest.approx(np.corrcoef(X[:, a], X[:, one.feature])[0, 1])
    unlike = 1 - np.abs(np.corrcoef(X.T))  # of nearly equal ones the more alike

    def cost(way):
        return sum(costs[a, j] + 1e-3 * unlike[a, j] for a, j in zip(kept, way, strict=True))

    assert [one.feature for one in joint] == list(min(permutations(others, 4), key=cost))


def test_where_one_feature_is_best_for_several_the_joint_replacements_still_differ(rng):
    X = rng.normal(size=(400, 12))
    X[:, 0] *= 3  # never to be selected, and so the best replacement of every other
    explanation = ColumnSubset(5, ridge=0.0, exclude=[0]).fit(X).explain()
    free = ColumnSubset(5, ridge=0.0, include=list(range(1, 6))).fit(X).explain()
    assert {one.replacement for one in free.selected} == {0}
    assert len({one.joint_replacement.feature for one in free.selected}) == 5
    assert 0 not in [one.joint_replacement.feature for one in explanation.selected]


def test_with_fewer_features_left_than_selected_some_have_no_joint_replacement(rng):
    explanation = ColumnSubset(4).fit(rng.normal(size=(50, 6))).explain()
    joint = [one.joint_replacement for one in explanation.selected]
    assert sum(one is None for one in joint) == 2
    assert explanation.to_frame("selected")["joint_replacement"].isna().sum() == 2


def test_names_for_indices(rng):
    X = rng.normal(size=(50, 5))
    named = ColumnSubset(2).fit(X).explain().named(list("abcde"))
    plain = ColumnSubset(2).fit(X).explain()
    assert [one.feature for one in named.selected] == ["abcde"[one.feature] for one in plain.selected]
    assert named.selected[0].joint_replacement.feature == "abcde"[plain.selected[0].joint_replacement.feature]
    assert named.selected[0].represents[0][0] == "abcde"[plain.selected[0].represents[0][0]]
    assert named.discarded[0].explained_by[0][0] == "abcde"[plain.discarded[0].explained_by[0][0]]


def test_a_penalty_decides_which_replacement_is_best_and_is_not_in_its_cost(rng):
    X = rng.normal(size=(200, 12))
    X[:, 0] *= 2
    kept = [1, 2, 3]
    plain = ColumnSubset(3, ridge=0.0, include=kept).fit(X).explain().selected
    assert {one.replacement for one in plain} == {0}
    conditions = Conditions(penalty={0: 0.9}, choose_from=range(12))
    bound = ColumnSubset(3, ridge=0.0, conditions=conditions).fit(X).explain().selected
    chosen = [one.feature for one in bound]
    assert 0 not in chosen and 0 not in [one.replacement for one in bound]
    base = losses_after(X, chosen, {})
    for one in bound:
        for other in one.replacements:
            cost = losses_after(X, chosen, {one.feature: other.feature}) - base
            assert other.error_increase == pytest.approx(cost, abs=1e-9)

"""What replaces several features that fail together."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from stableselect import ColumnSubset, Conditions, Group, LaplacianScore
from stableselect.inspection import joint_replacements


def unexplained(X, kept):
    Z = X - X.mean(axis=0)
    S = Z[:, list(kept)]
    return float(np.sum((Z - S @ np.linalg.lstsq(S, Z, rcond=None)[0]) ** 2) / np.sum(Z**2))


@pytest.mark.parametrize("failed", [[0], [0, 1], [1, 2, 3]])
def test_no_other_set_of_as_many_is_better(rng, failed):
    X = rng.normal(size=(80, 6)) @ rng.normal(size=(6, 11)) + 0.3 * rng.normal(size=(80, 11))
    selector = ColumnSubset(4, ridge=0.0).fit(X)
    kept = selector.selected_.tolist()
    gone = [kept[i] for i in failed]
    found = joint_replacements(selector, X, gone)
    rest = [j for j in kept if j not in gone]
    others = [j for j in range(11) if j not in kept]
    losses = {way: unexplained(X, [*rest, *way]) for way in combinations(others, len(gone))}
    best = min(losses, key=losses.get)
    assert set(found.features) == set(best) and found.failed == gone
    assert found.error_increase == pytest.approx(losses[best] - unexplained(X, kept), abs=1e-9)


def test_names_excluded_features_and_conditions_hold(rng):
    X = pd.DataFrame(
        rng.normal(size=(80, 4)) @ rng.normal(size=(4, 8)) + 0.2 * rng.normal(size=(80, 8)), columns=list("abcdefgh")
    )
    free = ColumnSubset(3, ridge=0.0, include=["a", "b"]).fit(X)
    first = joint_replacements(free, X, ["a", "b"]).features
    bound = ColumnSubset(3, ridge=0.0, include=["a", "b"], exclude=[first[0]]).fit(X)
    assert first[0] not in joint_replacements(bound, X, ["a", "b"]).features
    group = Conditions(groups=[Group(first, at_most=1)])
    under = ColumnSubset(3, ridge=0.0, include=["a", "b"], conditions=group).fit(X)
    assert set(under.selected_) == set(free.selected_)
    assert len(set(first) & set(joint_replacements(under, X, ["a", "b"]).features)) < 2


def test_any_selector_has_them_and_what_was_not_selected_cannot_fail(rng):
    X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8))
    selector = LaplacianScore(3).fit(X)
    found = joint_replacements(selector, X, selector.selected_[:2].tolist())
    assert len(set(found.features) - set(selector.selected_.tolist())) == 2 and found.error_increase > -1
    with pytest.raises(ValueError, match="failed must name one or more selected features"):
        joint_replacements(selector, X, [int(np.flatnonzero(~selector.support_)[0])])
    with pytest.raises(ValueError, match="X has 5 features and the selector was fitted on 8"):
        joint_replacements(selector, X[:, :5], [0])


def test_fewer_features_within_a_budget_cost_more(rng):
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 6)) + 0.2 * rng.normal(size=(80, 6))
    conditions = Conditions(cost=[1, 1, 9, 9, 9, 9], budget=2)
    selector = ColumnSubset(ridge=0.0, conditions=conditions).fit(X)
    found = joint_replacements(selector, X, [0])
    assert found.features == []
    assert found.error_increase == pytest.approx(unexplained(X, [1]) - unexplained(X, [0, 1]))

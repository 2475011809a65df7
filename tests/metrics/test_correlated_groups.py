"""Groups of look-alikes, against their definition."""

import numpy as np
import pytest

from stableselect.metrics import correlated_groups


def by_definition(X, threshold, first):
    """Let every feature lead in turn, from the matrix of correlations."""
    with np.errstate(all="ignore"):
        alike = np.abs(np.corrcoef(X.T))
    order = [*first, *(j for j in range(X.shape[1]) if j not in first)]
    free, groups = {j for j in order if np.ptp(X[:, j]) > 0}, []
    for j in order:
        members = sorted(i for i in free if i != j and alike[j, i] >= threshold) if j in free else []
        free -= {j, *members}
        if members:
            groups.append([j, *members])
    return groups


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("first", [[], [7, 3]])
def test_groups_follow_their_definition_across_blocks(rng, threshold, first):
    X = rng.normal(size=(50, 40)) @ rng.normal(size=(40, 600)) / 6
    X += rng.normal(size=(50, 5)) @ rng.normal(size=(5, 600))
    X[:, 11] = 3.0
    X *= np.logspace(-100, 100, 600)
    found = correlated_groups(X, threshold=threshold, first=first)
    assert [[members[0], *sorted(members[1:])] for members, _ in found] == by_definition(X, threshold, first)
    for members, correlations in found:
        assert correlations[0] == 1 and (np.diff(np.abs(correlations[1:])) <= 0).all()
        expected = [
            np.corrcoef(X[:, members[0]] / np.abs(X[:, members[0]]).max(), X[:, j] / np.abs(X[:, j]).max())[0, 1]
            for j in members
        ]
        assert correlations == pytest.approx(expected, abs=1e-5)


def test_an_opposite_is_a_look_alike_and_a_constant_is_not(rng):
    a = rng.normal(size=30)
    X = np.stack([a, -2 * a, np.ones(30), np.ones(30), rng.normal(size=30)], axis=1)
    [(members, correlations)] = correlated_groups(X)
    assert members.tolist() == [0, 1] and correlations == pytest.approx([1, -1])
    with pytest.raises(ValueError, match="threshold"):
        correlated_groups(X, threshold=2)

import pytest

from stableselect import ColumnSubset, ScorerSelector
from stableselect.inspection import uniform_stability
from stableselect.plot import uniform_stability as draw


@pytest.fixture
def tables(rng):
    X = rng.normal(size=(34, 9)) @ rng.normal(size=(9, 9)) + 2.0
    return X[:22], X[22:]


def test_changes_against_n_carry_their_slopes(tables):
    result = uniform_stability(ScorerSelector(3, ridge=0.1), *tables, n_left_out=5, sizes=[12, 22], n_repeats=2)
    for path in ("selector", "scorer", "total"):
        axes = draw(result, path=path)
        assert axes.get_xscale() == axes.get_yscale() == "log"
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert f"largest: slope {result.rates[path].sup_rate.slope:.2f}" in labels[0]
        assert labels[-1] == "1/n, for comparison"
    with pytest.raises(ValueError, match="path must be"):
        draw(result, path="decoder")


def test_changes_of_single_samples_are_sorted(tables):
    result = uniform_stability(ColumnSubset(3, ridge=0.1), *tables, n_left_out=5)
    axes = draw(result)
    assert axes.get_xlabel() == "sample left out, by rank of its change"
    drawn = {x: y for line in axes.get_lines() for x, y in zip(*line.get_data(), strict=True)}
    assert [drawn[rank] for rank in range(1, 6)] == sorted(result.selector.by_sample, reverse=True)
    with pytest.raises(ValueError, match="no scorer loss"):
        draw(result, path="scorer")

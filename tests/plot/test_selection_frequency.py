import io

import numpy as np
import pytest

from stableselect import ColumnSubset
from stableselect.inspection import Bootstrap, stability_analysis
from stableselect.plot import selection_frequency


@pytest.fixture(scope="module")
def analysis():
    rng = np.random.default_rng(20211)
    X = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 10)) + 0.5 * rng.normal(size=(40, 10))
    return stability_analysis(ColumnSubset(3, ridge=0), X, cv=Bootstrap(12), similarity=False)


def drawn(axes):
    """Return the fields as a Boolean array (features x runs), the labels, and the bars' lengths."""
    fields, bars = axes
    labels = [label.get_text() for label in fields.get_yticklabels()]
    return np.asarray(fields.images[0].get_array()) == 1, labels, [bar.get_width() for bar in bars.patches]


def test_fields_and_bars_show_the_runs_most_frequent_feature_first(analysis):
    fields, labels, widths = drawn(selection_frequency(analysis))
    order = [int(label) for label in labels]
    assert np.array_equal(fields, analysis.supports[:, order].T)
    assert widths == pytest.approx(analysis.selection_frequency[order])
    assert widths == sorted(widths, reverse=True)
    assert set(order) == set(np.flatnonzero(analysis.supports.any(axis=0)))
    assert labels == [row[0] for row in analysis.table(len(labels))]


def test_intervals_are_those_of_the_analysis(analysis):
    axes = selection_frequency(analysis)
    order = [int(label) for label in drawn(axes)[1]]
    lines = axes[1].collections[0].get_segments()
    assert np.allclose([segment[:, 0] for segment in lines], analysis.frequency_interval[order])
    assert "95 % interval" in axes[1].get_xlabel()


def test_the_title_says_what_was_varied_and_how_much_is_shown(analysis):
    counts = analysis.supports.sum(axis=0)
    title = selection_frequency(analysis)[0].get_title("left")
    assert "12 runs: samples varied (Bootstrap)" in title and "shown" not in title
    assert f"{(counts > 0).sum()} of 10 features selected at least once, {(counts == 12).sum()} always" in title
    few = selection_frequency(analysis, max_features=2)
    assert "the 2 on which the runs agree least are shown" in few[0].get_title("left")


def test_the_doubtful_features_are_shown_where_not_all_fit():
    """Of fifty features that every run selects and four that some select, the four must not be cut off."""
    supports = np.zeros((8, 60), dtype=bool)
    supports[:, :50] = True
    for j, times in zip(range(50, 54), (7, 4, 2, 1), strict=True):
        supports[:times, j] = True
    _, labels, widths = drawn(selection_frequency(supports, max_features=6))
    assert labels == ["0", "1", "50", "51", "52", "53"]
    assert widths == pytest.approx([1, 1, 7 / 8, 1 / 2, 2 / 8, 1 / 8])


def test_masks_and_indices_with_names():
    names = ["a", "b", "c" * 50, "d"]
    by_mask = selection_frequency(np.array([[1, 0, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0]], dtype=bool), names)
    by_index = selection_frequency([[0, 2], [2, 0], [0, 1]], names)
    for axes in (by_mask, by_index):
        fields, labels, _ = drawn(axes)
        assert np.array_equal(fields, [[1, 1, 1], [1, 1, 0], [0, 0, 1]])
        assert labels[0] == "a" and labels[2] == "b"
        assert labels[1].startswith("ccc") and len(labels[1]) == 30


@pytest.mark.slow
@pytest.mark.parametrize(("n_runs", "m", "k"), [(2, 1, 1), (2, 3, 0), (300, 2000, 60)])
def test_small_and_large_pictures_are_drawn_without_a_warning(rng, n_runs, m, k):
    supports = np.zeros((n_runs, m), dtype=bool)
    for run in supports:
        run[rng.permutation(m)[:k]] = True
    with io.BytesIO() as picture:
        selection_frequency(supports)[0].figure.savefig(picture, dpi=50)
        assert picture.tell() > 1000


def test_wrong_input_is_refused_with_advice(analysis):
    with pytest.raises(ValueError, match="feature_names must hold 10 names but holds 2; name every feature"):
        selection_frequency(analysis, ["a", "b"])
    with pytest.raises(ValueError, match="max_features must be an integer of at least 1"):
        selection_frequency(analysis, max_features=0)
    with pytest.raises(ValueError, match="n_features must be given"):
        selection_frequency([[0, 1], [1, 2]])

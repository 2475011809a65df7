import io

import numpy as np
import pytest

from stableselect import ColumnSubset
from stableselect.inspection import stability_analysis
from stableselect.plot import selection_frequency


@pytest.fixture
def analysis(rng):
    X = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 10)) + 0.5 * rng.normal(size=(40, 10))
    return stability_analysis(ColumnSubset(3, ridge=0), X, scheme="bootstrap", n_repeats=12)


def drawn(figure):
    """Return the fields as a Boolean array (columns x runs), the labels, and the bars' lengths."""
    fields, bars = figure.axes
    labels = [label.get_text() for label in fields.get_yticklabels()]
    return np.asarray(fields.images[0].get_array()) == 1, labels, [bar.get_width() for bar in bars.patches]


def test_fields_and_bars_show_the_runs_most_frequent_column_first(analysis):
    fields, labels, widths = drawn(analysis.plot())
    order = [int(label) for label in labels]
    assert np.array_equal(fields, analysis.supports[:, order].T)
    assert widths == pytest.approx(analysis.selection_frequency[order])
    assert widths == sorted(widths, reverse=True)
    assert set(order) == set(np.flatnonzero(analysis.supports.any(axis=0)))
    assert labels == [row[0] for row in analysis.table(len(labels))]


def test_intervals_are_those_of_the_analysis(analysis):
    figure = analysis.plot()
    order = [int(label) for label in drawn(figure)[1]]
    lines = figure.axes[1].collections[0].get_segments()
    assert np.allclose([segment[:, 0] for segment in lines], analysis.frequency_interval[order])
    assert "95 % interval" in figure.axes[1].get_xlabel()


def test_the_title_says_what_was_varied_and_how_much_is_shown(analysis):
    ever = np.count_nonzero(analysis.supports.any(axis=0))
    title = analysis.plot().get_suptitle()
    assert "12 runs: rows varied (bootstrap)" in title
    assert f"{ever} of 10 columns were kept at least once" in title and "shown" not in title
    assert "the 2 most frequent are shown" in analysis.plot(n_columns=2).get_suptitle()


def test_masks_and_indices_with_names():
    names = ["a", "b", "c" * 50, "d"]
    by_mask = selection_frequency(np.array([[1, 0, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0]], dtype=bool), names)
    by_index = selection_frequency([[0, 2], [2, 0], [0, 1]], names)
    for figure in (by_mask, by_index):
        fields, labels, _ = drawn(figure)
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
        selection_frequency(supports).savefig(picture, dpi=50)
        assert picture.tell() > 1000


def test_wrong_input_is_refused_with_advice(analysis):
    with pytest.raises(ValueError, match="feature_names must hold 10 names but holds 2; name every column"):
        selection_frequency(analysis, ["a", "b"])
    with pytest.raises(ValueError, match="n_columns must be an integer of at least 1"):
        analysis.plot(n_columns=0)
    with pytest.raises(ValueError, match="n_features must be given"):
        selection_frequency([[0, 1], [1, 2]])

"""Every picture appears in the current figure, or in the axes it is given, and never over another picture."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from stableselect import ColumnSubset, plot
from stableselect.inspection import stability_analysis, uniform_stability


@pytest.fixture(scope="module")
def drawings():
    """Return a function for every picture, and the shape of its panels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)) @ rng.normal(size=(12, 12))
    analysis = stability_analysis(ColumnSubset(3, ridge=0), X, n_repeats=3, similarity=False)
    path = ColumnSubset("auto", min_explained_variance=0.8).fit(X)
    stable = ColumnSubset(4, criterion="stability", ridge=0.1).fit(X)
    changes = uniform_stability(ColumnSubset(3, ridge=0.1), X[:30], X[30:], n_left_out=4)
    images = np.arange(8.0).reshape(2, 4)
    support = [True, False, False, True]
    return {
        "frequency": (lambda **to: plot.selection_frequency(analysis, **to), (1, 2)),
        "path": (lambda **to: plot.selection_path(path, **to), (2, 1)),
        "frontier": (lambda **to: plot.stability_frontier(stable, **to), ()),
        "uniform": (lambda **to: plot.uniform_stability(changes, **to), ()),
        "images": (lambda **to: plot.reconstructed_images(images, support, images, shape=(2, 2), **to), (3, 2)),
    }


NAMES = ["frequency", "path", "frontier", "uniform", "images"]


def is_white(path):
    return plt.imread(path)[..., :3].min() == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_savefig_of_pyplot_writes_the_picture(name, drawings, tmp_path):
    draw, shape = drawings[name]
    drawn = draw()
    axes = np.array(drawn, dtype=object).ravel()
    assert axes.size == np.prod(shape, dtype=int) and all(ax.figure is plt.gcf() for ax in axes)
    plt.savefig(tmp_path / "picture.png")
    assert not is_white(tmp_path / "picture.png")


@pytest.mark.parametrize("name", NAMES)
def test_given_axes_are_drawn_into_without_pyplot(name, drawings, tmp_path):
    draw, shape = drawings[name]
    figure = Figure(figsize=(8, 5), dpi=40, layout="constrained")
    given = figure.subplots(*shape) if shape else figure.subplots()
    drawn = draw(**({"axes": given} if shape else {"ax": given}))
    assert np.array_equal(np.array(drawn, dtype=object).ravel(), np.array(given, dtype=object).ravel())
    assert not plt.get_fignums()
    figure.savefig(tmp_path / "picture.png")
    assert not is_white(tmp_path / "picture.png")


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_figure_is_used_and_a_full_one_left_alone(name, drawings):
    draw, _ = drawings[name]
    figure = plt.figure(figsize=(9, 7))
    draw()
    assert plt.get_fignums() == [figure.number] and figure.axes
    before = list(figure.axes)
    draw()
    assert len(plt.get_fignums()) == 2 and plt.gcf() is not figure and figure.axes == before


def test_the_number_of_axes_is_checked(drawings):
    draw, _ = drawings["path"]
    with pytest.raises(ValueError, match=r"axes must hold 2 Axes but holds 3; make them by plt\.subplots"):
        draw(axes=Figure().subplots(3))

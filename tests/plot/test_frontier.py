"""The picture of a frontier shows the frontier's own figures."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from stableselect import ColumnSubset, ScorerSelector
from stableselect.plot import stability_frontier
from stableselect.subset import StabilityFrontier


@pytest.fixture
def made():
    """Six settings by hand; the second and the sixth are beaten, and the last is far off."""
    return StabilityFrontier(
        error=np.array([2.0, 2.1, 2.04, 2.06, 2.2, 4.0]),
        stability=np.array([0.3, 0.2, 0.5, 0.7, 0.9, 0.1]),
        standard_error=np.array([0.05, 0.04, 0.03, 0.02, 0.01, 0.06]),
        ridge=np.array([0.0, 0.0, 0.1, 0.1, 1.0, 1.0]),
        map_ridge=np.zeros(6),
        vote_weight=np.array([0.0, 0.0, 0.0, 0.05, 0.05, 0.0]),
        leave_one_out=np.zeros(6, dtype=bool),
        chosen=3,
        procedure_stability=0.66,
        procedure_interval=(0.5, 0.8),
        n_repeats=15,
        max_error_increase=0.05,
        target=None,
        reached=True,
    )


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def bars(axes):
    """Return position, reach of the error bar, colour and size of every setting drawn."""
    drawn = {}
    for container in axes.containers:
        mark, _, (bar,) = container.lines
        x, y = float(mark.get_xdata()[0]), float(mark.get_ydata()[0])
        low, high = bar.get_segments()[0][:, 1]
        drawn[round(x, 6), round(y, 6)] = (y - low, high - y, mark)
    return drawn


def test_every_near_setting_stands_where_its_figures_say(made):
    axes = stability_frontier(made)
    drawn = bars(axes)
    # (2.1 - 2.0) / 2.0 is 5 %, and so on; 4.0 is 100 % above and is only counted.
    assert sorted(drawn) == [(0.0, 0.3), (2.0, 0.5), (3.0, 0.7), (5.0, 0.2), (10.0, 0.9)]
    for (_, y), (below, above, _) in drawn.items():
        expected = made.standard_error[made.stability == y][0]
        assert below == pytest.approx(expected) and above == pytest.approx(expected)
    assert "1 setting lies further right" in axes.get_xlabel() and "the lowest is 2, mean squared" in axes.get_xlabel()
    assert axes.get_xlim()[1] > 10


def test_colour_and_shape_tell_votes_and_size_tells_ridge(made):
    drawn = bars(stability_frontier(made))
    marks = {place: entry[2] for place, entry in drawn.items()}
    shapes = {place: mark.get_marker() for place, mark in marks.items()}
    assert shapes == {(0.0, 0.3): "o", (5.0, 0.2): "o", (2.0, 0.5): "o", (3.0, 0.7): "s", (10.0, 0.9): "s"}
    assert marks[0.0, 0.3].get_color() == marks[2.0, 0.5].get_color() != marks[3.0, 0.7].get_color()
    sizes = [marks[place].get_markersize() for place in [(0.0, 0.3), (2.0, 0.5), (10.0, 0.9)]]
    assert sizes == sorted(sizes) and len(set(sizes)) == 3
    assert sum(to_rgb(marks[5.0, 0.2].get_color())) > sum(to_rgb("#0072B2"))  # the beaten one is lighter


def test_the_step_line_is_the_most_stable_at_every_error(made):
    axes = stability_frontier(made)
    line = next(drawn for drawn in axes.get_lines() if drawn.get_label() == "most stable at this error")
    assert line.get_drawstyle() == "steps-post"
    x, y = line.get_xdata(), line.get_ydata()
    above = 100 * (made.error / 2 - 1)
    for percent in (0.0, 1.0, 2.5, 4.0, 9.0, 10.5):
        on_line = y[np.searchsorted(x, percent + 1e-9, side="right") - 1]
        assert on_line == made.stability[above <= percent + 1e-9].max()


def test_the_choice_is_ringed_and_named(made):
    axes = stability_frontier(made)
    (ring,) = [drawn for drawn in axes.get_lines() if drawn.get_label() == "chosen"]
    assert ring.get_xdata()[0] == pytest.approx(3) and ring.get_ydata()[0] == 0.7
    (words,) = axes.texts
    assert (
        words.get_text()
        == "votes of weight 0.05, ridge 0.1, 3.0 % above the lowest\nwhole procedure: 0.66 [0.50, 0.80]"
    )
    assert {"no votes", "votes of subsamples", "ridge 0.1", "max_error_increase, 5 %", "chosen"} <= {*legend(axes)}


def test_a_target_is_a_line(made):
    axes = stability_frontier(replace(made, target=0.8, chosen=4))
    assert {"stability asked for, 0.8", "max_error_increase, 5 %"} <= {*legend(axes)}
    (line,) = [drawn for drawn in axes.get_lines() if "asked for" in str(drawn.get_label())]
    assert set(line.get_ydata()) == {0.8}


@pytest.mark.parametrize(
    "error", [[0.0, 1e-3], *(pytest.param(error, marks=pytest.mark.slow) for error in ([0.0, 0.0], [1e-33, 5e-31]))]
)
def test_errors_of_zero_are_drawn(made, error, tmp_path):
    two = {
        name: getattr(made, name)[:2] for name in ("stability", "standard_error", "ridge", "map_ridge", "vote_weight")
    }
    for chosen in (0, 1):
        frontier = replace(made, error=np.array(error), chosen=chosen, max_error_increase=1e9, **two)
        stability_frontier(frontier).figure.savefig(tmp_path / "zero.png")


@pytest.mark.slow
def test_it_draws_selectors_of_both_kinds(tall, tmp_path):
    axes = stability_frontier(ColumnSubset(4, criterion="stability", ridge=0.1).fit(tall))
    axes.figure.savefig(tmp_path / "columns.png")
    selector = ScorerSelector(4, criterion="stability", max_error_increase=0.5, ridge=0.1).fit(tall)
    axes = stability_frontier(selector)
    axes.figure.savefig(tmp_path / "scorer.svg")
    assert len(bars(axes)) == len(set(zip(selector.frontier_.error, selector.frontier_.stability, strict=True)))


@pytest.mark.slow
def test_few_samples_are_drawn(rng, tmp_path):
    factors = rng.normal(size=(30, 3))
    X = factors @ rng.normal(size=(3, 150)) + 0.3 * rng.normal(size=(30, 150))
    selector = ColumnSubset(4, criterion="stability").fit(X)
    assert selector.frontier_.leave_one_out.tolist() == [False, True, True]
    axes = stability_frontier(selector)
    axes.figure.savefig(tmp_path / "few.png")
    assert len(bars(axes)) >= 1


def test_what_has_no_frontier_is_refused(tall, made):
    for other in (ColumnSubset(3).fit(tall), None, np.arange(3)):
        with pytest.raises(TypeError, match="criterion='stability' or a min_stability; give one of these"):
            stability_frontier(other)
    with pytest.raises(ValueError, match="select fewer"):
        stability_frontier(replace(made, stability=np.full(6, np.nan)))

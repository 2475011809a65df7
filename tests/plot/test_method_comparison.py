import math

import numpy as np
import pytest

from stableselect.experiments import MethodComparison, MethodRow
from stableselect.plot import method_comparison


def comparison(accuracy):
    rows = [
        MethodRow("one", "method", 0.5, 0.1, accuracy=accuracy, stability=0.4, seed_stability=1.0, seconds=0.1),
        MethodRow("bad", "method", note="failed"),
        MethodRow("r" * 50, "reference", 0.9, math.nan, stability=0.0, seed_stability=0.1, seconds=0.01),
        MethodRow("mean", "reference", 2.0, 0.3, accuracy=accuracy),
    ]
    return MethodComparison(rows, 3, 50, 9, 5, 2, "abc", None, {})


@pytest.mark.parametrize("accuracy", [math.nan, 0.8])
def test_every_row_with_figures_is_a_line(accuracy):
    found = comparison(accuracy)
    axes = method_comparison(found)
    assert len(axes) == (3 if math.isnan(accuracy) else 4)
    names = [label.get_text() for label in axes[0].get_yticklabels()]
    assert names[0] == "one" and len(names[1]) == 30 and names[2:] == ["mean"]
    drawn = [float(container.lines[0].get_xdata()[0]) for container in axes[0].containers]
    assert drawn == [0.5, 0.9, 2.0]
    seconds = [float(container.lines[0].get_xdata()[0]) for container in axes[-1].containers]
    assert seconds == [0.1, 0.01] and axes[-1].get_xscale() == "log"
    low, high = axes[0].get_ylim()
    assert low > high and np.isclose(axes[0].get_xlim()[0], 0)


def test_it_draws_into_axes_or_a_figure():
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots(1, 3)
    assert all(a is b for a, b in zip(method_comparison(comparison(math.nan), axes=axes), axes, strict=True))
    other = Figure()
    method_comparison(comparison(0.5), figure=other)
    assert len(other.axes) == 4

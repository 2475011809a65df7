"""Where a picture goes: into the axes given, else into the current figure of pyplot."""

from __future__ import annotations

from typing import Any

import numpy as np


def axes_for(given: Any, size: tuple[float, float], rows: int = 1, columns: int = 1, **grid: Any) -> np.ndarray:
    """Return axes to draw into, as an array of shape (rows, columns).

    The current figure is used if it is empty; else a new one of ``size`` inches is made, which becomes the current one.
    So ``plt.savefig`` saves the picture, and no earlier picture is drawn over.

    Parameters
    ----------
    given : Axes, sequence of Axes or None
        What the caller wants to draw into.
    size : (float, float)
        Size of a new figure.
    rows, columns : int
        Number of panels.
    **grid
        Passed to ``Figure.subplots``.
    """
    if given is not None:
        axes = np.array(given, dtype=object)
        if axes.size != rows * columns:
            raise ValueError(f"axes must hold {rows * columns} Axes but holds {axes.size}; make them by plt.subplots.")
        return axes.reshape(rows, columns)
    import matplotlib.pyplot as plt  # chooses a backend, which given axes do not need

    empty = bool(plt.get_fignums()) and not plt.gcf().axes
    figure = plt.gcf() if empty else plt.figure(figsize=size)
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **grid)
    plt.sca(axes[0, 0])
    return axes

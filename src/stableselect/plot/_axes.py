"""What pictures share: where they go, what they draw, and how long a name may be."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

_LONGEST_NAME = 30
Result = TypeVar("Result")


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


def result_of(given: Any, kind: type[Result], attribute: str, picture: str, asked: str) -> Result:
    """Return a result, or that of a fitted selector; raise if there is none.

    Parameters
    ----------
    given : result or selector
        What the caller wants to draw.
    kind : type
        Of the result.
    attribute : str
        Where a selector has it.
    picture, asked : str
        What draws it, and what the selector is to be fitted with, for the message.
    """
    found = given if isinstance(given, kind) else getattr(given, attribute, None)
    if not isinstance(found, kind):
        raise TypeError(f"{picture} draws a {kind.__name__} or a selector fitted with {asked}; give one of these.")
    return found


def shortened(name: str) -> str:
    """Return a name that leaves room for the picture."""
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"

"""Images whose pixels are columns: as they are, what a selection keeps of them, and what it rebuilds."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike


def reconstructed_images(
    images: ArrayLike, support: ArrayLike, rebuilt: ArrayLike, *, shape: tuple[int, int]
) -> Figure:
    """Draw images above their kept pixels above the images rebuilt from those.

    Parameters
    ----------
    images : array-like of shape (n, m)
        One image a row, pixels row by row; a dozen rows fit.
    support : array-like of bool of shape (m,)
        Which pixels are kept.
    rebuilt : array-like of shape (n, m)
        The images rebuilt from the kept pixels.
    shape : (int, int)
        Height and width of an image.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, tied to no window; save it with its ``savefig``.

    Examples
    --------
    >>> from stableselect.plot import reconstructed_images
    >>> figure = reconstructed_images([[0, 1, 2, 3]], [True, False, False, True], [[0, 1, 2, 3]], shape=(2, 2))
    >>> len(figure.axes)
    3
    """
    images, rebuilt = np.asarray(images, dtype=float), np.asarray(rebuilt, dtype=float)
    support = np.asarray(support, dtype=bool)
    pixels = shape[0] * shape[1]
    if images.ndim != 2 or images.shape != rebuilt.shape or {images.shape[1], support.size} != {pixels}:
        raise ValueError(
            f"images, rebuilt and support must hold {pixels} pixels each, but have shapes {images.shape}, "
            f"{rebuilt.shape} and {support.shape}; pass all pixels of each image."
        )
    # Dropped pixels are drawn as missing, so that they differ from dark ones.
    kept = np.where(support, images, np.nan)
    figure = Figure(figsize=(max(4.0, 0.9 * len(images)), 3.2), layout="constrained")
    axes = figure.subplots(3, len(images), squeeze=False)
    for row, (label, drawn) in enumerate({"original": images, "kept": kept, "rebuilt": rebuilt}.items()):
        for axis, image in zip(axes[row], drawn, strict=True):
            # One grey scale for all three rows, or the rebuilt ones could look better than they are.
            axis.imshow(image.reshape(shape), cmap="gray", vmin=images.min(), vmax=images.max())
            axis.set_facecolor("#5b8fc7")
            axis.set(xticks=[], yticks=[])
        axes[row, 0].set_ylabel(label)
    return figure

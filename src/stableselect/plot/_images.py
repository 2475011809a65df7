"""Images whose pixels are features: as they are, what a selection keeps of them, and their reconstruction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._axes import axes_for


def reconstructed_images(
    images: ArrayLike, support: ArrayLike, reconstructed: ArrayLike, *, shape: tuple[int, int], axes: Any = None
) -> np.ndarray:
    """Draw images above their selected pixels above the images reconstructed from those.

    Parameters
    ----------
    images : array-like of shape (n, m)
        One image a row, pixels row by row; a dozen images fit.
    support : array-like of bool of shape (m,)
        Which pixels are selected.
    reconstructed : array-like of shape (n, m)
        The images reconstructed from the selected pixels.
    shape : (int, int)
        Height and width of an image.
    axes : array of Axes of shape (3, n), optional
        Where to draw; by default the current figure if it is empty, else a new one.

    Returns
    -------
    ndarray of Axes of shape (3, n)

    Examples
    --------
    >>> from stableselect.plot import reconstructed_images
    >>> axes = reconstructed_images([[0, 1, 2, 3]], [True, False, False, True], [[0, 1, 2, 3]], shape=(2, 2))
    >>> axes.shape
    (3, 1)
    """
    images, reconstructed = np.asarray(images, dtype=float), np.asarray(reconstructed, dtype=float)
    support = np.asarray(support, dtype=bool)
    pixels = shape[0] * shape[1]
    if images.ndim != 2 or images.shape != reconstructed.shape or {images.shape[1], support.size} != {pixels}:
        raise ValueError(
            f"images, reconstructed and support must hold {pixels} pixels each, but have shapes {images.shape}, "
            f"{reconstructed.shape} and {support.shape}; pass all pixels of each image."
        )
    # Discarded pixels are drawn as missing, so that they differ from dark ones.
    selected = np.where(support, images, np.nan)
    axes = axes_for(axes, (max(4.0, 0.9 * len(images)), 3.2), 3, len(images))
    lines = {"original": images, "selected": selected, "reconstructed": reconstructed}
    for line, (label, drawn) in enumerate(lines.items()):
        for ax, image in zip(axes[line], drawn, strict=True):
            # One grey scale for all three, or the reconstructed ones could look better than they are.
            ax.imshow(image.reshape(shape), cmap="gray", vmin=images.min(), vmax=images.max())
            ax.set_facecolor("#5b8fc7")
            ax.set(xticks=[], yticks=[])
        axes[line, 0].set_ylabel(label)
    return axes

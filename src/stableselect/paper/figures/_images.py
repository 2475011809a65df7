"""What the two figures of images share: the images of a run, reconstructed, and many images as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LinearRegression

from ...datasets import DatasetError, info
from ...experiments import Run
from ..methods import NOT_RUN, Results, is_available, load_rows

_DROPPED = np.array([0x5B, 0x8F, 0xC7]) / 255
"""Blue, so that a discarded pixel differs from a dark and from a light one, whatever one's eyes."""
_GREYS = 64
"""Shades of grey; the eye needs no more, and the files are smaller."""


@dataclass(frozen=True)
class Images:
    """Test images and what a selection makes of them.

    Attributes
    ----------
    run : Run
        The selection.
    error : float
        Its least-squares error on all test samples, as in Table 2.
    shape : (int, int)
        Height and width.
    selected : ndarray of int
        The selected pixels.
    original, reconstructed : ndarray of shape (n, m)
        The images, and those reconstructed by least squares from the selected pixels, cut to the range of the
        originals.
    labels : ndarray of shape (n,)
        Their classes.
    """

    run: Run
    error: float
    shape: tuple[int, int]
    selected: np.ndarray
    original: np.ndarray
    reconstructed: np.ndarray
    labels: np.ndarray

    def grey(self, values: np.ndarray) -> np.ndarray:
        """Return images as RGB between 0 and 1, on the one grey scale of the originals."""
        low, high = self.original.min(), self.original.max()
        scaled = np.clip((values - low) / (high - low or 1.0), 0.0, 1.0)
        scaled = np.round(scaled * (_GREYS - 1)) / (_GREYS - 1)
        return np.repeat(scaled.reshape(len(values), *self.shape, 1), 3, axis=3)

    def kept(self, values: np.ndarray) -> np.ndarray:
        """Return images as RGB with the discarded pixels in blue."""
        support = np.zeros(values.shape[1], dtype=bool)
        support[self.selected] = True
        return np.where(support.reshape(1, *self.shape, 1), self.grey(values), _DROPPED)


def find_images(results: Results, dataset: str, methods: tuple[str, ...], seeds: int = 1) -> dict[str, list[Images]]:
    """Return the images of methods, those under "paper" where there are any, else those under "corrected".

    Parameters
    ----------
    results : Results
        The runs; their features are used, nothing is trained.
    dataset : str
        A table of images.
    methods : tuple of str
        Wanted; those without a finished run on the first split are left out.
    seeds : int
        Seeds of each at most.

    Returns
    -------
    dict of str to list of Images
        By method, one for each seed, on the first split. Empty where the table is missing or cannot be read.
    """
    if not is_available(dataset, results.data_home):
        return {}
    for protocol in ("paper", "corrected"):
        found = {method: results.records(dataset, method, protocol) for method in methods}
        first = {m: [pair for pair in pairs if pair[0].split == 0][:seeds] for m, pairs in found.items()}
        wanted = {m: pairs for m, pairs in first.items() if pairs}
        if wanted:
            break
    try:
        return {m: [_images(run, record, results) for run, record in pairs] for m, pairs in wanted.items()}
    except DatasetError:
        return {}


def why_none(results: Results, dataset: str, method: str) -> str:
    """Say why there are no images of a dataset."""
    found = [results.records(dataset, method, protocol) for protocol in ("paper", "corrected")]
    done = any(run.split == 0 for records in found for run, _ in records)
    reasons = [results.reason(dataset, method, protocol) for protocol in ("paper", "corrected")]
    reason = "the images are missing" if done else next((r for r in reasons if r != NOT_RUN), NOT_RUN)
    return f"{info(dataset).title}: {reason}."


def _images(run: Run, record: dict, results: Results) -> Images:
    rows = load_rows(run, results.data_home)
    shape = info(run.dataset).image_shape
    assert shape is not None, "only tables of images are drawn"
    selected = np.asarray(record["selected"])
    model = LinearRegression().fit(rows.X_train[:, selected], rows.X_train)
    reconstructed = model.predict(rows.X_test[:, selected])
    return Images(run, record["least_squares"], shape, selected, rows.X_test, reconstructed, rows.y_test)


def one_of_each(labels: np.ndarray, number: int) -> np.ndarray:
    """Return the first image of each of the first classes."""
    return np.unique(labels, return_index=True)[1][:number]


def sheet(images: np.ndarray, per_row: int) -> np.ndarray:
    """Lay RGB images (n x height x width x 3) out in rows, with a white line between them."""
    n, height, width, _ = images.shape
    lines = -(-n // per_row)
    whole = np.ones((lines * (height + 1) - 1, per_row * (width + 1) - 1, 3))
    for i, image in enumerate(images):
        top, left = (i // per_row) * (height + 1), (i % per_row) * (width + 1)
        whole[top : top + height, left : left + width] = image
    return whole

"""Figures 1 and 2: images, the pixels selected of them, and the images reconstructed from those."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import LinearRegression

from ...datasets import DatasetError, info
from ...experiments import Run
from .._plots import ORANGE, without_ticks
from .._report import Document, Line, experiment, number, prose
from ..methods import NOT_RUN, PROTOCOLS, Options, Protocol, Results, is_available, load_rows, plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METHODS = {"|W|": "|W|", "W^2": "W²", "ScorerSelectorNetwork annealed": "annealed", "ScorerSelector": "search"}
_DATASETS = ("mnist_fashion", "coil20")
_OF_FIGURE_1 = ("|W|", "ScorerSelectorNetwork annealed", "ScorerSelector")
_LONG = ("|W|", "ScorerSelector")
_SHORT_NUMBER, _LONG_NUMBER, _PER_ROW = 8, 160, 20
_DIGITS, _SEEDS = "usps", 2
"""The dataset of Figure 2, and its seeds of every method."""
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
    for protocol in PROTOCOLS:
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
    found = [results.records(dataset, method, protocol) for protocol in PROTOCOLS]
    done = any(run.split == 0 for records in found for run, _ in records)
    reasons = [results.reason(dataset, method, protocol) for protocol in PROTOCOLS]
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


def _runs(
    datasets: tuple[str, ...], methods: tuple[str, ...], seeds: int, protocol: Protocol, options: Options
) -> list[Run]:
    runs = plan(protocol, options, datasets, methods=methods, splits=1)
    return [run for run in runs if run.seed < seeds]


@experiment(
    "figure1",
    "Figure 1: images reconstructed from 50 selected pixels",
    partial(_runs, _DATASETS, _OF_FIGURE_1, 1),
)
def figure1(page: Document, results: Results) -> None:
    """Show images, the pixels selected of them, and the images reconstructed from those; short and long."""
    page.add(prose("figures.figure1"))
    for dataset in _DATASETS:
        found = {method: images[0] for method, images in find_images(results, dataset, _OF_FIGURE_1).items()}
        if not found:
            page.add(why_none(results, dataset, "|W|"))
            continue
        first = next(iter(found.values()))
        name, about = f"figure1_{dataset}", f"{info(dataset).title}, {_where(first)}"
        caption = f"{about}: one test image of each of eight classes."
        size = (7.7, 0.8 * (1 + 2 * len(found)) + 0.1)
        page.draw(name, caption, size, partial(_short, found), layout="compressed")
        parts = _long_parts(found)
        caption = f"{about}: the first {min(_LONG_NUMBER, len(first.original))} test images."
        page.draw(f"{name}_long", caption, (7.5, 3.3 * len(parts)), partial(_long, parts))
        for method, images in found.items():
            run = images.run
            line: Line = {"dataset": dataset, "method": method, "protocol": run.protocol, "split": run.split}
            line |= {"seed": run.seed, "error": images.error, "selected": " ".join(map(str, images.selected))}
            page.data.append(line)


def _short(found: dict[str, Images], figure: Figure) -> None:
    """Draw one image of each of eight classes, a row for the originals and two for each method."""
    first = next(iter(found.values()))
    shown = one_of_each(first.labels, _SHORT_NUMBER)
    rows, labels = [first.grey(first.original[shown])], ["original"]
    for method, images in found.items():
        rows += [images.kept(images.original[shown]), images.grey(images.reconstructed[shown])]
        labels += [f"{_METHODS[method]}:\nselected", f"reconstructed,\nerror {number(images.error, 'error')}"]
    height = first.shape[0] + 1
    axis = figure.subplots()
    axis.imshow(sheet(np.concatenate(rows), len(shown)), interpolation="none")
    axis.set_yticks([height * i + height / 2 - 1 for i in range(len(rows))], labels, fontsize=9)
    without_ticks(axis)


def _long_parts(found: dict[str, Images]) -> dict[str, np.ndarray]:
    """Return 160 images by what they show: the originals, then selected pixels and reconstructions of two methods."""
    first = next(iter(found.values()))
    parts = {"original": first.grey(first.original[:_LONG_NUMBER])}
    for method in _LONG:
        if method in found:
            images, words = found[method], _METHODS[method]
            parts[f"{words}: selected"] = images.kept(images.original[:_LONG_NUMBER])
            error = number(images.error, "error")
            parts[f"{words}: reconstructed, error {error}"] = images.grey(images.reconstructed[:_LONG_NUMBER])
    return parts


def _long(parts: dict[str, np.ndarray], figure: Figure) -> None:
    """Draw them, 20 a row."""
    for axis, (words, shown) in zip(figure.subplots(len(parts), 1, squeeze=False)[:, 0], parts.items(), strict=True):
        axis.imshow(sheet(shown, _PER_ROW), interpolation="none")
        axis.set_title(words, fontsize=10, loc="left")
        axis.axis("off")


def _where(images: Images) -> str:
    run = images.run
    return f"{run.k} of {images.original.shape[1]} pixels, {_split(run)}, seed {run.seed}"


def _split(run: Run) -> str:
    return "the published split" if run.protocol == "paper" else "first split of the corrected protocol"


@experiment(
    "figure2", "Figure 2: selected pixels over USPS digits", partial(_runs, (_DIGITS,), tuple(_METHODS), _SEEDS)
)
def figure2(page: Document, results: Results) -> None:
    """Show the selected pixels marked over images of USPS digits."""
    page.add(prose("figures.figure2"))
    found = [images for part in find_images(results, _DIGITS, tuple(_METHODS), _SEEDS).values() for images in part]
    if not found:
        page.add(why_none(results, _DIGITS, "|W|"))
        return
    run, pixels = found[0].run, found[0].original.shape[1]
    caption = f"USPS, {_split(run)}: the {run.k} selected of {pixels} pixels, as orange dots."
    page.draw("figure2", caption, (9, 0.92 * len(found)), partial(_marked, found))
    for images in found:
        run, pixels = images.run, " ".join(map(str, images.selected))
        page.data.append({"method": run.method, "protocol": run.protocol, "seed": run.seed, "selected": pixels})


def _marked(found: list[Images], figure: Figure) -> None:
    """Draw one image of each digit, a row for each selection, with the selected pixels as dots."""
    shown = one_of_each(found[0].labels, 10)
    height, width = found[0].shape
    seeds = Counter(images.run.method for images in found)
    for axis, images in zip(figure.subplots(len(found), 1, squeeze=False)[:, 0], found, strict=True):
        axis.imshow(sheet(images.grey(images.original[shown]), len(shown)), interpolation="none")
        rows, columns = images.selected // width, images.selected % width
        for place in range(len(shown)):
            # The dark rim keeps the mark visible on white strokes, its colour on black ground.
            axis.scatter(
                columns + place * (width + 1), rows, s=9, color=ORANGE, edgecolors="black", linewidths=0.5, marker="o"
            )
        seed = f", seed {images.run.seed}" if seeds[images.run.method] > 1 else ""
        words = f"{_METHODS[images.run.method]}{seed}\nerror {number(images.error, 'error')}"
        axis.set_yticks([height / 2 - 0.5], [words], fontsize=9)
        without_ticks(axis)

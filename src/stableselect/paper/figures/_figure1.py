"""Figure 1: images, the pixels selected of them, and the images reconstructed from those; short and long."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...datasets import info
from ...experiments import Run
from ..methods import Options, Protocol, Results, plan
from ..report import Block, Document, Experiment, Picture, drawn, number, picture
from ._images import Images, find_images, one_of_each, sheet, why_none

_DATASETS = ("mnist_fashion", "coil20")
_METHODS = {
    "|W|": "|W|",
    "ScorerSelectorNetwork annealed": "annealed",
    "ScorerSelector": "search",
}
_LONG = ("|W|", "ScorerSelector")
_SHORT_NUMBER, _LONG_NUMBER, _PER_ROW = 8, 160, 20


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    runs = plan(protocol, options, _DATASETS, methods=tuple(_METHODS), splits=1)
    return [run for run in runs if run.seed == 0]


def _render(results: Results) -> Document:
    blocks: list[Block] = [
        "Test images, the selected pixels (discarded ones in blue), and the images reconstructed from the selected "
        "pixels by a linear map that is refitted to them by least squares on the training samples, as the errors of "
        "Table 2 are. The paper shows its network's own output instead; nothing is trained here. One grey scale for "
        "all; reconstructed values outside it are cut. The errors are over all test samples."
    ]
    data: list[dict[str, Any]] = []
    for dataset in _DATASETS:
        title = info(dataset).title
        found = {method: images[0] for method, images in find_images(results, dataset, tuple(_METHODS)).items()}
        if not found:
            blocks.append(why_none(results, dataset, "|W|"))
            continue
        for draw in (_short, _long):
            blocks.append(drawn(partial(draw, dataset, title, found)))
        data += [
            {
                "dataset": dataset,
                "method": method,
                "protocol": images.run.protocol,
                "split": images.run.split,
                "seed": images.run.seed,
                "error": images.error,
                "selected": " ".join(map(str, images.selected)),
            }
            for method, images in found.items()
        ]
    return Document("figure1", EXPERIMENT.title, blocks, data)


def _short(dataset: str, title: str, found: dict[str, Images]) -> Picture:
    """Draw one image of each of eight classes, a row for the originals and two for each method."""
    from matplotlib.figure import Figure

    first = next(iter(found.values()))
    shown = one_of_each(first.labels, _SHORT_NUMBER)
    rows, labels = [first.grey(first.original[shown])], ["original"]
    for method, images in found.items():
        rows += [images.kept(images.original[shown]), images.grey(images.reconstructed[shown])]
        labels += [f"{_METHODS[method]}:\nselected", f"reconstructed,\nerror {number(images.error, 'error')}"]
    height = first.shape[0] + 1
    figure = Figure(figsize=(7.7, 0.8 * len(rows) + 0.1), layout="compressed")
    axis = figure.subplots()
    axis.imshow(sheet(np.concatenate(rows), len(shown)), interpolation="none")
    axis.set_yticks([height * i + height / 2 - 1 for i in range(len(rows))], labels, fontsize=9)
    axis.set_xticks([])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    return picture(f"figure1_{dataset}", f"{title}, {_where(first)}: one test image of each of eight classes.", figure)


def _long(dataset: str, title: str, found: dict[str, Images]) -> Picture:
    """Draw 160 images, 20 a row: the originals, then selected pixels and reconstructed images of two methods."""
    from matplotlib.figure import Figure

    first = next(iter(found.values()))
    parts = {"original": first.grey(first.original[:_LONG_NUMBER])}
    for method in _LONG:
        if method in found:
            images, words = found[method], _METHODS[method]
            parts[f"{words}: selected"] = images.kept(images.original[:_LONG_NUMBER])
            error = number(images.error, "error")
            parts[f"{words}: reconstructed, error {error}"] = images.grey(images.reconstructed[:_LONG_NUMBER])
    figure = Figure(figsize=(7.5, 3.3 * len(parts)), layout="constrained")
    for axis, (words, shown) in zip(figure.subplots(len(parts), 1, squeeze=False)[:, 0], parts.items(), strict=True):
        axis.imshow(sheet(shown, _PER_ROW), interpolation="none")
        axis.set_title(words, fontsize=10, loc="left")
        axis.axis("off")
    count = min(_LONG_NUMBER, len(first.original))
    return picture(f"figure1_{dataset}_long", f"{title}, {_where(first)}: the first {count} test images.", figure)


def _where(images: Images) -> str:
    run = images.run
    protocol = "the published split" if run.protocol == "paper" else "first split of the corrected protocol"
    return f"{run.k} of {images.original.shape[1]} pixels, {protocol}, seed {run.seed}"


EXPERIMENT = Experiment("figure1", "Figure 1: images reconstructed from 50 selected pixels", _runs, _render)

"""Figure 2: the selected pixels marked over images of USPS digits."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...experiments import Run
from ..methods import Options, Protocol, Results, plan
from ..report import ORANGE, Block, Document, Experiment, Picture, drawn, number, picture
from ._images import Images, find_images, one_of_each, sheet, why_none

_DATASET = "usps"
_METHODS = {
    "|W|": "|W|",
    "W^2": "W²",
    "ScorerSelectorNetwork annealed": "annealed",
    "ScorerSelector": "search",
}
_SEEDS = 2
_DIGITS = 10


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    runs = plan(protocol, options, (_DATASET,), methods=tuple(_METHODS), splits=1)
    return [run for run in runs if run.seed < _SEEDS]


def _render(results: Results) -> Document:
    blocks: list[Block] = [
        "The selected pixels of each method, the same for every image, over one test image of each digit. Two seeds of "
        "a method that depends on one: where they mark different pixels, the seed chose and not the data. The errors "
        "are those of Table 2, by least squares."
    ]
    data: list[dict[str, Any]] = []
    found = [images for part in find_images(results, _DATASET, tuple(_METHODS), _SEEDS).values() for images in part]
    if found:
        blocks.append(drawn(lambda: _draw(found)))
        for images in found:
            run = images.run
            columns = " ".join(map(str, images.selected))
            data.append({"method": run.method, "protocol": run.protocol, "seed": run.seed, "selected": columns})
    else:
        blocks.append(why_none(results, _DATASET, "|W|"))
    return Document("figure2", EXPERIMENT.title, blocks, data)


def _draw(found: list[Images]) -> Picture:
    from matplotlib.figure import Figure

    shown = one_of_each(found[0].labels, _DIGITS)
    height, width = found[0].shape
    seeds = Counter(images.run.method for images in found)
    figure = Figure(figsize=(9, 0.92 * len(found)), layout="constrained")
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
        axis.set_xticks([])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    run = found[0].run
    where = "the published split" if run.protocol == "paper" else "first split of the corrected protocol"
    return picture(
        "figure2", f"USPS, {where}: the {run.k} selected of {height * width} pixels, as orange dots.", figure
    )


EXPERIMENT = Experiment("figure2", "Figure 2: selected pixels over USPS digits", _runs, _render)

"""Figure 3 g and h: the columns kept on ten splits, over the image, for |W| and for W^2."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...datasets import info
from ...experiments import Protocol
from ..methods import Results
from ..report import NONE, Block, Document, Experiment, Picture, Table, drawn, picture
from ._overlap import FAST_KS, FIXED, FREE, KS, PATIENCE, Overlap, Overlaps, overlap_cells
from ._shared import COIL, FASHION, FAST_NOTE, PROTOCOLS, SEARCH, compact, epochs, missing, over_repeats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

_PRINTED = {
    ("|W|", FASHION): ("0.910", "0.840", "13", "8"),
    ("|W|", COIL): ("1.000", "1.000", "5", "5"),
}
"""Nogueira, Jaccard, distinct columns and columns on every split, of the first ten runs in the authors' logs."""


def _variants(network: str) -> dict[str, tuple[str, str]]:
    """Return what is compared: the words, the method and the seeds."""
    return {
        f"network {network}, seed fixed": (network, FIXED),
        f"network {network}, seed free": (network, FREE),
        "search": (SEARCH, FIXED),
    }


def _render(name: str, network: str, results: Results) -> Document:
    overlaps = Overlaps(results)
    ks = FAST_KS if results.mode == "fast" else KS
    blocks: list[Block] = [
        "The pooled rows are cut at random into 90 % to select on and 10 % to test on; the columns kept are compared. "
        "Published: the network starts from the same weights and draws its batches from the same seed on every split "
        "(seed fixed). Seed free: the split's number is also the seed. The search has no seed. Training ends after "
        f"{epochs(network, fast=results.mode == 'fast')} epochs, or {PATIENCE} without a gain in the training loss; "
        "the best weights are then kept, the published runs kept the last. Paper: the published rows and scaling. "
        "Sound: a pool drawn at random, scaled by the 90 %. "
        "Nogueira is 1 for the same set every time and 0 on average for sets drawn by chance; its 95 % interval is too "
        "narrow for ten runs on overlapping rows."
    ]
    data: list[dict[str, Any]] = []
    for protocol in PROTOCOLS:
        for dataset in ks:
            blocks.append(_table(results, overlaps, network, dataset, protocol, data))
    if any(row["runs"] for row in data):
        blocks.append(drawn(lambda: _draw(name, overlaps, network, tuple(ks))))
    blocks += _reading(overlaps, network, tuple(ks))
    if results.mode == "fast":
        blocks.insert(0, FAST_NOTE)
    return Document(name, _title(name, network), blocks, data)


def _table(
    results: Results, overlaps: Overlaps, network: str, dataset: str, protocol: Protocol, data: list[dict[str, Any]]
) -> Table:
    rows = []
    for words, (method, seeds) in _variants(network).items():
        items = overlaps.items(dataset, method, protocol, seeds)
        found = overlaps.of(dataset, method, protocol, seeds)
        data.append(_line(dataset, protocol, words, found))
        why = missing(results, dataset, items)
        if found is None:
            rows.append([words, *[why] * 6])
            continue
        measures = found.measures
        rows.append(
            [
                words,
                _with_interval(found),
                NONE if measures is None else f"{measures.jaccard:.3f}",
                str(found.distinct),
                str(found.always),
                compact(over_repeats(items, "test.selector"), NONE),
                str(found.runs),
            ]
        )
    if protocol == "paper" and results.mode == "full" and (network, dataset) in _PRINTED:
        rows.append(["printed, seed fixed", *_PRINTED[network, dataset], NONE, "10"])
    header = ["", "Nogueira [95 %]", "Jaccard", "distinct columns", "on every split", "test error ± sd", "splits"]
    return Table(f"{info(dataset).title}, k = {KS[dataset]}, {protocol}", header, rows)


def _line(dataset: str, protocol: Protocol, words: str, found: Overlap | None) -> dict[str, Any]:
    measures = None if found is None else found.measures
    low, high = (None, None) if measures is None else measures.confidence_interval
    return {
        "dataset": dataset,
        "protocol": protocol,
        "method": words,
        "nogueira": "" if measures is None else measures.nogueira,
        "low": "" if low is None else low,
        "high": "" if high is None else high,
        "jaccard": "" if measures is None else measures.jaccard,
        "distinct": "" if found is None else found.distinct,
        "always": "" if found is None else found.always,
        "runs": 0 if found is None else found.runs,
    }


def _with_interval(found: Overlap) -> str:
    if found.measures is None:
        return NONE
    low, high = found.measures.confidence_interval
    return f"{found.measures.nogueira:.3f}" + ("" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]")


def _reading(overlaps: Overlaps, network: str, datasets: tuple[str, ...]) -> list[str]:
    """Say what holding the seed fixed hides."""
    texts = []
    for protocol in PROTOCOLS:
        for dataset in datasets:
            fixed, free = (overlaps.of(dataset, network, protocol, seeds) for seeds in (FIXED, FREE))
            if fixed is None or free is None or fixed.measures is None or free.measures is None:
                continue
            texts.append(
                f"{info(dataset).title}, {protocol}: with the seed fixed, {fixed.distinct} columns share the "
                f"{KS[dataset]} places of {fixed.runs} splits (Nogueira {fixed.measures.nogueira:.2f}); with the seed "
                f"free, {free.distinct} do (Nogueira {free.measures.nogueira:.2f}). The published design has the first "
                "figure only: it shows how far other rows move a network that starts from one place, and hides how far "
                "the start decides what is kept."
                if fixed.measures.nogueira > free.measures.nogueira
                else f"{info(dataset).title}, {protocol}: freeing the seed does not lower the stability (Nogueira "
                f"{fixed.measures.nogueira:.2f} with the seed fixed, {free.measures.nogueira:.2f} with the seed free)."
            )
    return texts


def _draw(name: str, overlaps: Overlaps, network: str, datasets: tuple[str, ...]) -> Picture:
    from matplotlib.figure import Figure

    rows = [(protocol, dataset) for protocol in PROTOCOLS for dataset in datasets]
    figure = Figure(figsize=(9, 3.1 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), 3, squeeze=False)
    shown = None
    for (protocol, dataset), line in zip(rows, panels, strict=True):
        for axis, (words, (method, seeds)) in zip(line, _variants(network).items(), strict=True):
            found = overlaps.of(dataset, method, protocol, seeds)
            axis.set_title(words, fontsize="small")
            height, width = info(dataset).image_shape or (1, info(dataset).n_columns)
            axis.set_xlim(-0.5, width - 0.5)
            axis.set_ylim(height - 0.5, -0.5)
            axis.set_aspect("equal")
            axis.set_xticks([0, width - 1])
            axis.set_yticks([0, height - 1])
            if found is None:
                axis.text(width / 2, height / 2, "not run", ha="center", va="center")
                continue
            shown = _dots(axis, found, width)
            axis.set_xlabel(
                f"pixel column\nNogueira {_with_interval(found)}\n{found.distinct} distinct columns", fontsize="small"
            )
        line[0].set_ylabel(f"{info(dataset).title}, {protocol}\npixel row", fontsize="small")
    if shown is not None:
        bar = figure.colorbar(shown, ax=panels, shrink=0.5, location="right")
        bar.set_label("share of the splits that keep the pixel")
    caption = "Pixels kept on the splits, over the image; a larger and darker dot was kept on more of them."
    return picture(name, caption, figure)


def _dots(axis: Axes, found: Overlap, width: int) -> PathCollection:
    places = np.flatnonzero(found.counts)
    shares = found.counts[places] / found.runs
    # Both the size and the shade say how often, so that neither alone has to be read.
    return axis.scatter(
        places % width,
        places // width,
        s=12 + 50 * shares,
        c=shares,
        cmap="cividis_r",
        vmin=0.0,
        vmax=1.0,
        edgecolors="black",
        linewidths=0.4,
    )


def _title(name: str, network: str) -> str:
    return f"Figure {name.removeprefix('figure')}: columns kept on ten splits, {network}"


EXPERIMENTS = tuple(
    Experiment(name, _title(name, network), partial(overlap_cells, network), partial(_render, name, network))
    for name, network in (("figure3g", "|W|"), ("figure3h", "W^2"))
)

"""Figure 3 g and h: the features selected on ten splits, with the seed held fixed and free, for |W| and for W^2."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split

from ...datasets import Scale, info
from ...experiments import Run, Stored
from .._report import NONE, Document, Line, compact, interval, prose, published
from ..methods import PROTOCOLS, Options, Protocol, Results, agreement, find_method, first_run, load_rows, of_one
from ._shared import COIL, FASHION, SEARCH, Groups, epochs, fit_record, for_networks, mean_losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure

TASK = "overlap"
KS = {FASHION: 10, COIL: 5}
FAST_KS = {COIL: 5}
SPLITS, FAST_SPLITS = 10, 3
PATIENCE = 20
_FIXED, _FREE = "network {}, seed fixed", "network {}, seed free"
_TEST_SIZE = 0.1


def overlap_runs(network: str, protocol: Protocol, options: Options) -> list[Run]:
    """Return the runs of one network, with seed 0 and with the split's number as seed, and of the search."""
    runs = []
    for name, k in (FAST_KS if options.fast else KS).items():
        for split in range(FAST_SPLITS if options.fast else SPLITS):
            for method, seed in dict.fromkeys([(network, 0), (network, split), (SEARCH, 0)]):
                first = first_run(name, method, protocol, options, k)
                runs.append(replace(first, split=split, seed=seed).of_task(TASK))
    return runs


def measure_overlap(run: Run, data_home: str | None) -> dict[str, Any]:
    """Select on nine tenths of the pooled samples.

    The pool is that of the published training and test samples, or under the corrected protocol of one random draw; the
    split cuts it in two, and under the corrected protocol the scaling is fitted on the larger part. The seed of the
    network is the run's, and nothing else, so that runs of one seed start from the same weights.

    The record holds ``n``, ``seconds``, ``selected``, ``test`` (error of both paths on the other tenth), ``epochs`` and
    ``stopped``; the last two are None for the search.
    """
    rows = load_rows(replace(run, split=0), data_home)
    pool = np.concatenate([rows.X_train, rows.X_test])
    X, X_test = train_test_split(pool, test_size=_TEST_SIZE, random_state=run.split)
    if run.protocol != "paper":
        scale = Scale.minmax(X)
        X, X_test = scale.apply(X), scale.apply(X_test)
    selector: Any = find_method(run.method).build(run)
    if run.method != SEARCH:
        selector.set_params(random_state=run.seed, patience=PATIENCE, tol=0.0)
    return fit_record(selector, X) | {
        "test": mean_losses(selector, X_test),
        "epochs": getattr(selector, "n_epochs_", None),
        "stopped": getattr(selector, "stop_reason_", None),
    }


class Overlap:
    """The features selected on several splits.

    Parameters
    ----------
    items : list of Stored
        The runs, finished or not.
    n_features : int
        Number of features to select from.

    Attributes
    ----------
    runs : int
        Finished splits.
    counts : ndarray of int, shape (n_features,)
        How many splits selected each feature.
    distinct, always : int
        Features selected at least once, and on every split.
    measures : Stability or None
        None for fewer than two splits.
    """

    def __init__(self, items: list[Stored], n_features: int) -> None:
        kept = [item.record["selected"] for item in items if item.status == "done"]
        self.items, self.runs = items, len(kept)
        self.counts = np.bincount(np.concatenate([np.zeros(0, dtype=int), *kept]), minlength=n_features)
        self.distinct, self.always = int(np.sum(self.counts > 0)), int(np.sum(self.counts == self.runs))
        found = agreement(items)
        self.measures = None if found is None else found.stability

    def nogueira(self) -> str:
        """Write Nogueira's measure with its interval."""
        found = self.measures
        return NONE if found is None else interval(found.nogueira, found.confidence_interval, 3)

    def line(self) -> Line:
        """Return the measures for the CSV file; empty where there are none."""
        found: Line = dict.fromkeys(("nogueira", "low", "high", "jaccard", "distinct", "always"), "")
        if self.measures is not None:
            found["low"], found["high"] = self.measures.confidence_interval
            found |= {"nogueira": self.measures.nogueira, "jaccard": self.measures.jaccard}
        if self.runs:
            found |= {"distinct": self.distinct, "always": self.always}
        return found | {"runs": self.runs}


Overlaps = dict[tuple[Protocol, str], dict[str, Overlap]]
"""By protocol and dataset, and by what is compared, in words."""


def _overlaps(runs: Groups, network: str) -> Overlaps:
    """Compare the network with the seed fixed at 0, with the split's number as seed, and the search."""
    found: Overlaps = {}
    for protocol, name in product(PROTOCOLS, FAST_KS if runs.fast else KS):
        fixed, free, searched = (
            [item for item in runs.of(protocol, name, method) if item.run.seed == (item.run.split if free else 0)]
            for method, free in ((network, False), (network, True), (SEARCH, False))
        )
        items = {_FIXED.format(network): fixed, _FREE.format(network): free, "search": searched}
        found[protocol, name] = {words: Overlap(part, info(name).n_columns) for words, part in items.items()}
    return found


def _fill(network: str, page: Document, results: Results) -> None:
    runs = Groups(results, TASK, lambda run, _: (run.protocol, run.dataset, run.method))
    overlaps = _overlaps(runs, network)
    page.add(prose("figure3.overlap", epochs=epochs(network, fast=runs.fast), patience=PATIENCE))
    for place in overlaps:
        _table(page, runs, overlaps, network, *place)
    if not page.empty:
        caption = "Pixels selected on the splits, over the image; a larger and darker dot was selected on more of them."
        page.draw(page.name, caption, (9, 3.1 * len(overlaps)), partial(_draw, overlaps))
    for place in overlaps:
        page.add(*_reading(overlaps, network, *place))


def _table(page: Document, runs: Groups, overlaps: Overlaps, network: str, protocol: Protocol, dataset: str) -> None:
    rows = []
    for words, found in overlaps[protocol, dataset].items():
        page.data.append({"dataset": dataset, "protocol": protocol, "method": words} | found.line())
        texts = [runs.missing(dataset, found.items)] * 6
        if found.runs:
            jaccard = NONE if found.measures is None else f"{found.measures.jaccard:.3f}"
            error = compact(of_one(found.items, "test.selector"))
            texts = [found.nogueira(), jaccard, str(found.distinct), str(found.always), error, str(found.runs)]
        rows.append([words, *texts])
    printed = published()["figure3"]["overlap"][network].get(dataset)
    if protocol == "paper" and not runs.fast and printed:
        rows.append(["printed, seed fixed", *printed, NONE, "10"])
    header = ["", "Nogueira [95 %]", "Jaccard", "distinct features", "on every split", "test error ± sd", "splits"]
    page.table(f"{info(dataset).title}, k = {KS[dataset]}, {protocol}", header, rows)


def _reading(overlaps: Overlaps, network: str, protocol: Protocol, dataset: str) -> list[str]:
    """Say what holding the seed fixed hides."""
    fixed, free = (overlaps[protocol, dataset][words.format(network)] for words in (_FIXED, _FREE))
    if fixed.measures is None or free.measures is None:
        return []
    lower = fixed.measures.nogueira > free.measures.nogueira
    words = {"title": info(dataset).title, "protocol": protocol, "k": KS[dataset], "fixed": fixed, "free": free}
    return [prose("figure3.seed_lowers", **words) if lower else prose("figure3.seed_does_not", **words)]


def _draw(overlaps: Overlaps, figure: Figure) -> None:
    panels = figure.subplots(len(overlaps), 3, squeeze=False)
    shown = None
    for ((protocol, dataset), of_place), line in zip(overlaps.items(), panels, strict=True):
        for axis, (words, found) in zip(line, of_place.items(), strict=True):
            axis.set_title(words, fontsize="small")
            height, width = info(dataset).image_shape or (1, info(dataset).n_columns)
            axis.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), aspect="equal")
            axis.set(xticks=[0, width - 1], yticks=[0, height - 1])
            if not found.runs:
                axis.text(width / 2, height / 2, "not run", ha="center", va="center")
                continue
            shown = _dots(axis, found, width)
            words = f"pixel column\nNogueira {found.nogueira()}\n{found.distinct} distinct features"
            axis.set_xlabel(words, fontsize="small")
        line[0].set_ylabel(f"{info(dataset).title}, {protocol}\npixel row", fontsize="small")
    if shown is not None:
        bar = figure.colorbar(shown, ax=panels, shrink=0.5, location="right")
        bar.set_label("fraction of the splits that select the pixel")


def _dots(axis: Axes, found: Overlap, width: int) -> PathCollection:
    places = np.flatnonzero(found.counts)
    shares = found.counts[places] / found.runs
    looks: dict[str, Any] = {"cmap": "cividis_r", "vmin": 0.0, "vmax": 1.0, "edgecolors": "black", "linewidths": 0.4}
    # Both the size and the shade say how often, so that neither alone has to be read.
    return axis.scatter(places % width, places // width, s=12 + 50 * shares, c=shares, **looks)


EXPERIMENTS = for_networks("gh", "features selected on ten splits", overlap_runs, _fill)

"""What the runs of `make bench-choice` say of one table: stabilities, and errors of a method over another's."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import binom

from _choice_runs import AT_LEAST, DEFAULT, ERROR, REPEATED, STABLE, STATED, VARIANCE
from _choice_tables import Table
from stableselect.experiments import Comparison, Interval, Stored
from stableselect.metrics import Stability, stability
from stableselect.paper._report import NONE

NOT_RUN = "not run"


@dataclass(frozen=True)
class Ratio:
    """The default's error over a rival's, split by split: median, its sign interval, the worst split, their number."""

    median: float
    low: float
    high: float
    worst: float
    splits: int

    def __str__(self) -> str:
        between = "" if math.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.median:.2f}{between}, {self.worst:.2f}"


class Found:
    """The runs of one table.

    Parameters
    ----------
    source : Table
        The table.
    runs : sequence of Stored
        Its runs.
    """

    def __init__(self, source: Table, runs: Sequence[Stored]) -> None:
        self.source = source
        self._runs: dict[tuple[str, str], list[Stored]] = defaultdict(list)
        for item in runs:
            if item.run.k == source.k:
                self._runs[item.run.task, item.run.method].append(item)

    def of(self, part: str, method: str) -> list[Stored]:
        """Return the runs of a part and a method, finished or failed."""
        return self._runs[part, method]

    @cached_property
    def title(self) -> str:
        """Name, size and number of features."""
        for item in (*self.of(STATED, STABLE), *self.of(STATED, AT_LEAST)):
            if item.status == "done":
                about = item.record["table"]
                return f"{self.source.title}, {about['n']} x {about['m']}, {self.source.k}"
        return f"{self.source.title}, {self.source.k}"

    def stated(self, method: str) -> Stored | None:
        """Return the one fit on all samples."""
        return next((item for item in self.of(STATED, method) if item.status == "done"), None)

    @cached_property
    def _shared(self) -> tuple[int, ...]:
        """The subsamples that every call has that was repeated at all: stabilities and errors are over the same."""
        return Comparison({name: self.of(REPEATED, name) for name in (DEFAULT, STABLE, AT_LEAST)}, "ridge").splits

    def repeated(self, method: str) -> Stability | None:
        """Return how far the sets of a call agree over the subsamples; None for fewer than two."""
        runs = [item for item in self.of(REPEATED, method) if item.status == "done" and item.run.split in self._shared]
        if len(runs) < 2:
            return None
        masks = np.zeros((len(runs), runs[0].record["m"]), dtype=bool)
        for mask, item in zip(masks, runs, strict=True):
            mask[item.record["selected"]] = True
        return stability(masks)

    def cost(self, method: str, measure: str) -> Interval | None:
        """Return the error of a call over that of the default, as a geometric mean over the shared subsamples."""
        runs = {
            name: [item for item in self.of(REPEATED, name) if item.run.split in self._shared]
            for name in (DEFAULT, method)
        }
        return Comparison(runs, measure).ratio(method, DEFAULT)

    def ratio(self, rival: str) -> Ratio | None:
        """Return the default's error over a rival's on the splits that both have."""
        compared = Comparison({DEFAULT: self.of(ERROR, DEFAULT), rival: self.of(ERROR, rival)}, "ridge")
        ours, theirs = compared.by_split(DEFAULT), compared.by_split(rival)
        ratios = sorted(ours[split] / theirs[split] for split in ours if theirs.get(split, 0) > 0)
        if not ratios:
            return None
        low, high = sign_interval(ratios)
        return Ratio(float(np.median(ratios)), low, high, ratios[-1], len(ratios))

    def why_no_ratio(self, rival: str) -> str:
        """Return what stands in the cell of a rival without errors."""
        if any(item.status == "failed" for item in self.of(ERROR, rival)):
            return "failed"
        if rival == VARIANCE and self.source.scaling == "standard":
            return NONE
        return NOT_RUN


def sign_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval of order statistics that holds the median at 95 % or more; NaN for fewer than six values."""
    ordered = sorted(values)
    outside = int(binom.ppf(0.025, len(ordered), 0.5))  # as many on either side have at most 2.5 % each
    if outside < 1:
        return math.nan, math.nan
    return ordered[outside - 1], ordered[-outside]

"""Few samples: what a search on the leave-one-out error gains on other samples, and what it costs.

``python benchmarks/few_samples.py`` prints a row for every table: the ridge-refit error on the test samples of the
corrected protocol, over that of random features (mean of ten draws), as the median and the largest of the splits, how
often "auto" searched on the leave-one-out error, and median seconds. Names of tables restrict it to those; a table
given as ``isolet:50`` has that many training samples, drawn at random.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from stableselect import ColumnSubset, datasets
from stableselect.metrics import reconstruction_error

PARTS = ("isolet:50", "isolet:100", "isolet:200", "coil20:50", "coil20:150", "mnist_fashion:50", "mnist_fashion:200")
TABLES = ("glioma", "prostate_ge", "arcene", *PARTS, "usps:100")
K, SPLITS, SPLITS_OF_PARTS, DRAWS = 64, 12, 5, 10
SETTINGS = {
    "auto": {},
    "training": {"search_criterion": "training"},
    "leave-one-out": {"search_criterion": "leave_one_out", "exchange": False},
    "leave-one-out and swaps": {"search_criterion": "leave_one_out"},
}


def measure(name: str) -> str:
    """Return the row of a table."""
    name, _, size = name.partition(":")
    dataset = datasets.load(name)
    ratios, seconds, chosen = [], [], 0
    for seed in range(SPLITS_OF_PARTS if size else SPLITS):
        split, rng = dataset.split("random", seed=seed), np.random.default_rng(seed)
        X = split.X_train[rng.choice(len(split.X_train), int(size), replace=False)] if size else split.X_train

        def error(selected: np.ndarray) -> float:
            return reconstruction_error(X, split.X_test, np.sort(selected), refit="ridge")  # noqa: B023

        random = np.mean([error(rng.choice(X.shape[1], K, replace=False)) for _ in range(DRAWS)])
        ratios.append([])
        seconds.append([])
        for label, settings in SETTINGS.items():
            start = time.process_time()
            selector = ColumnSubset(K, **settings).fit(X)
            seconds[-1].append(time.process_time() - start)
            ratios[-1].append(error(selector.selected_) / random)
            chosen += label == "auto" and selector.search_criterion_ == "leave_one_out"
    middle, largest, cost = np.median(ratios, axis=0), np.max(ratios, axis=0), np.median(seconds, axis=0)
    cells = [f"{a:.3f} ({b:.3f}), {s:.1f} s" for a, b, s in zip(middle, largest, cost, strict=True)]
    return f"| {name} {X.shape[0]} x {X.shape[1]} | {' | '.join(cells)} | {chosen} of {len(ratios)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"| table, k = {K} | {' | '.join(SETTINGS)} | auto searched on leave-one-out |", flush=True)
    print("|" + "---|" * (len(SETTINGS) + 2))
    for given in sys.argv[1:] or TABLES:
        print(measure(given), flush=True)

"""`make bench-missing`: what values that are missing from the training samples cost, and docs/missing.md from it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from _data import available
from _store import Store
from stableselect import ColumnSubset, datasets
from stableselect.metrics import reconstruction_error

PAGE = Path(__file__).parents[1] / "docs" / "missing.md"
FRACTIONS, PATTERNS, SEEDS = (0.05, 0.1, 0.2), ("at random", "in blocks"), range(20)
BLOCK = 0.05
"""Length of a gap in blocks, as a fraction of the training samples."""
METHODS = ("`em`", "`factors`", "mean imputation", "dropping samples")


def mice() -> tuple[np.ndarray, np.ndarray]:
    """Return the proteins that are nearly complete, in samples that are complete in them, and their mice."""
    table = datasets.load("mice_protein")
    X = table.raw[:, np.isnan(table.raw).mean(axis=0) < 0.05]
    whole = ~np.isnan(X).any(axis=1)
    return X[whole], np.asarray(table.groups)[whole]


def digits() -> tuple[np.ndarray, None]:
    """Return 600 digits, and of their pixels those that vary in more than a tenth of the digits."""
    X = load_digits().data[:600]
    return X[:, np.mean(X != 0, axis=0) > 0.1], None


def isolet() -> tuple[np.ndarray, None]:
    """Return every thirteenth spoken letter and every sixth of its features."""
    return datasets.load("isolet").raw[::13, ::6].astype(float), None


def prostate() -> tuple[np.ndarray, None]:
    """Return the few samples of Prostate_GE, and every twentieth gene."""
    return datasets.load("prostate_ge").raw[:, ::20].astype(float), None


def sensors() -> tuple[np.ndarray, None]:
    """Return 800 samples of 40 sensors, which see six slow sources through noise of unequal size."""
    rng = np.random.default_rng(0)
    sources = rng.normal(size=(800, 6))
    for t in range(1, 800):
        sources[t] += 0.9 * sources[t - 1]
    return sources @ rng.normal(size=(6, 40)) + rng.normal(size=(800, 40)) * rng.uniform(0.2, 3, 40), None


TABLES: dict[str, tuple[Callable[[], tuple[np.ndarray, np.ndarray | None]], int]] = {
    "Mice Protein": (mice, 10),
    "Breast cancer": (lambda: (load_breast_cancer().data, None), 6),
    "Digits": (digits, 12),
    "ISOLET": (isolet, 15),
    "Prostate_GE": (prostate, 10),
    "Sensors, simulated": (sensors, 6),
}
"""Tables, with the samples that belong together, and how many features to select."""


def split(X: np.ndarray, groups: np.ndarray | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples to fit on and samples to test with, scaled by the first to unit variance."""
    splitter = (ShuffleSplit if groups is None else GroupShuffleSplit)(1, test_size=0.3, random_state=seed)
    fit, test = (np.sort(rows) for rows in next(splitter.split(X, groups=groups)))
    scale = np.nanstd(X[fit], axis=0)
    return tuple((X[rows] - np.nanmean(X[fit], axis=0)) / np.where(scale > 0, scale, 1.0) for rows in (fit, test))


def gapped(X: np.ndarray, pattern: str, fraction: float, seed: int) -> np.ndarray:
    """Return a table without some of its values: single ones, or runs of one feature, as where a sensor fails."""
    rng, (n, m) = np.random.default_rng([seed, int(1000 * fraction)]), X.shape
    gone = rng.random(X.shape) < fraction
    if pattern == "in blocks":
        gone[:] = False
        length = max(2, round(BLOCK * n))
        while gone.mean() < fraction:
            start = rng.integers(-length + 1, n)
            gone[max(0, start) : start + length, rng.integers(m)] = True
    gone[rng.integers(n, size=m), np.arange(m)] = False  # every feature has a value
    return np.where(gone, np.nan, X)


def fitted(method: str, train: np.ndarray, k: int) -> ColumnSubset | None:
    """Return a selector fitted to samples with gaps; None where dropping samples leaves too few."""
    if method in ("`em`", "`factors`"):
        return ColumnSubset(k, missing=method.strip("`")).fit(train)
    if method == "mean imputation":
        return ColumnSubset(k).fit(np.where(np.isnan(train), np.nanmean(train, axis=0), train))
    whole = train[~np.isnan(train).any(axis=1)]
    return ColumnSubset(k).fit(whole) if len(whole) > max(2 * k, 10) else None


def removed(name: str, pattern: str, fraction: float, seed: int) -> dict[str, Any]:
    """Return errors on complete test samples of what is selected from training samples with gaps, by method."""
    load, k = TABLES[name]
    train, test = split(*load(), seed)
    gaps = gapped(train, pattern, fraction, seed)
    found: dict[str, Any] = {"shape": train.shape}
    for method in ("complete", *METHODS):
        start = time.process_time()
        selector = ColumnSubset(k).fit(train) if method == "complete" else fitted(method, gaps, k)
        found[method] = (
            None
            if selector is None
            else {
                "error": -selector.score(test),
                "selection": reconstruction_error(train, test, selector.selected_, refit="ridge"),
                "seconds": time.process_time() - start,
            }
        )
        if hasattr(selector, "location_"):
            gone = np.isnan(gaps)
            squares = [np.mean((by - train)[gone] ** 2) for by in (selector._model().fill(gaps), np.nanmean(gaps, 0))]
            found[method]["filled"] = float(squares[0] / squares[1])
    return found


def own_gaps(seed: int) -> dict[str, Any]:
    """Return errors of Mice Protein with the gaps that it has, over the test values that are there, by method."""
    table = datasets.load("mice_protein")
    train, test = split(table.raw, np.asarray(table.groups), seed)
    there = ~np.isnan(test)
    found: dict[str, Any] = {"shape": train.shape, "missing": float(np.isnan(train).mean())}
    for method in METHODS:
        selector = fitted(method, train, 10)
        if selector is None:
            found[method] = None
            continue
        # Where a method has no model for missing values of selected features, they are their means: 0.
        kept = test[:, selector.support_]
        kept = kept if hasattr(selector, "location_") else np.where(np.isnan(kept), 0.0, kept)
        found[method] = {"error": float(np.mean((test - selector.reconstruct(kept))[there] ** 2))}
    return found


def cases(seed: int) -> dict[str, tuple[Any, ...]]:
    """Return what is computed for a split, by its name in the store."""
    found = {key_of(*case, seed): (removed, *case, seed) for case in product(TABLES, PATTERNS, FRACTIONS)}
    return found | {f"own gaps; {seed}": (own_gaps, seed)}


def key_of(name: str, pattern: str, fraction: float, seed: int) -> str:
    """Return the name of a case in the store."""
    return f"{name}; {pattern}; {fraction:.0%}; {seed}"


def run() -> None:
    """Compute what the store lacks, split by split, in ``JOBS`` processes."""
    store = Store("missing")
    left = {key: job for seed in SEEDS for key, job in cases(seed).items() if key not in store.content["parts"]}
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        for key, found in zip(left, pool.map(computed, left.values()), strict=True):
            store.part(key, lambda found=found: found)


def computed(job: tuple[Any, ...]) -> dict[str, Any]:
    """Call a function with its arguments."""
    return job[0](*job[1:])


def splits() -> list[int]:
    """Return the splits of which every case is stored."""
    stored = Store("missing").content["parts"]
    return [seed for seed in SEEDS if cases(seed).keys() <= stored.keys()]


def rise(parts: list[dict[str, Any]], method: str, what: str, reference: str) -> float | None:
    """Return the error relative to that of another method, less one, as a mean over seeds; None without an error."""
    if any(part[method] is None for part in parts):
        return None
    return float(np.mean([part[method][what] / part[reference][what] for part in parts])) - 1


def cell(value: float | None) -> str:
    """Return a rise in percent."""
    return "-" if value is None else f"{100 * value + 0.0:+.1f}"


def measured() -> Iterator[tuple[str, str, float, list[dict[str, Any]]]]:
    """Yield every case with the results of all splits that are stored."""
    stored, seeds = Store("missing").content["parts"], splits()
    for case in product(TABLES, PATTERNS, FRACTIONS) if seeds else ():
        yield *case, [stored[key_of(*case, seed)] for seed in seeds]


def table() -> str:
    """Return the rise of the error by missing values, as Markdown."""
    lines = [f"| table | missing | {' | '.join(METHODS)} |", "|---|---|" + "---:|" * len(METHODS)]
    for name, pattern, fraction, parts in measured():
        cells = []
        for method in METHODS:
            own, alone = (rise(parts, method, what, "complete") for what in ("error", "selection"))
            cells.append("-" if own is None else f"{cell(own)} ({cell(alone)})")
        lines.append(f"| {name} | {fraction:.0%} {pattern} | {' | '.join(cells)} |")
    return "\n".join(lines)


def excess(parts: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the error of ``em`` relative to mean imputation, less one, and the standard error over splits."""
    found = [part["`em`"]["error"] / part["mean imputation"]["error"] - 1 for part in parts]
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found)))


def verdict() -> str:
    """Return where completing is worse than mean imputation."""
    worse, beyond, filled, count = [], [], [], 0
    for name, pattern, fraction, parts in measured():
        count += 1
        mean, error = excess(parts)
        filled.append(np.mean([part["`em`"]["filled"] for part in parts]))
        if mean > 0:
            worse.append(f"{name}, {fraction:.0%} {pattern} ({cell(mean)} % ± {100 * error:.1f})")
        if mean > 2 * error:
            beyond.append(f"{name}, {fraction:.0%} {pattern}")
    told = f"`em` has a lower error than mean imputation in {count - len(worse)} of {count} cases"
    if worse:
        told += f", and a higher one, ± its standard error over the splits, in: {'; '.join(worse)}"
    if worse and not beyond:
        told += ". None of these is beyond two standard errors"
    elif beyond:
        told += f". Beyond two standard errors: {'; '.join(beyond)}"
    return (
        f"{told}. It leaves {min(filled):.0%} to {max(filled):.0%} of the squared error with which means fill in the "
        "values removed."
    )


def own_table() -> str:
    """Return the error on Mice Protein as it comes, relative to mean imputation."""
    stored = Store("missing").content["parts"]
    parts = [stored[f"own gaps; {seed}"] for seed in splits()]
    cells = [cell(rise(parts, method, "error", "mean imputation")) for method in METHODS]
    lines = [f"| table | missing | {' | '.join(METHODS)} |", "|---|---|" + "---:|" * len(METHODS)]
    missing = np.mean([part["missing"] for part in parts])
    return "\n".join([*lines, f"| Mice Protein | {missing:.1%}, its own | {' | '.join(cells)} |"])


def shapes() -> str:
    """Return the size of every table, in words."""
    stored = Store("missing").content["parts"]
    told = []
    for name, (_, k) in TABLES.items():
        n, m = stored[f"{name}; {PATTERNS[0]}; {FRACTIONS[0]:.0%}; 0"]["shape"]
        told.append(f"{name} ({n} x {m}, {k} selected)")
    return ", ".join(told)


def page() -> str:
    """Return docs/missing.md."""
    return f"""# What missing values cost

Values are taken away from the training samples of complete tables, and `ColumnSubset` selects features in four ways:
with `missing="em"` and `missing="factors"` (see [the guide](user_guide/preparing.md#missing-values)), after replacing
missing values by the mean of their feature, and from the samples that are left complete. The test samples, 30 %, are
complete. `make bench-missing` makes this page from `benchmarks/results/missing.json`.

## Values removed

The error of reconstructing the test samples, in percent above that of the selector fitted to the complete training
samples: first with the map that was fitted to the samples with gaps; in brackets of the selection alone, with a ridge
regression on the complete training samples. Means over {len(splits())} splits. "At random": single values; "in blocks":
runs of one feature over {BLOCK:.0%} of the training samples, as where a sensor fails. "-": in some split fewer complete
samples than two for each selected feature.

{table()}

{verdict()}

Where the brackets are near zero, the choice hardly suffers from the gaps and the map does: mean imputation makes
correlations smaller than they are. Negative figures are luck of the splits.

Training samples x features: {shapes()}. Mice Protein is split by mouse; of its features those with less than 5 % of
values missing are used, and of these the complete samples. Digits: the first 600, pixels that are not 0 in more than a
tenth of them. ISOLET: every thirteenth sample and every sixth feature. Prostate_GE: every twentieth gene. The simulated
sensors see six slow sources through noise, and their gaps are in time. All are scaled to unit variance.

## Gaps of its own

Mice Protein as it comes, with all its features. The error is over the test values that are there, in percent above that
of mean imputation; missing values of selected features are completed by the model where there is one, else they are
their means.

{own_table()}
"""


if __name__ == "__main__":
    if available("mice_protein", "isolet", "prostate_ge"):
        run()
        PAGE.write_text(page())
        print(table(), own_table(), sep="\n\n")

"""`make bench-intervals`: how often intervals hold the values of held-out samples, and how wide they are.

`python benchmarks/intervals.py glioma usps` measures some tables only; a run that is stopped goes on where it was.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from _data import available
from _store import Store
from stableselect import ColumnSubset, datasets
from stableselect.base import Calibration, HeldOutResiduals, NovelSamplesWarning

PAGE = Path(__file__).parents[1] / "docs" / "intervals.md"
TABLES = {
    "mice_protein": ("Mice Protein, by mouse", 10),
    "coil20": ("COIL-20", 50),
    "isolet": ("Isolet", 50),
    "usps": ("USPS", 50),
    "mnist_fashion": ("Fashion-MNIST", 50),
    "glioma": ("GLIOMA", 50),
    "prostate_ge": ("Prostate_GE", 50),
    "arcene": ("arcene", 50),
}
"""What each table is called, and how many features are selected: as in the paper."""
SPLITS, LEVEL = 10, 0.9
ENOUGH = 200
"""With as many samples the command line holds a fifth of them out once; with fewer, all of them in turn."""
GOALS = {"coverage": (0.87, 0.93), "width": (0.0, 0.70)}


def measure(name: str, seed: int) -> dict[str, Any]:
    """Return coverage and width on the held-out samples of one split."""
    dataset = datasets.load(name, protocol="corrected")
    split = dataset.split(kind="random" if dataset.groups is None else "group", seed=seed, protocol="corrected")
    train, test = np.concatenate([split.X_train, split.X_valid]), split.X_test
    rows = np.concatenate([split.train, split.valid])
    groups = None if dataset.groups is None else dataset.groups[rows]
    selector = ColumnSubset(TABLES[name][1])
    start = time.process_time()
    selector.fit(train)
    fitted = time.process_time()
    selector.calibrate(train, groups=groups)
    seconds = [fitted - start, time.process_time() - fitted]
    out = ~selector.support_ & (train.max(axis=0) > train.min(axis=0))
    given, truth = selector.transform(test), test[:, out]
    low, high = np.quantile(train[:, out], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    marginal = (high - low).mean()
    found: dict[str, Any] = {
        "train": len(train),
        "test": len(test),
        "features": int(out.sum()),
        "seconds": seconds,
        "marginal coverage": float(((low <= truth) & (truth <= high)).mean()),
        "novel": float(np.mean(selector.novelty(given) > 1)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NovelSamplesWarning)
        found["warned"] = float(_warned(selector, given))
        values, std = selector.reconstruct(given, return_std=True)
        error = np.abs(test - values)[:, out]
        std = std[:, out]
        found["normal coverage"] = float((error <= 1.6448536 * std).mean())
        found |= _figures(error, std * selector.calibration_.reach(LEVEL, selector.support_)[out], marginal)
        found["unscaled coverage"] = float(
            (error <= (selector.calibration_.std * selector.calibration_.reach(LEVEL, selector.support_))[out]).mean()
        )
    if len(train) >= ENOUGH:
        once = _one_split(name, train, selector, groups, seed)
        std = once.deviations(given, selector.reconstruction_coef_, selector.support_)
        one = _figures(error, (std * once.reach(LEVEL, selector.support_))[:, out], marginal)
        found["one split"] = one
    return found


def _figures(error: np.ndarray, reach: np.ndarray, marginal: float) -> dict[str, float]:
    return {"coverage": float((error <= reach).mean()), "width": float(2 * reach.mean() / marginal)}


def _warned(selector: ColumnSubset, given: np.ndarray) -> bool:
    """Tell whether the held-out samples, which are like the others, give a warning all the same."""
    return selector.calibration_.unlike(given, selector.get_feature_names_out().tolist()) is not None


def _one_split(name: str, train: np.ndarray, selector: ColumnSubset, groups: Any, seed: int) -> Calibration:
    """Return the calibration from a fifth of the samples, held out once; whole groups where there are groups."""
    rng = np.random.default_rng(seed)
    unit = np.arange(len(train)) if groups is None else np.unique(groups, return_inverse=True)[1]
    held = np.isin(unit, rng.permutation(unit.max() + 1)[: (unit.max() + 1) // 5])
    model = ColumnSubset(TABLES[name][1]).fit(train[~held])
    kept = model.support_
    rebuilt = model.reconstruct(train[held][:, kept])
    left = HeldOutResiduals.of(train[~held][:, kept], train[held], rebuilt, kept)
    return Calibration.of(train[:, selector.support_], [left], len(train))


def run(names: list[str]) -> None:
    """Compute what the store lacks."""
    store = Store("intervals")
    for name in names:
        if available(name):
            for seed in range(SPLITS):
                store.part(f"{name}; {seed}", lambda what=(name, seed): measure(*what))


def means(name: str) -> dict[str, float] | None:
    """Return the means over the splits of a table, None where some are missing."""
    parts = Store("intervals").content["parts"]
    found = [parts.get(f"{name}; {seed}") for seed in range(SPLITS)]
    if None in found:
        return None
    figures = {key: float(np.mean([part[key] for part in found])) for key in found[0] if key != "one split"}
    figures["spread"] = float(np.std([part["coverage"] for part in found], ddof=1))
    for key in ("coverage", "width"):
        once = [part.get("one split", {}).get(key, np.nan) for part in found]
        figures[f"one split, {key}"] = float(np.mean(once))
    fit, calibrate = np.median([part["seconds"] for part in found], axis=0)
    return {**figures, "fit": float(fit), "calibrate": float(calibrate)}


def table() -> str:
    """Return coverage and width of every table, as Markdown."""
    head = "coverage | width | marginal coverage | normal | without leverage | one split | fit, calibrate (s)"
    lines = [f"| table, samples to fit on x features, selected | {head} |", "|---|" + "---:|" * 7]
    for name, (title, k) in TABLES.items():
        found = means(name)
        if found is None:
            lines.append(f"| {title}, {k} | not measured yet |" + " |" * 6)
            continue
        size = f"{found['train']:.0f} x {found['features']:.0f} discarded, {k}"
        once = f"{_percent(found['one split, coverage'])}, {_percent(found['one split, width'])}"
        cells = [
            f"{_percent(found['coverage'])} ± {100 * found['spread']:.1f}",
            _percent(found["width"]),
            _percent(found["marginal coverage"]),
            _percent(found["normal coverage"]),
            _percent(found["unscaled coverage"]),
            "-" if np.isnan(found["one split, width"]) else once,
            f"{found['fit']:.2g}, {found['calibrate']:.2g}",
        ]
        lines.append(f"| {title}, {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def short() -> list[str]:
    """Return the tables that miss a goal, with the figure."""
    found = {title: means(name) for name, (title, _) in TABLES.items()}
    return [
        f"{title} ({goal} {_percent(figures[goal])})"
        for title, figures in found.items()
        for goal, (low, high) in GOALS.items()
        if figures is not None and not low <= figures[goal] <= high
    ]


def warned() -> str:
    """Return how often held-out samples, which are like the others, are warned of."""
    found = {title: means(name) for name, (title, _) in TABLES.items()}
    told = [f"{title} in {SPLITS * one['warned']:.0f}" for title, one in found.items() if one and one["warned"]]
    return (
        f"in none of the {SPLITS} splits of any table"
        if not told
        else f"in some splits ({', '.join(told)} of {SPLITS})"
    )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}%"


def page() -> str:
    """Return docs/intervals.md."""
    missed = short()
    verdict = f"Outside these: {', '.join(missed)}." if missed else "All tables are inside these."
    return f"""# Intervals of reconstructed values

How often do intervals of {LEVEL:.0%} hold the values of samples that neither selection nor map have seen, and how wide
are they? `ColumnSubset` with its defaults selects on the training samples of {SPLITS} splits, `calibrate` learns from
five folds of these, and `reconstruct_interval` is measured on the test samples ([how it is used](user_guide/live.md)).
All features that are discarded and not constant count; features are scaled to [0, 1] by the training samples.
`make bench-intervals` makes this page from `benchmarks/results/intervals.json`.

Coverage alone says little: the range that holds {LEVEL:.0%} of the training samples (5 % to 95 % quantile), whatever
the selected features are, covers too. So the width stands beside it, the mean over samples and features in percent of
the mean width of that marginal interval. Means over the splits, ± standard deviation between them.

{table()}

- The goal was a coverage of 87 to 93 % at no more than 70 % of the marginal width. {verdict}
- *normal*: coverage with 1.645 standard deviations to either side instead of the quantile of each feature's own
  residuals. Residuals have heavier tails than normal ones, and most of them are smaller.
- *without leverage*: coverage if all samples had the same standard deviations. The mean over samples hardly changes,
  except where samples are few; what leverage is for are single samples far from the others.
- *one split*: coverage and width from a single fifth of the samples, held out once, as the command line does where
  there are {ENOUGH} rows or more: its report holds them out anyway.
- A warning of samples that are unlike those fitted on is false here: test samples are drawn as the others were, but for
  the mice, which are others. It came {warned()}.
"""


if __name__ == "__main__":
    run(sys.argv[1:] or list(TABLES))
    PAGE.write_text(page())
    print(table())

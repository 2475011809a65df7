"""Quality of the seven classical methods on eight tables, beside random columns, ColumnSubset, the mean and the floor.

The splits, scaling and k of ``core_quality``, whose cells serve as reference and are computed here only where they are
missing. Every cell is one (table, split, method); finished cells are not computed again.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import core_quality
from _data import COLUMNS, available, random_split
from _store import Store
from stableselect import BaseSelector, all_selectors
from stableselect.metrics import downstream_accuracy, reconstruction_error

SPLITS = core_quality.SPLITS
MEASURES = ("least_squares", "ridge", "accuracy")
REFERENCES = ("mean", "random", "ColumnSubset default", "floor")

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "LaplacianScore": ("LaplacianScore", {}),
    "SPEC phi1": ("SPEC", {"criterion": "phi1"}),
    "SPEC phi2": ("SPEC", {"criterion": "phi2"}),
    "MCFS": ("MCFS", {}),
    "UDFS": ("UDFS", {}),
    "NDFS": ("NDFS", {}),
    "PFA": ("PFA", {}),
    "InfFS": ("InfFS", {}),
}
"""Class and settings by the name the tables use."""


def build(method: str, k: int, **settings: Any) -> BaseSelector:
    """Return the selector of a method, with those of the settings that it has."""
    name, own = METHODS[method]
    selector = all_selectors()[name](k, **own)
    known = selector.get_params()
    return selector.set_params(**{key: value for key, value in settings.items() if key in known})


def cell(name: str, split: int, method: str) -> dict[str, float]:
    """Fit one method on one split and measure it."""
    X_train, y_train, X_test, y_test = random_split(name, split)
    start = time.perf_counter()
    selected = build(method, COLUMNS[name], random_state=split).fit(X_train).selected_
    seconds = time.perf_counter() - start
    return {
        "least_squares": reconstruction_error(X_train, X_test, selected),
        "ridge": reconstruction_error(X_train, X_test, selected, refit="ridge"),
        "accuracy": downstream_accuracy(X_train, y_train, X_test, y_test, selected),
        "seconds": seconds,
    }


def run(methods: tuple[str, ...] = tuple(METHODS)) -> None:
    """Compute every missing cell."""
    store, core = Store("graph_quality"), Store("core_quality")
    for name in COLUMNS:
        for split in range(SPLITS):
            for method in REFERENCES:
                core.part(f"{name} | {method} | {split}", lambda n=name, s=split, m=method: core_quality.cell(n, s, m))
            for method in methods:
                store.part(f"{name} | {method} | {split}", lambda n=name, s=split, m=method: cell(n, s, m))
        print(f"graph quality: {name} done", flush=True)


def mean(name: str, method: str, measure: str) -> float | None:
    """Return a measure averaged over the splits, or None where it was not taken."""
    parts = Store("core_quality" if method in REFERENCES else "graph_quality").content["parts"]
    if method in ("mean", "floor") and measure == "ridge":  # no refit in either
        measure = "least_squares"
    values = [parts.get(f"{name} | {method} | {split}", {}).get(measure) for split in range(SPLITS)]
    return None if None in values else float(np.mean(values))


def text(value: float | None, measure: str) -> str:
    """Format a value of a measure."""
    if value is None:
        return "-"
    if measure == "accuracy":
        return f"{100 * value:.1f}"
    return f"{value:.1f}" if measure == "seconds" else f"{value:.4f}" if value < 1 else f"{value:.3g}"


def table(measure: str) -> str:
    """Return a Markdown table of one measure, mean over the splits."""
    methods = [*REFERENCES[:2], *METHODS, *REFERENCES[2:]]
    lines = ["| table, k | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for name, k in COLUMNS.items():
        cells = [text(mean(name, method, measure), measure) for method in methods]
        lines.append(f"| {name}, {k} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def losses(measure: str) -> str:
    """Say for every method on which tables it is worse than random columns, and where by far.

    By far: by more than two standard deviations of a random draw.
    """
    sign = -1 if measure == "accuracy" else 1
    lines = []
    for method in METHODS:
        worse, measured = [], 0
        for name in COLUMNS:
            value, random = mean(name, method, measure), mean(name, "random", measure)
            if value is None or random is None:
                continue
            measured += 1
            spread = mean(name, "random", f"{measure}_std") or 0.0
            if sign * (value - random) > 0:
                far = ", by far" if sign * (value - random) > 2 * spread else ""
                worse.append(f"{name} ({text(value, measure)} against {text(random, measure)}{far})")
        if not measured:
            continue
        where = f": {'; '.join(worse)}" if worse else ""
        lines.append(f"- {method} loses to random on {len(worse)} of {measured} tables{where}.")
    return "\n".join(lines)


def summary() -> str:
    """Return the README's lines: the classical methods' errors, and how often each loses to random columns."""
    lines = ["The classical methods, same measure (ridge refit):", "", table("ridge"), ""]
    counts = []
    for line in losses("ridge").splitlines():
        method, _, rest = line.removeprefix("- ").partition(" loses to random on ")
        counts.append(f"{method} {rest.split(' tables')[0]}")
    return "\n".join([*lines, f"Tables on which each loses to random columns: {', '.join(counts)}."])


def report() -> None:
    """Print every table, and below each where a method loses to random columns."""
    for measure in MEASURES:
        print(f"\n{measure}\n\n{table(measure)}\n\n{losses(measure)}")
    print(f"\nseconds to select\n\n{table('seconds')}")


if __name__ == "__main__":
    if available():
        run()
        report()

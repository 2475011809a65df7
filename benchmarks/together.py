"""What held-out errors say of samples to come where samples are like their neighbours: a table in the user guide.

`make bench-together` measures it and writes it into docs/user_guide/preparing.md. Every case has samples to select on,
and others that come later: other mice, or the rest of a series. Errors stated from the first are compared with that of
the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold
from sklearn.preprocessing import StandardScaler

from _data import available
from _store import Store
from stableselect import ColumnSubset, datasets
from stableselect.inspection import BlockKFold, held_out_report
from stableselect.metrics import mean_predictor_error, reconstruction_error

PAGE = Path(__file__).parents[1] / "docs" / "user_guide" / "preparing.md"
MARKS = "<!-- held out -->", "<!-- end of held out -->"
Case = tuple[np.ndarray, np.ndarray, Any, np.ndarray | None]


def mice() -> Iterator[Case]:
    """Return Mice Protein, complete, cut ten times between mice: 70 % to select on."""
    table = datasets.load("mice_protein")
    X = table.raw[:, np.isnan(table.raw).mean(axis=0) < 0.05]
    whole = ~np.isnan(X).any(axis=1)
    X, mouse = X[whole], np.asarray(table.groups)[whole]
    for now, later in GroupShuffleSplit(10, test_size=0.3, random_state=0).split(X, groups=mouse):
        yield X[now], X[later], GroupKFold(5), mouse[now]


def series(phi: float) -> Iterator[Case]:
    """Return twenty series of 1,500 samples of 40 sensors, which see twelve sources; the first 1,000 to select on.

    Sources and the noise of every sensor remember a fraction phi of the sample before.
    """
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sources, noise = rng.normal(size=(1500, 12)), rng.normal(size=(1500, 40))
        for t in range(1, 1500):
            sources[t] += phi * sources[t - 1]
            noise[t] += phi * noise[t - 1]
        X = sources @ rng.normal(size=(12, 40)) + noise
        yield X[:1000], X[1000:], BlockKFold(5), None


CASES = {
    "Mice Protein, by mouse": mice,
    "a series, correlation 0.98": lambda: series(0.98),
    "a series, correlation 0": lambda: series(0.0),
}
K = 8


def measured(cases: Iterator[Case]) -> dict[str, list[float]]:
    """Return errors in fractions of the mean predictor's: by random folds, by folds of what belongs together, later."""
    found: dict[str, list[float]] = {"random": [], "together": [], "later": []}
    for now, later, cv, groups in cases:
        for name, splitter, own in (("random", KFold(5, shuffle=True, random_state=0), None), ("together", cv, groups)):
            inner = None if name == "random" else cv
            report = held_out_report(ColumnSubset(K, cv=inner), now, scaler=StandardScaler(), cv=splitter, groups=own)
            found[name].append(report.selection / report.mean_predictor)
        scaler = StandardScaler().fit(now)
        before, after = scaler.transform(now), scaler.transform(later)
        chosen = ColumnSubset(K, cv=cv).fit(before, groups=groups).selected_
        error = reconstruction_error(before, after, chosen, refit="ridge")
        found["later"].append(error / mean_predictor_error(before, after))
    return found


def table() -> str:
    """Return the errors, as Markdown."""
    stored = Store("together").content["parts"]
    lines = ["| samples | random folds | whole groups, or blocks of time | samples to come |", "|---|---:|---:|---:|"]
    for name in CASES:
        figures = [f"{100 * np.mean(stored[name][key]):.1f} %" for key in ("random", "together", "later")]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    return "\n".join(lines)


def page() -> str:
    """Return the page of the user guide with the table in its place."""
    text = PAGE.read_text()
    start, end = (text.index(mark) for mark in MARKS)
    return f"{text[:start]}{MARKS[0]}\n\n{table()}\n\n{text[end:]}"


if __name__ == "__main__":
    if available("mice_protein"):
        store = Store("together")
        for name, make in CASES.items():
            store.part(name, lambda make=make: measured(make()))
        PAGE.write_text(page())
        print(table())

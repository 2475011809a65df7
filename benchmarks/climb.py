"""Whether climbing the ridge weights only so far misses the best of them: a table in the README beside.

`make bench-climb` measures it. On tables of many kinds, the held-out error of every weight is computed; then it is told
which weight the climb ends up with, and after how many, with the limit for large weights and with one limit for all.
The limits were set on other tables. A run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from _store import Store
from shortcuts import drawn, low_rank, own_noise, patches
from stableselect._core import fold_moments, hold_out_each, merged
from stableselect.subset import _ridge

PAGE = Path(__file__).parent / "README.md"
MARKS = "<!-- climb -->", "<!-- end of climb -->"
SEEDS = 200
RULES = {"one limit": {"_GIVE_UP_SHRUNK": _ridge._GIVE_UP}, "two limits": {}}
"""What is changed in the module of the climb."""

Make = Callable[[np.random.Generator], np.ndarray]


def walks(rng: np.random.Generator) -> np.ndarray:
    """Return random walks along the features."""
    return np.cumsum(rng.normal(size=(400, 120)), axis=1)


def counts(rng: np.random.Generator) -> np.ndarray:
    """Return counts whose rates follow a few factors."""
    return rng.poisson(np.exp(rng.normal(size=(600, 8)) @ rng.normal(size=(8, 150)) / 3)).astype(float)


def heavy_tails(rng: np.random.Generator) -> np.ndarray:
    """Return factors and noise of Student's t distribution with two degrees of freedom: no variance is finite."""
    return rng.standard_t(2, size=(500, 10)) @ rng.normal(size=(10, 100)) + 0.3 * rng.standard_t(2, size=(500, 100))


def noise(rng: np.random.Generator) -> np.ndarray:
    """Return features that have nothing to do with each other, in different units."""
    return rng.normal(size=(300, 80)) * 10 ** rng.uniform(-1, 1, size=80)


KINDS: dict[str, Make] = {
    "digits": drawn(load_digits),
    "breast cancer": drawn(load_breast_cancer),
    "wine": drawn(load_wine),
    "photograph (china), patches of 10 pixels": patches("china.jpg", 1_500, 10),
    "photograph (flower), patches of 7 pixels": patches("flower.jpg", 400, 7),
    "low rank, little noise": low_rank(1_000, 200, 20, 0.2),
    "low rank, much noise": low_rank(1_000, 200, 40, 1.0),
    "own noise": own_noise(500, 250, 15),
    "random walks": walks,
    "counts": counts,
    "noise only": noise,
    "heavy tails": heavy_tails,
}


def errors_of_weights(X: np.ndarray, k: int) -> list[tuple[float, float]]:
    """Return the held-out error of every ridge weight, and the scale of errors."""
    folds = fold_moments(X, None, 5)
    held_out = hold_out_each(folds, merged(folds))
    return [
        (float(sum(own)), scale) for own, scale in _ridge.errors_by_ridge(held_out, lambda: k, _ridge.Trial([], []))
    ]


def measured(make: Make) -> list[dict[str, Any]]:
    """Tell for every table of a kind how far each rule climbs, and what error it ends up with over the least."""
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        table = make(rng)
        table = table[: int(rng.integers(60, len(table) + 1))]
        table = table[:, table.std(axis=0) > 0]
        k = int(rng.integers(2, table.shape[1] // 2))
        errors = errors_of_weights(table, k)
        found.append({name: climbed(errors, **limits) for name, limits in RULES.items()})
    return found


def climbed(errors: list[tuple[float, float]], **limits: float) -> tuple[int, float]:
    """Return how many weights are tried with other limits, and the error of the one chosen over the least of all."""
    before, tried = {name: getattr(_ridge, name) for name in limits}, []

    def each() -> Iterator[tuple[float, float]]:
        for own in errors:
            tried.append(own)
            yield own

    try:
        for name, limit in limits.items():
            setattr(_ridge, name, limit)
        ridge = _ridge.least_ridge(each())
    finally:
        for name, limit in before.items():
            setattr(_ridge, name, limit)
    return len(tried), errors[_ridge.RIDGE_GRID.index(ridge)][0] / min(error for error, _ in errors)


def table() -> str:
    """Return how far every rule climbs and what it misses, as Markdown."""
    stored = Store("climb").content["parts"]
    kinds = {name: stored[name] for name in KINDS if name in stored}
    lines = [
        "| tables of 200 each | weights tried: one limit | two limits | best missed: one limit | two limits "
        "| rise of the error, most: one limit | two limits |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in {**kinds, "all": [own for each in kinds.values() for own in each]}.items():
        cells = []
        for get in (_mean_tried, _missed, _most):
            cells += [get([own[rule] for own in found]) for rule in ("one limit", "two limits")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean_tried(found: list[Any]) -> str:
    return f"{np.mean([tried for tried, _ in found]):.2f}"


def _missed(found: list[Any]) -> str:
    return str(sum(rise > 1 + 1e-9 for _, rise in found))


def _most(found: list[Any]) -> str:
    return f"{100 * (max(rise for _, rise in found) - 1):.1f} %"


def page() -> str:
    """Return the README of the benchmarks with the table in its place."""
    text = PAGE.read_text()
    start, end = (text.index(mark) for mark in MARKS)
    return f"{text[:start]}{MARKS[0]}\n\n{table()}\n\n{text[end:]}"


if __name__ == "__main__":
    store = Store("climb")
    for kind, maker in KINDS.items():
        store.part(kind, lambda maker=maker: measured(maker))
    PAGE.write_text(page())
    print(table())

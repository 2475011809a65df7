"""Whether the search with few samples loses anything by what it does not try: a table in the README beside.

`make bench-shortcuts` measures it. Two shortcuts decide when other ridge weights, or the search on the leave-one-out
error itself, are not tried; a third, where the number of features is to be chosen, which ridge weights are tried on
folds after the first. Every table here is selected from with them and without, and other samples of it tell which is
better. No number in the package was set on these tables; the limit of the second was set on others of the same kinds.
A run that was stopped goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_image

from _store import Store
from stableselect import ColumnSubset
from stableselect.subset import _default, _ridge

PAGE = Path(__file__).parent / "README.md"
MARKS = "<!-- shortcuts -->", "<!-- end of shortcuts -->"
SHORTCUTS = {(_default, "_HOPELESS"), (_default, "_HOPELESS_AT_LAST"), (_ridge, "_MANY_VALUES")}
"""The numbers that decide what is not tried; all is tried where they are infinite."""
HARM = 0.01
"""A rise of the held-out error by more than this fraction is harm."""


class Case(NamedTuple):
    """A kind of tables: how one is made from a seed, its samples to select on, features to select, and seeds."""

    make: Callable[[np.random.Generator], np.ndarray]
    n: int
    k: int | str
    seeds: int


def low_rank(n: int, m: int, rank: int, noise: float) -> Callable[[np.random.Generator], np.ndarray]:
    """Return what makes tables of some factors, the later the weaker, and noise in every feature."""

    def make(rng: np.random.Generator) -> np.ndarray:
        strength = 1 / np.sqrt(np.arange(1, rank + 1))
        factors = rng.normal(size=(n, rank)) * strength
        return factors @ rng.normal(size=(rank, m)) + noise * rng.normal(size=(n, m))

    return make


def own_noise(n: int, m: int, rank: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Return what makes tables whose factors touch a fifth of the features each, with noise of another size in each."""

    def make(rng: np.random.Generator) -> np.ndarray:
        loadings = rng.normal(size=(rank, m)) * (rng.uniform(size=(rank, m)) < 0.2)
        return rng.normal(size=(n, rank)) @ loadings + rng.uniform(0.1, 3.0, size=m) * rng.normal(size=(n, m))

    return make


def patches(name: str, n: int, size: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Return what draws square patches of a photograph that comes with scikit-learn, a value a pixel and colour."""

    def make(rng: np.random.Generator) -> np.ndarray:
        image = load_sample_image(name) / 255.0
        rows, columns = (rng.integers(side - size + 1, size=n) for side in image.shape[:2])
        return np.array([image[i : i + size, j : j + size].ravel() for i, j in zip(rows, columns, strict=True)])

    return make


def drawn(load: Callable[..., Any]) -> Callable[[np.random.Generator], np.ndarray]:
    """Return what shuffles the samples of a table of scikit-learn, in units of their spread."""

    def make(rng: np.random.Generator) -> np.ndarray:
        X = np.asarray(load(return_X_y=True)[0], dtype=np.float64)
        X = X[:, X.std(axis=0) > 0]
        return rng.permutation(X / X.std(axis=0))

    return make


CASES = {
    "digits": Case(drawn(load_digits), 15, 6, 10),
    "breast cancer": Case(drawn(load_breast_cancer), 7, 4, 10),
    "photograph (china), patches of 16 pixels": Case(patches("china.jpg", 300, 16), 60, 12, 10),
    "photograph (flower), patches of 24 pixels": Case(patches("flower.jpg", 400, 24), 120, 24, 10),
    "low rank, little noise": Case(low_rank(300, 800, 12, 0.2), 50, 10, 10),
    "low rank, much noise": Case(low_rank(400, 3_000, 20, 1.0), 100, 20, 10),
    "own noise": Case(own_noise(300, 1_500, 10), 60, 15, 10),
    "own noise, more factors": Case(own_noise(400, 4_000, 40), 150, 24, 10),
    "large: low rank": Case(low_rank(500, 12_000, 30, 0.7), 340, 32, 3),
    "large: own noise": Case(own_noise(400, 20_000, 30), 210, 40, 3),
    "large: photograph (china), patches of 60 pixels": Case(patches("china.jpg", 500, 60), 380, 32, 3),
    "large: own noise, more selected than factors": Case(own_noise(460, 12_000, 50), 350, 130, 3),
    "large: low rank, more selected than factors": Case(low_rank(460, 12_000, 50, 0.5), 350, 130, 3),
    "number of features, low rank": Case(low_rank(400, 8_000, 30, 0.7), 300, "auto", 3),
    "number of features, own noise": Case(own_noise(400, 8_000, 30), 300, "auto", 3),
    "number of features, photograph (flower)": Case(patches("flower.jpg", 220, 60), 120, "auto", 3),
}


def chosen(X: np.ndarray, other: np.ndarray, k: int | str, *, shortcuts: bool) -> dict[str, Any]:
    """Select with or without the shortcuts; return what was found, how long it took and the error on other samples."""
    limits, search, cut = {(module, name): getattr(module, name) for module, name in SHORTCUTS}, [], []
    own, raced = _default.forward_leave_one_out, _ridge.ends_of_race

    def counted(*given: Any, **named: Any) -> Any:
        state = own(*given, **named)
        search.append(len(state.chosen))
        return state

    def race(*given: Any) -> list[int]:
        ends = raced(*given)
        cut.extend(end for end in ends if end < max(ends))
        return ends

    try:
        _default.forward_leave_one_out, _ridge.ends_of_race = counted, race
        for module, name in limits if not shortcuts else ():
            setattr(module, name, float("inf"))
        begin = time.process_time()
        selector = ColumnSubset(k, min_explained_variance=0.5, max_features=80).fit(X)
        seconds = time.process_time() - begin
    finally:
        _default.forward_leave_one_out, _ridge.ends_of_race = own, raced
        for (module, name), limit in limits.items():
            setattr(module, name, limit)
    error = np.mean((other - selector.reconstruct(selector.transform(other))) ** 2)
    return {
        "selected": np.sort(selector.selected_).tolist(),
        "ridge": float(selector.ridge_),
        "criterion": selector.search_criterion_,
        "searches": len(search),
        "cut short": len(cut),
        "error": float(error / np.mean((other - X.mean(axis=0)) ** 2)),
        "seconds": seconds,
    }


def measured(case: Case, seed: int) -> dict[str, Any]:
    """Select from one table with and without the shortcuts."""
    table = case.make(np.random.default_rng(seed))
    X, other = table[: case.n], table[case.n :]
    found = {name: chosen(X, other, case.k, shortcuts=name == "with") for name in ("with", "without")}
    return {"shape": list(X.shape), "k": case.k, **found}


def rows() -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the tables of every kind that are stored."""
    stored = Store("shortcuts").content["parts"]
    found = [
        (name, [stored[f"{name}; {seed}"] for seed in range(case.seeds) if f"{name}; {seed}" in stored])
        for name, case in CASES.items()
    ]
    return [(name, parts) for name, parts in found if parts]


def rise(part: dict[str, Any]) -> float:
    """Return by how much the shortcuts raise the held-out error, as a fraction of it."""
    return part["with"]["error"] / part["without"]["error"] - 1


def differs(part: dict[str, Any], what: str) -> bool:
    """Tell whether the shortcuts change what is found."""
    return part["with"].get(what) != part["without"].get(what)


def table() -> str:
    """Return what the shortcuts change, as Markdown."""
    lines = [
        "| samples x features, k | tables | shortcut taken | other ridge | other columns "
        "| rise of the error, mean (most) | seconds with, without |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    every = [part for _, parts in rows() for part in parts]
    for name, parts in [*rows(), ("all", every)]:
        (n, m), k = parts[0]["shape"], parts[0]["k"]
        taken, ridge, columns = (
            sum(any(differs(part, each) for each in what) for part in parts)
            for what in (("searches", "cut short"), ("ridge",), ("selected",))
        )
        rises = [100 * rise(part) for part in parts]
        seconds = [sum(part[how]["seconds"] for part in parts) for how in ("with", "without")]
        title = name if parts is every else f"{name}, {n:,} x {m:,}, {k}"
        lines.append(
            f"| {title} | {len(parts)} | {taken} | {ridge} | {columns} | {np.mean(rises):+.2f} % ({max(rises):+.2f} %) "
            f"| {seconds[0]:.1f}, {seconds[1]:.1f} |"
        )
    harmed = sum(rise(part) > HARM for part in every)
    lines += ["", f"Of {len(every)} tables the shortcuts raise the held-out error of {harmed} by more than {HARM:.0%}."]
    return "\n".join(lines)


def page() -> str:
    """Return the README of the benchmarks with the table in its place."""
    text = PAGE.read_text()
    start, end = (text.index(mark) for mark in MARKS)
    return f"{text[:start]}{MARKS[0]}\n\n{table()}\n\n{text[end:]}"


if __name__ == "__main__":
    store = Store("shortcuts")
    for name, case in CASES.items():
        for seed in range(case.seeds):
            store.part(f"{name}; {seed}", lambda case=case, seed=seed: measured(case, seed))
    PAGE.write_text(page())
    print(table())

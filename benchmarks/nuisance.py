"""`make bench-nuisance`: who finds the two features of moons or rings among features of noise, and at what cost.

Settings of GatedLaplacian were tried on seeds 100 to 109; what is reported has seeds 0 to 9.
"""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_circles, make_moons
from sklearn.preprocessing import StandardScaler

import stableselect as ss
from _store import Store
from stableselect.metrics import clustering_quality

PAGE = Path(__file__).parents[1] / "docs" / "nuisance.md"
SAMPLES, SEEDS = 200, range(10)
SHAPES = {
    "moons": lambda seed: make_moons(SAMPLES, noise=0.05, random_state=seed)[0],
    "rings": lambda seed: make_circles(SAMPLES, noise=0.05, factor=0.4, random_state=seed)[0],
}
KINDS, COUNTS = ("uniform", "permuted"), (5, 20)
METHODS = {
    "`GatedLaplacian`": lambda k, seed: ss.GatedLaplacian(k, random_state=seed),
    "the same, gates alone (`max_pairs=0`)": lambda k, seed: ss.GatedLaplacian(k, max_pairs=0, random_state=seed),
    "the same, gates drawn (`noise=0.3`)": lambda k, seed: ss.GatedLaplacian(
        k, max_pairs=0, noise=0.3, random_state=seed
    ),
    "`ColumnSubset`": lambda k, seed: ss.ColumnSubset(k),
    "`LaplacianScore`": lambda k, seed: ss.LaplacianScore(k),
    "`MCFS`": lambda k, seed: ss.MCFS(k),
    "`UDFS`": lambda k, seed: ss.UDFS(k),
    "`NDFS`": lambda k, seed: ss.NDFS(k, random_state=seed),
    "`InfFS`": lambda k, seed: ss.InfFS(k),
    "random features": lambda k, seed: ss.RandomSelector(k, random_state=seed),
}
TABLES = {"Wine": (load_wine, 4), "Breast cancer": (load_breast_cancer, 6), "Digits": (load_digits, 16)}
"""Tables of scikit-learn, and how many features to select."""
ADDED = 20
"""Features of uniform noise added to them."""
COMPARED = ("`GatedLaplacian`", "`ColumnSubset`", "`LaplacianScore`", "`MCFS`", "random features")
DRAWS = 20
"""Seeds of random features on these tables."""


def made_up(shape: str, kind: str, count: int, seed: int) -> np.ndarray:
    """Return the two features of a shape, then nuisance features, all of mean 0 and variance 1.

    "uniform": of uniform noise; "permuted": copies of the two, in turn, with the samples in random order.
    """
    rng, true = np.random.default_rng(seed), SHAPES[shape](seed)
    uniform = kind == "uniform"
    noise = rng.random((SAMPLES, count)) if uniform else [rng.permutation(true[:, j % 2]) for j in range(count)]
    return StandardScaler().fit_transform(np.column_stack([true, noise] if uniform else [true, *noise]))


def found(method: str, shape: str, kind: str, count: int) -> dict[str, Any]:
    """Return what a method selects in the tables of all seeds, and its seconds of processor time."""
    selected, seconds = [], []
    for seed in SEEDS:
        X, selector = made_up(shape, kind, count, seed), METHODS[method](2, seed)
        start = time.process_time()
        selector.fit(X)
        seconds.append(time.process_time() - start)
        selected.append(sorted(selector.selected_.tolist()))
    return {"selected": selected, "seconds": seconds}


def real(method: str, name: str, added: int) -> dict[str, Any]:
    """Return how k-means on the selected features agrees with the classes, and how many are noise."""
    load, k = TABLES[name]
    X, y = load(return_X_y=True)
    m = X.shape[1]
    X = StandardScaler().fit_transform(np.hstack([X, np.random.default_rng(0).random((len(X), added))]))
    shares, noise, seconds = [], [], []
    for seed in range(DRAWS if method == "random features" else 1):
        selector = METHODS[method](k, seed)
        start = time.process_time()
        selector.fit(X)
        seconds.append(time.process_time() - start)
        shares.append(clustering_quality(X, y, selector.selected_).nmi)
        noise.append(int(np.sum(selector.selected_ >= m)))
    return {"nmi": float(np.mean(shares)), "noise": float(np.mean(noise)), "seconds": float(np.median(seconds))}


def run() -> None:
    """Compute what the store lacks."""
    store = Store("nuisance")
    for shape, kind, count, method in product(SHAPES, KINDS, COUNTS, METHODS):
        key = "; ".join([shape, kind, str(count), method])
        store.part(key, lambda what=(method, shape, kind, count): found(*what))
    for name, added, method in product(TABLES, (0, ADDED), COMPARED):
        store.part("; ".join([name, str(added), method]), lambda what=(method, name, added): real(*what))


def hits(selected: list[list[int]]) -> int:
    """Return in how many tables both features were found."""
    return sum(chosen == [0, 1] for chosen in selected)


def table() -> str:
    """Return how often both features were found, as Markdown."""
    parts = Store("nuisance").content["parts"]
    columns = [(shape, kind, count) for shape, count, kind in product(SHAPES, COUNTS, KINDS)]
    lines = [
        "| selector | " + " | ".join(f"{shape}, {count} {kind}" for shape, kind, count in columns) + " | seconds |",
        "|---|" + "---:|" * (len(columns) + 1),
    ]
    for method in METHODS:
        rows = {column: parts.get("; ".join([*map(str, column), method])) for column in columns}
        if None in rows.values():
            return "not measured yet"
        seconds = [row["seconds"] for column, row in rows.items() if column[2] == max(COUNTS)]
        cells = [str(hits(row["selected"])) for row in rows.values()]
        lines.append(f"| {method} | " + " | ".join(cells) + f" | {np.median(seconds):.2g} |")
    return "\n".join(lines)


def real_table() -> str:
    """Return the agreement of clusters with classes, the noise selected and the seconds, as Markdown."""
    parts = Store("nuisance").content["parts"]
    head = [f"{name}, {load().data.shape[0]} x {load().data.shape[1]}, {k}" for name, (load, k) in TABLES.items()]
    lines = ["| selector | " + " | ".join(head) + " |", "|---|" + "---|" * len(TABLES)]
    for method in COMPARED:
        cells = []
        for name in TABLES:
            rows = [parts.get("; ".join([name, str(added), method])) for added in (0, ADDED)]
            if None in rows:
                return "not measured yet"
            alone, among = rows
            cells.append(
                f"{alone['nmi']:.2f} ({alone['seconds']:.2g} s); {among['nmi']:.2f}, {among['noise']:.3g} of noise"
            )
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page() -> str:
    """Return docs/nuisance.md."""
    return f"""# Nuisance features

Where features explain little of each other, one of independent noise with unit variance looks as worth keeping as any
to a method that reconstructs: nothing else reconstructs it. A graph of neighbours in all features blurs as noise is
added. `GatedLaplacian` gives every feature a gate and builds the graph anew from the gated features while the gates
close. `make bench-nuisance` makes this page from `benchmarks/results/nuisance.json`.

## Two features among many

The two features of two moons (`make_moons`, noise 0.05) or of two rings (`make_circles`, noise 0.05, factor 0.4) in
{SAMPLES} samples, and {COUNTS[0]} or {COUNTS[1]} nuisance features: uniform noise, or copies of the two with the
samples permuted. All are scaled to unit variance, and two are to be selected. The table tells in how many of
{len(SEEDS)} tables (seeds 0 to 9) both were found. The objective and the settings of `GatedLaplacian` were chosen on
seeds 100 to 109; all other selectors have their defaults. Seconds are of processor time, with one thread, for a table
with {max(COUNTS)} nuisance features (median).

{table()}

All pairs of so few features can be tried, which `GatedLaplacian` does beside closing the gates. The gates alone find
the moons, whose features are correlated. Those of the rings are not: among many nuisance features nothing of them
shows in the graph of all features, from which the gates start. A table with more than 2,500 pairs (`max_pairs`) is left
to the gates.

## Tables as they come

Three tables of scikit-learn, scaled to unit variance: name, samples x features, features selected. Every cell holds the
agreement of k-means clusters with the classes (normalised mutual information, mean of 20 runs) and the seconds; then,
after a semicolon, the agreement once {ADDED} features of uniform noise are added, and how many of these are selected.
Random features: means of {DRAWS} draws.

{real_table()}

Where features have much in common and the noise nothing, no selector here is led astray by it, and others serve as well
or better: features that repeat each other are smooth on each other's graph, and `GatedLaplacian` takes them together.
"""


if __name__ == "__main__":
    run()
    PAGE.write_text(page())
    print(table(), real_table(), sep="\n\n")

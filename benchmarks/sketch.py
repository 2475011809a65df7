"""Training loss of features found on a sketch, relative to an exact search: ``python benchmarks/sketch.py``.

Fifty features of the three longest tables of the paper, scaled to [0, 1], by forward search and exchange without ridge;
three draws of the signs. Losses are those on all samples. Prints the table of ``docs/user_guide/large_tables.md``.
"""

from __future__ import annotations

import numpy as np

from stableselect import ColumnSubset, Moments, SketchedMoments, datasets

TABLES = {"mnist_fashion": "Fashion-MNIST", "isolet": "ISOLET", "usps": "USPS"}
SIZES = (100, 200, 400, 800, 1600)
K = 50


def main() -> None:
    """Print one row for every table."""
    for name, title in TABLES.items():
        X = np.asarray(datasets.load(name).X, dtype=np.float64)
        moments = Moments.from_array(X).scale("minmax")
        gram = moments.operator()

        def loss(chosen: np.ndarray, gram=gram) -> float:
            return gram.split(chosen.tolist(), 0.0)[2].trace()

        exact = loss(ColumnSubset(K, ridge=0).fit_moments(moments).selected_)
        ratios = []
        for size in SIZES:
            draws = [SketchedMoments(size, seed=seed).update(X).scale("minmax") for seed in range(3)]
            found = [ColumnSubset(K, ridge=0).fit_moments(draw).selected_ for draw in draws]
            ratios.append(np.mean([loss(chosen) for chosen in found]) / exact)
        ratios.append(loss(ColumnSubset(K, ridge=0, exchange=False).fit_moments(moments).selected_) / exact)
        cells = " | ".join(f"{ratio:.3f}" for ratio in ratios)
        print(f"| {title}, {X.shape[0]:,} x {X.shape[1]} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

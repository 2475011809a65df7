"""What one sample of the benchmark tables does to a selection: prints the two tables of `docs/generalization.md`.

`python benchmarks/generalization.py mice_protein usps` measures some tables only. All of them take about three minutes
of one core.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from _data import available
from stableselect import RandomSelector, ScorerSelector
from stableselect.base import BaseSelector
from stableselect.datasets import load
from stableselect.inspection import PowerLawFit, generalization_gap, uniform_stability

TABLES = {"mice_protein": 10, "coil20": 50, "isolet": 50, "usps": 50, "mnist_fashion": 50}
"""How many features are selected."""
SIZES = {"mice_protein": [100, 200, 400, 800], "usps": [500, 1000, 2000, 4000]}
"""Numbers of samples over which beta is followed."""
LEFT_OUT = 20
SELECTORS: dict[str, type[BaseSelector]] = {"search": ScorerSelector, "random": RandomSelector}


def bounds(name: str, by: str) -> tuple[str, dict[str, float]]:
    """Return the row of a table, and the ratios that the page speaks of."""
    split = load(name).split("random")
    arguments = SELECTORS[by](TABLES[name]), split.X_train, split.X_test
    gap = generalization_gap(*arguments, n_left_out=LEFT_OUT)
    seen = uniform_stability(*arguments, n_left_out=LEFT_OUT)
    same = seen.selector.sup_same_set
    losses = gap.empirical, gap.leave_one_out, gap.test, gap.mean_predictor, seen.beta, same
    cells = [f"{figure:.2g}" for figure in losses] + [f"{seen.fraction_changed:.0%}".replace("%", " %")]
    cells += [f"{figure:.2g}" for figure in (gap.beta, gap.largest_loss, gap.bound_leave_one_out)]
    ratios = {
        "bound / M": gap.bound_leave_one_out / gap.largest_loss,
        "test / empirical": gap.test / gap.empirical,
        f"change / change with the same features, {by}": seen.beta / same,
    }
    return f"| {' | '.join([name, str(gap.n_samples), by, *cells])} |", ratios


def slopes(name: str, by: str) -> str:
    """Return the row of a table: how the changes fall with the number of samples."""
    split = load(name).split("random")
    selector = SELECTORS[by](TABLES[name])
    result = uniform_stability(selector, split.X_train, split.X_test, n_left_out=LEFT_OUT, sizes=SIZES[name])
    rate = result.rates["selector"]
    changed = rate.fraction_changed.mean(axis=0)
    fractions = ", ".join(f"{share:.2f}".removeprefix("0") for share in changed) if changed.any() else "0"
    return f"| {' | '.join([name, by, _slope(rate.sup_rate), _slope(rate.mean_rate), fractions])} |"


def _slope(fitted: PowerLawFit) -> str:
    return "{:.2f} ({:.2f} to {:.2f})".format(fitted.slope, *fitted.interval).replace("-", "\N{MINUS SIGN}")


def _chosen(names: list[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        for by in SELECTORS:
            yield name, by


def main() -> None:
    """Print the rows of both tables, and the range of each ratio."""
    names = sys.argv[1:] or list(TABLES)
    if not available(*names):
        return
    found: dict[str, list[float]] = {}
    for name, by in _chosen(names):
        row, ratios = bounds(name, by)
        print(row, flush=True)
        for what, ratio in ratios.items():
            found.setdefault(what, []).append(ratio)
    for what, values in found.items():
        print(f"{what}: {np.min(values):.2g} to {np.max(values):.2g}")
    for name, by in _chosen([name for name in names if name in SIZES]):
        print(slopes(name, by), flush=True)


if __name__ == "__main__":
    main()

"""`make bench-elsewhere`: asking for stability on tables other than the eight of the benchmarks.

The folds, ridge weights and votes of ``criterion="stability"`` were settled on those eight. Three tables come with
scikit-learn (that a compromise is taken, and not the best setting, was decided after a look at them) and two are
simulated. Subsamples of four fifths of the rows, columns scaled to unit variance; the error is that of a ridge map on
the rows left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from _store import Store
from stableselect import ColumnSubset
from stableselect.metrics import reconstruction_error, stability

SUBSAMPLES = 20


def factors() -> np.ndarray:
    """Return 300 rows of 60 columns that ten factors of falling weight drive, each column a mixture, with noise."""
    rng = np.random.default_rng(0)
    return (rng.normal(size=(300, 10)) * 0.8 ** np.arange(10)) @ rng.normal(size=(10, 60)) + rng.normal(size=(300, 60))


def curves() -> np.ndarray:
    """Return 200 smooth curves at 80 points with noise, as spectra are."""
    place = np.arange(80)
    root = np.linalg.cholesky(np.exp(-(((place[:, None] - place) / 6) ** 2) / 2) + 0.02 * np.eye(80))
    return np.random.default_rng(0).normal(size=(200, 80)) @ root.T


TABLES: dict[str, tuple[Callable[[], np.ndarray], int]] = {
    "digits": (lambda: load_digits().data, 16),
    "breast cancer": (lambda: load_breast_cancer().data, 8),
    "wine": (lambda: load_wine().data, 5),
    "factors": (factors, 12),
    "curves": (curves, 12),
}
METHODS = {"ridge 0": {"ridge": 0.0}, "default": {}, "asked for": {"criterion": "stability"}}


def measure(name: str) -> dict[str, dict[str, float]]:
    """Return stability, its standard error, and the error relative to that of ridge 0, of every method."""
    load, k = TABLES[name]
    X = StandardScaler().fit_transform(load())
    X = X[:, X.std(axis=0) > 0]
    supports: dict[str, list[np.ndarray]] = {method: [] for method in METHODS}
    errors: dict[str, list[float]] = {method: [] for method in METHODS}
    for split in range(SUBSAMPLES):
        rows = np.random.default_rng([17, split]).permutation(len(X))
        train, test = np.split(X[rows], [int(0.8 * len(X))])
        for method, settings in METHODS.items():
            selector = ColumnSubset(k, **settings).fit(train)
            supports[method].append(selector.support_)
            errors[method].append(reconstruction_error(train, test, selector.selected_, refit="ridge"))
    found = {}
    for method in METHODS:
        agreement = stability(supports[method])
        ratio = np.exp(np.mean(np.log(np.array(errors[method]) / errors["ridge 0"])))
        found[method] = {
            "stability": agreement.nogueira,
            "standard_error": agreement.standard_error,
            "relative_error": float(ratio),
        }
    return found


def table() -> str:
    """Return the stability of every method, and what asking for it costs."""
    parts = Store("elsewhere").content["parts"]
    lines = ["| table, k | " + " | ".join(METHODS) + " | error, against ridge 0 |", "|---" * (len(METHODS) + 2) + "|"]
    for name, (_, k) in TABLES.items():
        found = parts.get(name)
        if found is None:
            lines.append(f"| {name}, {k} | not measured yet" + " | " * (len(METHODS) + 1) + "|")
            continue
        cells = [f"{found[method]['stability']:.2f} ± {found[method]['standard_error']:.2f}" for method in METHODS]
        cost = 100 * (found["asked for"]["relative_error"] - 1)
        lines.append(f"| {name}, {k} | {' | '.join(cells)} | {cost:+.1f} % |")
    return "\n".join(lines)


if __name__ == "__main__":
    store = Store("elsewhere")
    for name in TABLES:
        store.part(name, lambda name=name: measure(name))
    print(table())

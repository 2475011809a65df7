"""Freeze what every selector chooses on eight tables, and compare today's code with it.

    python tools/reference.py freeze     # writes tools/reference.json
    python tools/reference.py compare    # exits 1 where columns, errors, ridge or folds differ

Tables are read from $STABLESELECT_DATA or ../shared/data, cut to the first 250 samples and 300 evenly spaced features;
ColumnSubset and ScorerSelector also run on the first 2,000 samples of the whole tables.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import stableselect as ss
from stableselect._core._folds import row_folds

HERE = Path(__file__).parent
FILE = HERE / "reference.json"
DATA = Path(os.environ.get("STABLESELECT_DATA", HERE.parent.parent / "shared" / "data"))
TABLES = ("mice_protein", "coil20", "isolet", "mnist_fashion", "usps", "glioma", "prostate_ge", "arcene")
K = 10

SELECTORS: dict[str, Callable[[], ss.BaseSelector]] = {
    "column subset": lambda: ss.ColumnSubset(K),
    "column subset, no ridge": lambda: ss.ColumnSubset(K, ridge=0),
    "column subset, forward": lambda: ss.ColumnSubset(K, exchange=False),
    "column subset, auto": lambda: ss.ColumnSubset("auto", max_features=40),
    "column subset, stable": lambda: ss.ColumnSubset(K, criterion="stability"),
    "column subset, stability .6": lambda: ss.ColumnSubset(K, min_stability=0.6),
    "column subset, include and exclude": lambda: ss.ColumnSubset(K, include=[3], exclude=[0, 1]),
    "scorer": lambda: ss.ScorerSelector(K),
    "scorer, stable": lambda: ss.ScorerSelector(K, criterion="stability"),
    "scorer network, full batch": lambda: ss.ScorerSelectorNetwork(K, solver="full_batch", epochs=60, random_state=0),
    "scorer network, mini-batch": lambda: ss.ScorerSelectorNetwork(K, solver="minibatch", epochs=3, random_state=0),
    "scorer network, published": lambda: ss.ScorerSelectorNetwork.published(K, random_state=0).set_params(epochs=3),
    "scorer network, nonlinear": lambda: ss.ScorerSelectorNetwork(
        K, solver="minibatch", decoder=(16,), init="search", epochs=2, random_state=0
    ),
    "laplacian score": lambda: ss.LaplacianScore(K),
    "spec": lambda: ss.SPEC(K),
    "mcfs": lambda: ss.MCFS(K),
    "udfs": lambda: ss.UDFS(K),
    "ndfs": lambda: ss.NDFS(K, random_state=0),
    "pfa": lambda: ss.PFA(K, random_state=0),
    "inf-fs": lambda: ss.InfFS(K),
    "pivoted qr": lambda: ss.PivotedQR(K),
    "variance": lambda: ss.VarianceScore(K),
    "aefs": lambda: ss.AEFS(K, random_state=0),
    "agnos-s": lambda: ss.AgnoSS(K, random_state=0),
    "cae": lambda: ss.CAE(K, epochs=40, random_state=0),
    "fae": lambda: ss.FAE(K, random_state=0),
    "fae, published": lambda: ss.FAE.published(K, random_state=0).set_params(epochs=3),
    "gated laplacian": lambda: ss.GatedLaplacian(K, random_state=0),
    "random": lambda: ss.RandomSelector(K, random_state=0),
    "consensus": lambda: ss.ConsensusSelector(ss.ColumnSubset(K, ridge=0.1), K, random_state=0),
}
WHOLE = ("column subset", "scorer")


def tables() -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the values of every table, scaled to [0, 1]."""
    for name in TABLES:
        with np.load(DATA / f"{name}.npz", allow_pickle=False) as stored:
            X = stored["X"].astype(np.float64)
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        span = np.ptp(X, axis=0)
        X = (X - X.min(axis=0)) / np.where(span > 0, span, 1.0)
        yield name, X[:2000]


def facts(selector: ss.BaseSelector, X: np.ndarray) -> dict[str, object]:
    """Fit a selector and return what it found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector.fit(X)
    rebuilt = selector.reconstruct(selector.transform(X))
    found: dict[str, object] = {"selected": selector.selected_.tolist(), "error": float(np.mean((X - rebuilt) ** 2))}
    for label, name in (("ridge", "ridge_"), ("objective", "objective_"), ("bound", "lower_bound_")):
        if hasattr(selector, name):
            found[label] = float(getattr(selector, name))
    return found


def today() -> dict[str, object]:
    """Return the facts of every selector on every table, and the folds of the rows."""
    found: dict[str, object] = {}
    for name, X in tables():
        print(name, file=sys.stderr)
        small = X[:250, np.unique(np.linspace(0, X.shape[1] - 1, 300).astype(int))]
        small = small[:, np.ptp(small, axis=0) > 0]
        found[f"{name} / folds"] = {"sizes": np.bincount(row_folds(small, 5), minlength=5).tolist()}
        for label, make in SELECTORS.items():
            found[f"{name} / {label}"] = facts(make(), small)
        for label in WHOLE:
            found[f"{name} / {label}, whole table"] = facts(SELECTORS[label](), X)
    return found


def differences(before: dict, after: dict) -> list[str]:
    """Return one line for every fact that differs by more than rounding."""
    lines = [f"{key}: only in one of the two" for key in sorted(before.keys() ^ after.keys())]
    for key in before.keys() & after.keys():
        for name in sorted(before[key].keys() | after[key].keys()):
            old, new = before[key].get(name), after[key].get(name)
            same = (
                np.isclose(old, new, rtol=1e-6, atol=1e-12)
                if isinstance(old, float) and new is not None
                else old == new
            )
            if not same:
                lines.append(f"{key}: {name} was {old}, is {new}")
    return sorted(lines)


def main() -> int:
    """Freeze or compare."""
    if sys.argv[1:] == ["freeze"]:
        FILE.write_text(json.dumps(today(), indent=1) + "\n")
        return 0
    before = json.loads(FILE.read_text())
    lines = differences(before, today())
    print("\n".join(lines) or f"All {len(before)} entries are the same.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

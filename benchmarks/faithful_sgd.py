"""Compare the network's own test errors with those printed in the published notebooks.

Same splits, scaling, batch sizes and training as published (|W| variant); three seeds, since the published generator's
draws are not ours. The test error of a path is the mean over all cells of the held-out rows, by the network in its
final state; the selector's mask keeps the columns at or above the k-th largest score, as in training.

Run ``python benchmarks/faithful_sgd.py``; the tables come from ``$STABLESELECT_DATA`` or ``../shared/data``. Each result
is saved when it is there, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from stableselect.reconstruction._scorer_network import Network, kept_columns
from stableselect.reconstruction._scorer_sgd import train_sgd

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("STABLESELECT_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benchmarks" / "results" / "faithful_sgd.json"
SEEDS = (0, 1, 2)
TOLERANCE = 0.15

Tables = dict[str, np.ndarray]
Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Case:
    """One published experiment: how its rows are prepared, its settings, its printed (scorer, selector) errors."""

    split: Callable[[Tables], Split]
    k: int
    batch_size: int
    printed: tuple[float, float]


def random_split(X: np.ndarray) -> Split:
    """Return the 72 % the network is trained on and the 20 % it is tested on."""
    rest, test = train_test_split(X, test_size=0.2, random_state=0)
    return train_test_split(rest, test_size=0.1, random_state=0)[0], test


def mice(tables: Tables) -> Split:
    """Column means for the missing cells, min-max over all rows, random split."""
    return random_split(MinMaxScaler().fit_transform(SimpleImputer().fit_transform(tables["X"])))


def coil(tables: Tables) -> Split:
    """Bytes over 255, random split."""
    return random_split(tables["X"] / 255)


def isolet(tables: Tables) -> Split:
    """Min-max over all rows; the fifth group of speakers is the test part."""
    X, group = MinMaxScaler().fit_transform(tables["X"].astype(float)), tables["group"]
    return train_test_split(X[group < 5], test_size=0.1, random_state=0)[0], X[group == 5]


def fashion(tables: Tables) -> Split:
    """Bytes over 255; the first 5400 training images, 4000 shuffled test images."""
    X = tables["X"]
    order = np.arange(10_000)
    np.random.RandomState(0).shuffle(order)
    return X[:5400] / 255, X[60_000 + order[:4000]] / 255


CASES = {
    "mice_protein": Case(mice, 10, 128, (0.01011, 0.01103)),
    "coil20": Case(coil, 50, 128, (0.01195, 0.01520)),
    "isolet": Case(isolet, 50, 64, (0.01314, 0.01659)),
    "mnist_fashion": Case(fashion, 50, 256, (0.01764, 0.02205)),
}


def errors(network: Network, X: np.ndarray, k: int) -> tuple[float, float]:
    """Return the scorer's and the selector's mean squared error per cell on rows X."""
    s = network.score_weights
    mask = np.isin(np.arange(len(s)), kept_columns(s, k))
    results = []
    for weights in (s, s * mask):
        Y = ((X * weights) @ network.encoder + network.encoder_bias) @ network.decoder + network.decoder_bias
        results.append(float(np.mean((Y - X) ** 2)))
    return results[0], results[1]


def load_results() -> dict:
    """Return what an earlier run has saved."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def run() -> dict:
    """Train where no result is saved yet; return all results by "dataset/seed"."""
    results = load_results()
    for name, case in CASES.items():
        if all(f"{name}/{seed}" in results for seed in SEEDS):
            continue
        with np.load(DATA / f"{name}.npz") as stored:
            train, test = case.split({key: stored[key] for key in stored.files if key in ("X", "group")})
        for seed in SEEDS:
            if f"{name}/{seed}" in results:
                continue
            begin = time.perf_counter()
            network = train_sgd(train, case.k, batch_size=case.batch_size, random_state=seed)
            seconds = time.perf_counter() - begin
            scorer, selector = errors(network, test, case.k)
            results[f"{name}/{seed}"] = {
                "scorer": scorer,
                "selector": selector,
                "train_rows": len(train),
                "test_rows": len(test),
                "positive_scores": int(np.sum(network.raw_scores > 0)),
                "seconds": round(seconds, 2),
            }
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return results


def report(results: dict) -> None:
    """Print the means beside the printed errors."""
    print(f"{'data':14}{'path':10}{'printed':>9}{'mean':>9}{'sd':>9}{'ratio':>7}  within {TOLERANCE:.0%}")
    for name, case in CASES.items():
        for path, printed in zip(("scorer", "selector"), case.printed, strict=True):
            values = [results[f"{name}/{seed}"][path] for seed in SEEDS]
            ratio = np.mean(values) / printed
            verdict = "yes" if abs(ratio - 1) <= TOLERANCE else "NO"
            print(f"{name:14}{path:10}{printed:9.5f}{np.mean(values):9.5f}{np.std(values):9.5f}{ratio:7.3f}  {verdict}")


if __name__ == "__main__":
    missing = [name for name in CASES if not (DATA / f"{name}.npz").exists()]
    if missing:
        print(f"No {', '.join(missing)} in {DATA}: set STABLESELECT_DATA to the folder of the benchmark tables.")
        sys.exit(0)
    report(run())

"""Speed, as ratios of medians measured in one run, each against the floor or the rival it names."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from _data import available, split_rows
from _data import table as whole_table
from _store import Store
from stableselect import ColumnSubset, Moments, ScorerSelector, ScorerSelectorNetwork
from stableselect.datasets import info
from stableselect.metrics import reconstruction_error


def medians(repeats: int, *actions: Callable[[], Any], settled: bool = False) -> list[float]:
    """Return the median seconds of each action, interleaved so that a noisy moment hits all of them.

    The threads of a package may go on waiting at full load for a while after their work. ``settled``: every action is
    done once before it is timed, so that no such load is left from another one.
    """
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats):
        for action, times in zip(actions, seconds, strict=True):
            if settled:
                action()
            start = time.perf_counter()
            action()
            times.append(time.perf_counter() - start)
    return [float(np.median(times)) for times in seconds]


def against_fastcan() -> dict[str, float]:
    """Time ColumnSubset against FastCan with the principal component scores as targets, Fashion-MNIST 6,000 x 784."""
    from fastcan import FastCan

    X_train, X_test = split_rows("mnist_fashion")
    chosen: dict[str, np.ndarray] = {}

    def rival() -> None:
        scores = PCA(n_components=50, random_state=0).fit_transform(X_train)
        chosen["fastcan"] = FastCan(50, verbose=0).fit(X_train, scores).indices_

    def ours() -> None:
        chosen["ours"] = ColumnSubset(50, ridge=0.0).fit(X_train).selected_

    ours()
    fast, slow = medians(5, ours, rival)
    return {
        "seconds": fast,
        "fastcan_seconds": slow,
        "times_faster": slow / fast,
        "error": reconstruction_error(X_train, X_test, chosen["ours"]),
        "fastcan_error": reconstruction_error(X_train, X_test, np.sort(chosen["fastcan"])),
    }


def solvers_on_isolet() -> dict[str, float]:
    """Time the three solvers of the scorer-selector model on ISOLET's training rows, k = 50."""
    X = split_rows("isolet")[0]
    search = ScorerSelector(50)
    gradient = ScorerSelectorNetwork(50, solver="full_batch", random_state=0)
    sgd = ScorerSelectorNetwork.published(50, batch_size=info("isolet").batch_size)
    search.fit(X)
    quick, middle = medians(3, lambda: search.fit(X), lambda: gradient.fit(X))
    (slow,) = medians(1, lambda: sgd.fit(X))
    return {
        "search_seconds": quick,
        "gradient_seconds": middle,
        "sgd_seconds": slow,
        "sgd_over_search": slow / quick,
        "sgd_over_gradient": slow / middle,
    }


def moments_pass() -> dict[str, float]:
    """Time the one pass over the rows against the bare product X'X that it must contain."""
    result = {}
    for name, rows in (("mnist_fashion", 6_000), ("isolet", 7_797)):
        X = np.ascontiguousarray(whole_table(name)[:rows])
        Moments.from_array(X)
        ours, bare = medians(9, lambda X=X: Moments.from_array(X), lambda X=X: X.T @ X)
        result |= {f"{name}_seconds": ours, f"{name}_bare_seconds": bare, f"{name}_ratio": ours / bare}
    return result


def wide_table() -> dict[str, float]:
    """Time forward search and exchange on arcene (160 x 10,000, k = 64) against one thin SVD of the same matrix."""
    X = np.ascontiguousarray(split_rows("arcene")[0])
    selector = ColumnSubset(64, ridge=0.0)
    ours, svd = medians(3, lambda: selector.fit(X), lambda: np.linalg.svd(X - X.mean(axis=0), full_matrices=False))
    return {"seconds": ours, "svd_seconds": svd, "ratio": ours / svd, "n_swaps": float(selector.n_swaps_)}


PARTS = {
    "fastcan": against_fastcan,
    "solvers": solvers_on_isolet,
    "moments": moments_pass,
    "wide": wide_table,
}


def run() -> None:
    """Measure every part anew: a timing is not resumed."""
    store = Store("core_speed")
    store.content["parts"].clear()
    for name, compute in PARTS.items():
        print(f"speed, {name}: {store.part(name, compute)}", flush=True)


def table() -> str:
    """Return the ratios beside their targets, as Markdown."""
    parts = Store("core_speed").content["parts"]
    if len(parts) < len(PARTS):
        return "not measured yet"
    fast, solver, moments, wide = (parts[name] for name in PARTS)
    rows = [
        ("Fashion 6000x784: times faster than fastcan on PCA scores", fast["times_faster"], ">= 15"),
        ("Fashion: test error, ours / fastcan's", fast["error"] / fast["fastcan_error"], "< 1"),
        ("ISOLET: ScorerSelector default, seconds", solver["search_seconds"], "< 1"),
        ("ISOLET: gradient, seconds", solver["gradient_seconds"], "< 4"),
        ("ISOLET: sgd time / default time", solver["sgd_over_search"], ""),
        ("ISOLET: sgd time / gradient time", solver["sgd_over_gradient"], ""),
        ("Fashion: moments pass / bare X'X", moments["mnist_fashion_ratio"], "<= 1.5"),
        ("ISOLET: moments pass / bare X'X", moments["isolet_ratio"], "<= 1.5"),
        ("arcene 160x10000: forward + exchange / one thin SVD", wide["ratio"], "<= 40"),
    ]
    lines = ["| what | measured | target |", "|---|---|---|"]
    return "\n".join(lines + [f"| {what} | {value:.3g} | {target} |" for what, value, target in rows])


if __name__ == "__main__":
    if available():
        run()
    print(table())

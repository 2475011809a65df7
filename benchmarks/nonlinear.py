"""`make bench-nonlinear`: maps that need not be linear, and docs/nonlinear.md from what is stored.

``python benchmarks/nonlinear.py [--parts tables,network,fresh,samples,planted,time] [--tables coil20,usps] [--jobs 16]
[--device cuda] [--anew]`` computes what the store lacks, with ``--anew`` also what it has; ``--parts page`` only writes
the page. "planted ColumnSubset" is the part of one method.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from _data import available
from _nonlinear_page import FEW, page
from _nonlinear_tables import PLANTED, K, kernel_error, network_error, planted, refit_rows
from _store import Store
from stableselect import ColumnSubset, KernelSubset, ScorerSelectorNetwork, datasets
from stableselect.metrics import pca_reconstruction_error, reconstruction_error

PAGE = Path(__file__).parents[1] / "docs" / "nonlinear.md"
SPLITS, SEEDS, DRAWS = range(3), range(5), 5
FRESH = (3, 4)
"""Splits that were not looked at before the methods were final."""
PARTS = ("tables", "network", "fresh", "samples", "planted", "time")
HIDDEN = (256,)
"""Hidden layer of the decoder of the networks, (64, 64) on planted tables."""
Task = tuple[str, Callable[[], Any]]


def samples(name: str, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return training and test samples of the corrected protocol, and the groups of the first where it has some."""
    table = datasets.load(name, protocol="corrected")
    cut = table.split("random" if table.groups is None else "group", seed=split, protocol="corrected")
    rows = np.concatenate([cut.train, cut.valid])
    groups = None if table.groups is None else np.asarray(table.groups)[rows]
    return np.concatenate([cut.X_train, cut.X_valid]), cut.X_test, groups


def compared(name: str, split: int, k: int) -> dict[str, Any]:
    """Return the errors of KernelSubset, by itself and refitted, beside those of the linear choice and others."""
    train, test, groups = samples(name, split)
    begin = time.process_time()
    linear = np.sort(ColumnSubset(k).fit(train).selected_).tolist()
    middle = time.process_time()
    selector = KernelSubset(k).fit(train, groups=groups)
    end = time.process_time()
    chosen, rows = np.sort(selector.selected_).tolist(), refit_rows(train, split)
    found: dict[str, Any] = {
        "shape": list(train.shape),
        "linear": linear,
        "kernel": chosen,
        "own": -selector.score(test),
        "held out": [selector.start_held_out_error_, selector.held_out_error_],
        "ridge": [reconstruction_error(train, test, one, refit="ridge") for one in (linear, chosen)],
        "components": pca_reconstruction_error(train, test, k),
        "mean": float(np.mean((test - train.mean(axis=0)) ** 2)),
        "seconds": [middle - begin, end - middle],
    }
    rng = np.random.default_rng(split)
    draws = [np.sort(rng.choice(train.shape[1], k, replace=False)) for _ in range(DRAWS)]
    found["random"] = float(np.mean([reconstruction_error(train, test, drawn, refit="ridge") for drawn in draws]))
    for label, error in (("kernel refit", kernel_error), ("network refit", network_error)):
        first = error(rows, test, linear)
        found[label] = [first, first if chosen == linear else error(rows, test, chosen)]
    return found


def network(k: int, seed: int, kind: str, device: str = "auto") -> ScorerSelectorNetwork:
    """Return the network with its defaults, or annealed from the published start."""
    settings: dict[str, Any] = {"anneal": True, "init": "published"} if kind == "annealed" else {}
    return ScorerSelectorNetwork(k, decoder=HIDDEN, random_state=seed, device=device, **settings)


def trained(name: str, kind: str, split: int, seed: int) -> dict[str, Any]:
    """Return the test error of a network, what it selects, and its seconds of processor time."""
    train, test, groups = samples(name, split)
    begin = time.process_time()
    selector = network(K[name], seed, kind, "cpu").fit(train, groups=groups)
    seconds = time.process_time() - begin
    chosen = np.sort(selector.selected_).tolist()
    ridge = reconstruction_error(train, test, chosen, refit="ridge")
    found = {"own": -selector.score(test), "ridge": ridge, "selected": chosen, "seconds": seconds}
    return found | {"network_weight": selector.network_weight_}


def fresh(name: str, label: str, split: int) -> dict[str, Any]:
    """Return the test error of KernelSubset or the network on another split, beside two others' errors."""
    train, test, groups = samples(name, split)
    k = K[name]
    selector = network(k, 0, "network", "cpu") if label == "network" else KernelSubset(k)
    linear = ColumnSubset(k).fit(train).selected_
    return {
        "own": -selector.fit(train, groups=groups).score(test),
        "ridge": reconstruction_error(train, test, linear, refit="ridge"),
        "components": pca_reconstruction_error(train, test, k),
    }


def resampled(name: str, k: int) -> dict[str, Any]:
    """Return what KernelSubset and ColumnSubset select from four fifths of the training samples, drawn several times.

    Of samples that belong together all are drawn, or none.
    """
    train, _, groups = samples(name, 0)
    labels = np.arange(len(train)) if groups is None else np.unique(groups, return_inverse=True)[1]
    found: dict[str, Any] = {"kernel": [], "linear": [], "n_features": train.shape[1]}
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(labels.max() + 1)
        rows = np.flatnonzero(np.isin(labels, order[: round(0.8 * len(order))]))
        kernel = KernelSubset(k, map_samples=1).fit(train[rows], groups=None if groups is None else groups[rows])
        found["kernel"].append(np.sort(kernel.selected_).tolist())
        found["linear"].append(np.sort(kernel.start_).tolist())
    return found


def solvers(seed: int) -> dict[str, Any]:
    """Return what is tried on planted tables."""
    settings = {"decoder": (64, 64), "random_state": seed, "device": "cpu"}
    return {
        "KernelSubset": KernelSubset(2),
        "ColumnSubset": ColumnSubset(2),
        "network": ScorerSelectorNetwork(2, **settings),
        "annealed": ScorerSelectorNetwork(2, anneal=True, init="published", **settings),
    }


def solved(name: str, label: str, seed: int) -> dict[str, Any]:
    """Return what is selected in a planted table, and the error on another such table."""
    selector = solvers(seed)[label]
    begin = time.process_time()
    selector.fit(planted(name, seed))
    seconds = time.process_time() - begin
    error = -selector.score(planted(name, 1000 + seed))
    return {"selected": np.sort(selector.selected_).tolist(), "error": error, "seconds": seconds}


def timed(name: str, label: str, device: str) -> dict[str, Any]:
    """Return the seconds on the wall of one fit, with as many threads as the environment allows."""
    train, _, _ = samples(name, 0)
    selector = network(K[name], 0, "network", device) if label == "network" else KernelSubset(K[name])
    begin = time.perf_counter()
    selector.fit(train)
    return {"seconds": time.perf_counter() - begin, "shape": list(train.shape)}


def tasks(parts: list[str], names: list[str], device: str) -> list[Task]:
    """Return what there is to compute, by key."""
    found: list[Task] = []
    if "tables" in parts:
        for split, name in product(SPLITS, names):
            for k in (*FEW, K[name]) if K[name] > max(FEW) else FEW:
                found.append((f"tables; {name}; {split}; {k}", partial(compared, name, split, k)))
    if "network" in parts:
        runs = [("network", 0, seed) for seed in SEEDS] + [("network", split, 0) for split in SPLITS if split]
        for (kind, split, seed), name in product([*runs, ("annealed", 0, 0)], names):
            found.append((f"network; {name}; {kind}; {split}; {seed}", partial(trained, name, kind, split, seed)))
    if "fresh" in parts:
        for name, label, split in product(names, ("KernelSubset", "network"), FRESH):
            found.append((f"fresh; {name}; {label}; {split}", partial(fresh, name, label, split)))
    if "samples" in parts:
        for name in names:
            for k in sorted({*FEW, K[name]}):
                found.append((f"samples; {name}; {k}", partial(resampled, name, k)))
    for label in solvers(0):
        if "planted" in parts or f"planted {label}" in parts:
            for name, seed in product(PLANTED, range(10)):
                found.append((f"planted; {name}; {label}; {seed}", partial(solved, name, label, seed)))
    if "time" in parts:
        for name, label in product(names, ("KernelSubset", "network")):
            if device == "cpu" or label == "network":  # KernelSubset computes on the host
                found.append((f"time; {name}; {label}; {device}", partial(timed, name, label, device)))
    return found


def work(task: Callable[[], Any]) -> Any:
    """Compute a task in a process of its own."""
    warnings.simplefilter("ignore")
    return task()


def run(parts: list[str], names: list[str], jobs: int, device: str, anew: bool = False) -> None:
    """Compute what the store lacks; times are measured one after another."""
    store = Store("nonlinear")
    wanted = tasks(parts, names, device)
    for key, _ in wanted if anew else ():
        store.content["parts"].pop(key, None)
    lacking = [task for task in wanted if task[0] not in store.content["parts"]]
    if jobs == 1 or parts == ["time"]:
        for key, task in lacking:
            store.part(key, partial(work, task))
            print(key, flush=True)
        return
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(work, task): key for key, task in lacking}
        for future in as_completed(futures):
            try:
                value = future.result()
            except Exception as error:
                print("failed:", futures[future], repr(error)[:200], flush=True)
                continue
            store.part(futures[future], lambda value=value: value)
            print(futures[future], flush=True)


def main() -> None:
    """Read the options, compute, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(part for part in PARTS if part != "time"))
    parser.add_argument("--tables", default=",".join(K))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--anew", action="store_true")
    given = parser.parse_args()
    names = given.tables.split(",")
    if available(*names):
        run(given.parts.split(","), names, given.jobs, given.device, given.anew)
    PAGE.write_text(page(Store("nonlinear").content["parts"]))
    print(PAGE)


if __name__ == "__main__":
    main()

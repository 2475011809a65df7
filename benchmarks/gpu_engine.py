"""The engine on a CUDA device and on all cores of its machine: `python benchmarks/gpu_engine.py [case ...]`.

Every case runs in a process of its own with a time limit; its numbers are printed and written to a JSON file in the
folder that OUT names (by default the results folder). Cases that need MNIST-Fashion are left out where it is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

DEVICE = os.environ.get("DEVICE", "cuda")
K = 50
LARGE = 50_000, 20_000, 100
"""Samples, features, and features to select, of the large table."""
STAGES = {
    "moments": ("stableselect.subset._gathering", "own_moments"),
    "ridge": ("stableselect.subset._default", "choose_ridge"),
    "search": ("stableselect.subset._default", "find_columns"),
    "proof": ("stableselect.subset._default", "prove_columns"),
    "rounds and votes": ("stableselect.subset._frontier", "search_ahead"),
    "of them ridges": ("stableselect.subset._lock_step", "choose_ridges"),
    "of them searches": ("stableselect.subset._lock_step", "find_each"),
    "of them exchanges": ("stableselect.subset._lock_step", "exchange_each"),
    "roles": ("stableselect.subset._column_subset", "column_roles"),
    "bound": ("stableselect.subset._column_subset", "loss_bound"),
    "of it eigenvalues": ("stableselect._core._roles", "leading_floor"),
    "of it inverse": ("stableselect._core._roles", "_inverse_on_device"),
}
"""Functions whose time is told, by what they do."""


def seconds(work: Callable[[], Any], device: str = "cpu") -> tuple[float, Any]:
    """Return how long some work takes, the device idle at both ends, and what it returns."""
    wait(device)
    begin = time.perf_counter()
    found = work()
    wait(device)
    return time.perf_counter() - begin, found


def wait(device: str) -> None:
    """Wait until the device is idle."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


@contextmanager
def stages(device: str) -> Iterator[dict[str, float]]:
    """Give the seconds spent in every stage."""
    spent: dict[str, float] = {}
    before = []
    for stage, (module, name) in STAGES.items():
        place = import_module(module)
        function = getattr(place, name, None)
        if function is None:
            continue

        def timed(*args: Any, stage: str = stage, function: Any = function, **options: Any) -> Any:
            took, found = seconds(lambda: function(*args, **options), device)
            spent[stage] = spent.get(stage, 0.0) + took
            return found

        before.append((place, name, function))
        setattr(place, name, timed)
    try:
        yield spent
    finally:
        for place, name, function in before:
            setattr(place, name, function)


def fashion() -> np.ndarray:
    """Return 6,000 x 784 of MNIST-Fashion."""
    from _data import split_rows

    return split_rows("mnist_fashion")[0]


def tensor(X: np.ndarray) -> Any:
    """Return a table on the device."""
    import torch

    return torch.as_tensor(X, device=DEVICE)


def stable(X: Any, **settings: Any) -> Any:
    """Ask for stability."""
    from stableselect import ColumnSubset

    return ColumnSubset(K, criterion="stability", **settings).fit(X)


def told(selector: Any) -> dict[str, Any]:
    """Return what a choice for stability came to."""
    return {
        "selected": selector.selected_.tolist(),
        "stability": float(selector.frontier_.procedure_stability),
        "ridge": float(selector.ridge_),
    }


def stability_device() -> dict[str, Any]:
    """Ask for stability on the device, twice: the first time includes what is loaded once."""
    X = tensor(fashion())
    first, _ = seconds(lambda: stable(X), DEVICE)
    print("first", first, flush=True)
    second, selector = seconds(lambda: stable(X), DEVICE)
    with stages(DEVICE) as spent:
        stable(X)
    return {"first": first, "seconds": second, "stages": spent, **told(selector)}


def stability_one() -> dict[str, Any]:
    """Ask for stability in one process of one thread."""
    X = fashion()
    took, selector = seconds(lambda: stable(X, n_jobs=1))
    return {"seconds": took, **told(selector)}


def stability_all() -> dict[str, Any]:
    """Ask for stability in a process for every core; the second time, when they are warm."""
    X, n = fashion(), os.cpu_count() or 1
    first, _ = seconds(lambda: stable(X, n_jobs=n))
    print("first", first, flush=True)
    took, selector = seconds(lambda: stable(X, n_jobs=n))
    return {"processes": n, "first": first, "seconds": took, **told(selector)}


def large() -> dict[str, Any]:
    """Select from a large table that is on the device already."""
    import torch

    from stableselect import ColumnSubset

    n, m, k = LARGE
    generator = torch.Generator(device=DEVICE).manual_seed(0)
    make: dict[str, Any] = {"generator": generator, "device": DEVICE, "dtype": torch.float32}
    X = torch.randn((n, m), **make)
    X.addmm_(torch.randn((n, 60), **make), torch.randn((60, m), **make), alpha=60**-0.5)
    ColumnSubset(5).fit(X[:2_000, :500])
    first, selector = seconds(lambda: ColumnSubset(k).fit(X), DEVICE)
    print("first", first, _peak(), "GiB", flush=True)
    second, selector = seconds(lambda: ColumnSubset(k).fit(X), DEVICE)
    with stages(DEVICE) as spent:
        ColumnSubset(k).fit(X)
    product, _ = seconds(lambda: [_product(X[start : start + 10_000]) for start in range(0, n, 10_000)], DEVICE)
    return {
        "shape": [n, m],
        "k": k,
        "first": first,
        "seconds": second,
        "stages": spent,
        "product": product,
        "peak_gib": _peak(),
        "ridge": float(selector.ridge_),
        "swaps": int(selector.n_swaps_),
        "objective": float(selector.objective_),
        "gap": float(selector.optimality_gap_),
    }


def _peak() -> float:
    """Return the most memory of the device that was in use, in GiB."""
    import torch

    return torch.cuda.max_memory_allocated() / 2**30 if DEVICE == "cuda" else 0.0


def _product(rows: Any) -> Any:
    rows = rows.double()
    return rows.T @ rows


def moments() -> dict[str, Any]:
    """Gather moments of 100,000 x 5,000 in single precision on all cores, beside a bare product."""
    from stableselect import Moments

    X = np.random.default_rng(0).standard_normal((100_000, 5_000), dtype=np.float32)
    print("generated", flush=True)
    Moments.from_array(X[:5_000]).operator()
    took = [seconds(lambda: Moments.from_array(X).operator())[0] for _ in range(2)]
    print(took, flush=True)
    single = [seconds(lambda: X.T @ X)[0] for _ in range(2)]
    double = seconds(lambda: X[:20_000].astype(np.float64).T @ X[:20_000].astype(np.float64))[0] * 5
    return {"seconds": min(took), "product_float32": min(single), "product_float64": double}


def default() -> dict[str, Any]:
    """Fit the default on tall tables on all cores, beside ``ridge=0`` and pivoted QR."""
    from _data import available, split_rows
    from stableselect import ColumnSubset, PivotedQR

    found = {}
    for name, k in {"mice_protein": 10, "coil20": 50, "isolet": 50, "mnist_fashion": 50, "usps": 50}.items():
        if not available(name):
            continue
        X = split_rows(name)[0]
        works = {"default": ColumnSubset(k).fit, "ridge 0": ColumnSubset(k, ridge=0.0).fit, "QR": PivotedQR(k).fit}
        rounds = [{work: seconds(lambda fit=fit, X=X: fit(X))[0] for work, fit in works.items()} for _ in range(4)]
        found[name] = {work: float(np.median([each[work] for each in rounds[1:]])) for work in works}
        print(name, found[name], flush=True)
    return found


def agreement() -> dict[str, Any]:
    """Compare what is selected on the host and on the device, on many random tables."""
    import warnings

    from stableselect import ColumnSubset

    warnings.simplefilter("ignore")
    same = total = 0
    begin = time.perf_counter()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        least, most = (130, 400) if seed % 3 == 2 else (10, 60)
        n, m = int(rng.integers(60, 400)), int(rng.integers(least, most))
        # The host searches in single precision from 128 features on, if at least a twentieth of them is selected.
        k = int(rng.integers(m // 20 + 1, m // 8)) if m >= 130 else int(rng.integers(2, 10))
        X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, m)) + rng.uniform(0.01, 1) * rng.normal(size=(n, m))
        if seed % 3 == 0:
            X[:, m // 2 :] = X[:, : m - m // 2]
        if seed % 5 == 0:
            X = np.round(X)
        settings: dict[str, Any] = {"include": [1], "exclude": [3, 4]} if seed % 4 == 0 else {}
        if seed % 8 == 1:
            settings["criterion"] = "stability"
        host, device = (ColumnSubset(k, **settings).fit(table) for table in (X, tensor(X)))
        total += 1
        same += host.selected_.tolist() == device.selected_.tolist() and host.ridge_ == device.ridge_
        if time.perf_counter() - begin > 150:
            break
    return {"tables": total, "same": same}


CASES: dict[str, tuple[Callable[[], dict[str, Any]], int]] = {
    "agreement": (agreement, 180),
    "stability, device": (stability_device, 45),
    "large": (large, 50),
    "stability, 1": (stability_one, 60),
    "stability, all cores": (stability_all, 40),
    "moments": (moments, 40),
    "default": (default, 20),
}
"""What is measured, and the seconds it may take."""


def run(name: str, folder: Path) -> dict[str, Any]:
    """Measure a case in a process of its own, and write what it found."""
    cores = "1" if name == "stability, 1" else str(os.cpu_count())
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), cores)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"gpu_engine.{name.replace(', ', '-').replace(' ', '-')}.json"
    command = [sys.executable, "-u", __file__, "--one", name, str(path)]
    path.unlink(missing_ok=True)
    print(f"{name} ...", flush=True)
    begin = time.perf_counter()
    try:
        failed = subprocess.run(command, env={**os.environ, **threads}, timeout=CASES[name][1]).returncode
        found = {"failed": failed} if failed else json.loads(path.read_text())
    except subprocess.TimeoutExpired:
        found = {"stopped after": CASES[name][1]}
    found["process_seconds"] = time.perf_counter() - begin
    print(f"{name}: {json.dumps(found)}", flush=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    return found


def main(names: list[str]) -> None:
    """Measure the named cases, or all, and tell whether the same columns were selected everywhere."""
    if names[:1] == ["--one"]:
        Path(names[2]).write_text(json.dumps(CASES[names[1]][0]()))
        return
    from _data import available

    folder = Path(os.environ.get("OUT") or Path(__file__).parent / "results")
    there = available("mnist_fashion")
    found = {name: run(name, folder) for name in names or CASES if there or not name.startswith("stability")}
    chosen = {name: part["selected"] for name, part in found.items() if "selected" in part}
    print("same columns everywhere:", len({tuple(columns) for columns in chosen.values()}) <= 1, sorted(chosen))
    if {"stability, 1", "stability, all cores"} <= chosen.keys():
        print("times faster:", found["stability, 1"]["seconds"] / found["stability, all cores"]["seconds"])


if __name__ == "__main__":
    main(sys.argv[1:])

"""The core on CUDA tensors: same columns as NumPy, and what the GPU buys. Needs torch with CUDA; run by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from _data import available, table
from _store import Store
from stableselect import BaseSelector, ColumnSubset, Moments, ScorerSelector, ScorerSelectorNetwork
from stableselect.datasets import info


def timed(action: Callable[[], Any], torch: Any, repeats: int = 3) -> float:
    """Return the median seconds after a warm-up, the device idle at both ends."""
    action()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        action()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def compare(X: np.ndarray, k: int, torch: Any, *, train: bool) -> dict[str, Any]:
    """Fit every core selector on the host and on the device, the gradient solver only where ``train`` says so."""
    tensor = torch.asarray(X, device="cuda")
    result: dict[str, Any] = {"shape": list(X.shape), "k": k}
    makers: dict[str, Callable[[], BaseSelector]] = {
        "ColumnSubset ridge=0": lambda: ColumnSubset(k, ridge=0.0),
        "ColumnSubset": lambda: ColumnSubset(k),
        "ScorerSelector": lambda: ScorerSelector(k),
        "ScorerSelector annealed": lambda: ScorerSelectorNetwork(k, solver="full_batch", anneal=True, random_state=0),
    }
    for name, make in makers.items():
        if "annealed" in name and not train:
            continue
        host, device = make().fit(X), make().fit(tensor)
        same = len(set(host.selected_) & set(device.selected_))
        repeats = 1 if "annealed" in name else 3
        result[name] = {
            "columns_in_common": same,
            "objective_ratio": device.objective_ / host.objective_ if host.objective_ else 1.0,
            "host_seconds": timed(lambda make=make: make().fit(X), torch, repeats),
            "cuda_seconds": timed(lambda make=make: make().fit(tensor), torch, repeats),
        }
        kept = device.transform(tensor)
        assert kept.is_cuda and device.reconstruct(kept).is_cuda
    result["moments"] = {
        "host_seconds": timed(lambda: Moments.from_array(X), torch),
        "cuda_seconds": timed(lambda: Moments.from_array(tensor), torch),
        "cuda_bare_seconds": timed(lambda: tensor.T @ tensor, torch),
    }
    return result


def main() -> None:
    """Run on three tables: long, wide, and large."""
    import torch

    if not torch.cuda.is_available():
        print("skipped: no CUDA device")
        return
    store = Store("gpu_core")
    store.content["parts"].clear()
    store.content["device"] = torch.cuda.get_device_name()
    store.content["torch"] = torch.__version__
    for name in ("isolet", "arcene", "mnist_fashion"):
        if available(name):
            X = table(name)
            print(
                name,
                store.part(name, lambda X=X, name=name: compare(X, info(name).k, torch, train=name == "isolet")),
                flush=True,
            )


if __name__ == "__main__":
    main()

"""What the scorer-selector costs beside a plain autoencoder, the published training on one core, and CAE at k = 600."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from _data import available, split_rows
from _epochs import numpy_trainable, torch_makers
from _store import Store
from stableselect import CAE, ScorerSelectorNetwork
from stableselect.datasets import info
from stableselect.neural._training import Stopping, train

EPOCHS = 5
REPEATS = 5
NETWORKS: dict[str, Any] = {"linear": "linear", "decoder (256,)": (256,)}


def seconds_an_epoch(make: Callable[[], Any]) -> float:
    """Return the seconds of an epoch."""
    trainable = make()
    start = time.perf_counter()
    train(trainable, Stopping(EPOCHS))
    return (time.perf_counter() - start) / EPOCHS


def epoch_ratio(decoder: Any, device: str = "cpu") -> dict[str, Any]:
    """Return the time of an epoch of both, measured in turn, on Fashion-MNIST (6,000 x 784, k = 50, batch 256)."""
    import torch

    X, k, batch_size = split_rows("mnist_fashion")[0], 50, info("mnist_fashion").batch_size
    makers = torch_makers(X, k, batch_size, decoder, device)
    if decoder == "linear" and device == "cpu":
        makers["NumPy scorer-selector"] = lambda: numpy_trainable(X, k, batch_size)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            for make in makers.values():
                seconds_an_epoch(make)
            rounds = [{name: seconds_an_epoch(make) for name, make in makers.items()} for _ in range(REPEATS)]
    finally:
        torch.set_num_threads(threads)
    medians = {name: float(np.median([found[name] for found in rounds])) for name in makers}
    ratios = {
        name: float(np.median([found[name] / found["plain"] for found in rounds])) for name in makers if name != "plain"
    }
    return {"seconds": medians, "ratio": ratios, "threads": 1}


def published_fit() -> dict[str, float]:
    """Return the seconds of the published training on 6,000 Fashion-MNIST images, one thread, NumPy."""
    X = split_rows("mnist_fashion")[0]
    start = time.perf_counter()
    ScorerSelectorNetwork.published(50, batch_size=256).fit(X)
    return {"seconds": time.perf_counter() - start, "threads": 1, "epochs": 200}


def many_columns() -> dict[str, Any]:
    """Fit CAE with k = 600 of 2,000 columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 100)) @ rng.normal(size=(100, 2000)) + 0.5 * rng.normal(size=(1000, 2000))
    start = time.perf_counter()
    selector = CAE(600, random_state=0).fit(X)
    return {
        "seconds": time.perf_counter() - start,
        "distinct": len(set(selector.selected_.tolist())),
        "steps": int(selector.n_epochs_),
        "mean_max_probability": float(selector.mean_max_probability_),
        "threads": 1,
    }


def run() -> None:
    """Measure everything anew."""
    store = Store("neural_speed")
    store.content["parts"] = {}
    for name, decoder in NETWORKS.items():
        store.part(f"epoch, {name}", lambda decoder=decoder: epoch_ratio(decoder))
    store.part("published, 6,000 images", published_fit)
    store.part("CAE, m = 2,000, k = 600", many_columns)


def table() -> str:
    """Return the figures as Markdown."""
    parts = Store("neural_speed").content["parts"]
    if not parts:
        return "not measured yet"
    lines = ["| what | figure |", "|---|---|"]
    for name in NETWORKS:
        part = parts.get(f"epoch, {name}")
        if part:
            plain = part["seconds"]["plain"]
            for engine, ratio in part["ratio"].items():
                lines.append(
                    f"| {engine} epoch over a plain autoencoder's (torch), {name}, one thread | {ratio:.2f} "
                    f"({part['seconds'][engine]:.3f} s, {plain:.3f} s) |"
                )
    if fit := parts.get("published, 6,000 images"):
        lines.append(f"| published training, 6,000 x 784, k = 50, 200 epochs, one thread | {fit['seconds']:.1f} s |")
    if cae := parts.get("CAE, m = 2,000, k = 600"):
        lines.append(
            f"| CAE, 1,000 x 2,000, k = 600, one thread | {cae['seconds']:.0f} s, {cae['distinct']} distinct columns, "
            f"{cae['steps']} steps, mean largest probability {cae['mean_max_probability']:.3f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    if available():
        run()
    print(table())

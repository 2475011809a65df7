"""The networks on CUDA: same losses as on the host, seconds and how busy the GPU is. Needs torch with CUDA; by hand."""

from __future__ import annotations

import subprocess
import threading
import time
import warnings
from typing import Any

import numpy as np

from _data import split_rows
from _data import table as whole_table
from _epochs import torch_makers
from _store import Store
from neural_speed import NETWORKS, epoch_ratio
from stableselect import CAE, AgnoSS, ScorerSelectorNetwork
from stableselect.datasets import info
from stableselect.neural._training import Stopping, train


class Utilisation(threading.Thread):
    """Samples nvidia-smi's share of time in which a kernel ran."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.samples: list[float] = []
        self._over = threading.Event()

    def run(self) -> None:
        """Sample until told to stop."""
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-i", "0"]
        while not self._over.wait(0.5):
            try:
                self.samples.append(float(subprocess.run(command, capture_output=True, text=True).stdout) / 100)
            except (OSError, ValueError):
                return

    def finish(self) -> float | None:
        """Return the mean share."""
        self._over.set()
        self.join()
        return float(np.mean(self.samples)) if self.samples else None


def kernel_share(make: Any, torch: Any) -> float:
    """Return the share of an epoch's wall time in which kernels ran, by torch's profiler."""
    trainable = make()
    train(trainable, Stopping(1))
    torch.cuda.synchronize()
    start = time.perf_counter()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        train(trainable, Stopping(1))
        torch.cuda.synchronize()
        profiled = time.perf_counter() - start
    busy = sum(event.device_time_total for event in profile.events() if event.device_type.name == "CUDA") * 1e-6
    start = time.perf_counter()
    train(trainable, Stopping(1))
    torch.cuda.synchronize()
    plain = time.perf_counter() - start
    return busy / min(profiled, plain)


def large_fit(torch: Any, decoder: Any) -> dict[str, Any]:
    """Fit 60,000 images, k = 50, 200 epochs, batch 256."""
    X = torch.asarray(whole_table("mnist_fashion")[:60_000], dtype=torch.float32, device="cuda")
    settings = {
        "solver": "minibatch",
        "batch_size": 256,
        "epochs": 200,
        "n_starts": 1,
        "random_state": 0,
        "device": "cuda",
    }
    watch = Utilisation()
    watch.start()
    torch.cuda.synchronize()
    start = time.perf_counter()
    selector = ScorerSelectorNetwork(50, decoder=decoder, validation_fraction=0.0, anneal=True, **settings).fit(X)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    share = watch.finish()
    makers = torch_makers(X.cpu().numpy(), 50, 256, decoder, "cuda")
    return {
        "seconds": seconds,
        "utilisation": share,
        "kernel_share": kernel_share(makers["scorer-selector"], torch),
        "loss_selector": selector.loss_selector_,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


def host_and_device(name: str, decoder: Any) -> dict[str, Any]:
    """Train on both: the loss after 20 steps and 20 more in torch, and the columns in common after a fit."""
    X, k = split_rows(name)[0], info(name).k
    losses, chosen, seconds = [], [], []
    for device in ("cpu", "cuda"):
        trainable = torch_makers(X[: 20 * 64], k, 64, decoder, device)["scorer-selector"]()
        train(trainable, Stopping(1))
        losses.append(train(trainable, Stopping(1)).losses[0][0])
        settings = {"solver": "minibatch", "decoder": decoder, "n_starts": 1, "random_state": 0, "device": device}
        start = time.perf_counter()
        selector = ScorerSelectorNetwork(k, **settings).fit(X)
        seconds.append(time.perf_counter() - start)
        chosen.append(set(selector.selected_.tolist()))
    return {
        "loss_after_20_steps": losses,
        "relative_difference": abs(losses[0] - losses[1]) / losses[0],
        "columns_in_common": len(chosen[0] & chosen[1]),
        "k": k,
        "host_seconds": seconds[0],
        "cuda_seconds": seconds[1],
    }


def one_by_one(torch: Any) -> dict[str, float]:
    """Return the seconds of an epoch on 60,000 images with steps replayed, launched one by one, and compiled."""
    X = whole_table("mnist_fashion")[:60_000]
    result = {}
    for name in ("replayed", "one by one", "compiled"):
        trainable = torch_makers(X, 50, 256, (256,), "cuda")["scorer-selector"]()
        if name != "replayed":
            trainable._recorder = None
        if name == "compiled":
            trainable.model._errors = torch.compile(trainable.model._errors)
            start = time.perf_counter()
            train(trainable, Stopping(1))
            torch.cuda.synchronize()
            result["compile_seconds"] = time.perf_counter() - start
        train(trainable, Stopping(1))
        torch.cuda.synchronize()
        start = time.perf_counter()
        train(trainable, Stopping(3))
        torch.cuda.synchronize()
        result[f"{name}, seconds an epoch"] = (time.perf_counter() - start) / 3
    return result


def main() -> None:
    """Measure everything anew, in parts."""
    import torch

    store = Store("gpu_neural")
    store.content = {"parts": {}, "device": torch.cuda.get_device_name(), "torch": torch.__version__}
    for name, decoder in NETWORKS.items():
        store.part(f"60,000 images, {name}", lambda decoder=decoder: large_fit(torch, decoder))
        store.part(f"epoch, {name}", lambda decoder=decoder: epoch_ratio(decoder, "cuda"))
        for data in ("isolet", "mnist_fashion"):
            store.part(
                f"host and device, {data}, {name}",
                lambda data=data, decoder=decoder: host_and_device(data, decoder),
            )
    store.part("an epoch, decoder (256,)", lambda: one_by_one(torch))
    store.part("AgnoSS, ISOLET, 20 epochs", lambda: baseline(AgnoSS(50, solver="minibatch", epochs=20, device="cuda")))
    store.part("CAE, ISOLET, 20 epochs", lambda: baseline(CAE(50, decoder=(64,), epochs=20, device="cuda")))


def baseline(selector: Any) -> dict[str, float]:
    """Return the seconds of a baseline's fit on the device."""
    X = split_rows("isolet")[0]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # trained too briefly here
        selector.set_params(random_state=0).fit(X)
    return {"seconds": time.perf_counter() - start}


def table() -> str:
    """Return the stored figures as Markdown."""
    content = Store("gpu_neural").content
    parts = content["parts"]
    if not parts:
        return "not measured yet"
    lines = [f"{content['device']}, torch {content['torch']}.", "", "| what | figures |", "|---|---|"]
    for key, part in parts.items():
        figures = []
        for name, value in part.items():
            shown = ", ".join(f"{v:.6g}" for v in value) if isinstance(value, list) else value
            shown = ", ".join(f"{k} {v:.3g}" for k, v in value.items()) if isinstance(value, dict) else shown
            figures.append(f"{name.replace('_', ' ')} {f'{shown:.4g}' if isinstance(shown, float) else shown}")
        lines.append(f"| {key} | {'; '.join(figures)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
    print(table())

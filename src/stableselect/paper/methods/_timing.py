"""Time a fit of a method's selector, and a training epoch of the network beside a plain autoencoder's; one thread."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...base import BaseSelector
from ...experiments import Run
from ...neural import ScorerSelectorNetwork
from ._methods import Method

PLAIN = "plain autoencoder, torch"
NETWORKS = ("scorer-selector, torch", "scorer-selector, NumPy")

_EPOCHS = 3
_ROUNDS = 5
_RATE = 1e-3
_MAY_USE_TORCH = ("AEFS", "AgnoSS", "CAE")


def timed_fit(method: Method, run: Run, X: np.ndarray) -> tuple[BaseSelector, dict[str, Any]]:
    """Return the fitted selector of a run, and ``seconds``, ``settings``, ``selected`` and ``converged``."""
    selector = method.build(run)
    settings = _plain(selector.get_params(deep=False))
    with torch_on_one_thread(needed=method.selector in _MAY_USE_TORCH):
        start = time.perf_counter()
        selector.fit(X)
        seconds = time.perf_counter() - start
    converged = getattr(selector, "converged_", None)
    return selector, {
        "seconds": seconds,
        "settings": settings,
        "selected": selector.selected_.tolist(),
        "converged": None if converged is None else bool(converged),
    }


@contextmanager
def torch_on_one_thread(*, needed: bool) -> Iterator[None]:
    """Keep torch to one thread and give it its threads back; it takes no notice of limits set before its import."""
    if needed and find_spec("torch") is not None:
        importlib.import_module("torch")
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as JSON holds them."""
    simple = (str, int, float, bool, type(None))
    return {key: value if isinstance(value, simple) else repr(value) for key, value in settings.items()}


@torch_on_one_thread(needed=True)
def epoch_times(X: np.ndarray, k: int, batch_size: int) -> dict[str, Any]:
    """Measure the epochs of all three in turn, several times; needs torch and scikit-learn 1.9 or later.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Samples to train on.
    k : int
        Number of selected features, and latent width.
    batch_size : int
        Samples per batch.

    Returns
    -------
    dict
        ``seconds`` in total; ``epoch`` with the median seconds of an epoch and, for the networks, the median ratio to
        the plain autoencoder's in the same round, so that a slow moment of the machine affects both.
    """
    network = ScorerSelectorNetwork.published(k, batch_size=batch_size).set_params(epochs=_EPOCHS)
    # A user-defined module, even a linear one, is trained in torch.
    in_torch: dict[str, Any] = {"encoder": _linear, "decoder": _linear, "latent_width": k}
    in_torch |= {"n_starts": 1, "validation_fraction": 0.0, "device": "cpu"}
    measures: dict[str, Callable[[], float]] = {
        PLAIN: lambda: _plain_seconds(X, k, batch_size),
        NETWORKS[0]: lambda: _network_seconds(ScorerSelectorNetwork(**network.get_params() | in_torch), X),
        NETWORKS[1]: lambda: _network_seconds(ScorerSelectorNetwork(**network.get_params()), X),
    }
    start = time.perf_counter()
    for measure in measures.values():
        measure()
    rounds = [{name: measure() for name, measure in measures.items()} for _ in range(_ROUNDS)]
    return {
        "selected": None,
        "seconds": time.perf_counter() - start,
        "epoch": {
            "seconds": {name: float(np.median([found[name] for found in rounds])) for name in measures},
            "ratio": {name: float(np.median([found[name] / found[PLAIN] for found in rounds])) for name in NETWORKS},
        },
    }


class _Clock:
    """A callback that measures the epochs."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Start the clock."""
        self._start = time.perf_counter()

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> None:
        """Record the time of an epoch."""
        if context.task_name == "epoch":
            self.seconds.append(time.perf_counter() - self._start)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing."""


def _network_seconds(network: Any, X: np.ndarray) -> float:
    clock = _Clock()
    network.set_callbacks(clock).fit(X)
    return float(np.mean(clock.seconds))


def _linear(n_in: int, n_out: int) -> Any:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(n_in, n_out))


def _plain_seconds(X: np.ndarray, k: int, batch_size: int) -> float:
    """Return the mean seconds of an epoch of a linear autoencoder, trained by a plain loop."""
    import torch

    data = torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Sequential(_linear(X.shape[1], k), _linear(k, X.shape[1]))
        adam = torch.optim.Adam(model.parameters(), lr=_RATE, fused=True)
        start = time.perf_counter()
        for _ in range(_EPOCHS):
            for rows in torch.split(torch.randperm(len(data)), batch_size):
                batch = data[rows]
                adam.zero_grad(set_to_none=True)
                (model(batch) - batch).square().mean().backward()
                adam.step()
        return (time.perf_counter() - start) / _EPOCHS

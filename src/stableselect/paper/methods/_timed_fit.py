"""Fit a method's selector on one thread, and say how long that took and with what settings."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...base import BaseSelector
from ...experiments import Run
from ._methods import Method

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

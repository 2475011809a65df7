"""Encoders and decoders as a caller names them: "linear", sizes of hidden layers, or a function that makes a module."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ._layers import apply_layers
from ._lazy import require_torch

Spec = str | tuple[int, ...] | Callable[[int, int], Any]


def check_network(name: str, spec: object) -> bool:
    """Tell whether an encoder or decoder is linear; refuse what is neither "linear", sizes nor a function."""
    if isinstance(spec, str) and spec == "linear":
        return True
    sizes = isinstance(spec, (tuple, list)) and all(
        isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 1 for size in spec
    )
    if _is_module(spec):
        raise ValueError(
            f"{name} is a module; pass a function that makes one, for instance lambda n_in, n_out: "
            "torch.nn.Linear(n_in, n_out), so that every start has its own."
        )
    if callable(spec) or (sizes and spec):
        return False
    raise ValueError(
        f"{name} must be 'linear', a tuple of hidden sizes such as (64, 64), or a function (n_in, n_out) -> "
        f"torch.nn.Module; got {spec!r}."
    )


def fitted_activation(spec: Any, activation: str) -> str | None:
    """Return what stands between the layers of a fitted network, None for a caller's own module."""
    return None if callable(spec) else activation


def _is_module(spec: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(spec, torch.nn.Module)


def run_network(
    spec: Any, arrays: dict[str, np.ndarray], activation: str | None, values: np.ndarray, n_out: int
) -> np.ndarray:
    """Run rows through a trained encoder or decoder; only the caller's own modules need torch.

    ``activation`` is None for a caller's own module, as :func:`fitted_activation` gives it when it is fitted.
    """
    if activation is not None:
        return apply_layers(arrays, activation, values)
    if not callable(spec):
        raise ValueError("The network was fitted with a module of your own; set the function that makes it again.")
    torch = require_torch()
    from ._torch._networks import from_arrays

    with torch.random.fork_rng(), torch.no_grad():
        network = from_arrays(copy.deepcopy(spec(values.shape[1], n_out)), arrays).double().eval()
        return network(torch.from_numpy(np.ascontiguousarray(values))).numpy()

"""Encoders and decoders as parameters: "linear", sizes of hidden layers, or a function that returns a torch module.

Trained layers run in NumPy, so that a fitted network of given sizes needs no torch.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, expit

Spec = str | tuple[int, ...] | Callable[[int, int], Any]


class Networks(NamedTuple):
    """An encoder and a decoder, the activation between their layers, and the width of the code between them."""

    encoder: Spec
    decoder: Spec
    activation: str
    width: int


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / 2**0.5)),
    "tanh": np.tanh,
    "sigmoid": expit,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
}
"""The activations that may be put between the layers of a network."""


def require_torch() -> ModuleType:
    """Import torch and return it; if it is not installed, say how to get it."""
    try:
        import torch
    except ImportError:
        raise ImportError('This network needs PyTorch: pip install "stableselect[torch]".') from None
    return torch


def is_linear(spec: object) -> bool:
    """Tell whether an encoder or decoder is "linear"."""
    return isinstance(spec, str)


def check_network(name: str, spec: object) -> None:
    """Raise if an encoder or decoder is neither "linear", a tuple of sizes nor a function."""
    if is_linear(spec):
        return
    sizes = isinstance(spec, (tuple, list)) and all(
        isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 1 for size in spec
    )
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(spec, torch.nn.Module):
        raise ValueError(
            f"{name} is a module; pass a function that returns a new one, for instance lambda n_in, n_out: "
            "torch.nn.Linear(n_in, n_out), so that every start has its own weights."
        )
    if not callable(spec) and not (sizes and spec):
        raise ValueError(
            f"{name} must be 'linear', a tuple of hidden sizes such as (64, 64), or a function (n_in, n_out) -> "
            f"torch.nn.Module; got {spec!r}."
        )


def apply_layers(arrays: dict[str, np.ndarray], activation: str, values: np.ndarray) -> np.ndarray:
    """Run samples through linear layers with an activation between them.

    Parameters
    ----------
    arrays : dict of str to ndarray
        "0.weight" (outputs x inputs), "0.bias", "2.weight", ...: the names torch gives to a sequence of layers.
    activation : str
        A key of ``ACTIVATIONS``.
    values : ndarray of shape (n, inputs)
        Samples.

    Returns
    -------
    ndarray of shape (n, outputs)
        In double precision.

    Examples
    --------
    >>> import numpy as np
    >>> layers = {"0.weight": np.array([[1.0, -1.0]]), "0.bias": np.array([0.5])}
    >>> apply_layers(layers, "relu", np.array([[2.0, 3.0]]))
    array([[-0.5]])
    """
    weights = [name for name in arrays if name.endswith("weight")]
    for i, name in enumerate(weights):
        if i:
            values = ACTIVATIONS[activation](values)
        values = values @ arrays[name].T.astype(np.float64)
        bias = arrays.get(name.replace("weight", "bias"))
        if bias is not None:
            values = values + bias
    return values


def run_network(
    spec: Any, arrays: dict[str, np.ndarray], activation: str | None, values: np.ndarray, n_out: int
) -> np.ndarray:
    """Run samples through a trained encoder or decoder; only user-defined modules need torch.

    ``activation`` is that of the fitted network, None for a user-defined module.
    """
    if activation is not None:
        return apply_layers(arrays, activation, values)
    if not callable(spec):
        raise ValueError(
            "The network was fitted with a user-defined module, but the parameter is no longer a function; set the "
            "function that returns the module again."
        )
    torch = require_torch()
    from ._torch._networks import from_arrays

    with torch.random.fork_rng(), torch.no_grad():
        network = from_arrays(copy.deepcopy(spec(values.shape[1], n_out)), arrays).double().eval()
        return network(torch.from_numpy(np.ascontiguousarray(values))).numpy()

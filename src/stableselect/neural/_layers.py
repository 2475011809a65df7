"""Running trained layers in NumPy, so that a fitted network needs no torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import erf, expit

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / 2**0.5)),
    "tanh": np.tanh,
    "sigmoid": expit,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
}
"""The activations that may be put between the layers of a network."""


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

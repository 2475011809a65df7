"""Encoders and decoders: linear, layers of given sizes, or the caller's own modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "elu": nn.ELU,
}

Spec = str | tuple[int, ...] | Callable[[int, int], nn.Module]


def build_network(
    spec: Any, n_in: int, n_out: int, activation: str, rng: np.random.RandomState, *, role: str, bias: bool = True
) -> nn.Module:
    """Return a network from n_in to n_out columns with weights drawn from ``rng``.

    Layers start Glorot uniform with zero biases. A factory is called as ``spec(n_in, n_out)`` under a seed drawn from
    ``rng``, with torch's own random state put back afterwards, and what it returns is tried on two rows.
    """
    if callable(spec):
        return _from_factory(spec, n_in, n_out, rng, role)
    sizes = [n_in, *(() if spec == "linear" else spec), n_out]
    layers: list[nn.Module] = []
    for i in range(len(sizes) - 1):
        if i:
            layers.append(ACTIVATIONS[activation]())
        linear = nn.utils.skip_init(nn.Linear, sizes[i], sizes[i + 1], bias=bias)
        limit = (6 / (sizes[i] + sizes[i + 1])) ** 0.5
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(rng.uniform(-limit, limit, (sizes[i], sizes[i + 1])).T.copy()))
            if bias:
                linear.bias.zero_()
        layers.append(linear)
    return nn.Sequential(*layers)


def _from_factory(
    spec: Callable[[int, int], nn.Module], n_in: int, n_out: int, rng: np.random.RandomState, role: str
) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.randint(2**31 - 1)))
        network = spec(n_in, n_out)
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"{role} must be 'linear', a tuple of hidden sizes or a function (n_in, n_out) -> torch.nn.Module; "
            f"the function given returned {type(network).__name__}."
        )
    was_training = network.training
    try:
        with torch.no_grad():
            tried = network.eval()(torch.zeros(2, n_in, dtype=next(network.parameters(), torch.zeros(0)).dtype))
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"The {role} does not take rows of {n_in} numbers ({reason}); check its first layer."
        ) from None
    network.train(was_training)
    if tuple(tried.shape) != (2, n_out):
        raise ValueError(
            f"The {role} returned shape {tuple(tried.shape)} for two rows of {n_in} numbers, but (2, {n_out}) is "
            "needed; use the (n_in, n_out) that the function is called with."
        )
    return network


def first_linear(network: nn.Module, n_in: int) -> nn.Linear | None:
    """Return the layer that meets the columns first, where it is a linear one."""
    first = next(iter(network), None) if isinstance(network, nn.Sequential) else network
    return first if isinstance(first, nn.Linear) and first.in_features == n_in else None


def to_arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Return a network's weights as plain arrays by name."""
    return {name: value.detach().cpu().numpy().copy() for name, value in network.state_dict().items()}


def from_arrays(network: nn.Module, arrays: dict[str, np.ndarray]) -> nn.Module:
    """Give a network of the same form those weights."""
    network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
    return network
